"""Scenes as concept numbers, each with its embedding: what all geometry is computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from binding_core.captions import caption, drawn_order, place_order
from binding_core.concepts import BUNDLED_SPACE, ConceptSpace
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.render import render
from binding_core.scenes import Scene

Modality = Literal["image", "text"]
CHUNK = 256  # pictures held in memory at a time
PICTURE_SIZE = 224  # pixels a side; each model resizes them as it was trained to


@dataclass(frozen=True)
class SceneTable:
    """Scenes of one number of objects, and what one encoder makes of them.

    Place m of a scene is the m-th object from the left in a picture, the m-th that is named in a
    caption.
    """

    space: ConceptSpace
    concepts: np.ndarray  # int64 (n, M, C): number of each value within its concept type
    embeddings: np.ndarray  # float32 (n, d)
    modality: Modality
    source: str  # what the embeddings were computed from: model, fingerprint, seed

    def __post_init__(self) -> None:
        if self.concepts.ndim != 3 or self.concepts.shape[2] != len(self.space.types):
            raise UserError("A scene table needs one number a concept type for each object.")
        if self.embeddings.ndim != 2 or len(self.embeddings) != len(self.concepts):
            raise UserError(
                f"{len(self.concepts)} scenes need as many embeddings, not "
                f"{len(self.embeddings) if self.embeddings.ndim == 2 else 'something else'}."
            )
        if not np.isfinite(self.embeddings).all():
            row = int(np.flatnonzero(~np.isfinite(self.embeddings).all(1))[0])
            raise UserError(f"The embedding of scene {row} holds a value that is not a number.")
        if (
            self.concepts.size
            and not ((self.concepts >= 0) & (self.concepts < np.array(self.space.sizes))).all()
        ):
            raise UserError("A scene names a concept that is not in the space.")

    def __len__(self) -> int:
        return len(self.concepts)

    @property
    def places(self) -> int:
        """M: objects a scene."""
        return self.concepts.shape[1]

    @cached_property
    def objects(self) -> np.ndarray:
        """Each scene's objects as positions in the object space, int64 (n, M)."""
        return np.ravel_multi_index(tuple(np.moveaxis(self.concepts, -1, 0)), self.space.sizes)

    @cached_property
    def concept_numbers(self) -> np.ndarray:
        """Each scene's concepts as positions in ``space.concepts``, int64 (n, M, C)."""
        sizes = np.array(self.space.sizes)
        return self.concepts + np.cumsum(sizes) - sizes

    @cached_property
    def object_counts(self) -> np.ndarray:
        """How often each scene holds each object, float64 (n, |O|)."""
        return _counts(self.objects, self.space.n_objects)

    @cached_property
    def concept_counts(self) -> np.ndarray:
        """How often each scene holds each concept, float64 (n, sum of V_k)."""
        flat = self.concept_numbers.reshape(len(self), self.places * len(self.space.types))
        return _counts(flat, len(self.space.concepts))

    def rows(self, which: np.ndarray) -> SceneTable:
        """Some of the scenes: a boolean mask or positions."""
        return replace(self, concepts=self.concepts[which], embeddings=self.embeddings[which])


def _counts(held: np.ndarray, size: int) -> np.ndarray:
    counts = np.zeros((len(held), size))
    np.add.at(counts, (np.arange(len(held))[:, None], held), 1)
    return counts


def scene_concepts(
    scenes: Sequence[Scene], *, modality: Modality, space: ConceptSpace = BUNDLED_SPACE
) -> np.ndarray:
    """The scenes' objects place by place, as value numbers: int64 (n, M, C)."""
    number = [{value: i for i, value in enumerate(values)} for values in space.values]
    rows = []
    for scene in scenes:
        words = scene.object_words
        order = place_order(scene) if modality == "image" else drawn_order(words)
        rows.append([[n[v] for n, v in zip(number, words[i], strict=True)] for i in order])
    if len({len(row) for row in rows}) > 1:
        raise UserError("The scenes of a table hold the same number of objects each.")
    places = len(rows[0]) if rows else 0
    return np.array(rows, dtype=np.int64).reshape(len(rows), places, len(space.types))


def embed_scenes(
    encoder: Encoder,
    *,
    scenes: Sequence[Scene],
    modality: Modality,
    space: ConceptSpace = BUNDLED_SPACE,
    picture_size: int = PICTURE_SIZE,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> SceneTable:
    """The table of what one encoder makes of scenes, seen as pictures or read as captions."""
    parts = []
    for start in range(0, len(scenes), CHUNK):
        chunk = scenes[start : start + CHUNK]
        if modality == "image":
            parts.append(encoder.embed_images([render(s, size=picture_size) for s in chunk]))
        else:
            parts.append(encoder.embed_texts([caption(s) for s in chunk]))
        report(start + len(chunk), len(scenes))
    return SceneTable(
        space=space,
        concepts=scene_concepts(scenes, modality=modality, space=space),
        embeddings=np.concatenate(parts) if parts else encoder.embed_texts([]),
        modality=modality,
        source=f"{encoder.id} {encoder.fingerprint}",
    )
