"""How well additive components rebuild scenes that they were not fitted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binding_core.agreement.measures import Share, share
from binding_core.geometry.components import Estimator, Level, fit_components
from binding_core.geometry.scene_table import SceneTable

RESAMPLES = 1000
CHUNK = 512  # scenes looked up in the bank at a time
TIE = 1e-9  # cosines nearer than this are equal: embeddings carry seven digits


@dataclass(frozen=True)
class LevelReport:
    """One table, level and estimator; R² and retrieval are over determined scenes alone."""

    level: Level
    estimator: Estimator
    r2_fitted: float | None
    r2_heldout: float | None
    r2_heldout_ci95: tuple[float, float] | None  # bootstrap over the held-out scenes
    retrieval: Share  # of held-out scenes, in a bank of all scenes of the table
    n_fitted: int
    n_heldout: int
    n_determined: int  # held-out scenes whose reconstruction is determined
    seed: int  # of the bootstrap


def evaluate_levels(
    table: SceneTable,
    *,
    held_out: np.ndarray,
    estimator: Estimator,
    level: Level,
    singles: SceneTable | None = None,
    seed: int = 0,
) -> LevelReport:
    """Fit components on the scenes not ``held_out``, bool (n,), and rebuild those that are.

    The bank of the retrieval is the whole table, fitted scenes included.
    """
    fitted, rest = table.rows(~held_out), table.rows(held_out)
    components = fit_components(fitted, level=level, estimator=estimator, singles=singles)
    fitted_predicted, fitted_known = components.predict(fitted)
    predicted, known = components.predict(rest)
    predicted, judged = predicted[known], rest.rows(known)
    return LevelReport(
        level=level,
        estimator=estimator,
        r2_fitted=r2(fitted.embeddings[fitted_known], fitted_predicted[fitted_known]),
        r2_heldout=r2(judged.embeddings, predicted),
        r2_heldout_ci95=r2_interval(judged.embeddings, predicted, seed=seed),
        retrieval=retrieval(predicted, scenes=judged, bank=table),
        n_fitted=len(fitted),
        n_heldout=len(rest),
        n_determined=len(judged),
        seed=seed,
    )


def r2(actual: np.ndarray, predicted: np.ndarray) -> float | None:
    """1 − SSE/SST over samples and dimensions of (n, d), SST about the mean of these rows.

    None with fewer than two rows, or when all rows are equal.
    """
    if len(actual) < 2 or (actual == actual[0]).all():
        return None
    actual = actual.astype(np.float64)
    about_mean = ((actual - actual.mean(axis=0)) ** 2).sum()
    return float(1 - ((actual - predicted) ** 2).sum() / about_mean)


def r2_interval(
    actual: np.ndarray, predicted: np.ndarray, *, seed: int
) -> tuple[float, float] | None:
    """The 95 % percentile interval of :func:`r2` over 1,000 seeded draws of the rows."""
    if r2(actual, predicted) is None:
        return None
    n = len(actual)
    times = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    deviations = actual - actual.astype(np.float64).mean(axis=0)
    errors = times @ ((actual - predicted) ** 2).sum(axis=1)
    squares = times @ (deviations**2).sum(axis=1)
    about_mean = squares - ((times.astype(np.float64) @ deviations) ** 2).sum(axis=1) / n
    usable = about_mean > 1e-9 * squares.max()  # a draw of one row n times has no R²
    low, high = np.quantile(1 - errors[usable] / about_mean[usable], (0.025, 0.975))
    return float(low), float(high)


def retrieval(reconstructed: np.ndarray, *, scenes: SceneTable, bank: SceneTable) -> Share:
    """How often the cosine nearest neighbour of a reconstruction in the bank is its own scene.

    ``reconstructed`` float (n, d), of ``scenes``. Scenes with the same multiset of objects count
    as one; a tie with another scene is wrong, and so is a scene that the bank does not hold.
    """
    if not len(scenes):
        return share([], chance=None)
    objects = np.sort(np.concatenate([scenes.objects, bank.objects]), axis=1)
    names = np.unique(objects, axis=0, return_inverse=True)[1].ravel()
    asked, held = names[: len(scenes)], names[len(scenes) :]
    vectors = unit_rows(bank.embeddings)
    queries = unit_rows(reconstructed)
    found = []
    for start in range(0, len(scenes), CHUNK):
        rows = slice(start, start + CHUNK)
        similarity, own = queries[rows] @ vectors.T, asked[rows, None] == held
        best_own = np.where(own, similarity, -np.inf).max(axis=1)
        best_other = np.where(own, -np.inf, similarity).max(axis=1)
        found += (best_own > best_other + TIE).tolist()
    chance = np.bincount(held, minlength=names.max() + 1)[asked].mean() / len(bank)
    return share(found, chance=float(chance))


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows (n, d) over their lengths, float64; a row of zeros stays one."""
    vectors = vectors.astype(np.float64)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1)
