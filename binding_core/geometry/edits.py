"""Edits in embedding space: objects replaced or attributes swapped; is the new scene found?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

import numpy as np

from binding_core.agreement.measures import Share, share
from binding_core.errors import UserError
from binding_core.geometry.components import Components, Estimator, Level, fit_components
from binding_core.geometry.levels import CHUNK, TIE, unit_rows
from binding_core.geometry.probes import (
    Probe,
    Target,
    probe_recognition,
    scene_numbers,
    three_part_probes,
    three_parts,
)
from binding_core.geometry.scene_table import SceneTable

Place = Literal["left", "right", "both"]


@dataclass(frozen=True)
class Edits:
    """Scenes of a table and what each is to become, one edit a scene at most."""

    rows: np.ndarray  # int64 (n,), the scenes' rows in the table
    targets: np.ndarray  # int64 (n, M, C): the new scenes' value numbers

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class EditReport:
    """What became of the edits that are determined.

    Scenes with the same multiset of objects count as one, and a tie is wrong. What is not in the
    bank cannot be found: each share is over the edits for which it can. In a bank without the new
    scene, what is nearest instead is a control.
    """

    strength: float
    n_edits: int  # all that were given
    found: Share  # the new scene is nearest, in the whole bank
    found_without_base: Share  # the same in a bank without the scene that was edited
    base_without_target: Share  # no new scene in the bank: the edited scene itself is nearest
    newcomer_without_target: Share  # there, the nearest holds an object that came in
    objects: Share  # a probe reads the new scene's objects
    concepts: Share  # a probe reads its concepts: it cannot see which goes with which


def edit_embeddings(
    table: SceneTable, *, targets: np.ndarray, components: Components, strength: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Take out the components of what goes and put in those of what comes.

    ``targets`` int (n, M, C) are the new scenes' value numbers, place by place. At strength 0
    nothing changes, at 1 the exchange is full. Returns float64 (n, d), not of unit norm, and which
    edits are determined, bool (n,).
    """
    if not len(table):
        return table.embeddings.astype(np.float64), np.zeros(0, dtype=bool)
    before, known_before = components.predict(table)
    after, known_after = components.predict(replace(table, concepts=targets))
    return table.embeddings + strength * (after - before), known_before & known_after


def replacement_edits(table: SceneTable, *, bank: SceneTable, place: Place, seed: int = 0) -> Edits:
    """One replacement a scene, drawn from those whose new scene the bank holds.

    Left and right are the first and the last place, as seen or as named; none of the objects that
    come is one that goes. Scenes without such a replacement have no edit. UserError when scenes
    hold a single object.
    """
    _check_pairs(table)
    places = {"left": [0], "right": [-1], "both": [0, -1]}[place]
    newcomers = _newcomers(bank, n=len(places))
    staying = np.sort(np.delete(table.objects, places, axis=1), axis=1)
    rng = np.random.default_rng(seed)
    rows, objects = [], table.objects.copy()
    for row, stay in enumerate(map(tuple, staying.tolist())):
        options = newcomers.get(stay, np.empty((0, len(places)), dtype=np.int64))
        options = options[~np.isin(options, table.objects[row, places]).any(axis=1)]
        if len(options):
            objects[row, places] = rng.permutation(options[rng.integers(len(options))])
            rows.append(row)
    targets = np.stack(np.unravel_index(objects, table.space.sizes), axis=-1)
    return Edits(rows=np.array(rows, dtype=np.int64), targets=targets[rows])


def swap_edits(table: SceneTable, *, bank: SceneTable, concept: str) -> Edits:
    """Exchange one concept type between the first two objects of each scene.

    Left out are scenes whose swap is the scene itself or is not in the bank. UserError when scenes
    hold a single object, or the space has no such concept type.
    """
    _check_pairs(table)
    if concept not in table.space.types:
        allowed = " or ".join(table.space.types)
        raise UserError(f"“{concept}” cannot be swapped; swap {allowed}.")
    k = table.space.types.index(concept)
    targets = table.concepts.copy()
    targets[:, :2, k] = targets[:, 1::-1, k]
    base, target, held = scene_numbers(table, replace(table, concepts=targets), bank)
    rows = np.flatnonzero((base != target) & np.isin(target, held))
    return Edits(rows=rows, targets=targets[rows])


def evaluate_edits(
    table: SceneTable,
    *,
    edits: Edits,
    bank: SceneTable,
    components: Components,
    object_probe: Probe,
    concept_probe: Probe,
    strength: float = 1.0,
) -> EditReport:
    """Make the edits and look up what came of them, by cosine in the bank and with probes.

    ``table`` holds the edited scenes. Components and probes are to be fitted on others, and not
    on the same ones, see :func:`edit_table`.
    """
    base = table.rows(edits.rows)
    embeddings, determined = edit_embeddings(
        base, targets=edits.targets, components=components, strength=strength
    )
    target = replace(base, concepts=edits.targets, embeddings=embeddings)
    base, target = base.rows(determined), target.rows(determined)
    base_numbers, target_numbers, held = scene_numbers(base, target, bank)
    is_base, is_target = base_numbers[:, None] == held, target_numbers[:, None] == held
    came = (target.object_counts > base.object_counts).astype(np.float64)
    has_newcomer = came @ bank.object_counts.T > 0

    def nearest(wanted: np.ndarray, allowed: np.ndarray) -> Share:
        return nearest_share(target.embeddings, bank=bank, wanted=wanted, allowed=allowed)

    return EditReport(
        strength=strength,
        n_edits=len(edits),
        found=nearest(is_target, np.ones_like(is_target)),
        found_without_base=nearest(is_target, ~is_base),
        base_without_target=nearest(is_base, ~is_target),
        newcomer_without_target=nearest(has_newcomer, ~is_target),
        objects=probe_recognition(object_probe, target),
        concepts=probe_recognition(concept_probe, target),
    )


def edit_table(
    table: SceneTable,
    *,
    seed: int,
    estimator: Estimator = "least squares",
    level: Level = "objects",
    strength: float = 1.0,
    probes: Mapping[Target, Probe] | None = None,
) -> dict[str, EditReport]:
    """All kinds of edits: "replace left", "replace right", "replace both", "swap colour", ...

    Probes, components and edited scenes are apart (:func:`three_parts`). The bank is every scene
    that the components were not fitted on, so that they know nothing of what is to be found.
    ``probes``, where they are at hand, are those of :func:`three_part_probes` with this seed.
    UserError when there are too few scenes to fit components on.
    """
    for_probes, for_components, edited = three_parts(table, seed=seed)
    components = fit_components(for_components, level=level, estimator=estimator)
    probes = probes or three_part_probes(table, seed=seed)
    bank = replace(
        edited,
        concepts=np.concatenate([for_probes.concepts, edited.concepts]),
        embeddings=np.concatenate([for_probes.embeddings, edited.embeddings]),
    )
    edits = {
        f"replace {place}": replacement_edits(edited, bank=bank, place=place, seed=seed)
        for place in get_args(Place)
    } | {
        f"swap {concept}": swap_edits(edited, bank=bank, concept=concept)
        for concept in table.space.types
    }
    return {
        name: evaluate_edits(
            edited,
            edits=some,
            bank=bank,
            components=components,
            object_probe=probes["objects"],
            concept_probe=probes["concepts"],
            strength=strength,
        )
        for name, some in edits.items()
    }


def nearest_share(
    embeddings: np.ndarray, *, bank: SceneTable, wanted: np.ndarray, allowed: np.ndarray
) -> Share:
    """How often a wanted scene is nearer by cosine than any other that is allowed.

    ``embeddings`` (n, d); ``wanted`` and ``allowed`` bool (n, len(bank)). Over the rows for which
    a wanted scene is allowed.
    """
    wanted = wanted & allowed
    possible = np.flatnonzero(wanted.any(axis=1))
    if not len(possible):
        return share([], chance=None)
    vectors, queries = unit_rows(bank.embeddings), unit_rows(embeddings)
    held = []
    for start in range(0, len(possible), CHUNK):
        rows = possible[start : start + CHUNK]
        similarity = np.where(allowed[rows], queries[rows] @ vectors.T, -np.inf)
        best = np.where(wanted[rows], similarity, -np.inf).max(axis=1)
        best_other = np.where(wanted[rows], -np.inf, similarity).max(axis=1)
        held += (best > best_other + TIE).tolist()
    chance = wanted[possible].sum(axis=1) / allowed[possible].sum(axis=1)
    return share(held, chance=float(chance.mean()))


def _newcomers(bank: SceneTable, *, n: int) -> dict[tuple[int, ...], np.ndarray]:
    """For each sorted rest of a scene of the bank, the n objects that make it one: (k, n)."""
    found = defaultdict(set)
    for scene in {tuple(sorted(objects)) for objects in bank.objects.tolist()}:
        for places in combinations(range(len(scene)), n):
            rest = tuple(o for place, o in enumerate(scene) if place not in places)
            found[rest].add(tuple(scene[place] for place in places))
    return {rest: np.array(sorted(options)) for rest, options in found.items()}


def _check_pairs(table: SceneTable) -> None:
    if table.places < 2:
        raise UserError("Edits need scenes of two objects at least.")
