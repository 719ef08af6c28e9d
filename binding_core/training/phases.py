"""What a sweep's results say cell by cell: the phase diagram's numbers."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from binding_core.training.run_config import PictureRunConfig, TokenRunConfig
from binding_core.training.runs import Run
from binding_core.training.sweeps import SweepConfig, Value

PARTS = ("seen", "unseen")
MEASURES = ("object_recognition", "swap_accuracy", "concept_recognition")
# What may differ between runs that belong to one diagram: the rest must be the sweep's own.
FREE = (
    "name",
    "training.seed",
    "training.measure_every",
    "training.report_every",
    "training.checkpoint_every",
    "data.split_seed",
)


@dataclass(frozen=True)
class PhaseCell:
    """One combination of two settings, over its seeds and whatever else was varied."""

    x: Value
    y: Value
    mean: float  # of the runs' shares
    ci95: tuple[float, float] | None  # Student's interval over runs; None for a single one
    n: int  # runs


def phase_cells(
    rows: Iterable[dict], *, x: str, y: str, part: str, measure: str
) -> list[PhaseCell]:
    """The cells of a diagram over the settings ``x`` and ``y``, from a sweep's result rows.

    Runs that diverged or had nothing to measure are left out.
    """
    found: dict[tuple[Value, Value], list[float]] = defaultdict(list)
    for row in rows:
        value = row[part][measure]["value"] if part in row else None
        if value is not None:
            found[row["settings"][x], row["settings"][y]].append(value)
    return [
        PhaseCell(*place, mean=mean(values), ci95=_interval(values), n=len(values))
        for place, values in sorted(found.items(), key=lambda item: str(item[0]))
    ]


def _interval(values: Sequence[float]) -> tuple[float, float] | None:
    if len(values) < 2:
        return None
    from scipy.stats import t  # a second of import that the page's first view does without

    half = t.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    middle = mean(values)
    return max(0.0, middle - half), min(1.0, middle + half)


def runs_of_the_same_kind(runs: Iterable[Run], config: SweepConfig) -> list[dict]:
    """Result rows of finished runs that differ from a sweep's base in its axes and seeds alone."""
    wanted = _without(config.base, config.axes)
    return [
        {
            "settings": {name: _setting(run.config, name) for name in config.axes},
            "seed": run.config.training.seed,
            **run.result,
        }
        for run in runs
        if run.result and _without(run.config, config.axes) == wanted
    ]


def _setting(config: TokenRunConfig | PictureRunConfig, name: str) -> Value:
    section, _, field = name.partition(".")
    return getattr(getattr(config, section), field)


def _without(config: TokenRunConfig | PictureRunConfig, axes: Iterable[str]) -> dict:
    content = config.model_dump()
    for name in (*FREE, *axes):
        section, _, field = name.rpartition(".")
        place = content.get(section, {}) if section else content
        place.pop(field, None)
    return content


def results_csv(rows: Sequence[dict]) -> str:
    """A sweep's results as CSV: settings, seed, then value, interval and n of every measure."""
    if not rows:
        return ""
    names = list(rows[0]["settings"])
    shares = [(part, measure) for part in PARTS for measure in MEASURES]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings = [f"{p} {m} {of}" for p, m in shares for of in ("value", "low", "high", "n")]
    writer.writerow([*names, "seed", *headings, "failed"])
    for row in rows:
        figures: list[object] = []
        for part, measure in shares:
            share = row.get(part, {}).get(measure, {"value": None, "ci95": None, "n": 0})
            figures += [share["value"], *(share["ci95"] or (None, None)), share["n"]]
        settings = [row["settings"][name] for name in names]
        writer.writerow([*settings, row["seed"], *figures, row.get("failed", "")])
    return out.getvalue()
