from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.agreement.recognition import recognised
from binding_core.concepts import BUNDLED_SPACE, ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.probes import (
    fit_probe,
    present,
    probe_recognition,
    scene_numbers,
    split_scenes,
    three_parts,
)
from binding_core.geometry.scene_table import SceneTable

SPACE = ConceptSpace(
    types=("colour", "shape"),
    values=tuple(words[:5] for words in BUNDLED_SPACE.values),
)  # 25 objects, 10 concepts; the controls know their words
EVERY_PAIR = np.stack(np.divmod(np.arange(25 * 25), 25), axis=1)


def raw_table(
    objects: np.ndarray, vectors: np.ndarray, *, noise: float = 0.0, seed: int = 0
) -> SceneTable:
    """Scenes of objects (n, M) that are exactly the sum of their objects' vectors (25, d)."""
    exact = vectors[objects].sum(axis=1)
    rng = np.random.default_rng(seed)
    return SceneTable(
        space=SPACE,
        concepts=np.stack(np.unravel_index(objects, SPACE.sizes), axis=-1),
        embeddings=(exact + noise * rng.standard_normal(exact.shape)).astype(np.float32),
        modality="image",
        source="raw",
    )


def bag_vectors() -> np.ndarray:
    """Each object is the sum of its two concepts' unit vectors, (25, 10)."""
    colours, shapes = np.divmod(np.arange(25), 5)
    return np.eye(10)[colours] + np.eye(10)[5 + shapes]


def random_objects(n: int, *, seed: int = 0, places: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(25, size=(n, places))


def halves(table: SceneTable) -> tuple[SceneTable, SceneTable]:
    train, test = split_scenes(table, by="scenes", test_share=0.5, seed=0)
    return table.rows(train), table.rows(test)


def test_a_memorisers_objects_are_read_and_so_are_its_concepts():
    fitted, tested = halves(raw_table(random_objects(400), np.eye(25)))
    for target in ("objects", "concepts"):
        found = probe_recognition(fit_probe(fitted, target=target), tested)
        assert found.value == 1
        assert found.n == len(tested)


def test_chance_is_that_of_a_random_ranking():
    two_different = EVERY_PAIR[EVERY_PAIR[:, 0] != EVERY_PAIR[:, 1]]
    table = raw_table(two_different, np.eye(25))
    assert probe_recognition(fit_probe(table, target="objects"), table).chance == pytest.approx(
        1 / 300  # 25 over 2
    )


def test_of_a_bags_scene_and_its_swap_one_at_most_is_read():
    fitted, _ = halves(raw_table(random_objects(600), bag_vectors()))
    every = raw_table(EVERY_PAIR, bag_vectors())
    assert probe_recognition(fit_probe(fitted, target="concepts"), every).value == 1
    probe = fit_probe(fitted, target="objects")
    read = recognised(probe.scores(every.embeddings), present(every, "objects"))
    differ = (every.concepts[:, 0] != every.concepts[:, 1]).all(axis=1)
    swapped = every.concepts.copy()
    swapped[:, :, 0] = swapped[:, ::-1, 0]
    row_of_swap = np.ravel_multi_index(tuple(np.moveaxis(swapped, -1, 0)), SPACE.sizes) @ [25, 1]
    assert differ.sum() == 25 * 16
    assert not (read & read[row_of_swap])[differ].any()


def test_noise_that_belongs_to_the_scene_does_not_let_objects_be_read():
    """Of a bag nothing tells a scene from its swap but noise, equal in scenes that are equal."""
    objects = np.sort(random_objects(900), axis=1)
    numbers = scene_numbers(raw_table(objects, np.eye(25)))[0]
    noise = 0.3 * np.random.default_rng(1).standard_normal((numbers.max() + 1, 100))
    table = raw_table(objects, bag_vectors())
    table = replace(table, embeddings=np.hstack([table.embeddings, noise[numbers]]))
    fitted, tested = halves(table)
    assert probe_recognition(fit_probe(fitted, target="objects"), tested).value < 0.6


def test_only_object_probes_see_that_attributes_are_bound_to_the_wrong_objects():
    fitted, tested = halves(raw_table(random_objects(400), np.eye(25)))
    tested = tested.rows((tested.concepts[:, 0] != tested.concepts[:, 1]).all(axis=1))
    misbound = tested.concepts.copy()
    misbound[:, :, 0] = misbound[:, ::-1, 0]
    claimed = replace(tested, concepts=misbound)  # the embeddings stay those of the true scenes
    assert probe_recognition(fit_probe(fitted, target="concepts"), claimed).value == 1
    assert probe_recognition(fit_probe(fitted, target="objects"), claimed).value == 0


def test_binding_is_read_where_it_has_a_thousandth_of_the_variance():
    vectors = np.hstack([bag_vectors(), 0.03 * np.eye(25)])
    fitted, tested = halves(raw_table(random_objects(600), vectors))
    probe = fit_probe(fitted, target="objects")
    assert probe.shrinkage < 0.1
    assert probe_recognition(probe, tested).value == 1


def test_regularisation_is_chosen_for_the_scenes_at_hand():
    """Noise in many directions, few scenes: whitening would make the noise as large as the rest."""
    vectors = np.hstack([3 * np.eye(25), np.zeros((25, 75))])
    fitted, tested = halves(raw_table(random_objects(300), vectors, noise=0.3))
    probe = fit_probe(fitted, target="objects")
    assert probe.shrinkage == 0.5
    assert probe_recognition(probe, tested).value > 0.95


def test_what_no_fitted_scene_holds_is_not_known_and_its_scenes_are_left_out():
    table = raw_table(random_objects(300), np.eye(25))
    holds_the_first = (table.objects == 0).any(axis=1)
    probe = fit_probe(table.rows(~holds_the_first), target="objects")
    assert np.isneginf(probe.bias).tolist() == [True] + [False] * 24
    assert np.array_equal(probe.determined(table), ~holds_the_first)
    found = probe_recognition(probe, table)
    assert found.n == (~holds_the_first).sum()
    assert found.value == 1


def test_in_a_split_by_objects_concepts_are_read_and_objects_are_not_available():
    table = raw_table(EVERY_PAIR, bag_vectors())
    train, test = split_scenes(table, by="objects", test_share=0.4, seed=0)
    concepts = fit_probe(table.rows(train), target="concepts")
    assert probe_recognition(concepts, table.rows(test)).value == 1
    assert concepts.why_not(table.rows(test)) is None
    objects = fit_probe(table.rows(train), target="objects")
    found = probe_recognition(objects, table.rows(test))
    assert (found.value, found.ci95, found.n, str(found)) == (None, None, 0, "not available")
    assert "cannot know" in objects.why_not(table.rows(test))


def one_value(table: SceneTable) -> SceneTable:
    concepts = table.concepts.copy()
    concepts[..., 1] = 0
    return replace(table, concepts=concepts)


@pytest.mark.parametrize(
    ("fitted", "target"),
    [
        (raw_table(random_objects(0), np.eye(25)), "objects"),
        (raw_table(random_objects(1), np.eye(25)), "objects"),
        (raw_table(np.zeros((20, 2), dtype=int), np.eye(25)), "objects"),  # all scenes equal
        (raw_table(random_objects(60), np.ones((25, 3))), "objects"),  # all embeddings equal
        (one_value(raw_table(random_objects(60), np.eye(25))), "concepts"),
    ],
    ids=["no scene", "one scene", "one object", "constant", "one value of a type"],
)
def test_what_cannot_be_told_gives_no_number(fitted, target):
    tested = one_value(raw_table(random_objects(40, seed=1), np.eye(25)))
    probe = fit_probe(fitted, target=target)
    assert probe_recognition(probe, tested).value is None
    assert probe.why_not(tested)
    assert probe_recognition(probe, tested.rows(np.arange(0))).n == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100), share=st.floats(0.1, 0.7))
def test_splits_keep_apart_what_they_say(seed, share):
    table = raw_table(random_objects(100, seed=seed), np.eye(25))
    train, test = split_scenes(table, by="scenes", test_share=share, seed=seed)
    (numbers,) = scene_numbers(table)
    assert np.array_equal(train, ~test)
    assert len(np.unique(numbers[test])) == round(share * len(np.unique(numbers)))
    assert not set(numbers[train]) & set(numbers[test])
    train, test = split_scenes(table, by="objects", test_share=share, seed=seed)
    assert not set(table.objects[train].ravel()) & set(table.objects[test].ravel())
    every = raw_table(EVERY_PAIR, np.eye(25))
    train, _ = split_scenes(every, by="objects", test_share=share, seed=seed)
    assert present(every.rows(train), "concepts").any(axis=0).all()
    # Of h held-out objects, h squared ordered pairs hold nothing else.
    heldout = 1 + seed % 5
    _, test = split_scenes(every, by="objects", heldout=np.arange(heldout) * 6, seed=seed)
    assert test.sum() == heldout**2


def test_impossible_splits_are_refused():
    table = raw_table(random_objects(10), np.eye(25))
    for share in (0, 1, -0.5):
        with pytest.raises(UserError, match="between 0 and 1"):
            split_scenes(table, by="scenes", test_share=share)
    with pytest.raises(UserError, match="cover every concept"):
        split_scenes(table, by="objects", heldout=np.arange(5))  # all of the first colour


@given(n=st.integers(0, 50), seed=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_three_parts_are_disjoint_and_everything(n, seed):
    table = raw_table(random_objects(n), np.eye(25))
    numbered = replace(table, embeddings=np.arange(n, dtype=np.float32)[:, None])
    numbers = [set(scene_numbers(part, table)[0]) for part in three_parts(table, seed=seed)]
    assert sum(map(len, numbers)) == len(set().union(*numbers))
    parts = [part.embeddings.ravel().tolist() for part in three_parts(numbered, seed=seed)]
    assert sorted(row for part in parts for row in part) == list(range(n))
