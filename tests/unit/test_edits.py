from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.errors import UserError
from binding_core.geometry.components import fit_components
from binding_core.geometry.edits import (
    edit_embeddings,
    edit_table,
    evaluate_edits,
    replacement_edits,
    swap_edits,
)
from binding_core.geometry.probes import fit_probe, split_scenes
from tests.unit.test_probes import EVERY_PAIR, SPACE, bag_vectors, random_objects, raw_table
from tests.unit.test_removal import control

EVERY = raw_table(EVERY_PAIR, np.eye(25))
KINDS = ("replace left", "replace right", "replace both", "swap colour", "swap shape")


def concepts_of(objects):
    return np.stack(np.unravel_index(np.array(objects), SPACE.sizes), axis=-1)


@pytest.mark.parametrize("estimator", ["least squares", "avg", "avg+pos"])
def test_a_full_edit_of_an_additive_table_is_the_new_scene(estimator):
    """In the full factorial all estimators are exact but for avg, where M = 2 objects keep company.

    Its mean over the scenes that hold an object counts a scene of two equal ones once.
    """
    components = fit_components(EVERY, level="objects", estimator=estimator)
    base, target = EVERY.rows(np.array([1 * 25 + 2])), concepts_of([[1, 7]])
    edited, determined = edit_embeddings(base, targets=target, components=components)
    wanted = np.eye(25)[1] + np.eye(25)[7]
    assert determined.all()
    assert np.allclose(edited, wanted, atol=1e-6) == (estimator != "avg")
    half, _ = edit_embeddings(base, targets=target, components=components, strength=0.5)
    assert np.allclose(half, (base.embeddings + edited) / 2)
    none, _ = edit_embeddings(base, targets=target, components=components, strength=0)
    assert np.array_equal(none, base.embeddings)


def test_components_by_place_edit_scenes_whose_objects_differ_by_place():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 25, 20))
    by_place = (left[EVERY_PAIR[:, 0]] + right[EVERY_PAIR[:, 1]]).astype(np.float32)
    table = replace(EVERY, embeddings=by_place)
    base, targets = table.rows(np.arange(25)), concepts_of([[9, 4]] * 25)
    for estimator, exact in (("avg+pos", True), ("least squares", False)):
        components = fit_components(table, level="objects", estimator=estimator)
        edited, _ = edit_embeddings(base, targets=targets, components=components)
        assert np.allclose(edited, left[9] + right[4], atol=1e-5) == exact


def test_swapping_two_attributes_of_a_bag_changes_nothing():
    table = raw_table(random_objects(600), bag_vectors())
    edits = swap_edits(table, bank=table, concept="colour")
    base = table.rows(edits.rows)
    concepts = fit_components(table, level="concepts", estimator="least squares")
    edited, _ = edit_embeddings(base, targets=edits.targets, components=concepts)
    assert np.array_equal(edited, base.embeddings)
    objects = fit_components(table, level="objects", estimator="least squares")
    edited, _ = edit_embeddings(base, targets=edits.targets, components=objects)
    assert np.abs(edited - base.embeddings).max() < 1e-6


def test_a_bags_swap_is_not_found_and_concept_probes_do_not_notice():
    """The edited scene, and it alone, has the embedding of the new one: a tie, which is wrong."""
    reports = edit_table(raw_table(random_objects(700), bag_vectors()), seed=0)
    for name in ("swap colour", "swap shape"):
        report = reports[name]
        assert report.found.n == report.n_edits > 100
        assert report.found.value == 0
        assert report.found_without_base.value == 1
        assert report.base_without_target.value == 1
        assert report.newcomer_without_target.value == 0
        assert report.concepts.value == 1
        assert report.objects.value < 0.75
    # Replaced objects bring concepts that the bag knows; its own swap always ties, when it has one.
    assert reports["replace both"].concepts.value == 1
    assert reports["replace both"].found.value < 0.75


def test_a_memorisers_edits_are_all_found():
    reports = edit_table(raw_table(random_objects(700), np.eye(25)), seed=0)
    assert tuple(reports) == KINDS
    for report in reports.values():
        assert report.found.value == report.found_without_base.value == 1
        assert report.objects.value == report.concepts.value == 1
        assert report.found.chance == pytest.approx(1 / 325, rel=1)  # multisets of 2 out of 25
    # Both objects new: cosine 0 with the edited scene, 1/2 with all that share one of the two.
    assert reports["replace both"].base_without_target.value == 0


def test_concept_components_cannot_bind_what_a_memoriser_binds():
    """Their swap is no change at all, so the scene that was edited stays the nearest."""
    reports = edit_table(raw_table(random_objects(700), np.eye(25)), seed=0, level="concepts")
    report = reports["swap colour"]
    assert report.found.value == report.objects.value == 0
    assert report.base_without_target.value == 1
    assert report.concepts.value == 1


def test_without_strength_the_edited_scene_itself_is_found():
    table = raw_table(random_objects(700), np.eye(25))
    for report in edit_table(table, seed=0, strength=0).values():
        assert report.found.value == 0
        assert report.base_without_target.value == 1
        assert report.objects.value < 0.1  # of two equal objects one stays, and ties are broken


@pytest.mark.parametrize("noise", [0, 0.3])
@pytest.mark.parametrize(
    ("kind", "bound"), [("bag", False), ("product", True), ("memoriser", True)]
)
def test_edits_tell_the_controls_apart(kind, bound, noise):
    report = edit_table(control(kind, noise), seed=0)["swap colour"]
    assert (report.found.value > 0.9) == bound
    assert (report.base_without_target.value < 0.5) == bound
    assert (report.objects.value > 0.9) == bound
    assert report.concepts.value > 0.8
    if not bound:
        assert report.found.value < 0.1


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 100),
    places=st.integers(2, 3),
    place=st.sampled_from(["left", "right", "both"]),
)
def test_replacements_keep_the_rest_and_lead_to_scenes_of_the_bank(seed, places, place):
    vectors = np.eye(25)
    table = raw_table(random_objects(60, seed=seed, places=places), vectors)
    bank = raw_table(random_objects(200, seed=seed + 1, places=places), vectors)
    edits = replacement_edits(table, bank=bank, place=place, seed=seed)
    changed = {"left": [0], "right": [places - 1], "both": [0, places - 1]}[place]
    kept = [m for m in range(places) if m not in changed]
    in_bank = {tuple(sorted(objects)) for objects in bank.objects.tolist()}
    base = table.rows(edits.rows)
    target = replace(base, concepts=edits.targets)
    assert np.array_equal(base.objects[:, kept], target.objects[:, kept])
    for before, after in zip(base.objects, target.objects, strict=True):
        assert tuple(sorted(after.tolist())) in in_bank
        assert not set(before[changed]) & set(after[changed])
    assert len(set(edits.rows)) == len(edits)


def test_swaps_that_change_nothing_or_are_not_in_the_bank_are_no_edits():
    #          differs and is there; both objects equal; one value in common; no swap in the bank
    table = raw_table(np.array([[0, 6], [3, 3], [0, 1], [2, 14]]), np.eye(25))
    bank = raw_table(np.array([[5, 1], [0, 6]]), np.eye(25))
    edits = swap_edits(table, bank=bank, concept="colour")
    assert edits.rows.tolist() == [0]
    assert edits.targets.tolist() == [[[1, 0], [0, 1]]]


def test_shares_are_over_what_can_be_found():
    fitted, rest = (EVERY.rows(part) for part in split_scenes(EVERY, by="scenes", seed=0))
    edits = replacement_edits(rest, bank=rest, place="left")
    options = {
        "edits": edits,
        "components": fit_components(fitted, level="objects", estimator="least squares"),
        "object_probe": fit_probe(fitted, target="objects"),
        "concept_probe": fit_probe(fitted, target="concepts"),
    }
    whole = evaluate_edits(rest, bank=rest, **options)
    assert whole.found.n == whole.objects.n == whole.n_edits == len(edits)
    nothing = evaluate_edits(rest, bank=rest.rows(np.arange(0)), **options)
    assert nothing.found.value is None
    assert nothing.base_without_target.value is None
    assert nothing.objects.n == len(edits)


def test_edits_to_objects_without_a_component_are_left_out():
    seven = (EVERY.objects == 7).any(axis=1)
    components = fit_components(EVERY.rows(~seven), level="objects", estimator="least squares")
    base = EVERY.rows(np.array([0, 1]))
    targets = concepts_of([[0, 7], [0, 8]])
    _, determined = edit_embeddings(base, targets=targets, components=components)
    assert determined.tolist() == [False, True]


def test_a_handful_of_scenes_gives_no_number():
    for report in edit_table(raw_table(random_objects(3), np.eye(25)), seed=0).values():
        assert report.found.value is report.objects.value is report.concepts.value is None
    with pytest.raises(UserError, match="at least one scene"):
        edit_table(raw_table(random_objects(0), np.eye(25)), seed=0)


def test_impossible_edits_are_refused():
    single = raw_table(random_objects(5, places=1), np.eye(25))
    with pytest.raises(UserError, match="two objects at least"):
        replacement_edits(single, bank=single, place="left")
    with pytest.raises(UserError, match="swap colour or shape"):
        swap_edits(EVERY, bank=EVERY, concept="size")
