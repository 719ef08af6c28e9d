"""Objects as sums of concept vectors plus products of them, fitted by alternating least squares.

An object's vector is ``sum_k A_k[c_k] + (U_1[c_1] * ... * U_C[c_C]) W``: additive tables
A, product tables U of width r (the *rank*) and one map W from the products to the embedding. Each
factor alone is a ridge regression in closed form while the others stay (Harshman 1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ITERATIONS = 40
TOLERANCE = 1e-5  # of the variance: an iteration that gains less is the last
RANK_TOLERANCE = 1e-6  # one-hot columns of two types are linearly dependent


@dataclass(frozen=True)
class ProductTables:
    """The fitted form; of rank 0 it is additive."""

    additive: tuple[np.ndarray, ...]  # for each concept type float64 (V_k, d)
    tables: tuple[np.ndarray, ...]  # for each concept type float64 (V_k, r)
    mixing: np.ndarray  # float64 (r, d)
    mean: np.ndarray  # float64 (d,)

    @property
    def rank(self) -> int:
        """r, the number of products."""
        return len(self.mixing)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Objects as value numbers, int (n, C) -> vectors float64 (n, d)."""
        vectors = self.mean + sum(a[v] for a, v in zip(self.additive, values.T, strict=True))
        if self.rank:
            vectors = vectors + _products(self.tables, values) @ self.mixing
        return vectors


def fit_product_tables(
    vectors: np.ndarray,
    *,
    values: np.ndarray,
    sizes: Sequence[int],
    rank: int,
    penalty: float,
    seed: int,
    weights: np.ndarray | None = None,
) -> ProductTables:
    """Fit to objects' vectors (n, d), given as value numbers (n, C); of weights (n,), or alike.

    ``penalty`` weighs the squared entries of tables and mixing against the squared errors, both in
    units of the mean variance an object. ``seed`` draws the tables' first entries. Additive parts
    that the objects leave open are the shortest ones.
    """
    weights = np.ones(len(vectors)) if weights is None else weights / weights.mean()
    mean = (weights[:, None] * vectors).sum(axis=0) / weights.sum()
    scale = float(np.sqrt(weights @ ((vectors - mean) ** 2).sum(axis=1) / weights.sum())) or 1.0
    # Every row and its design times the root of its weight: plain least squares from here on.
    root = np.sqrt(weights)[:, None].astype(np.float32)
    targets = root * ((vectors - mean) / scale).astype(np.float32)
    design = np.concatenate(
        [np.eye(size)[column] for size, column in zip(sizes, values.T, strict=True)], axis=1
    )
    design = root * design.astype(np.float32)
    inverse = np.linalg.pinv(design, rcond=RANK_TOLERANCE)
    rng = np.random.default_rng(seed)
    tables = [rng.standard_normal((size, rank), dtype=np.float32) for size in sizes]
    members = [
        [np.flatnonzero(column == v) for v in range(size)]
        for size, column in zip(sizes, values.T, strict=True)
    ]
    mixing = np.zeros((rank, vectors.shape[1]), dtype=np.float32)
    additive = inverse @ targets
    last = np.inf
    for _ in range(ITERATIONS if rank else 0):
        products = root * _products(tables, values)
        # Additive tables and mixing in one: the products' own additive part is taken out first.
        free = products - design @ (inverse @ products)
        mixing = _ridge(free, targets, penalty)
        left = targets - design @ (inverse @ (targets - products @ mixing))
        for k in range(len(sizes)):
            others = [
                (t, v) for j, (t, v) in enumerate(zip(tables, values.T, strict=True)) if j != k
            ]
            factors = root * np.prod([t[v] for t, v in others], axis=0)
            tables[k] = _table(left, members[k], factors, mixing, penalty)
        tables, mixing = _balanced(tables, mixing)
        products = root * _products(tables, values)
        additive = inverse @ (targets - products @ mixing)
        error = float(((targets - design @ additive - products @ mixing) ** 2).sum() / len(targets))
        if last - error < TOLERANCE:
            break
        last = error
    return ProductTables(
        additive=tuple(np.split(additive * scale, np.cumsum(sizes)[:-1])),
        tables=tuple(tables),
        mixing=mixing * scale,
        mean=mean,
    )


def _products(tables: Sequence[np.ndarray], values: np.ndarray) -> np.ndarray:
    """The elementwise product of each object's table rows, (n, r)."""
    return np.prod([t[column] for t, column in zip(tables, values.T, strict=True)], axis=0)


def _ridge(inputs: np.ndarray, targets: np.ndarray, penalty: float) -> np.ndarray:
    normal = inputs.T @ inputs + penalty * np.eye(inputs.shape[1], dtype=inputs.dtype)
    return np.linalg.solve(normal, inputs.T @ targets)


def _table(
    targets: np.ndarray,
    members: Sequence[np.ndarray],
    others: np.ndarray,
    mixing: np.ndarray,
    penalty: float,
) -> np.ndarray:
    """The best rows (V, r) of one table: a ridge regression for each value's objects apart."""
    outer = np.stack([others[rows].T @ others[rows] for rows in members])
    normal = outer * (mixing @ mixing.T) + penalty * np.eye(len(mixing), dtype=mixing.dtype)
    scored = others * (targets @ mixing.T)
    right = np.stack([scored[rows].sum(axis=0) for rows in members])
    return np.linalg.solve(normal, right[..., None])[..., 0]


def _balanced(
    tables: Sequence[np.ndarray], mixing: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """The same products with each one's length shared out equally among its factors."""
    lengths = np.stack([np.linalg.norm(f, axis=0) for f in (*tables, mixing.T)])
    together = np.prod(lengths, axis=0) ** (1 / len(lengths))
    *shared, last = np.where(lengths > 0, together / np.where(lengths > 0, lengths, 1), 0)
    return [t * s for t, s in zip(tables, shared, strict=True)], mixing * last[:, None]
