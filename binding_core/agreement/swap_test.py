"""The swap test over many scenes: swap accuracy, object and concept recognition of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from binding_core.agreement.measures import Share, mean_share, share
from binding_core.agreement.recognition import (
    chance_of_recognition,
    concept_queries,
    object_queries,
    present_concepts,
    present_objects,
    recognised,
)
from binding_core.captions import caption, place_order
from binding_core.concepts import BUNDLED_SPACE, ConceptSpace, Words
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.render import render
from binding_core.scenes import Scene, random_scene, swap, swap_words

CHUNK = 256  # pictures held in memory at a time
PICTURE_SIZE = 224  # pixels a side; each model resizes them as it was trained to
MAX_DRAWS_PER_SCENE = 100
# Test scenes share no seed with training scenes, which are seeded by (seed, step, index).
TEST_STREAM = 2**31


class SwapReport(BaseModel):
    """What the swap test found, with everything that is needed to find it again."""

    model_config = ConfigDict(frozen=True)

    model: str
    fingerprint: str
    concept: str  # the concept type that is exchanged
    n_objects: int  # objects a scene
    seed: int
    picture_size: int = PICTURE_SIZE  # pixels a side of the pictures shown
    swap_accuracy: Share  # sim(picture, caption) > sim(picture, swapped caption)
    object_recognition: Share  # over all objects of the space
    concept_recognition: Share  # over all concepts of all types together
    concept_recognition_per_type: Share  # the mean of the same test within each type


def swap_scenes(
    *,
    n: int,
    seed: int,
    n_objects: int = 2,
    concept: str = "colour",
    space: ConceptSpace = BUNDLED_SPACE,
    allowed: Sequence[Words] | None = None,
) -> Iterator[Scene]:
    """Draw ``n`` random scenes whose swap (of the first two objects) differs from them.

    UserError when the allowed objects admit no such scene.
    """
    if n_objects < 2:
        raise UserError("A swap test needs scenes of two objects at least.")
    drawn = 0
    for i in range(n * MAX_DRAWS_PER_SCENE):
        if drawn == n:
            return
        scene = random_scene(
            space=space, n_objects=n_objects, seed=[TEST_STREAM, seed, i], allowed=allowed
        )
        objects = scene.object_words
        if sorted(objects) != sorted(swap_words(objects, concept=concept)):
            drawn += 1
            yield scene
    if drawn < n:
        raise UserError(
            f"Only {drawn} of {n} scenes could be drawn whose swap differs: the allowed objects "
            "hold too few pairs that differ in both colour and shape."
        )


def swap_test(
    encoder: Encoder,
    *,
    scenes: Sequence[Scene],
    seed: int,
    concept: str = "colour",
    space: ConceptSpace = BUNDLED_SPACE,
    picture_size: int = PICTURE_SIZE,
    by_place: bool = False,
    report: Callable[[int], None] = lambda done: None,
) -> SwapReport:
    """Run the swap test of one encoder on scenes of one number of objects.

    Each scene must differ from its swap (see :func:`swap_scenes`); scenes of a single object have
    none, and their swap accuracy is not available.

    ``by_place`` names objects from left to right in every caption. That is a leak, which place
    alone can solve: for showing it, never for measuring binding.

    ``seed`` is the one the scenes were drawn with; it is only written down. ``report`` hears how
    many scenes are done.
    """
    objects = encoder.embed_texts(object_queries(space))
    concepts = encoder.embed_texts(concept_queries(space))
    margins, object_scores, concept_scores = [], [], []
    for start in range(0, len(scenes), CHUNK):
        chunk = scenes[start : start + CHUNK]
        pictures = encoder.embed_images([render(s, size=picture_size) for s in chunk])
        if len(scenes[0].objects) > 1:  # one object has no swap
            orders = [place_order(s) if by_place else None for s in chunk]
            right, wrong = (
                encoder.embed_texts(
                    [caption(s, order=o) for s, o in zip(said, orders, strict=True)]
                )
                for said in (chunk, [swap(s, concept=concept) for s in chunk])
            )
            margins.append((pictures * right).sum(1) - (pictures * wrong).sum(1))
        object_scores.append(pictures @ objects.T)
        concept_scores.append(pictures @ concepts.T)
        report(start + len(chunk))

    def joined(parts: list[np.ndarray], width: int) -> np.ndarray:
        return np.concatenate(parts) if parts else np.empty((0, width))

    has_object, has_concept = present_objects(scenes, space), present_concepts(scenes, space)
    by_concept = joined(concept_scores, len(concepts))
    ends = np.cumsum(space.sizes)
    types = [slice(end - size, end) for end, size in zip(ends, space.sizes, strict=True)]
    per_type = [recognised(by_concept[:, t], has_concept[:, t]) for t in types]
    return SwapReport(
        model=encoder.id,
        fingerprint=encoder.fingerprint,
        concept=concept,
        n_objects=len(scenes[0].objects) if scenes else 0,
        seed=seed,
        picture_size=picture_size,
        swap_accuracy=share(np.concatenate(margins) > 0 if margins else [], chance=0.5),
        object_recognition=share(
            recognised(joined(object_scores, len(objects)), has_object),
            chance=chance_of_recognition(has_object) if scenes else None,
        ),
        concept_recognition=share(
            recognised(by_concept, has_concept),
            chance=chance_of_recognition(has_concept) if scenes else None,
        ),
        concept_recognition_per_type=mean_share(
            np.mean(per_type, axis=0),
            chance=float(np.mean([chance_of_recognition(has_concept[:, t]) for t in types]))
            if scenes
            else None,
        ),
    )
