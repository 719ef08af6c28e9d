"""Linear probes: which objects, or which concepts, can be read out of a scene's embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from binding_core.agreement.measures import Share, share
from binding_core.agreement.recognition import chance_of_recognition, recognised
from binding_core.concepts import split_positions
from binding_core.errors import UserError
from binding_core.geometry.scene_table import SceneTable

Target = Literal["objects", "concepts"]
SplitBy = Literal["scenes", "objects"]

PART_ENDS = (0.4, 0.7)  # of the distinct scenes: for probes, for components; the rest for tests
# From careful to bold, see _fit; of equally good ones the first is kept.
SHRINKAGES = (0.5, 1e-2, 1e-6)
PENALTY = 1.0  # half of it times the squared whitened weights, beside the summed losses
TOLERANCE = 1e-3  # of the gradient; recognition does not change below it


@dataclass(frozen=True)
class Probe:
    """A linear score for each of K objects or concepts.

    An object that no fitted scene holds, or that all of them hold, is not known: no probe can
    tell it, and its score is minus infinity.
    """

    target: Target
    weights: np.ndarray  # float64 (d, K)
    bias: np.ndarray  # float64 (K,); minus infinity where not known
    shrinkage: float  # the regularisation chosen, in (0, 1)
    n_fitted: int  # scenes

    def scores(self, embeddings: np.ndarray) -> np.ndarray:
        """Embeddings (n, d), of unit norm or not -> float64 (n, K)."""
        return embeddings @ self.weights + self.bias

    def determined(self, table: SceneTable) -> np.ndarray:
        """Scenes that hold only what the probe knows, bool (n,)."""
        return ~present(table, self.target)[:, np.isneginf(self.bias)].any(axis=1)

    def why_not(self, table: SceneTable) -> str | None:
        """Why nothing can be read out of these scenes; None when something can."""
        if not len(table):
            return "There is no scene to read."
        if not self.determined(table).any():
            return (
                f"Each scene holds {self.target} that the probe cannot know: "
                "none or all of the scenes it was fitted on hold them."
            )
        return None


def present(table: SceneTable, target: Target) -> np.ndarray:
    """Which objects or concepts each scene holds, bool (n, K)."""
    if not len(table):
        size = table.space.n_objects if target == "objects" else len(table.space.concepts)
        return np.zeros((0, size), dtype=bool)
    return (table.object_counts if target == "objects" else table.concept_counts) > 0


def split_scenes(
    table: SceneTable,
    *,
    by: SplitBy,
    test_share: float = 0.3,
    heldout: np.ndarray | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Which scenes to fit on and which to test on, bool (n,) each.

    By scenes: ``test_share`` of the distinct ones at random. Scenes with the same multiset of
    objects stay together: a probe could otherwise know a scene again without reading it.

    By objects: tested are the scenes made only of held-out objects, fitted those of none; mixed
    ones are neither. Held out are the positions ``heldout`` in the object space, or
    ``test_share`` of it, drawn so that the other objects cover every concept
    (:func:`~binding_core.concepts.split_positions`).

    UserError when they do not cover every concept, or the share is not between 0 and 1.
    """
    if not 0 < test_share < 1:
        raise UserError(f"The share of tests must lie between 0 and 1, not {test_share}.")
    if by == "scenes":
        tested = _part(table, ends=(test_share,), seed=seed) == 0
        return ~tested, tested
    sizes = table.space.sizes
    is_heldout = np.zeros(table.space.n_objects, dtype=bool)
    if heldout is None:
        is_heldout[:] = True
        is_heldout[split_positions(sizes, coverage=1 - test_share, seed=seed)] = False
    else:
        is_heldout[heldout] = True
    values = np.unravel_index(np.flatnonzero(~is_heldout), sizes)
    if any(len(np.unique(v)) < size for v, size in zip(values, sizes, strict=True)):
        raise UserError("The objects that are not held out must cover every concept.")
    held = is_heldout[table.objects]
    return ~held.any(axis=1), held.all(axis=1)


def three_parts(table: SceneTable, *, seed: int) -> tuple[SceneTable, SceneTable, SceneTable]:
    """Scenes for probes, for components and for tests, drawn at random; no two parts share one.

    Were probes and components fitted on the same scenes, their errors would agree: too much would
    seem to be taken out by a removal, or put in by an edit.
    """
    part = _part(table, ends=PART_ENDS, seed=seed)
    probes, components, tests = (table.rows(part == i) for i in range(3))
    return probes, components, tests


def three_part_probes(table: SceneTable, *, seed: int) -> dict[Target, Probe]:
    """The probes of objects and of concepts, fitted on the first of :func:`three_parts`."""
    for_probes, _, _ = three_parts(table, seed=seed)
    return {target: fit_probe(for_probes, target=target, seed=seed) for target in get_args(Target)}


def scene_numbers(*tables: SceneTable) -> list[np.ndarray]:
    """A number for each multiset of objects, the same in all tables: int64 (n,) a table."""
    objects = np.sort(np.concatenate([table.objects for table in tables]), axis=1)
    numbers = np.unique(objects, axis=0, return_inverse=True)[1].ravel()
    return np.split(numbers, np.cumsum([len(table) for table in tables[:-1]]))


def _part(table: SceneTable, *, ends: tuple[float, ...], seed: int) -> np.ndarray:
    """In which part each scene falls, int64 (n,), equal ones in the same.

    Parts end at these shares of the distinct scenes in random order; the last one at the end.
    """
    numbers = scene_numbers(table)[0]
    distinct = numbers.max(initial=-1) + 1
    place = np.random.default_rng(seed).permutation(distinct)[numbers]
    return np.searchsorted(np.rint(np.array(ends) * distinct), place, side="right")


def fit_probe(table: SceneTable, *, target: Target, seed: int = 0) -> Probe:
    """Fit one score for each object or concept on all scenes of the table.

    The regularisation is the one under which a probe of half of these scenes recognises most in
    the other half; ``seed`` draws the halves.
    """
    part = _part(table, ends=(0.5,), seed=seed)
    first, second = table.rows(part == 0), table.rows(part == 1)

    def recognises(shrinkage: float) -> float:
        probe = _fit(first, target=target, shrinkage=shrinkage)
        return probe_recognition(probe, second).value or 0.0

    return _fit(table, target=target, shrinkage=max(SHRINKAGES, key=recognises))


def probe_recognition(probe: Probe, table: SceneTable) -> Share:
    """How often the present objects, or concepts, all score above all absent ones.

    Over the scenes that hold only what the probe knows (:meth:`Probe.determined`): there may be
    none, as in a split by objects, where no probe of objects can know the held-out ones.
    """
    judged = table.rows(probe.determined(table))
    if not len(judged):
        return share([], chance=None)
    held, known = present(judged, probe.target), np.isfinite(probe.bias)
    return share(
        recognised(probe.scores(judged.embeddings), held),
        chance=chance_of_recognition(held[:, known]),
    )


def _fit(table: SceneTable, *, target: Target, shrinkage: float) -> Probe:
    """A logistic regression a target, all of them in one go, on whitened embeddings.

    Whitened by the shrunk covariance: without it, directions of small variance, where binding
    lies, would cost the most weight and stay unread. Full shrinkage would leave the embeddings
    as they are but for their scale.
    """
    from sklearn.covariance import empirical_covariance, shrunk_covariance
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    embeddings, held = table.embeddings.astype(np.float64), present(table, target)
    weights = np.zeros((embeddings.shape[1], held.shape[1]))
    bias = np.full(held.shape[1], -np.inf)
    known = held.any(axis=0) & ~held.all(axis=0)
    if known.any() and (embeddings != embeddings[0]).any():
        mean = embeddings.mean(axis=0)
        covariance = empirical_covariance(embeddings)
        variances, axes = np.linalg.eigh(shrunk_covariance(covariance, shrinkage))
        whitening = axes / np.sqrt(variances)
        # A network without hidden layers, so that all targets share each pass over the scenes.
        network = MLPClassifier(
            hidden_layer_sizes=(),
            solver="lbfgs",
            alpha=PENALTY,
            tol=TOLERANCE,
            max_iter=1000,
            random_state=0,
        )
        # Matrices this small are multiplied sooner by one core: two of them mostly wait for each
        # other, five times as long where another job has one of the cores.
        with threadpool_limits(1, user_api="blas"):
            network.fit((embeddings - mean) @ whitening, held[:, known])
        weights[:, known] = whitening @ network.coefs_[0]
        bias[known] = network.intercepts_[0] - mean @ weights[:, known]
    return Probe(
        target=target, weights=weights, bias=bias, shrinkage=shrinkage, n_fitted=len(table)
    )
