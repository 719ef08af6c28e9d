"""Concept and object recognition, exactly as defined: strictly, over all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from binding_core.captions import concept_caption, object_caption
from binding_core.concepts import ConceptSpace
from binding_core.scenes import Scene


def recognised(scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Whether the lowest score of the present ones is strictly above the highest of the absent.

    ``scores`` float (n, k), ``present`` bool (n, k) -> bool (n,). A tie does not count.
    """
    lowest_present = np.where(present, scores, np.inf).min(axis=1)
    highest_absent = np.where(present, -np.inf, scores).max(axis=1)
    return lowest_present > highest_absent


def chance_of_recognition(present: np.ndarray) -> float:
    """Mean chance that a random ranking puts the present ones on top; ``present`` bool (n, k)."""
    k = present.shape[1]
    return float(np.mean([1 / comb(k, int(p)) for p in present.sum(axis=1)]))


def object_queries(space: ConceptSpace) -> list[str]:
    """One caption for every object of the space, in its order."""
    return [object_caption(words) for words in space.objects]


def concept_queries(space: ConceptSpace) -> list[str]:
    """One caption for every concept of the space, all types together, in its order."""
    return [concept_caption(*concept) for concept in space.concepts]


def present_objects(scenes: Sequence[Scene], space: ConceptSpace) -> np.ndarray:
    """Which objects each scene holds: bool (n, |O|)."""
    present = np.zeros((len(scenes), space.n_objects), dtype=bool)
    for row, scene in zip(present, scenes, strict=True):
        row[[space.object_index(words) for words in scene.object_words]] = True
    return present


def present_concepts(scenes: Sequence[Scene], space: ConceptSpace) -> np.ndarray:
    """Which concepts each scene holds: bool (n, sum of V_k)."""
    present = np.zeros((len(scenes), len(space.concepts)), dtype=bool)
    for row, scene in zip(present, scenes, strict=True):
        row[[i for words in scene.object_words for i in space.concept_indices(words)]] = True
    return present
