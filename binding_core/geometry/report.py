"""One model taken apart: every table of the page Components, with what it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import get_args

import numpy as np
from pydantic import TypeAdapter, ValidationError

from binding_core.agreement.measures import Share
from binding_core.concepts import Words
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.geometry.components import Estimator, Level, fit_components
from binding_core.geometry.edits import EditReport, edit_table
from binding_core.geometry.level_two import level_two
from binding_core.geometry.levels import LevelReport, evaluate_levels
from binding_core.geometry.probes import (
    Probe,
    Target,
    probe_recognition,
    three_part_probes,
    three_parts,
)
from binding_core.geometry.remainder import (
    RemainderReport,
    VarianceShares,
    binding_remainder,
    share_of_variance,
)
from binding_core.geometry.removal import RemovalRow, removal_table
from binding_core.geometry.scene_sets import sampled_scenes
from binding_core.geometry.scene_table import CHUNK, Modality, SceneTable, embed_scenes

N_SCENES = 2000  # of two objects each, drawn from all objects of the space
SEED = 0
TABLE_STEPS = 4  # two levels, removal, edits
ROTATIONS = 100  # behind the chance level of each likeness
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class LevelRow:
    """How well one estimator's components rebuild scenes they were not fitted on."""

    report: LevelReport
    objects: Share  # probes of real embeddings read the reconstruction's objects
    concepts: Share


@dataclass(frozen=True)
class TableReport:
    """What one modality's embeddings are made of."""

    source: str  # model and fingerprint, or the file
    modality: Modality
    n_scenes: int
    seed: int
    levels: tuple[LevelRow, ...]
    removal: tuple[RemovalRow, ...]
    edits: dict[str, EditReport]
    variance: VarianceShares


@dataclass(frozen=True)
class ModelReport:
    """Both modalities of a model, its randomly initialised twin, and the two sides compared."""

    model: str
    fingerprint: str
    tables: dict[Modality, TableReport]
    twin: dict[Modality, tuple[LevelRow, ...]]  # empty when the model has none
    remainder: dict[str, RemainderReport]  # over "all", and over "seen" and "unseen" if known


_REPORT = TypeAdapter(ModelReport)
_TABLE = TypeAdapter(TableReport)


class Stopped(Exception):
    """Somebody asked the work to end."""


class Progress:
    """Counts steps of work for whoever watches, and ends the work when asked."""

    def __init__(self, total: int, report: Callable[[int, int], None], stop: Event) -> None:
        self._total, self._report, self._stop = total, report, stop
        self._done = 0

    def step(self, n: int = 1) -> None:
        """Some steps are done; Stopped when the work is to end."""
        if self._stop.is_set():
            raise Stopped
        self._done += n
        self._report(self._done, self._total)


def level_rows(
    table: SceneTable,
    *,
    seed: int,
    singles: SceneTable | None,
    probes: Mapping[Target, Probe],
    progress: Progress | None = None,
) -> tuple[LevelRow, ...]:
    """Levels I and II with each estimator: components, probes and tests have their own scenes.

    ``probes`` are those of :func:`three_part_probes`. Without scenes of a single object the
    estimator "single" is left out.
    """
    _, fitted, tested = three_parts(table, seed=seed)
    judged = replace(
        fitted,
        concepts=np.concatenate([fitted.concepts, tested.concepts]),
        embeddings=np.concatenate([fitted.embeddings, tested.embeddings]),
    )
    held_out = np.arange(len(judged)) >= len(fitted)
    rows = []
    for level in LEVELS:
        for estimator in ESTIMATORS:
            if estimator == "single" and singles is None:
                continue
            way = {"level": level, "estimator": estimator, "singles": singles}
            report = evaluate_levels(judged, held_out=held_out, seed=seed, **way)
            predicted, known = fit_components(fitted, **way).predict(tested)
            rebuilt = replace(tested, embeddings=predicted).rows(known)
            objects, concepts = (probe_recognition(probes[t], rebuilt) for t in LEVELS)
            rows.append(LevelRow(report=report, objects=objects, concepts=concepts))
        if progress:
            progress.step()
    return tuple(rows)


def table_report(
    table: SceneTable,
    *,
    seed: int = SEED,
    singles: SceneTable | None = None,
    progress: Progress | None = None,
) -> TableReport:
    """Everything that one modality's embeddings tell; UserError with too few scenes.

    A progress that watches hears of TABLE_STEPS steps.
    """
    if len(table) < 20:
        raise UserError(
            f"{len(table)} scenes are too few to be taken apart: probes, components and tests "
            "need scenes of their own, at least 20 together."
        )
    probes = three_part_probes(table, seed=seed)
    levels = level_rows(table, seed=seed, singles=singles, probes=probes, progress=progress)
    removal = tuple(removal_table(table, seed=seed, probes=probes))
    if progress:
        progress.step()
    edits = edit_table(table, seed=seed, probes=probes) if table.places > 1 else {}
    if progress:
        progress.step()
    components = fit_components(table, level="objects", estimator="least squares")
    return TableReport(
        source=table.source,
        modality=table.modality,
        n_scenes=len(table),
        seed=seed,
        levels=levels,
        removal=removal,
        edits=edits,
        variance=share_of_variance(level_two(components, table.space)),
    )


def model_report(
    encoder: Encoder,
    *,
    train_objects: Sequence[Words] = (),
    twin: Encoder | None = None,
    n_scenes: int = N_SCENES,
    seed: int = SEED,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> tuple[ModelReport, dict[Modality, SceneTable]] | None:
    """Take a model apart, image and text, on fresh scenes of two objects; None when stopped.

    ``train_objects`` part the objects whose remainders are compared into seen and unseen ones;
    ``twin`` is the same network with random weights. Also gives the tables of embeddings.
    """
    modalities: tuple[Modality, ...] = get_args(Modality)
    encoders = [encoder, twin] if twin else [encoder]
    # A step is an embedded chunk, or an analysis: a twin has the two levels, and the last one is
    # the remainder.
    chunks = -(-n_scenes // CHUNK) + -(-(n_scenes // 4) // CHUNK)
    steps = 2 * (len(encoders) * chunks + TABLE_STEPS + (2 if twin else 0)) + 1
    progress = Progress(steps, report, stop or Event())
    scenes = sampled_scenes(n=n_scenes, n_objects=2, seed=seed)
    singles = sampled_scenes(n=n_scenes // 4, n_objects=1, seed=seed + 1)
    try:
        tables: dict[Modality, SceneTable] = {}
        reports: dict[Modality, TableReport] = {}
        twins: dict[Modality, tuple[LevelRow, ...]] = {}
        for modality in modalities:
            for who in encoders:
                some, alone = (
                    embed_scenes(
                        who,
                        scenes=drawn,
                        modality=modality,
                        report=lambda done, of: progress.step(),
                    )
                    for drawn in (scenes, singles)
                )
                if who is encoder:
                    tables[modality] = some
                    reports[modality] = table_report(
                        some, seed=seed, singles=alone, progress=progress
                    )
                else:
                    twins[modality] = level_rows(
                        some,
                        seed=seed,
                        singles=alone,
                        probes=three_part_probes(some, seed=seed),
                        progress=progress,
                    )
        remainder = _remainders(tables, train_objects=train_objects, seed=seed)
    except Stopped:
        return None
    progress.step()
    found = ModelReport(
        model=encoder.id,
        fingerprint=encoder.fingerprint,
        tables=reports,
        twin=twins,
        remainder=remainder,
    )
    return found, tables


def _remainders(
    tables: dict[Modality, SceneTable], *, train_objects: Sequence[Words], seed: int
) -> dict[str, RemainderReport]:
    image, text = tables["image"], tables["text"]
    parts: dict[str, np.ndarray | None] = {"all": None}
    if train_objects:
        seen = np.zeros(image.space.n_objects, dtype=bool)
        seen[[image.space.object_index(words) for words in train_objects]] = True
        parts |= {"seen": seen, "unseen": ~seen}
    return {
        name: binding_remainder(image, text, objects=objects, rotations=ROTATIONS, seed=seed)
        for name, objects in parts.items()
    }


def report_json(report: ModelReport) -> bytes:
    """The report as JSON."""
    return _REPORT.dump_json(report, indent=1)


def table_json(report: TableReport) -> bytes:
    """One modality's tables as JSON."""
    return _TABLE.dump_json(report, indent=1)


def parse_report(content: bytes) -> ModelReport:
    """The report of such JSON; UserError when it is none."""
    try:
        return _REPORT.validate_json(content)
    except ValidationError as error:
        raise UserError("This is no report of a model taken apart.") from error
