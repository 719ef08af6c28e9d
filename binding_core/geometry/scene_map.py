"""A map of scenes: which scenes, what one encoder makes of them, and their projections; kept.

A map is one npz file, named after its settings and the encoder's fingerprint: embeddings, and
every projection that was made of them. The bundled models' default maps are shipped.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Event, Lock
from typing import Annotated, Literal, get_args
from zipfile import BadZipFile

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.files import ASSETS, cache_folder, write_atomically
from binding_core.geometry.projection import METHODS, Method, Projection, project
from binding_core.geometry.scene_sets import (
    ModalityGap,
    bags_of_concepts,
    concepts_at,
    factorial_scenes,
    modality_gap,
    objects_at,
    sampled_scenes,
    seen_or_not,
    swap_links,
)
from binding_core.geometry.scene_table import Modality, SceneTable, embed_scenes
from binding_core.scenes import Scene

Sides = Literal["image", "text", "both"]
Dimensions = Literal[2, 3]
ColourBy = Literal["bag", "object", "colour", "shape", "seen", "modality"]

SHIPPED = ASSETS / "maps"
MAX_FILE_BYTES = 100 * 2**20
MAX_MAPPED = 10_000  # points: scenes, or pictures and captions together

_writing = Lock()


class SceneSet(BaseModel):
    """Which scenes a map shows, and whether as pictures, captions, or both."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sides: Sides = "image"
    drawn: Literal["slice", "sample"] = "slice"  # every scene of a slice, or a seeded sample
    colours: tuple[str, ...] = ("red", "blue")  # of the slice
    shapes: tuple[str, ...] = ("square", "circle")
    draws: Annotated[int, Field(ge=1, le=200)] = 16  # of each scene of the slice, at random places
    n: Annotated[int, Field(ge=10, le=MAX_MAPPED)] = 1000  # scenes of the sample
    n_objects: Annotated[int, Field(ge=1, le=3)] = 2
    seed: Annotated[int, Field(ge=0)] = 0

    def scenes(self) -> tuple[Scene, ...]:
        """The scenes, the same each time; UserError when there are too many."""
        return _scenes(self)

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """What is embedded, pictures first."""
        return get_args(Modality) if self.sides == "both" else (self.sides,)


@lru_cache(maxsize=4)  # a page asks for them at every click, and 10,000 take a second to draw
def _scenes(settings: SceneSet) -> tuple[Scene, ...]:
    if settings.drawn == "sample":
        found = sampled_scenes(n=settings.n, n_objects=settings.n_objects, seed=settings.seed)
    else:
        found = factorial_scenes(
            colours=settings.colours,
            shapes=settings.shapes,
            n_objects=settings.n_objects,
            per_combination=settings.draws,
            seed=settings.seed,
        )
    if len(found) * len(settings.modalities) > MAX_MAPPED:
        raise UserError(
            f"Pictures and captions of {len(found):,} scenes are more than {MAX_MAPPED:,} points; "
            "choose fewer scenes, or one of the two."
        )
    return found


@dataclass(frozen=True)
class SceneMap:
    """Scenes with their embeddings: with both sides, all pictures, then all captions."""

    settings: SceneSet
    fingerprint: str
    tables: tuple[SceneTable, ...]  # one a modality
    projections: dict[tuple[Method, Dimensions], Projection]

    @cached_property
    def scenes(self) -> tuple[Scene, ...]:
        """The scenes, n of them, whatever the number of sides."""
        return self.settings.scenes()

    @cached_property
    def embeddings(self) -> np.ndarray:
        """float32 (points, d)."""
        return np.concatenate([table.embeddings for table in self.tables])

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def scene(self, point: int) -> Scene:
        """The scene of a point."""
        return self.scenes[point % len(self.scenes)]

    @property
    def forms(self) -> list[Modality]:
        """The modality of each point."""
        return [table.modality for table in self.tables for _ in range(len(table))]

    def labels(self, by: ColourBy, *, train_objects: tuple[Words, ...] = ()) -> list[str]:
        """What colours each point. Colour, shape and object are those of the first place."""
        if by == "modality":
            return list(self.forms)
        name: dict[str, Callable[[SceneTable], list[str]]] = {
            "bag": bags_of_concepts,
            "object": lambda table: objects_at(table, place=0),
            "colour": lambda table: concepts_at(table, concept_type="colour", place=0),
            "shape": lambda table: concepts_at(table, concept_type="shape", place=0),
            "seen": lambda table: (
                seen_or_not(table, train_objects=train_objects) or ["not known"] * len(table)
            ),
        }
        return [label for table in self.tables for label in name[by](table)]

    def swaps(self) -> list[tuple[int, int]]:
        """Each scene and its swap, as points of one side."""
        pairs = set()
        for i, table in enumerate(self.tables):
            first = i * len(table)
            for a, b in enumerate(swap_links(table)):
                if b is not None:
                    pairs.add((first + min(a, b), first + max(a, b)))
        return sorted(pairs)

    def captions(self) -> list[tuple[int, int]]:
        """Each picture and its caption; none unless both are there."""
        n = len(self.scenes)
        return [(i, n + i) for i in range(n)] if len(self.tables) == 2 else []

    def gap(self) -> ModalityGap | None:
        """How far pictures lie from captions; None unless both are there."""
        if len(self.tables) < 2:
            return None
        return modality_gap(*(table.embeddings for table in self.tables))


def map_key(settings: SceneSet, fingerprint: str) -> str:
    """The name of a map's file."""
    text = json.dumps(settings.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(f"{fingerprint} {text}".encode()).hexdigest()[:24]


def kept_folder() -> Path:
    """Where the maps lie that were drawn on this machine."""
    return cache_folder() / "maps"


def find_map(settings: SceneSet, fingerprint: str) -> SceneMap | None:
    """The kept map, shipped or drawn here; None when there is none, or it is damaged."""
    found = None
    for folder in (SHIPPED, kept_folder()):
        path = folder / f"{map_key(settings, fingerprint)}.npz"
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError("it is too large")
            here = _read(path.read_bytes(), settings=settings, fingerprint=fingerprint)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
            warnings.warn(f"{path} is not used: {error}.", stacklevel=2)
            continue
        found = replace(here, projections=here.projections | found.projections) if found else here
    return found


def draw_map(
    encoder: Encoder,
    *,
    settings: SceneSet,
    method: Method,
    dimensions: Dimensions,
    folder: Path | None = None,
    stop: Event | None = None,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> SceneMap | None:
    """Embed the scenes unless that was done, project them, and keep the map; None when stopped.

    UserError when the settings allow no map, or the folder cannot be written to.
    """
    stop = stop or Event()
    scenes = settings.scenes()
    kept = find_map(settings, encoder.fingerprint)
    if kept is None:
        tables = []
        for modality in settings.modalities:
            tables.append(embed_scenes(encoder, scenes=scenes, modality=modality, report=report))
            if stop.is_set():
                return None
        kept = SceneMap(settings, encoder.fingerprint, tuple(tables), {})
    found = project(
        kept.embeddings,
        method=method,
        dimensions=dimensions,
        seed=settings.seed,
        stop=stop,
        report=report,
    )
    if found is None:
        return None
    with _writing:  # another projection of the same map may have been kept meanwhile
        latest = find_map(settings, encoder.fingerprint) or kept
        whole = replace(latest, projections=latest.projections | {(method, dimensions): found})
        path = (folder or kept_folder()) / f"{map_key(settings, encoder.fingerprint)}.npz"
        try:
            write_atomically(path, _write(whole))
        except OSError as error:
            raise UserError(
                f"The map can't be kept in {path.parent}: {error.strerror or error}."
            ) from error
    return whole


# --- files ----------------------------------------------------------------------------------------

_ARRAYS = ("points", "rows", "centre", "axes")
_VALUES = ("seed", "trustworthiness", "trust_rows", "note")


def _write(whole: SceneMap) -> bytes:
    arrays: dict[str, np.ndarray] = {}
    for table in whole.tables:
        arrays[f"{table.modality}/embeddings"] = table.embeddings.astype(np.float16)
        arrays[f"{table.modality}/concepts"] = table.concepts.astype(np.uint8)
    for (method, dimensions), shown in whole.projections.items():
        for name, one in (("shown", shown), ("control", shown.control)):
            if one is None:
                continue
            prefix = f"{method}{dimensions}/{name}"
            said = {key: getattr(one, key) for key in _VALUES} | {"method": one.method}
            arrays[f"{prefix}/said"] = np.array(json.dumps(said))
            for key in _ARRAYS:
                if (value := getattr(one, key)) is not None:
                    arrays[f"{prefix}/{key}"] = value
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _read(content: bytes, *, settings: SceneSet, fingerprint: str) -> SceneMap:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    tables = tuple(
        SceneTable(
            BUNDLED_SPACE,
            arrays[f"{modality}/concepts"].astype(np.int64),
            _unit(arrays[f"{modality}/embeddings"]),
            modality,
            fingerprint,
        )
        for modality in settings.modalities
    )
    projections = {}
    for method in METHODS:
        for dimensions in get_args(Dimensions):
            prefix = f"{method}{dimensions}"
            if f"{prefix}/shown/points" in arrays:
                control = _projection(arrays, f"{prefix}/control")
                shown = _projection(arrays, f"{prefix}/shown")
                projections[method, dimensions] = replace(shown, control=control)
    return SceneMap(settings, fingerprint, tables, projections)


def _projection(arrays: dict[str, np.ndarray], prefix: str) -> Projection:
    said = json.loads(str(arrays[f"{prefix}/said"]))
    return Projection(**said, **{key: arrays.get(f"{prefix}/{key}") for key in _ARRAYS})


def _unit(rows: np.ndarray) -> np.ndarray:
    """Half precision is kept; their length is 1 again after it."""
    rows = rows.astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
