"""Picture-caption batches, drawn on the fly from training objects only.

A batch is a function of (seed, step), so that a resumed run sees the very same data. What differs
between models is which captions a picture brings:

- *full* data: the caption in either word order, one caption an object, one a concept, and the
  swapped caption as a negative;
- *web* data: only incomplete captions, as on the web, and no swapped ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from binding_core.captions import Description, describe, place_order
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.render import render_batch
from binding_core.scenes import Scene, random_scene, swap

# Pictures of one and three objects are among the training data so that models do not break on them.
OBJECT_COUNTS = (1, 2, 3)
OBJECT_COUNT_SHARES = (0.15, 0.65, 0.20)


@dataclass(frozen=True, kw_only=True)
class PictureData:
    """What pictures and captions a picture-world run is trained on."""

    train_objects: tuple[Words, ...]  # scenes are made of these and of no others
    captions: Literal["full", "web"]
    incomplete: float = 0.0  # web: share of described objects that lose their colour or shape
    loses: Literal["either", "colour", "shape"] = "either"  # which of the two
    single: float = 0.0  # web: share of captions that describe one object only
    captions_per_picture: int = 2  # web: how many captions a picture brings
    swap_negatives: bool = True  # full: swapped captions stand among the false ones
    by_place: bool = False  # the leak: captions name objects from left to right
    pixels: int = 64  # side of a training picture


@dataclass(frozen=True)
class PictureBatch:
    """Pictures, the distinct captions of the batch, and which caption is true of which picture."""

    pictures: np.ndarray  # uint8 (n, pixels, pixels, 3)
    captions: list[str]  # m distinct captions
    truth: np.ndarray  # bool (n, m)
    complete: np.ndarray  # bool (m,): the caption describes some object with all its concepts


def draw_batch(data: PictureData, *, size: int, seed: int, step: int) -> PictureBatch:
    """The batch of ``size`` pictures that belongs to (seed, step)."""
    rng = np.random.default_rng([seed, step])
    counts = rng.choice(OBJECT_COUNTS, p=OBJECT_COUNT_SHARES, size=size)
    scenes = [
        random_scene(
            space=BUNDLED_SPACE,
            n_objects=int(count),
            seed=[seed, step, i],
            allowed=data.train_objects,
        )
        for i, count in enumerate(counts)
    ]
    trained = frozenset(data.train_objects)
    bring = _full_captions if data.captions == "full" else _web_captions
    # dict.fromkeys keeps one of each in a reproducible order; a set would not.
    described = list(
        dict.fromkeys(
            d for scene in scenes for d in bring(scene, data=data, trained=trained, rng=rng)
        )
    )
    return PictureBatch(
        pictures=render_batch(scenes, size=data.pixels),
        captions=[describe(d) for d in described],
        truth=truth_table([s.object_words for s in scenes], described),
        complete=np.array([any(None not in d for d in ds) for ds in described]),
    )


def _full_captions(
    scene: Scene, *, data: PictureData, trained: frozenset[Words], rng: np.random.Generator
) -> list[tuple[Description, ...]]:
    objects = scene.object_words
    order = _order(scene, data, rng)
    brought = [tuple(objects[i] for i in order)]
    if not data.by_place:
        brought.append(tuple(objects[i] for i in reversed(order)))
    for colour, shape in objects:
        brought += [((colour, shape),), ((colour, None),), ((None, shape),)]
    if len(objects) > 1 and data.swap_negatives:
        swapped = swap(scene, pair=(order[0], order[1])).object_words
        # A held-out object must not be met in training, not even in a caption that is wrong.
        if trained.issuperset(swapped):
            turn = _order(scene, data, rng)
            brought.append(tuple(swapped[i] for i in turn))
    return brought


def _web_captions(
    scene: Scene, *, data: PictureData, trained: frozenset[Words], rng: np.random.Generator
) -> list[tuple[Description, ...]]:
    brought = []
    for _ in range(data.captions_per_picture):
        order = _order(scene, data, rng)
        if rng.random() < data.single:
            order = order[:1]
        brought.append(tuple(_weaken(scene.object_words[i], data, rng) for i in order))
    return brought


def _order(scene: Scene, data: PictureData, rng: np.random.Generator) -> list[int]:
    if data.by_place:
        return place_order(scene)
    return rng.permutation(len(scene.objects)).tolist()


def _weaken(words: Words, data: PictureData, rng: np.random.Generator) -> Description:
    colour, shape = words
    if rng.random() >= data.incomplete:
        return words
    loses = data.loses
    if loses == "either":
        loses = "shape" if rng.random() < 0.5 else "colour"
    return (colour, None) if loses == "shape" else (None, shape)


def truth_table(
    scenes: Sequence[Sequence[Words]], captions: Sequence[Sequence[Description]]
) -> np.ndarray:
    """Which caption is true of which scene: bool (len(scenes), len(captions)).

    Counts of objects and concepts against the counts that captions ask for: the vectorised form of
    :func:`binding_core.captions.is_true` (a test holds the two together).
    """
    space = BUNDLED_SPACE
    objects = np.zeros((len(scenes), space.n_objects), dtype=np.int8)
    concepts = np.zeros((len(scenes), len(space.concepts)), dtype=bool)
    for i, scene in enumerate(scenes):
        for words in scene:
            objects[i, space.object_index(words)] += 1
            concepts[i, list(space.concept_indices(words))] = True
    concept_index = {value: k for k, (_, value) in enumerate(space.concepts)}
    truth = np.ones((len(scenes), len(captions)), dtype=bool)
    for j, descriptions in enumerate(captions):
        for description, count in Counter(descriptions).items():
            if None in description:
                [value] = [v for v in description if v is not None]
                truth[:, j] &= concepts[:, concept_index[value]]
            else:
                truth[:, j] &= objects[:, space.object_index(description)] >= count
    return truth
