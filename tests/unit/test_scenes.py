import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binding_core.concepts import BUNDLED_SPACE, COLOURS, SHAPES
from binding_core.errors import UserError
from binding_core.scenes import (
    MIN_CENTRE_DISTANCE,
    PlacedObject,
    Scene,
    parse_scene,
    random_scene,
    swap,
)

scenes = st.builds(
    lambda n, seed: random_scene(space=None, n_objects=n, seed=seed),
    st.integers(2, 6),
    st.integers(0, 10_000),
)


@given(scene=scenes, concept=st.sampled_from(["colour", "shape"]), data=st.data())
def test_swapping_twice_gives_the_scene_back(scene, concept, data):
    n = len(scene.objects)
    i, j = data.draw(st.permutations(range(n)))[:2]
    once = swap(scene, concept=concept, pair=(i, j))
    assert swap(once, concept=concept, pair=(i, j)) == scene
    assert swap(scene, concept=concept, pair=(j, i)) == once
    for attribute in ("colour", "shape"):  # nothing is added, nothing is lost
        before = Counter(getattr(o, attribute) for o in scene.objects)
        assert Counter(getattr(o, attribute) for o in once.objects) == before
    assert [(o.x, o.y, o.size) for o in once.objects] == [(o.x, o.y, o.size) for o in scene.objects]


@given(scene=scenes)
def test_colour_and_shape_swap_give_the_same_objects(scene):
    assert swap(scene, concept="colour").same_objects(swap(scene, concept="shape"))


def test_swap_exchanges_what_it_says():
    scene = Scene(
        objects=(
            PlacedObject(colour="red", shape="square", x=0.2, y=0.5),
            PlacedObject(colour="blue", shape="circle", x=0.8, y=0.5),
        )
    )
    assert swap(scene).object_words == (("blue", "square"), ("red", "circle"))
    assert swap(scene, concept="shape").object_words == (("red", "circle"), ("blue", "square"))


@pytest.mark.parametrize("pair", [(0, 0), (0, 2), (-1, 0)])
def test_swap_refuses_a_pair_that_is_not_two_objects(pair):
    scene = random_scene(space=None, n_objects=2, seed=0)
    with pytest.raises(UserError, match="two different objects"):
        swap(scene, pair=pair)
    with pytest.raises(UserError, match="cannot be swapped"):
        swap(scene, concept="size")


@given(scene=scenes)
def test_json_round_trip(scene):
    assert Scene.model_validate_json(scene.model_dump_json()) == scene


def test_random_scenes_follow_their_seed_and_the_allowed_objects():
    allowed = [("red", "square"), ("blue", "star")]
    drawn = [random_scene(space=None, n_objects=3, seed=s, allowed=allowed) for s in range(50)]
    assert drawn[7] == random_scene(space=None, n_objects=3, seed=7, allowed=allowed)
    assert {w for s in drawn for w in s.object_words} == set(allowed)
    assert len({s.background for s in drawn}) > 3
    assert len({o.size for s in drawn for o in s.objects}) > 70


def test_random_scenes_draw_every_object_about_equally():
    drawn = [random_scene(space=None, n_objects=2, seed=s) for s in range(3000)]
    counts = Counter(w for s in drawn for w in s.object_words)
    assert set(counts) == set(BUNDLED_SPACE.objects)
    assert max(counts.values()) < 80 > min(counts.values())  # 41.7 expected


@pytest.mark.parametrize("n_objects", range(1, 7))
def test_objects_stay_on_the_canvas_and_mostly_in_sight(n_objects):
    for seed in range(200):
        objects = random_scene(space=None, n_objects=n_objects, seed=seed).objects
        for i, a in enumerate(objects):
            assert a.size / 2 - 1e-3 <= a.x <= 1 - a.size / 2 + 1e-3
            assert a.size / 2 - 1e-3 <= a.y <= 1 - a.size / 2 + 1e-3
            for b in objects[:i]:
                room = math.hypot(a.x - b.x, a.y - b.y) / ((a.size + b.size) / 2)
                # With six objects the last may find no better place within its tries.
                assert room >= (MIN_CENTRE_DISTANCE if n_objects < 5 else 0.4) - 0.01


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a scene"),
        ("[]", "not a scene"),
        ('{"objects": []}', "objects"),
        ('{"objects": [{"colour": "mauve", "shape": "square", "x": 0, "y": 0}]}', "colour"),
        ('{"objects": [{"colour": "red", "shape": "square", "x": 1.5, "y": 0}]}', r"objects\.0\.x"),
        ('{"objects": [{"colour": "red", "shape": "square", "x": NaN, "y": 0}]}', r"objects\.0\.x"),
        ('{"objects": [{"colour": "red", "shape": "square"}]}', r"objects\.0\.x"),
        ('{"objects": 3, "extra": 1}', "not a scene"),
        ('{"version": 2, "objects": []}', "version"),
        (" " * 30_000, "bytes"),
    ],
)
def test_broken_json_is_named(text, reason):
    with pytest.raises(UserError, match=reason):
        parse_scene(text)


def test_seven_objects_are_too_many():
    one = {"colour": COLOURS[0], "shape": SHAPES[0], "x": 0.5, "y": 0.5}
    with pytest.raises(UserError, match="objects"):
        parse_scene(json.dumps({"objects": [one] * 7}))
    with pytest.raises(UserError, match="1 to 6"):
        random_scene(space=None, n_objects=7, seed=0)
    with pytest.raises(UserError, match="empty"):
        random_scene(space=None, n_objects=1, seed=0, allowed=[])
