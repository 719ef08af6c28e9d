"""Embeddings as a picture in two or three dimensions, and how far to trust it.

PCA is exact and at once. MDS (SMACOF) and UMAP work on cosine distance. Beside each stands the
same projection of random vectors, so that nobody reads structure into noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Literal

import numpy as np

from binding_core.errors import UserError
from binding_core.geometry.umap_process import Report, umap_points

Method = Literal["pca", "umap", "mds"]
METHODS: tuple[Method, ...] = ("pca", "umap", "mds")
MAX_ROWS = 10_000
MDS_ROWS = 1_000  # SMACOF takes n squared steps an iteration
MDS_TOLERANCE = 1e-4  # of the stress from one iteration to the next
TRUST_ROWS = 1_500  # trustworthiness takes n squared memory
TRUST_NEIGHBOURS = 15
PLACING_NEIGHBOURS = 5


@dataclass(frozen=True)
class Projection:
    """Points of a map, and what they were made with."""

    points: np.ndarray  # float32 (m, k)
    rows: np.ndarray  # int64 (m,), ascending: the embeddings that are shown, all but in a large MDS
    method: Method  # that was used
    seed: int
    trustworthiness: float | None = None  # 0 to 1; None when there are too few rows to say
    trust_rows: int = 0  # the rows that it was measured on
    note: str = ""  # what a reader must be told about this map
    centre: np.ndarray | None = None  # PCA alone: float32 (d,)
    axes: np.ndarray | None = None  # PCA alone: float32 (k, d), orthonormal
    control: Projection | None = None  # the same of as many random vectors


@dataclass(frozen=True)
class Placement:
    """Where a new embedding lies on a map that stays as it is."""

    point: np.ndarray  # float32 (k,)
    approximate: bool


def project(
    embeddings: np.ndarray,
    *,
    method: Method,
    dimensions: Literal[2, 3] = 2,
    seed: int = 0,
    stop: Event | None = None,
    report: Report = lambda done, total: None,
) -> Projection | None:
    """The map of embeddings (n, d), n from 1 to 10,000, with its control of the same size.

    Equal rows become one point. ``report`` is that of :func:`umap_process.umap_points`, and None
    comes back when it was stopped. UserError when a value is not a number, or the method or size
    is not one of those offered.

    Sources: scikit-learn's PCA and MDS; McInnes et al. 2018 for UMAP, by umap-learn.
    """
    _check(embeddings, method, dimensions)
    tables = (embeddings, random_vectors(*embeddings.shape, seed=seed))
    if method == "pca":
        return _principal(tables, dimensions=dimensions, seed=seed)
    rows = np.arange(len(embeddings))
    if method == "mds" and len(rows) > MDS_ROWS:
        rows = _sample(len(rows), MDS_ROWS, seed=seed)
    # Doubles are dropped and given back: UMAP would part them, and its seed would not hold.
    drawn = [np.unique(table[rows], axis=0, return_inverse=True) for table in tables]
    distinct = [table for table, _ in drawn]
    if len(distinct[0]) < dimensions + 2:
        note = f"{len(distinct[0])} different embeddings are too few for {method.upper()}"
        return _principal(tables, dimensions=dimensions, seed=seed, note=f"{note}; this is PCA.")
    if method == "mds":
        found = [scaled(table, dimensions=dimensions, seed=seed)[0] for table in distinct]
    else:
        found = umap_points(
            distinct, dimensions=dimensions, seed=seed, stop=stop or Event(), report=report
        )
        if found is None:
            return None
    if not all(np.isfinite(points).all() for points in found):
        note = f"{method.upper()} found no place for some embeddings; this is PCA."
        return _principal(tables, dimensions=dimensions, seed=seed, note=note)
    shown, control = (
        _measured(Projection(np.float32(points)[back.ravel()], rows, method, seed), table)
        for table, (_, back), points in zip(tables, drawn, found, strict=True)
    )
    part = f"{len(rows):,} of {len(embeddings):,} scenes are shown, drawn with seed {seed}."
    note = part if len(rows) < len(embeddings) else ""
    return replace(shown, control=control, note=note)


def random_vectors(n: int, d: int, *, seed: int) -> np.ndarray:
    """The control: n random directions, float32 unit-norm (n, d)."""
    drawn = np.random.default_rng(seed).standard_normal((n, d))
    return np.float32(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def scaled(
    embeddings: np.ndarray, *, dimensions: Literal[2, 3], seed: int
) -> tuple[np.ndarray, float]:
    """Metric MDS on cosine distance: points (n, k), and their stress-1, 0 for a perfect map."""
    from sklearn.manifold import MDS

    # From classical MDS one start is enough, and the same one each time.
    fitted = MDS(
        dimensions,
        metric="cosine",
        init="classical_mds",
        n_init=1,
        eps=MDS_TOLERANCE,
        normalized_stress=True,
        random_state=seed,
    ).fit(embeddings)
    return fitted.embedding_, float(fitted.stress_)


def place(projection: Projection, embeddings: np.ndarray, new: np.ndarray) -> Placement:
    """Where one new embedding (d,) lies on the map of ``embeddings`` (n, d).

    Exact for PCA. For UMAP and MDS, which have no rule for new points that would leave the others
    where they are, it is a mean over the nearest neighbours, and marked approximate.
    """
    if projection.axes is not None:
        return Placement(np.float32((new - projection.centre) @ projection.axes.T), False)
    shown = embeddings[projection.rows]
    return Placement(place_near_neighbours(shown, projection.points, new), True)


def place_near_neighbours(
    embeddings: np.ndarray, points: np.ndarray, new: np.ndarray
) -> np.ndarray:
    """The mean of the points (m, k) of the nearest embeddings (m, d), weighted by 1 / distance.

    ``new`` (d,) -> float32 (k,); cosine distance in the full space.
    """
    from sklearn.neighbors import KNeighborsRegressor

    placer = KNeighborsRegressor(
        min(PLACING_NEIGHBOURS, len(points)), weights="distance", metric="cosine"
    )
    return np.float32(placer.fit(embeddings, points).predict(new[None])[0])


def nearest(embeddings: np.ndarray, new: np.ndarray, *, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of unit-norm embeddings (n, d) to one (d,), nearest first.

    -> positions int64 (k,) and cosine similarities float32 (k,); of equally near ones the first.
    """
    similarities = embeddings @ new
    order = np.argsort(-similarities, kind="stable")[:k]
    return order, similarities[order]


def _check(embeddings: np.ndarray, method: str, dimensions: int) -> None:
    if method not in METHODS:
        raise UserError(f"“{method}” is not a projection; choose {', '.join(METHODS)}.")
    if dimensions not in (2, 3):
        raise UserError(f"A map has 2 or 3 dimensions, not {dimensions}.")
    if embeddings.ndim != 2 or not 1 <= len(embeddings) <= MAX_ROWS:
        raise UserError(
            f"A map shows 1 to {MAX_ROWS:,} embeddings, not an array of shape {embeddings.shape}."
        )
    if not np.isfinite(embeddings).all():
        row = int(np.flatnonzero(~np.isfinite(embeddings).all(axis=1))[0])
        raise UserError(f"The embedding of scene {row} holds a value that is not a number.")


def _sample(n: int, size: int, *, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def _principal(
    tables: Sequence[np.ndarray], *, dimensions: int, seed: int, note: str = ""
) -> Projection:
    """PCA of the embeddings and of their control."""
    shown, control = (_pca(table, dimensions=dimensions, seed=seed) for table in tables)
    return replace(shown, control=control, note=note)


def _pca(embeddings: np.ndarray, *, dimensions: int, seed: int) -> Projection:
    from sklearn.decomposition import PCA

    available = min(dimensions, *embeddings.shape)  # axes; along any further one all points are 0
    if (embeddings == embeddings[0]).all():  # no direction has any variance
        axes, centre = np.eye(available, embeddings.shape[1]), embeddings[0]
    else:
        fitted = PCA(available, random_state=seed).fit(embeddings)
        axes, centre = fitted.components_, fitted.mean_
    axes = np.pad(np.float32(axes), ((0, dimensions - available), (0, 0)))
    points = np.float32((embeddings - centre) @ axes.T)
    rows = np.arange(len(embeddings))
    shown = Projection(points, rows, "pca", seed, centre=np.float32(centre), axes=axes)
    return _measured(shown, embeddings)


def _measured(projection: Projection, embeddings: np.ndarray) -> Projection:
    """The projection with its trustworthiness (Venna and Kaski 2001) on a sample of its rows."""
    from sklearn.manifold import trustworthiness

    size = min(len(projection.rows), TRUST_ROWS)
    neighbours = min(TRUST_NEIGHBOURS, (size - 1) // 2)  # more than half are no neighbourhood
    if neighbours < 1:
        return projection
    at = _sample(len(projection.rows), size, seed=projection.seed)
    value = trustworthiness(
        embeddings[projection.rows[at]],
        projection.points[at],
        n_neighbors=neighbours,
        metric="cosine",
    )
    return replace(projection, trustworthiness=float(value), trust_rows=size)
