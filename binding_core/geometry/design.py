"""Least squares on counts: which parts a set of rows tells apart, and what each part adds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Counts are whole numbers: an eigenvalue of their normal matrix that algebra does not make 0 is
# far above this share of the largest count, and rounding is far below.
RANK_TOLERANCE = 1e-10
# The same for the entries of unit vectors that span what the rows leave open.
OPEN_TOLERANCE = 1e-6


def count_matrix(held: np.ndarray, size: int) -> csr_array:
    """How often each row holds each of ``size`` parts; ``held`` int (n, H) -> float64 (n, size)."""
    from scipy.sparse import csr_array

    n, each = held.shape
    starts = np.arange(n + 1) * each
    # A copy: csr_array sorts its columns in place, and held belongs to the caller.
    counts = csr_array((np.ones(held.size), held.flatten(), starts), shape=(n, size))
    counts.sum_duplicates()
    return counts


def centred(values: np.ndarray, *, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Values (K, d) minus their weighted mean within each group; ``groups`` int (K,).

    Groups of no weight stay as they are.
    """
    members = (np.arange(groups.max() + 1)[:, None] == groups) * weights
    totals = members.sum(axis=1, keepdims=True)
    return values - (members @ values / np.where(totals, totals, 1))[groups]


@dataclass(frozen=True)
class Design:
    """How often each of n rows holds each of K parts.

    Parts form groups (all objects; the values of one concept type), and every row holds the same
    number of parts of a group. So parts are known up to one vector a group, which a convention
    fixes (see :func:`centred`), and the mean of the rows is taken out before anything else.
    """

    counts: csr_array  # float64 (n, K)
    groups: np.ndarray  # int64 (K,)

    @cached_property
    def weights(self) -> np.ndarray:
        """Mean count of each part, float64 (K,)."""
        return self.counts.sum(axis=0) / max(self.counts.shape[0], 1)

    @cached_property
    def occurs(self) -> np.ndarray:
        """Parts that some row holds, bool (K,)."""
        return self.weights > 0

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Eigenvalues and vectors of the centred normal matrix of occurring parts; tolerance."""
        n, held = self.counts.shape[0], self.counts[:, self.occurs]
        products, sums = (held.T @ held).toarray(), held.sum(axis=0)
        # Whole numbers until the division, so that what cancels by algebra cancels exactly.
        normal = (n * products - np.outer(sums, sums)) / max(n, 1)
        tolerance = RANK_TOLERANCE * products.diagonal().max(initial=0)
        return *np.linalg.eigh(normal), tolerance

    @cached_property
    def basis(self) -> np.ndarray:
        """Combinations of parts, float64 (K, rank), whose centred counts are orthonormal."""
        values, vectors, tolerance = self._spectrum
        kept = values > tolerance
        basis = np.zeros((len(self.groups), int(kept.sum())))
        basis[self.occurs] = vectors[:, kept] / np.sqrt(values[kept])
        return basis

    @cached_property
    def orthonormal(self) -> np.ndarray:
        """Orthonormal basis of the centred counts' columns, float64 (n, rank)."""
        return self.counts @ self.basis - self.weights @ self.basis

    @cached_property
    def leverage(self) -> np.ndarray:
        """How much of each row's fitted value is the row's own, (n,); at 1 it fits by force."""
        return (self.orthonormal**2).sum(axis=1) + 1 / max(len(self.orthonormal), 1)

    @cached_property
    def open_directions(self) -> np.ndarray:
        """Changes of the parts (K, r) that no row would notice, the groups' own among them.

        Parts that no row holds share the last column: counts are not negative, so it notices
        whoever holds one of them.
        """
        values, vectors, tolerance = self._spectrum
        lost = values <= tolerance
        directions = np.zeros((len(self.groups), int(lost.sum()) + 1))
        directions[self.occurs, :-1] = vectors[:, lost]
        directions[~self.occurs, -1] = 1
        return directions

    def solve(self, targets: np.ndarray) -> np.ndarray:
        """Parts (K, d) whose sums fit the centred targets (n, d) best; the shortest such ones."""
        return self.basis @ (self.basis.T @ (self.counts.T @ (targets - mean_row(targets))))

    def averages(self, targets: np.ndarray) -> np.ndarray:
        """Mean of the centred targets (n, d) over the rows that hold each part: (K, d)."""
        held = self.counts.sign()
        times = np.maximum(held.sum(axis=0), 1)[:, None]
        return held.T @ (targets - mean_row(targets)) / times

    def determined(self, open_directions: np.ndarray) -> np.ndarray:
        """Parts that the rows single out, bool (K,), given the centred open directions.

        The only value of its group that occurs is in the mean and nowhere else: not determined.
        """
        values_of_group = np.bincount(self.groups, weights=self.occurs)[self.groups]
        return closed(open_directions) & (values_of_group > 1)


def closed(moved: np.ndarray) -> np.ndarray:
    """Rows (n, r) that the open directions do not move: bool (n,)."""
    return (np.abs(moved) < OPEN_TOLERANCE).all(axis=1)


def mean_row(rows: np.ndarray) -> np.ndarray:
    """Mean of rows (n, d), which is 0 when there are none."""
    return rows.sum(axis=0) / max(len(rows), 1)
