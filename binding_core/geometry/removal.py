"""Targeted removal: what probes still read once components are taken out of the embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from binding_core.agreement.measures import Share
from binding_core.geometry.components import Estimator, Level, fit_components
from binding_core.geometry.probes import (
    Probe,
    Target,
    present,
    probe_recognition,
    three_part_probes,
    three_parts,
)
from binding_core.geometry.scene_table import SceneTable


@dataclass(frozen=True)
class RemovalRow:
    """What is recognised in the tested scenes after one removal."""

    name: str
    concepts: Share
    objects: Share


def removal_table(
    table: SceneTable,
    *,
    seed: int,
    estimator: Estimator = "least squares",
    probes: Mapping[Target, Probe] | None = None,
) -> list[RemovalRow]:
    """The five rows: nothing removed, concepts, objects, wrong concepts, wrong objects.

    Removed is the sum of a scene's concept or object components, or of those of another scene;
    the rest is not brought back to unit length. An object component holds its concepts' part, so
    that taking objects out takes concepts with it.

    Probes, components and tests have scenes of their own (:func:`three_parts`). All rows are of
    the same scenes, those whose components are determined. Wrong components are those of a scene
    that shares no concept where that is possible (:func:`derangement`); a wrong row leaves out the
    scenes whose partner holds the same.

    ``probes``, where they are at hand, are those of :func:`three_part_probes` with this seed.

    Recognition compares scores and not their size: a trace that is left counts in full.

    Source: arXiv 2605.31503, targeted removal.
    """
    _, for_components, tested = three_parts(table, seed=seed)
    parts = {
        level: _summed_parts(tested, fitted=for_components, level=level, estimator=estimator)
        for level in ("concepts", "objects")
    }
    judged = np.logical_and(*(determined for _, determined in parts.values()))
    tested = tested.rows(judged)
    summed = {level: vectors[judged] for level, (vectors, _) in parts.items()}
    versions = {"original": tested}
    for level, vectors in summed.items():
        versions[f"minus {level}"] = _minus(tested, vectors)
    held = {level: present(tested, level) for level in summed}
    partners = derangement(np.hstack(list(held.values())), seed=seed)
    for level, vectors in summed.items():
        differ = (held[level] != held[level][partners]).any(axis=1)
        versions[f"wrong {level}"] = _minus(tested, vectors[partners]).rows(differ)
    probes = probes or three_part_probes(table, seed=seed)
    return [
        RemovalRow(
            name=name,
            concepts=probe_recognition(probes["concepts"], version),
            objects=probe_recognition(probes["objects"], version),
        )
        for name, version in versions.items()
    ]


def derangement(held: np.ndarray, *, seed: int) -> np.ndarray:
    """Give each of two scenes or more another one, each to one: int64 (n,), a permutation.

    ``held`` bool (n, K) is what scenes hold. All together share as little with their partners as
    can be had; ``seed`` draws among equally good permutations.
    """
    from scipy.optimize import linear_sum_assignment

    n = len(held)
    shared = held.astype(np.float64) @ held.T
    cost = shared + np.random.default_rng(seed).random((n, n)) / max(n, 1)
    np.fill_diagonal(cost, (shared.max(initial=0) + 1) * n)
    return linear_sum_assignment(cost)[1]


def _summed_parts(
    table: SceneTable, *, fitted: SceneTable, level: Level, estimator: Estimator
) -> tuple[np.ndarray, np.ndarray]:
    """What each scene's components sum to, float64 (n, d), and which are determined, bool (n,)."""
    if not len(fitted) or not len(table):
        return np.zeros(table.embeddings.shape), np.zeros(len(table), dtype=bool)
    components = fit_components(fitted, level=level, estimator=estimator)
    predicted, determined = components.predict(table)
    return predicted - components.mean, determined


def _minus(table: SceneTable, vectors: np.ndarray) -> SceneTable:
    return replace(table, embeddings=table.embeddings - vectors)
