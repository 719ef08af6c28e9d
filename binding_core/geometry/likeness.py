"""How alike two sets of vectors of the same objects are, whatever space each lies in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Measure = Literal["CKA", "RSA", "Procrustes R²"]
FEWEST = 4  # objects; of three, every likeness is high by accident
NOTHING = 1e-9  # share of the whole's sum of squares below which there is nothing to compare
TIE = 1e-9  # what is equal by algebra differs by less through rounding


@dataclass(frozen=True)
class Likeness:
    """One measure of likeness, beside what it is when one side is turned at random."""

    measure: Measure
    value: float  # 1: the same up to rotation and scale
    chance: float  # mean over the random rotations
    chance95: tuple[float, float]  # the middle 95 % of them
    p_value: float  # (1 + rotations at least as alike) / (1 + rotations)
    n: int  # objects
    rotations: int
    seed: int


def linear_cka(a: np.ndarray, b: np.ndarray) -> float:
    """Linear centred kernel alignment of (n, d₁) and (n, d₂), in [0, 1] (arXiv 1905.00414).

    Unrelated random vectors of n objects in d dimensions give about d / (n + d), far from 0 when
    d is not small beside n: read it beside its chance level.
    """
    a, b = _about_mean(a), _about_mean(b)
    alike, own_a, own_b = (np.linalg.norm(x.T @ y) for x, y in ((a, b), (a, a), (b, b)))
    return float(alike**2 / (own_a * own_b))


def rsa(a: np.ndarray, b: np.ndarray) -> float:
    """Representational similarity: Spearman's rank correlation of Euclidean distances, [-1, 1].

    Over all pairs of the n objects (Kriegeskorte et al. 2008). Euclidean, since a remainder may be
    near 0, where an angle means nothing.
    """
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr

    distances = [pdist(_about_mean(x)) for x in (a, b)]
    rounded = [np.round(d / d.max(), 9) for d in distances]  # equal by algebra is a tie
    if any(np.ptp(d) == 0 for d in rounded):
        return 0.0
    return float(spearmanr(*rounded).statistic)


def procrustes_r2(a: np.ndarray, b: np.ndarray) -> float:
    """1 − the disparity after the best shift, rotation, reflection and scale, in [0, 1].

    As ``scipy.spatial.procrustes``, by its closed form: the squared sum of the singular values of
    aᵀb over both sums of squares. Of unequal dimensions (n, d₁) and (n, d₂) the smaller counts as
    padded with zeros.
    """
    a, b = _about_mean(a), _about_mean(b)
    return float((np.linalg.norm(a.T @ b, "nuc") / (np.linalg.norm(a) * np.linalg.norm(b))) ** 2)


MEASURES: dict[Measure, Callable[[np.ndarray, np.ndarray], float]] = {
    "CKA": linear_cka,
    "RSA": rsa,
    "Procrustes R²": procrustes_r2,
}


def compare(
    a: np.ndarray,
    b: np.ndarray,
    *,
    among: np.ndarray,
    basis: np.ndarray,
    rotations: int,
    seed: int,
) -> tuple[Likeness, ...] | None:
    """All measures of likeness over the rows ``among``, bool (n,), of a (n, d₁) and b (n, d₂).

    Both lie by construction in the span of ``basis``, orthonormal (n, r): remainders sum to 0 for
    every concept. Chance turns b at random within that span (Langsrud 2005). Permuted rows would
    leave it, and putting them back thins their spectrum: unrelated tables then look alike.
    None with fewer than four objects, or when either side's are all alike.
    """
    from threadpoolctl import threadpool_limits

    rows = np.flatnonzero(among)
    if len(rows) < FEWEST or any(
        (_about_mean(x[rows]) ** 2).sum() <= NOTHING * (x**2).sum() for x in (a, b)
    ):
        return None
    rng = np.random.default_rng(seed)
    a, inner, seen = compact(a)[rows], compact(basis.T @ b), basis[rows]
    found = {name: measure(a, b[rows]) for name, measure in MEASURES.items()}
    drawn: dict[Measure, list[float]] = {name: [] for name in MEASURES}
    with threadpool_limits(1, user_api="blas"):  # sooner by one core, as in a probe's fit
        for _ in range(rotations):
            turned = seen @ (random_rotation(basis.shape[1], rng) @ inner)
            for name, measure in MEASURES.items():
                drawn[name].append(measure(a, turned))
    return tuple(
        Likeness(
            measure=name,
            value=value,
            chance=float(np.mean(drawn[name])),
            chance95=tuple(np.quantile(drawn[name], (0.025, 0.975)).tolist()),
            p_value=(1 + int((np.array(drawn[name]) >= value - TIE).sum())) / (1 + rotations),
            n=len(rows),
            rotations=rotations,
            seed=seed,
        )
        for name, value in found.items()
    )


def random_rotation(size: int, rng: np.random.Generator) -> np.ndarray:
    """A uniformly drawn orthogonal matrix (size, size), reflections among them (Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return q * np.sign(np.diag(r))


def compact(vectors: np.ndarray) -> np.ndarray:
    """The rows (n, d) in their own span (n, at most n): all their inner products stay."""
    left, scale, _ = np.linalg.svd(vectors, full_matrices=False)
    kept = scale > 1e-12 * scale.max(initial=0)
    return left[:, kept] * scale[kept]


def _about_mean(vectors: np.ndarray) -> np.ndarray:
    return vectors - vectors.mean(axis=0)
