"""The paper's central question over many runs: do those bind whose binding function is simple?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from binding_core.complexity.evaluation import ComplexityRow, binding_rank, chosen
from binding_core.complexity.token_runs import RunComplexity, measure_token_run
from binding_core.files import ASSETS, cache_folder, write_atomically
from binding_core.training.runs import Run, list_runs

SHIPPED = ASSETS / "complexity" / "runs.jsonl"
RESAMPLES = 1000

Explains = Literal[
    "object_product_r2", "gain", "global_product_r2", "additive_r2", "rank", "likeness"
]

# What each axis of the central figure is, in words.
EXPLAINS: dict[Explains, str] = {
    "object_product_r2": "held-out R² of additive + object product",
    "gain": "held-out R² that the object product adds to the additive form",
    "global_product_r2": "held-out R² of additive + global product",
    "additive_r2": "held-out R² of the additive form",
    "rank": "binding rank",
    "likeness": "likeness of both sides' binding remainders, unseen objects (CKA above chance)",
}


@dataclass(frozen=True)
class RunPoint:
    """One run: how well it binds unseen objects, and what its binding function is like."""

    name: str
    settings: dict[str, float]
    seed: int
    unseen: float  # object recognition of unseen objects, as the run's own measures say
    additive_r2: float | None
    object_product_r2: float | None
    global_product_r2: float | None
    product_objects: float | None  # held-out objects that probes find in the object product
    rank: int | None
    likeness_seen: float | None  # CKA of the binding remainders of scene and query side
    likeness_unseen: float | None
    likeness_chance: float | None  # of unrelated remainders, unseen objects

    @property
    def gain(self) -> float | None:
        """What the object product adds to the additive form, R²."""
        if self.object_product_r2 is None or self.additive_r2 is None:
            return None
        return self.object_product_r2 - self.additive_r2

    @property
    def likeness(self) -> float | None:
        """CKA on unseen objects: 0 as unrelated remainders, 1 the same up to rotation and scale.

        Fewer objects look alike by accident, and runs differ in how many are unseen.
        """
        if self.likeness_unseen is None or self.likeness_chance is None:
            return None
        return (self.likeness_unseen - self.likeness_chance) / (1 - self.likeness_chance)


_POINT = TypeAdapter(RunPoint)


def run_point(
    found: RunComplexity, *, name: str, settings: dict[str, float], seed: int, unseen: float
) -> RunPoint:
    """A run's place in the central figure."""
    additive = _of(found, "additive")
    products = _of(found, "object product")
    best, pairs = chosen(products), chosen(_of(found, "global product"))
    cka = {
        part: next((m for m in measures or () if m.measure == "CKA"), None)
        for part, measures in found.likeness.items()
    }
    seen, unseen_likeness = cka.get("seen"), cka.get("unseen")
    return RunPoint(
        name=name,
        settings=settings,
        seed=seed,
        unseen=unseen,
        additive_r2=additive[0].r2_heldout,
        object_product_r2=best.r2_heldout if best else None,
        global_product_r2=pairs.r2_heldout if pairs else None,
        product_objects=best.objects.value if best else None,
        rank=binding_rank([*additive, *products]) if products else None,
        likeness_seen=seen.value if seen else None,
        likeness_unseen=unseen_likeness.value if unseen_likeness else None,
        likeness_chance=unseen_likeness.chance if unseen_likeness else None,
    )


def _of(found: RunComplexity, approximator: str) -> list[ComplexityRow]:
    return [row for row in found.rows if row.approximator == approximator]


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation with unseen object recognition, over runs."""

    value: float
    ci95: tuple[float, float]  # bootstrap over runs
    n: int
    seed: int


def correlation(
    points: Sequence[RunPoint], *, explains: Explains, seed: int = 0
) -> Correlation | None:
    """None with fewer than ten runs that have both, or when either is the same in all."""
    from scipy.stats import spearmanr

    pairs = np.array(
        [(getattr(p, explains), p.unseen) for p in points if getattr(p, explains) is not None]
    )
    if len(pairs) < 10 or (pairs == pairs[0]).all(axis=0).any():
        return None
    rng, drawn = np.random.default_rng(seed), []
    for _ in range(RESAMPLES):
        sample = pairs[rng.integers(len(pairs), size=len(pairs))]
        if not (sample == sample[0]).all(axis=0).any():
            drawn.append(spearmanr(*sample.T).statistic)
    low, high = np.quantile(drawn, (0.025, 0.975))
    value = float(spearmanr(*pairs.T).statistic)
    return Correlation(value=value, ci95=(float(low), float(high)), n=len(pairs), seed=seed)


# --- shipped, and the user's own ------------------------------------------------------------------


def shipped_points() -> list[RunPoint]:
    """The runs of the shipped sweep."""
    lines = SHIPPED.read_text("utf-8").splitlines() if SHIPPED.exists() else []
    return [_POINT.validate_json(line) for line in lines]


def points_jsonl(points: Sequence[RunPoint]) -> bytes:
    """One line a run."""
    rounded = TypeAdapter(list[dict]).validate_python([asdict(p) for p in points])
    return "".join(
        json.dumps(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()},
        )
        + "\n"
        for row in rounded
    ).encode()


def own_runs() -> list[Run]:
    """The user's finished token runs, which can be placed in the figure."""
    return [run for run in list_runs() if run.state == "done" and run.config.world == "tokens"]


def own_points() -> list[RunPoint]:
    """Those of them that were measured."""
    found = []
    for run in own_runs():
        try:
            found.append(_POINT.validate_json(_kept(run).read_bytes()))
        except (OSError, ValidationError):
            continue
    return found


def place_run(run: Run) -> RunPoint:
    """Measure a finished token run and keep where it stands; some seconds."""
    config = run.config
    point = run_point(
        measure_token_run(config, run.weights),
        name=run.id,
        settings={"data.coverage": config.data.coverage, "data.values": config.data.values},
        seed=config.training.seed,
        unseen=run.result["unseen"]["object_recognition"]["value"] or 0.0,
    )
    write_atomically(_kept(run), _POINT.dump_json(point))
    return point


def _kept(run: Run) -> Path:
    stamp = run.weights.stat().st_mtime_ns if run.weights.exists() else 0
    return cache_folder() / "complexity" / f"run-{run.id}-{stamp}.json"
