"""The binding remainder: the part of object components that no sum of concepts explains.

Beyond the paper (arXiv 2605.31503): how large it is, and how alike in two encoders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binding_core.concepts import ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.components import Components, Estimator, fit_components
from binding_core.geometry.level_two import TwoLevels, concept_design, level_two
from binding_core.geometry.likeness import Likeness, compare
from binding_core.geometry.scene_table import SceneTable

# Shares of variance below this are nothing. Embeddings are float32: rounding (6e-8 of a unit
# vector) leaves a share of 1e-14 of components as long as the embedding, 1e-10 of components a
# hundredth as long.
NOTHING = 1e-9


@dataclass(frozen=True)
class VarianceShares:
    """What concepts and the remainder have of the object components' variance; they sum to 1.

    None when there is no variance, or when too few objects leave no remainder but by force.
    """

    concepts: float | None
    remainder: float | None
    by_counting: float | None  # remainder that components without any concept structure would have
    n: int  # objects fitted


@dataclass(frozen=True)
class RemainderReport:
    """Two encoders' binding remainders over the same objects, such as image and text of a model.

    A likeness is None when there is nothing there to compare.
    """

    image: VarianceShares
    text: VarianceShares
    remainder: tuple[Likeness, ...] | None
    concepts: tuple[Likeness, ...] | None  # of the parts that concepts explain
    n_fitted: int  # objects that both sides of the comparison determine
    n_compared: int  # of these, the ones asked for whose remainder is determined
    estimator: Estimator


def share_of_variance(levels: TwoLevels) -> VarianceShares:
    """Variance of the fitted object components, each counting alike, over objects, dimensions.

    Places, if apart, are added up, each about its own mean.
    """
    total = free = counted = 0.0
    for place, rows in enumerate(levels.fitted):
        n = int(rows.sum())
        components = (levels.explained + levels.remainder)[place, rows]
        if n and not (components == components[0]).all():
            total += float(((components - components.mean(axis=0)) ** 2).sum())
        free += float((1 - levels.leverage[place, rows]).sum())
        counted += max(n - 1, 0)
    n_fitted = int(levels.fitted.any(axis=0).sum())
    if total == 0 or not levels.determined.any():
        return VarianceShares(concepts=None, remainder=None, by_counting=None, n=n_fitted)
    left = float((levels.remainder**2).sum()) / total
    return VarianceShares(concepts=1 - left, remainder=left, by_counting=free / counted, n=n_fitted)


def binding_remainder(
    image_table: SceneTable,
    text_table: SceneTable,
    *,
    objects: np.ndarray | None = None,
    estimator: Estimator = "least squares",
    rotations: int = 200,
    seed: int = 0,
) -> RemainderReport:
    """The remainder of both tables and its likeness over ``objects``, bool (|O|,), or over all.

    The tables may come from any two encoders. When they hold the same scenes row by row, likeness
    compares the image side of a random half with the text side of the other: an object in few
    scenes is estimated badly on both sides, and unrelated remainders would look alike by that
    alone. Tables that share scenes in another way must be parted before. Shares use all scenes.

    Two halves of one encoder's scenes give the most that scenes this many allow: what is missing
    to 1 there is scatter. Parts are fitted on all objects that both sides determine; ``objects``
    (seen ones, unseen ones) only says where to compare. By place, an object's component is its
    mean over places.
    """
    space = image_table.space
    if text_table.space != space:
        raise UserError("Remainders can be compared within one concept space only.")
    whole, _ = _two_levels(image_table, text_table, estimator)
    image, text = (share_of_variance(levels) for levels in whole)
    apart, common = _two_levels(*_different_scenes(image_table, text_table, seed), estimator)
    compared = apart[0].determined[0] & (True if objects is None else objects)
    concept_basis, remainder_basis = _bases(space, common)
    drawing = {"among": compared[common], "rotations": rotations, "seed": seed}
    remainder = concepts = None
    if _something(image.remainder, text.remainder):
        sides = (levels.remainder[0, common] for levels in apart)
        remainder = compare(*sides, basis=remainder_basis, **drawing)
    if _something(image.concepts, text.concepts):
        sides = (levels.explained[0, common] for levels in apart)
        concepts = compare(*sides, basis=concept_basis, **drawing)
    return RemainderReport(
        image=image,
        text=text,
        remainder=remainder,
        concepts=concepts,
        n_fitted=int(common.sum()),
        n_compared=int(compared.sum()),
        estimator=estimator,
    )


def _two_levels(
    first: SceneTable, second: SceneTable, estimator: Estimator
) -> tuple[list[TwoLevels], np.ndarray]:
    """Both sides' levels over the objects that both determine, and these: bool (|O|,)."""
    sides = [
        _over_places(fit_components(table, level="objects", estimator=estimator))
        for table in (first, second)
    ]
    common = sides[0].determined[0] & sides[1].determined[0]
    return [level_two(side, first.space, among=common) for side in sides], common


def _different_scenes(
    first: SceneTable, second: SceneTable, seed: int
) -> tuple[SceneTable, SceneTable]:
    """Both tables, or a random half of one and the other half of the other if scenes are shared."""
    held = [np.sort(table.objects, axis=1) for table in (first, second)]
    if not np.array_equal(*held) or len(first) < 2:
        return first, second
    order = np.random.default_rng(seed).permutation(len(first))
    return first.rows(order[: len(order) // 2]), second.rows(order[len(order) // 2 :])


def _something(*shares: float | None) -> bool:
    return all(share is not None and share > NOTHING for share in shares)


def _over_places(components: Components) -> Components:
    """Components whose only place is the mean over all, determined where every place is."""
    return replace(
        components,
        vectors=components.vectors.mean(axis=0, keepdims=True),
        determined=components.determined.all(axis=0, keepdims=True),
    )


def _bases(space: ConceptSpace, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal bases (n, r) of what concepts can explain of n objects, and of the remainder."""
    from scipy.linalg import null_space

    concepts = concept_design(space, np.flatnonzero(objects)).orthonormal
    explained = np.column_stack([np.ones(len(concepts)), concepts])
    return concepts, null_space(explained.T) if len(concepts) else concepts
