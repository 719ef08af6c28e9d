"""Token scenes: objects are tuples of value numbers, with no picture in between.

A batch is a function of (seed, step), drawn and labelled with array operations alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import Field

from binding_core.concepts import split_positions
from binding_core.training.settings import CaptionSettings

ABSENT = -1  # in place of a word that a query leaves out


@dataclass(frozen=True, kw_only=True)
class TokenData(CaptionSettings):
    """The object space of a token run, its split, and how scenes are drawn and told."""

    types: Annotated[int, Field(ge=2, le=6)] = 2  # C concept types
    values: Annotated[int, Field(ge=2, le=300)] = 20  # V values each
    objects: Annotated[int, Field(ge=2, le=6)] = 2  # M objects a scene
    coverage: Annotated[float, Field(gt=0, le=1)] = 0.9  # share of the object space in training
    split_seed: Annotated[int, Field(ge=0)] = 0
    density: Annotated[float, Field(ge=0, le=1)] = 1.0  # share of objects with all attributes;
    # the others are their last type alone, as a shape without a colour
    max_candidates: Annotated[int, Field(ge=16, le=8192)] = 1024  # objects a step contrasts with

    @property
    def sizes(self) -> tuple[int, ...]:
        """V for each of the C types."""
        return (self.values,) * self.types

    @property
    def n_objects(self) -> int:
        """|O|."""
        return self.values**self.types

    @cached_property
    def train(self) -> np.ndarray:
        """Training objects as sorted positions in the object space, int64 (n,)."""
        return split_positions(self.sizes, coverage=self.coverage, seed=self.split_seed)

    @cached_property
    def heldout(self) -> np.ndarray:
        """All objects that training never meets, sorted positions."""
        return np.setdiff1d(np.arange(self.n_objects), self.train)

    @cached_property
    def validation(self) -> np.ndarray:
        """The half of the held-out objects by which a checkpoint or a recipe may be chosen."""
        rng = np.random.default_rng([self.split_seed, 1])
        return np.sort(rng.permutation(self.heldout)[: len(self.heldout) // 2])

    @cached_property
    def test(self) -> np.ndarray:
        """The other half, by which nothing is ever chosen."""
        return np.setdiff1d(self.heldout, self.validation)

    def concepts(self, positions: np.ndarray) -> np.ndarray:
        """Value numbers of objects: (...) positions -> int64 (..., C)."""
        return np.stack(np.unravel_index(positions, self.sizes), axis=-1)

    def positions(self, concepts: np.ndarray) -> np.ndarray:
        """Positions of objects: (..., C) value numbers -> int64 (...)."""
        return np.ravel_multi_index(tuple(np.moveaxis(concepts, -1, 0)), self.sizes)

    def concept_queries(self) -> np.ndarray:
        """One query a concept, type after type: int64 (C * V, 1, C), ABSENT in the other types."""
        queries = np.full((self.types, self.values, self.types), ABSENT)
        for k in range(self.types):
            queries[k, :, k] = np.arange(self.values)
        return queries.reshape(-1, 1, self.types)

    def present_concepts(self, scenes: np.ndarray) -> np.ndarray:
        """Which concepts scenes hold: positions (n, M) -> bool (n, C * V)."""
        numbers = self.concepts(scenes) + np.arange(self.types) * self.values
        present = np.zeros((len(scenes), self.types * self.values), dtype=bool)
        np.put_along_axis(present, numbers.reshape(len(scenes), -1), True, axis=1)
        return present


@dataclass(frozen=True)
class TokenBatch:
    """Scenes and what they are contrasted with, made of training objects only."""

    step: int
    scenes: np.ndarray  # int64 (n, M, C), value numbers
    candidates: np.ndarray  # int64 (m, 1, C)
    objects: np.ndarray  # bool (n, m): which candidates a scene holds
    concepts: np.ndarray  # bool (n, C * V): which concepts it holds
    captions: np.ndarray  # int64 (p, M, C), ABSENT for what they leave out; p = 0 when not drawn
    told: np.ndarray  # bool (n, p): which captions are true of it


def draw_scenes(
    allowed: np.ndarray, *, n: int, objects: int, rng: np.random.Generator
) -> np.ndarray:
    """``n`` scenes of different objects out of ``allowed``: positions, int64 (n, M).

    Of fewer than M allowed objects, some come twice.
    """
    scenes = rng.integers(len(allowed), size=(n, objects))
    while len(allowed) >= objects:
        ordered = np.sort(scenes, axis=1)
        twins = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not twins.any():
            break
        scenes[twins] = rng.integers(len(allowed), size=(int(twins.sum()), objects))
    return allowed[scenes]


def draw_token_batch(
    data: TokenData, *, size: int, seed: int, step: int, captions: bool = False
) -> TokenBatch:
    """The batch of ``size`` scenes that belongs to (seed, step), with captions when asked for.

    Of more than ``max_candidates`` training objects a step sees those of its scenes and a fresh
    sample of the others.
    """
    rng = np.random.default_rng([seed, step])
    scenes = draw_scenes(data.train, n=size, objects=data.objects, rng=rng)
    candidates = data.train
    if len(candidates) > data.max_candidates:
        sample = data.train[rng.integers(len(data.train), size=data.max_candidates)]
        candidates = np.union1d(scenes, sample)
    objects = np.zeros((size, len(candidates)), dtype=bool)
    np.put_along_axis(objects, np.searchsorted(candidates, scenes), True, axis=1)
    concepts, present = data.concepts(scenes), data.present_concepts(scenes)
    if data.density < 1:
        bare = rng.random(scenes.shape) >= data.density
        concepts[bare, :-1] = ABSENT
        objects = tell_truly(data.concepts(candidates)[:, None], concepts)
        present = tell_truly(data.concept_queries(), concepts)
    told = _draw_captions(data, concepts, rng) if captions else concepts[:0]
    return TokenBatch(
        step=step,
        scenes=concepts,
        candidates=data.concepts(candidates)[:, None],
        objects=objects,
        concepts=present,
        captions=told,
        told=tell_truly(told, concepts),
    )


def _draw_captions(data: TokenData, concepts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One caption a scene, then swapped captions: value numbers, int64 (p, M, C)."""
    n, slots, types = concepts.shape

    def in_words(scenes: np.ndarray) -> np.ndarray:
        if data.by_place:
            return scenes.copy()
        order = rng.random(scenes.shape[:2]).argsort(1)
        return np.take_along_axis(scenes, order[..., None], axis=1)

    captions = in_words(concepts)
    lost = {"colour": 0, "shape": 1}.get(data.loses)
    forgotten = rng.integers(types, size=(n, slots)) if lost is None else np.full((n, slots), lost)
    weakened = rng.random((n, slots)) < data.incomplete
    captions[weakened, forgotten[weakened]] = ABSENT
    captions[rng.random(n) < data.single, 1:] = ABSENT
    if not data.swap_negatives:
        return captions
    swapped = swap_first_type(concepts)
    whole = (swapped[:, :2] != ABSENT).all((1, 2))
    swapped = swapped[whole]
    # A held-out object must not be met in training, not even in a caption that is wrong.
    trained = np.isin(data.positions(swapped[:, :2]), data.train).all(1)
    return np.concatenate([captions, in_words(swapped[trained])])


def swap_first_type(concepts: np.ndarray) -> np.ndarray:
    """Scenes whose first two objects have exchanged their first concept: (n, M, C) -> (n, M, C)."""
    swapped = concepts.copy()
    swapped[:, [0, 1], 0] = swapped[:, [1, 0], 0]
    return swapped


def tell_truly(captions: np.ndarray, scenes: np.ndarray) -> np.ndarray:
    """Which captions are true of which scenes: (p, m, C) and (n, M, C) -> bool (n, p).

    A caption is true when the scene has, for each object that it describes, one that fits.
    """
    true = np.ones((len(scenes), len(captions)), dtype=bool)
    for described in captions.swapaxes(0, 1):
        fits_any = np.zeros_like(true)
        for held in scenes.swapaxes(0, 1):
            fits = np.ones_like(true)
            for word, value in zip(described.T, held.T, strict=True):
                fits &= (word == ABSENT) | (value[:, None] == word)
            fits_any |= fits
        true &= fits_any
    return true
