"""The paper's quadruple figure: is a scene where the sum of its objects is?

Two colours and two shapes give four concepts, four objects and ten scenes of two of these objects.
With mu the mean of all single objects, the sums are, after the authors' published code
(github.com/oshapio/binding-concepts-complexity, mds.py):

- of concepts: red + square = mean(red) + mean(square) - mu, to lie where the red square is;
- of objects: (red square - mu) + (blue circle - mu) + mu, to lie where their scene is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import Literal

import numpy as np

from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.errors import UserError
from binding_core.geometry.projection import scaled
from binding_core.geometry.scene_sets import factorial_scenes
from binding_core.geometry.scene_table import SceneTable
from binding_core.scenes import Scene

Kind = Literal["concept", "object", "scene", "sum of concepts", "sum of objects"]


@dataclass(frozen=True)
class QuadruplePoint:
    """One vector of the figure and where it lies."""

    label: str  # "red", "red square", "red square, blue circle", "red + square", ...
    kind: Kind
    position: tuple[float, float, float]


@dataclass(frozen=True)
class SumDistance:
    """How far a sum lies from what it should make; cosine distances, 0 to 2."""

    sum: str
    target: str
    distance: float
    swapped: float | None  # from the swapped scene; None where a swap changes nothing
    found: bool  # whether no other object, or scene, of the figure is as near as the target


@dataclass(frozen=True)
class Quadruple:
    """32 points, the lines from each sum to its target, and their lengths in the full space."""

    points: tuple[QuadruplePoint, ...]
    lines: tuple[tuple[int, int], ...]  # positions in ``points``
    distances: tuple[SumDistance, ...]  # in the order of ``lines``
    stress: float  # normalised (stress-1), 0 is a perfect map
    modality: str
    source: str
    seed: int


def quadruple_scenes(
    *, colours: Sequence[str], shapes: Sequence[str], draws: int = 4, seed: int = 0
) -> tuple[tuple[Scene, ...], tuple[Scene, ...]]:
    """What must be embedded: every single object of the space, and the ten scenes of the choice.

    Each at ``draws`` random places, over which the figure takes the mean; a caption needs one.
    """
    every = dict(zip(("colours", "shapes"), BUNDLED_SPACE.values, strict=True))
    singles = factorial_scenes(**every, n_objects=1, per_combination=draws, seed=seed)
    pairs = factorial_scenes(colours=colours, shapes=shapes, per_combination=draws, seed=seed)
    return singles, pairs


def quadruple(
    singles: SceneTable,
    pairs: SceneTable,
    *,
    colours: tuple[str, str],
    shapes: tuple[str, str],
    seed: int = 0,
) -> Quadruple:
    """The figure from scenes of one object (n, d) and scenes of two (m, d), of one encoder.

    UserError when the two concepts of a type are equal or unknown, or a scene that is needed is
    missing.
    """
    space = singles.space
    if len(space.types) != 2:
        raise UserError(f"The figure needs two concept types; there are {len(space.types)}.")
    for known, chosen in zip(space.values, (colours, shapes), strict=True):
        if len(set(chosen)) != 2 or not set(chosen) <= set(known):
            raise UserError(f"Choose two different ones of {', '.join(known)}.")
    objects = tuple(product(colours, shapes))
    couples = tuple(combinations_with_replacement(objects, 2))
    # (V_1, V_2, d): over objects, not scenes, so that it does not matter how often each was drawn.
    grid = np.stack([_mean_scene(singles, [words]) for words in space.objects])
    grid = grid.reshape(*space.sizes, -1)
    mean = grid.mean(axis=(0, 1))
    concept = {
        value: grid.mean(axis=1 - k)[space.values[k].index(value)]
        for k, chosen in enumerate((colours, shapes))
        for value in chosen
    }
    single = {words: _mean_scene(singles, [words]) for words in objects}
    scene = {couple: _mean_scene(pairs, couple) for couple in couples}
    found: dict[Kind, dict[str, np.ndarray]] = {
        "concept": concept,
        "object": {_label([words]): vector for words, vector in single.items()},
        "scene": {_label(couple): vector for couple, vector in scene.items()},
        "sum of concepts": {" + ".join(o): concept[o[0]] + concept[o[1]] - mean for o in objects},
        "sum of objects": {
            _label(couple, between=" + "): single[couple[0]] + single[couple[1]] - mean
            for couple in couples
        },
    }
    positions, stress = scaled(_stacked(*found.values()), dimensions=3, seed=seed)
    named = [(label, kind) for kind, held in found.items() for label in held]
    at = {label: i for i, (label, _) in enumerate(named)}
    of_concepts = _distances(found["sum of concepts"], found["object"], swaps=[None] * len(objects))
    of_objects = _distances(
        found["sum of objects"], found["scene"], swaps=[_swap(c, couples) for c in couples]
    )
    return Quadruple(
        points=tuple(
            QuadruplePoint(label, kind, tuple(position))
            for (label, kind), position in zip(named, positions.tolist(), strict=True)
        ),
        lines=tuple((at[d.sum], at[d.target]) for d in of_concepts + of_objects),
        distances=of_concepts + of_objects,
        stress=stress,
        modality=pairs.modality,
        source=pairs.source,
        seed=seed,
    )


def _label(objects: Sequence[Words], *, between: str = ", ") -> str:
    return between.join(" ".join(words) for words in objects)


def _swap(couple: tuple[Words, Words], couples: Sequence[tuple[Words, Words]]) -> int | None:
    """Where the couple with exchanged colours stands; None when it is the same couple."""
    (colour, shape), (other_colour, other_shape) = couple
    swapped = {(other_colour, shape), (colour, other_shape)}
    return None if swapped == set(couple) else [set(c) for c in couples].index(swapped)


def _mean_scene(table: SceneTable, objects: Sequence[Words]) -> np.ndarray:
    """The mean embedding of the scenes of exactly these objects, (d,)."""
    wanted = sorted(table.space.object_index(words) for words in objects)
    if table.places != len(objects):
        raise UserError(f"Scenes of {len(objects)} objects are needed, not of {table.places}.")
    held = (np.sort(table.objects, axis=1) == wanted).all(axis=1)
    if not held.any():
        raise UserError(f"The figure needs a scene of {_label(objects)}, and there is none.")
    return table.embeddings[held].mean(axis=0, dtype=float)


def _stacked(*held: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([vector for vectors in held for vector in vectors.values()])


def _distances(
    sums: dict[str, np.ndarray], targets: dict[str, np.ndarray], *, swaps: Sequence[int | None]
) -> tuple[SumDistance, ...]:
    """From each sum to the target of the same position, and to the one that ``swaps`` names."""
    from sklearn.metrics.pairwise import cosine_distances

    between = cosine_distances(_stacked(sums), _stacked(targets))
    return tuple(
        SumDistance(
            sum=name,
            target=target,
            distance=float(row[i]),
            swapped=None if swap is None else float(row[swap]),
            found=bool(row[i] < np.delete(row, i).min()),
        )
        for i, (name, target, row, swap) in enumerate(
            zip(sums, targets, between, swaps, strict=True)
        )
    )
