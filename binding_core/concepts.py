"""Concept spaces, the objects they span, and splits of those objects.

A *concept space* has C concept types (colour, shape, ...) with V_k values each. An *object* is one
value for every type, so the object space O has prod(V_k) members.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from binding_core.errors import UserError

Words = tuple[str, ...]
"""An object in words, one value a concept type, e.g. ``("red", "square")``."""


@dataclass(frozen=True)
class ConceptSpace:
    """The concept types and the values of each.

    >>> space = ConceptSpace(types=("colour", "shape"), values=(("red", "blue"), ("square",)))
    >>> space.n_objects, space.objects
    (2, (('red', 'square'), ('blue', 'square')))
    """

    types: tuple[str, ...]  # C names, e.g. ("colour", "shape")
    values: tuple[tuple[str, ...], ...]  # for each type its V_k values

    def __post_init__(self) -> None:
        if not self.types or len(self.types) != len(self.values):
            raise UserError("A concept space needs one list of values for each concept type.")
        for name, values in zip(self.types, self.values, strict=True):
            if not values or len(set(values)) != len(values):
                raise UserError(
                    f"The values of concept type “{name}” must be distinct, one at least."
                )

    @property
    def sizes(self) -> tuple[int, ...]:
        """V_k for each concept type."""
        return tuple(len(values) for values in self.values)

    @property
    def n_objects(self) -> int:
        """|O|, the product of the sizes."""
        return int(np.prod(self.sizes))

    @cached_property
    def objects(self) -> tuple[Words, ...]:
        """All |O| objects in words; the last concept type varies fastest."""
        return tuple(itertools.product(*self.values))

    @cached_property
    def concepts(self) -> tuple[tuple[str, str], ...]:
        """All concepts as (type, value), sum(V_k) of them, type after type."""
        return tuple(
            (name, value)
            for name, values in zip(self.types, self.values, strict=True)
            for value in values
        )

    @cached_property
    def _object_index(self) -> dict[Words, int]:
        return {words: i for i, words in enumerate(self.objects)}

    @cached_property
    def _concept_index(self) -> dict[tuple[str, str], int]:
        return {concept: i for i, concept in enumerate(self.concepts)}

    def object_index(self, words: Words) -> int:
        """Position of an object in :attr:`objects`; UserError when it is not in the space."""
        try:
            return self._object_index[tuple(words)]
        except KeyError:
            raise UserError(
                f"“{' '.join(words)}” is not an object of this concept space."
            ) from None

    def concept_indices(self, words: Words) -> tuple[int, ...]:
        """Positions of an object's C concepts in :attr:`concepts`."""
        return tuple(self._concept_index[c] for c in zip(self.types, words, strict=True))


COLOURS = (
    "red", "orange", "yellow", "green", "cyan", "blue",
    "purple", "pink", "brown", "black", "gray", "white",
)  # fmt: skip
SHAPES = (
    "circle", "square", "triangle", "diamond", "star", "heart",
    "cross", "crescent", "ring", "arrow", "hourglass", "semicircle",
)  # fmt: skip

BUNDLED_SPACE = ConceptSpace(types=("colour", "shape"), values=(COLOURS, SHAPES))
"""The 12 colours x 12 shapes that the renderer draws: 144 objects."""


@dataclass(frozen=True)
class ObjectSplit:
    """Training and held-out objects; together they are the whole object space."""

    train: tuple[Words, ...]
    heldout: tuple[Words, ...]

    @property
    def coverage(self) -> float:
        """rho: the share of the object space seen in training."""
        return len(self.train) / (len(self.train) + len(self.heldout))


def split_objects(space: ConceptSpace, *, coverage: float, seed: int) -> ObjectSplit:
    """Draw a balanced training share of the object space, see :func:`split_positions`."""
    in_train = np.zeros(space.n_objects, dtype=bool)
    in_train[split_positions(space.sizes, coverage=coverage, seed=seed)] = True
    return ObjectSplit(
        train=tuple(o for o, train in zip(space.objects, in_train, strict=True) if train),
        heldout=tuple(o for o, train in zip(space.objects, in_train, strict=True) if not train),
    )


def split_positions(sizes: tuple[int, ...], *, coverage: float, seed: int) -> np.ndarray:
    """Sorted positions of a balanced training share: round(coverage * |O|) objects, int64 (n,).

    Balanced: within each concept type the values occur equally often, to within one. So every
    concept is seen in training, a held-out object is new as a combination only, and no concept is
    better known than another. (In a plain random draw of a quarter of 12 x 12 objects a colour has
    one to seven training shapes, and what a model makes of a new combination hangs on that.)

    Raises UserError when coverage is outside (0, 1] or too low to cover every value.
    """
    if not 0 < coverage <= 1:
        raise UserError(f"Coverage must be above 0 and at most 1, not {coverage}.")
    n_objects = int(np.prod(sizes))
    n_train = round(coverage * n_objects)
    if n_train < max(sizes):
        raise UserError(
            f"Coverage {coverage:g} gives {n_train} of {n_objects} objects; at least "
            f"{max(sizes)} are needed so that every concept value is seen in training."
        )
    rng = np.random.default_rng(seed)
    # Few objects are easily drawn without doubles; of a large share, the held-out ones are drawn.
    n_heldout = n_objects - n_train
    drawn = _balanced_draw(sizes, n=min(n_train, n_heldout), rng=rng)
    if n_train > n_heldout:
        drawn = np.setdiff1d(np.arange(n_objects), drawn)
    return np.sort(drawn)


def _balanced_draw(sizes: tuple[int, ...], *, n: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of ``n`` distinct objects whose values occur equally often, to within one."""
    columns = np.stack([rng.permutation(np.resize(rng.permutation(size), n)) for size in sizes])
    positions = np.ravel_multi_index(tuple(columns), sizes)
    times_drawn = np.bincount(positions, minlength=int(np.prod(sizes)))
    # A row drawn twice exchanges one of its values with any other row, so that the counts of the
    # values stay as they are; the exchange is undone unless both rows are then new objects.
    while (times_drawn > 1).any():
        for row in np.flatnonzero(times_drawn[positions] > 1):
            column, rows = rng.integers(len(sizes)), [row, rng.integers(n)]
            exchanged = columns[:, rows]
            exchanged[column] = exchanged[column, ::-1]
            new = np.ravel_multi_index(tuple(exchanged), sizes)
            if times_drawn[positions[row]] > 1 and not times_drawn[new].any() and new[0] != new[1]:
                np.subtract.at(times_drawn, positions[rows], 1)
                times_drawn[new] = 1
                columns[:, rows], positions[rows] = exchanged, new
    return positions
