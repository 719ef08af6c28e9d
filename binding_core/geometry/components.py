"""Additive components: what each object, or each concept, adds to a scene's embedding.

Level I: a scene is the mean plus one component an object. Level II: an object's component is a
sum of concept components (arXiv 2605.31503, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from binding_core.concepts import ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.design import Design, centred, closed, count_matrix
from binding_core.geometry.scene_table import SceneTable

Estimator = Literal["avg", "avg+pos", "single", "least squares"]
Level = Literal["objects", "concepts"]


@dataclass(frozen=True)
class Components:
    """What each of K objects (or concepts) adds to the mean, at each place or at any.

    A part is determined when the scenes single it out from all others; there is no number for the
    rest. The sum over a scene may be determined where its parts are not: of two objects that only
    occur together, what both add is known.
    """

    level: Level
    estimator: Estimator
    mean: np.ndarray  # float64 (d,), of the fitted scenes
    vectors: np.ndarray  # float64 (places or 1, K, d); 0 where not determined
    determined: np.ndarray  # bool (places or 1, K)
    solution: np.ndarray  # float64 (places or 1, K, d): vectors, and one choice for the others
    open_directions: np.ndarray  # float64 (places or 1, K, r): other choices differ by these

    def parts(self, scenes: SceneTable | np.ndarray) -> np.ndarray:
        """The component of each object, float64 (n, M, d), or each concept, (n, M, C, d).

        Scenes are a table, or positions in the space's objects (n, M) or concepts (n, M, C).
        """
        numbers = held_numbers(scenes, self.level) if isinstance(scenes, SceneTable) else scenes
        place = self._place(numbers.shape[1])
        return self.vectors[place if numbers.ndim == 2 else place[:, None], numbers]

    def predict(self, table: SceneTable) -> tuple[np.ndarray, np.ndarray]:
        """The mean plus the parts of each scene, float64 (n, d), and which are determined (n,)."""
        each = 1 if self.level == "objects" else len(table.space.types)
        numbers = held_numbers(table, self.level).reshape(len(table), table.places, each)
        columns = numbers + self._place(table.places)[:, None] * self.vectors.shape[1]
        solution, directions = (
            values.reshape(-1, values.shape[-1]) for values in (self.solution, self.open_directions)
        )
        counts = count_matrix(columns.reshape(len(table), table.places * each), len(solution))
        return self.mean + counts @ solution, closed(counts @ directions)

    def _place(self, places: int) -> np.ndarray:
        """Row of ``vectors`` for each place of a scene, int64 (M,)."""
        if len(self.vectors) not in (1, places):
            raise UserError(
                f"Components of scenes with {len(self.vectors)} places do not fit scenes with "
                f"{places}; fit them on scenes with {places}, or not by place."
            )
        return np.arange(places) % len(self.vectors)


def held_numbers(table: SceneTable, level: Level) -> np.ndarray:
    """Positions of each scene's objects, int64 (n, M), or concepts, (n, M, C)."""
    return table.objects if level == "objects" else table.concept_numbers


def part_groups(space: ConceptSpace, level: Level) -> np.ndarray:
    """Which parts stand for one another: all objects; the values of a type. int64 (K,)."""
    if level == "objects":
        return np.zeros(space.n_objects, dtype=np.int64)
    return np.repeat(np.arange(len(space.sizes)), space.sizes)


def fit_components(
    table: SceneTable,
    *,
    level: Level,
    estimator: Estimator,
    singles: SceneTable | None = None,
) -> Components:
    """Estimate the components from n scenes of M objects each.

    - "avg": mean over the scenes that hold the part, minus the mean over all. Biased where parts
      keep company unequally.
    - "avg+pos": the same for each place apart.
    - "least squares": the parts whose sums fit the scenes best.
    - "single": the same from scenes of one object, ``singles``; for objects, their centred means.

    Every scene holds M objects and M values of every type, so the last two know their parts up to
    one vector a group. It is fixed by making the parts sum to 0 within the group, each weighted by
    how often the scenes hold it: the mean is then the mean of the fitted scenes.

    What is determined depends on the scenes that are fitted and not on the estimator. UserError
    when there is no scene, or when "single" has no scenes of one object that fit.
    """
    if not len(table) or not table.places:
        raise UserError("Components need at least one scene with one object to be fitted on.")
    design = _design(table, level=level, by_place=estimator == "avg+pos")
    weights, targets = design.weights, table.embeddings.astype(np.float64)
    mean = targets.mean(axis=0)
    if estimator == "single":
        singles = _checked_singles(singles, table)
        design = _design(singles, level=level, by_place=False)
        weights, targets = weights * design.occurs, singles.embeddings.astype(np.float64)
        if not np.bincount(design.groups, weights=weights).all():
            raise UserError(f"The scenes of a single object share no {level} with the others.")
    if estimator in ("avg", "avg+pos"):
        solution = design.averages(targets)
    else:
        solution = centred(design.solve(targets), weights=weights, groups=design.groups)
    directions = centred(design.open_directions, weights=weights, groups=design.groups)
    determined = design.determined(directions)
    by_place = (table.places if estimator == "avg+pos" else 1, -1)
    return Components(
        level=level,
        estimator=estimator,
        mean=mean,
        vectors=np.where(determined[:, None], solution, 0).reshape(*by_place, len(mean)),
        determined=determined.reshape(by_place),
        solution=solution.reshape(*by_place, len(mean)),
        open_directions=directions.reshape(*by_place, directions.shape[1]),
    )


def _design(table: SceneTable, *, level: Level, by_place: bool) -> Design:
    """The scenes' parts; by place, each place has parts and groups of its own."""
    groups = part_groups(table.space, level)
    held = held_numbers(table, level).reshape(len(table), table.places, -1)
    if by_place:
        place = np.arange(table.places)[:, None]
        held = held + place * len(groups)
        groups = (groups + place * (groups.max() + 1)).ravel()
    return Design(counts=count_matrix(held.reshape(len(table), -1), len(groups)), groups=groups)


def _checked_singles(singles: SceneTable | None, table: SceneTable) -> SceneTable:
    if singles is None or not len(singles) or singles.places != 1:
        raise UserError("The estimator “single” needs scenes of a single object.")
    if singles.space != table.space or singles.embeddings.shape[1] != table.embeddings.shape[1]:
        raise UserError(
            "The scenes of a single object need the concept space and the dimensions of the others."
        )
    return singles
