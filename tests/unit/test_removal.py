from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.encoders.controls import ControlEncoder
from binding_core.geometry import removal
from binding_core.geometry.probes import three_parts
from binding_core.geometry.removal import RemovalRow, derangement, removal_table
from binding_core.geometry.scene_table import SceneTable, embed_scenes
from binding_core.scenes import random_scene
from tests.unit.test_probes import SPACE, bag_vectors, random_objects, raw_table

SCENES = [random_scene(space=SPACE, n_objects=2, seed=[4, i]) for i in range(1000)]
DIMENSIONS = 64
GONE = 0.1  # what cannot be read is read this often at most: in scenes that the bias happens to fit


def rows(table: SceneTable, **options) -> dict[str, RemovalRow]:
    return {row.name: row for row in removal_table(table, seed=0, **options)}


@cache
def control(kind: str, noise: float) -> SceneTable:
    return embed_scenes(
        ControlEncoder(kind, noise=noise, dimensions=DIMENSIONS),
        scenes=SCENES,
        modality="text",
        space=SPACE,
    )


def test_of_a_bag_nothing_is_left_without_its_concepts():
    found = rows(raw_table(random_objects(700), bag_vectors()))
    assert list(found) == [
        "original",
        "minus concepts",
        "minus objects",
        "wrong concepts",
        "wrong objects",
    ]
    assert found["original"].concepts.value == 1
    # A scene and its swap have one embedding: half of the scenes that differ from theirs, at best.
    assert found["original"].objects.value < 0.75
    for name in ("minus concepts", "minus objects"):
        assert found[name].concepts.value < GONE
        assert found[name].objects.value < GONE


@pytest.mark.parametrize("noise", [0, 0.1])
def test_a_memorisers_objects_outlive_its_concepts(noise):
    """With one unit vector an object, concepts are row and column means of a 5 x 5 table.

    Without them the score of a present object is 1 - 1/5 - 1/5 + 1/25 = 16/25, or 4/25 less when
    the other object shares a value with it; an absent one has 2/25 at most. The scores of
    concepts are sums of rows and columns, which are then all 0.
    """
    found = rows(raw_table(random_objects(1000), np.eye(25), noise=noise))
    assert found["original"].objects.value == 1
    assert found["original"].concepts.value > 0.9
    assert found["minus concepts"].objects.value > (0.85 if noise else 0.97)
    assert found["minus concepts"].concepts.value < GONE
    assert found["minus objects"].concepts.value < GONE
    assert found["minus objects"].objects.value < GONE
    # Another scene's parts go where none of this scene's are: 1 for the present, 0 or -1 else.
    for name in ("wrong concepts", "wrong objects"):
        assert found[name].objects.value > 0.97
        assert found[name].concepts.value > 0.9


@pytest.mark.parametrize("noise", [0, 0.3])
@pytest.mark.parametrize(
    ("kind", "objects_are_read"), [("bag", False), ("product", True), ("memoriser", True)]
)
def test_removal_tells_the_controls_apart(kind, objects_are_read, noise):
    found = rows(control(kind, noise))
    assert found["original"].concepts.value > 0.95
    assert (found["original"].objects.value > 0.95) == objects_are_read
    assert (found["minus concepts"].objects.value > 0.9) == objects_are_read
    assert found["minus objects"].objects.value < found["original"].objects.value - 0.3
    assert found["wrong objects"].objects.value > found["minus objects"].objects.value + 0.1


def test_every_row_is_of_the_same_scenes_and_seeded():
    table = raw_table(random_objects(300), np.eye(25), noise=0.1)
    shares = [
        share for row in removal_table(table, seed=3) for share in (row.concepts, row.objects)
    ]
    assert len({share.n for share in shares}) == 1
    assert removal_table(table, seed=3) == removal_table(table, seed=3)


def test_scenes_with_components_that_are_not_determined_are_left_out():
    table = raw_table(random_objects(120), np.eye(25))
    _, fitted, tested = three_parts(table, seed=0)
    known = np.isin(tested.objects, fitted.objects).all(axis=1).sum()
    assert known < len(tested)
    for row in removal_table(table, seed=0):
        assert 0 < row.concepts.n <= known


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a_handful_of_scenes_gives_no_number(n):
    for row in removal_table(raw_table(random_objects(n), np.eye(25)), seed=0):
        assert row.concepts.value is None
        assert row.objects.value is None


def test_components_of_a_scene_that_holds_the_same_are_not_wrong_ones(monkeypatch):
    monkeypatch.setattr(removal, "derangement", lambda held, *, seed: np.arange(len(held)))
    found = rows(raw_table(random_objects(200), np.eye(25)))
    assert found["minus objects"].objects.n > 0
    for name in ("wrong concepts", "wrong objects"):
        assert found[name].objects.value is found[name].concepts.value is None


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 30), k=st.integers(2, 12), seed=st.integers(0, 100))
def test_derangements_have_no_fixed_points(n, k, seed):
    held = np.random.default_rng(seed).random((n, k)) < 0.3
    partners = derangement(held, seed=seed)
    assert sorted(partners) == list(range(n))
    assert (partners != np.arange(n)).all()


def test_a_derangement_shares_nothing_where_that_is_possible():
    held = np.repeat(np.eye(3, dtype=bool), 5, axis=0)  # five scenes each of three kinds
    draws = [derangement(held, seed=seed) for seed in range(3)]
    for partners in draws:
        assert not (held & held[partners]).any()
    assert len({tuple(partners) for partners in draws}) == 3
