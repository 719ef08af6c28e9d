"""A model's binding function against all approximators, over coverages and seeds.

Rows come one by one and are kept at once, so that a stopped measurement goes on where it was.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from threading import Event
from typing import BinaryIO, get_args

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError

from binding_core.agreement.swap_test import PICTURE_SIZE
from binding_core.complexity.approximators import REGRESSORS
from binding_core.complexity.evaluation import (
    Approximator,
    ComplexityRow,
    Split,
    additive_row,
    binding_rank,
    ceiling_row,
    chosen,
    part_for_probes,
    product_rows,
    regressor_row,
    split_table,
)
from binding_core.complexity.forms import RANKS, Form, Tables
from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.files import ASSETS, cache_folder
from binding_core.geometry.report import Progress, Stopped
from binding_core.geometry.scene_sets import scene_of
from binding_core.geometry.scene_table import Modality, SceneTable, embed_scenes
from binding_core.scenes import Scene

COVERAGES = (0.9, 0.7, 0.5, 0.3, 0.1)  # the paper's range, what binds first
SEEDS = (0, 1, 2)
CHUNK = 256
RANK_COVERAGE = 0.7  # at which the binding rank is told: the most that leaves many test scenes
PAIR_RANKS = (1, 4, 16, 64)  # of the global product, which takes several times as long a rank
SHIPPED = ASSETS / "complexity"
PRODUCTS: tuple[tuple[Form, Tables], ...] = (
    ("object product", "shared"),
    ("object product", "by place"),
    ("global product", "shared"),
)
CSV_COLUMNS = (
    "model", "fingerprint", "approximator", "tables", "rank", "penalty",
    "coverage", "seed", "r2_fitted", "r2_heldout", "r2_low", "r2_high",
    "objects", "objects_low", "objects_high", "concepts", "n_fitted", "n_heldout", "r2_chosen_by",
)  # fmt: skip
_ROW = TypeAdapter(ComplexityRow)


@dataclass(frozen=True)
class ComplexitySettings:
    """What is measured of a model."""

    modality: Modality
    coverages: tuple[float, ...] = COVERAGES
    seeds: tuple[int, ...] = SEEDS
    regressors: bool = True  # networks, forest and boosting as well, which take the most time

    def __post_init__(self) -> None:
        """UserError for coverages that hold nothing out, and seeds that draw nothing."""
        for coverage in self.coverages:
            if not 0 < coverage < 1:
                raise UserError(f"A coverage must lie between 0 and 1, not at {coverage:g}.")
        if any(seed != int(seed) or seed < 0 for seed in self.seeds):
            raise UserError("Seeds are whole numbers from 0 on.")

    @property
    def steps(self) -> tuple[tuple[int, float, str], ...]:
        """(seed, coverage, what) in their order: a rough picture of all coverages comes first."""
        whats = ["real embeddings", "additive", *(f"{f}, {t}" for f, t in PRODUCTS)]
        whats += REGRESSORS if self.regressors else ()
        return tuple((s, c, what) for s in self.seeds for c in self.coverages for what in whats)


def every_pair(*, seed: int) -> tuple[Scene, ...]:
    """Each pair of different objects of the bundled space once, at random places: 10,296 scenes."""
    pairs = combinations(BUNDLED_SPACE.objects, 2)
    return tuple(scene_of(words, seed=(seed, i)) for i, words in enumerate(pairs))


def embed_pairs(
    encoder: Encoder,
    *,
    modality: Modality,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> SceneTable:
    """Every pair of objects as one encoder sees or reads it, drawn at the model's own size."""
    return embed_scenes(
        encoder,
        scenes=every_pair(seed=0),
        modality=modality,
        picture_size=getattr(encoder, "picture_size", PICTURE_SIZE),
        report=report,
    )


def measure_complexity(
    encoder: Encoder,
    *,
    settings: ComplexitySettings,
    folder: Path | None = None,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> list[ComplexityRow] | None:
    """All rows, those that are kept or shipped already and new ones; None when stopped.

    UserError when another process measures the same, or the folder cannot be written to.
    """
    store = RowStore(folder or kept_folder(), encoder.fingerprint, settings.modality)
    steps, chunks = settings.steps, -(-len(list(combinations(range(144), 2))) // CHUNK)
    shipped = RowStore(SHIPPED, encoder.fingerprint, settings.modality)
    done = store.steps() | shipped.steps()
    missing = [step for step in steps if step not in done]
    progress = Progress(len(steps) + chunks, report, stop or Event())
    try:
        if missing:
            progress.step(len(steps) - len(missing))
            table = embed_pairs(
                encoder, modality=settings.modality, report=lambda *_: progress.step()
            )
            for step, rows in _measured(table, missing):
                store.keep(step, rows)
                progress.step()
    except Stopped:
        return None
    by_step = shipped.by_step | store.by_step
    return [row for step in steps for row in by_step.get(step, ())]


def _measured(
    table: SceneTable, steps: Sequence[tuple[int, float, str]]
) -> Iterator[tuple[tuple[int, float, str], list[ComplexityRow]]]:
    probes: dict[int, tuple] = {}
    split: Split | None = None
    for seed, coverage, what in steps:
        if seed not in probes:
            probes[seed] = part_for_probes(table, seed=seed)
        if split is None or (split.seed, split.coverage) != (seed, coverage):
            split = split_table(*probes[seed], coverage=coverage, seed=seed)
        yield (seed, coverage, what), _step_rows(split, what)


def _step_rows(split: Split, what: str) -> list[ComplexityRow]:
    """Empty where the scenes are too few for this form: the cell stays empty."""
    if what == "real embeddings":
        return [ceiling_row(split)]
    if what in REGRESSORS:
        return [regressor_row(split, regressor=what)]
    try:
        if what == "additive":
            return [additive_row(split)]
        form, tables = what.split(", ")
        ranks = PAIR_RANKS if form == "global product" else RANKS
        return list(product_rows(split, form=form, tables=tables, ranks=ranks))
    except UserError:
        return []


# --- kept row by row ------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowStore:
    """The rows of one model and modality: a line for each step of the measurement."""

    folder: Path
    fingerprint: str
    modality: Modality

    @property
    def path(self) -> Path:
        """The file."""
        return self.folder / f"{self.fingerprint}-{self.modality}.jsonl"

    def _lines(self) -> Iterator[tuple[tuple[int, float, str], list[ComplexityRow]]]:
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            try:
                content = json.loads(line)
                step = (int(content["seed"]), float(content["coverage"]), str(content["what"]))
                yield step, [_ROW.validate_python(row) for row in content["rows"]]
            except (ValueError, KeyError, TypeError, ValidationError):
                continue  # cut short by a crash, or of an older version: measured anew

    def steps(self) -> set[tuple[int, float, str]]:
        """What is there already."""
        return set(self.by_step)

    @property
    def by_step(self) -> dict[tuple[int, float, str], list[ComplexityRow]]:
        """All rows, by the step that they came from."""
        return dict(self._lines())

    def keep(self, step: tuple[int, float, str], rows: Sequence[ComplexityRow]) -> None:
        """Append a step's rows, whole; UserError when that can't be."""
        seed, coverage, what = step
        held = [_ROW.dump_python(row, mode="json") for row in rows]
        line = json.dumps({"seed": seed, "coverage": coverage, "what": what, "rows": held})
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock"), self.path.open("ab+") as file:
                start = "\n" if file.tell() and not _ends_line(file) else ""
                file.write(f"{start}{line}\n".encode())
        except OSError as error:
            raise UserError(
                f"The rows can't be kept in {self.folder}: {error.strerror or error}."
            ) from error


def _ends_line(file: BinaryIO) -> bool:
    file.seek(-1, 2)
    return file.read(1) == b"\n"


def kept_folder() -> Path:
    """Where the rows of models lie that were measured on this machine."""
    return cache_folder() / "complexity"


def find_rows(fingerprint: str, modality: Modality) -> list[ComplexityRow]:
    """What is known of a model, shipped or measured here."""
    shipped, kept = (RowStore(f, fingerprint, modality) for f in (SHIPPED, kept_folder()))
    return [row for rows in (shipped.by_step | kept.by_step).values() for row in rows]


def rank_of(rows: Sequence[ComplexityRow]) -> dict[int, int]:
    """The binding rank of the object product, by seed, at RANK_COVERAGE."""
    at = [row for row in rows if row.coverage == RANK_COVERAGE]
    ranks = {}
    for seed in sorted({row.seed for row in at}):
        of_seed = [
            row
            for row in at
            if row.seed == seed
            and row.tables == "shared"
            and row.approximator in ("additive", "object product")
        ]
        if len(of_seed) > 1 and (rank := binding_rank(of_seed)) is not None:
            ranks[seed] = rank
    return ranks


def binding_ranks(fingerprint: str) -> dict[str, float]:
    """The median binding rank over seeds of a model's pictures and captions, where measured."""
    found = {
        side: list(rank_of(find_rows(fingerprint, modality)).values())
        for side, modality in (("pictures", "image"), ("captions", "text"))
    }
    return {side: float(median(ranks)) for side, ranks in found.items() if ranks}


def best_rows(rows: Sequence[ComplexityRow]) -> list[ComplexityRow]:
    """One row for each approximator, coverage and seed: of a product the rank chosen inside."""
    groups: dict[tuple, list[ComplexityRow]] = {}
    for row in rows:
        key = (row.approximator, row.tables, row.coverage, row.seed)
        groups.setdefault(key, []).append(row)
    return [
        chosen(group) if group[0].r2_chosen_by is not None else group[0]
        for group in groups.values()
    ]


APPROXIMATORS: tuple[Approximator, ...] = (
    "real embeddings",
    "additive",
    *(form for form in get_args(Form) if form != "additive"),
    *REGRESSORS,
)


def rows_json(rows: Sequence[ComplexityRow]) -> bytes:
    """Every row as JSON."""
    return json.dumps([_ROW.dump_python(row, mode="json") for row in rows], indent=1).encode()


def rows_csv(rows: Sequence[ComplexityRow], *, model: str, fingerprint: str) -> bytes:
    """Every row with the model it is of."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        low, high = row.r2_heldout_ci95 or (None, None)
        objects_low, objects_high = row.objects.ci95 or (None, None)
        of = (model, fingerprint, row.approximator, row.tables, row.rank, row.penalty)
        fit = (row.coverage, row.seed, row.r2_fitted, row.r2_heldout, low, high)
        read = (row.objects.value, objects_low, objects_high, row.concepts.value)
        writer.writerow([*of, *fit, *read, row.n_fitted, row.n_heldout, row.r2_chosen_by])
    return buffer.getvalue().encode()
