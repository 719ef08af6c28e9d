"""Level II: object components as sums of concept parts, and what no such sum explains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binding_core.concepts import ConceptSpace
from binding_core.geometry.components import Components, part_groups
from binding_core.geometry.design import Design, centred, count_matrix, mean_row

BY_FORCE = 1 - 1e-9  # leverage from which an object's remainder is 0 whatever its component is


@dataclass(frozen=True)
class TwoLevels:
    """Object components, each the sum of its concepts' parts and a remainder of its own.

    An object that alone tells what its concepts add (the only red one, say) is fitted without
    remainder by force; its remainder is not determined.
    """

    concepts: Components  # level "concepts": the scene mean, and what a concept adds to an object
    explained: np.ndarray  # float64 (places or 1, |O|, d): sums of concept parts; 0 if not fitted
    remainder: np.ndarray  # float64 (places or 1, |O|, d): component − explained; 0 if not fitted
    fitted: np.ndarray  # bool (places or 1, |O|)
    leverage: np.ndarray  # float64 (places or 1, |O|): 1 where the fit is by force, or not fitted

    @property
    def determined(self) -> np.ndarray:
        """Objects whose remainder is determined, bool (places or 1, |O|)."""
        return self.leverage < BY_FORCE


def level_two(
    objects: Components, space: ConceptSpace, *, among: np.ndarray | None = None
) -> TwoLevels:
    """Concept parts of the object components by least squares, every determined object alike.

    ``among``, bool (|O|,), narrows the objects that are fitted. Concept parts are centred within
    each type, as in :func:`fit_components`, and the mean component is shared out equally among
    the types, so that an object's concept parts alone sum to what they explain (arXiv 2605.31503,
    section 3, Level II).
    """
    from scipy.linalg import block_diag

    fitted = objects.determined & (True if among is None else among)
    types, d = len(space.sizes), objects.vectors.shape[2]
    designs = [concept_design(space, np.flatnonzero(rows)) for rows in fitted]
    explained, leverage = np.zeros_like(objects.vectors), np.ones(fitted.shape)
    solution = np.zeros((len(designs), len(space.concepts), d))
    directions = []
    for place, (rows, design) in enumerate(zip(fitted, designs, strict=True)):
        components = objects.vectors[place, rows]
        gauge = {"weights": design.weights, "groups": design.groups}
        solution[place] = centred(design.solve(components), **gauge) + mean_row(components) / types
        directions.append(centred(design.open_directions, **gauge))
        explained[place, rows] = design.counts @ solution[place]
        leverage[place, rows] = design.leverage
    determined = np.stack([d.determined(o) for d, o in zip(designs, directions, strict=True)])
    return TwoLevels(
        concepts=replace(
            objects,
            level="concepts",
            vectors=np.where(determined[..., None], solution, 0),
            determined=determined,
            solution=solution,
            # Each place has open directions of its own, so a column holds those of one place.
            open_directions=block_diag(*directions).reshape(*solution.shape[:2], -1),
        ),
        explained=explained,
        remainder=np.where(fitted[..., None], objects.vectors - explained, 0),
        fitted=fitted,
        leverage=leverage,
    )


def concept_design(space: ConceptSpace, objects: np.ndarray) -> Design:
    """Which concepts each of these objects is; ``objects`` int (n,), positions in the space."""
    sizes = np.array(space.sizes)
    values = np.stack(np.unravel_index(objects, space.sizes), axis=-1)
    return Design(
        counts=count_matrix(values + np.cumsum(sizes) - sizes, sizes.sum()),
        groups=part_groups(space, "concepts"),
    )
