import pytest
from hypothesis import given
from hypothesis import strategies as st

from binding_core.captions import (
    both_orders,
    caption,
    concept_caption,
    describe,
    drawn_order,
    is_true,
    object_caption,
    read,
)
from binding_core.concepts import BUNDLED_SPACE, COLOURS, SHAPES
from binding_core.errors import UserError
from binding_core.scenes import random_scene, swap

descriptions = st.tuples(
    st.sampled_from([None, *COLOURS]), st.sampled_from([None, *SHAPES])
).filter(lambda d: d != (None, None))


@given(st.lists(descriptions, min_size=1, max_size=6))
def test_reading_undoes_describing(given_descriptions):
    assert read(describe(given_descriptions)) == given_descriptions


def test_captions_read_as_people_write():
    assert object_caption(("orange", "arrow")) == "an orange arrow"
    assert concept_caption("colour", "red") == "something red"
    assert concept_caption("shape", "arrow") == "an arrow"
    three = [("red", "square"), ("blue", "circle"), ("green", "star")]
    assert describe(three) == "a red square, a blue circle and a green star"


def test_order_is_a_permutation_of_object_indices():
    scene = random_scene(space=None, n_objects=3, seed=4)
    words = scene.object_words
    assert caption(scene, order=[2, 0, 1]) == describe([words[2], words[0], words[1]])
    for order in ([0, 1], [0, 0, 1], [0, 1, 3]):
        with pytest.raises(UserError, match="permutation"):
            caption(scene, order=order)


def test_the_drawn_order_knows_neither_place_nor_depth():
    left_first = behind_first = 0
    n = 2000
    for seed in range(n):
        scene = random_scene(space=None, n_objects=2, seed=seed)
        first = drawn_order(scene.object_words)[0]
        left_first += scene.objects[first].x < scene.objects[1 - first].x
        behind_first += first == 0
    # 3.3 standard deviations of a fair coin
    assert abs(left_first / n - 0.5) < 0.037
    assert abs(behind_first / n - 0.5) < 0.037


def test_the_swapped_caption_is_not_told_by_its_word_order():
    """Whether both captions start with the same colour must not depend on the scene."""
    same = 0
    n = 2000
    for seed in range(n):
        scene = random_scene(space=None, n_objects=2, seed=seed)
        same += caption(scene).split()[1] == caption(swap(scene)).split()[1]
    assert 0.4 < same / n < 0.7


def test_moving_or_reordering_objects_keeps_the_caption():
    scene = random_scene(space=None, n_objects=3, seed=1)
    shuffled = scene.model_copy(update={"objects": scene.objects[::-1]})
    moved = scene.model_copy(
        update={"objects": tuple(o.model_copy(update={"x": 0.5}) for o in scene.objects)}
    )
    assert caption(scene) == caption(shuffled) == caption(moved)


def test_both_orders_are_a_pair():
    scene = random_scene(space=None, n_objects=2, seed=1)
    assert sorted(both_orders(scene)) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(
    "text", ["", "a dog", "red square", "a red square and", "something square"]
)
def test_text_outside_the_grammar_is_refused(text):
    with pytest.raises(UserError, match="not a description"):
        read(text)


def test_truth_by_hand():
    scene = [("red", "square"), ("blue", "circle")]
    assert is_true([("red", None), (None, "circle")], scene)
    assert is_true([("red", "square")], scene)
    assert not is_true([("red", "circle")], scene)
    assert not is_true([(None, "star")], scene)
    # incomplete descriptions may be of one and the same object, complete ones may not
    assert is_true([("red", None), (None, "square")], scene)
    assert not is_true([("red", "square"), ("red", "square")], scene)
    assert is_true([("red", "square"), ("red", "square")], [("red", "square"), ("red", "square")])


def test_incomplete_captions_do_not_tell_a_scene_from_its_swap():
    """What is true of a scene without binding is true of its swap as well."""
    for seed in range(200):
        scene = random_scene(space=None, n_objects=3, seed=seed)
        swapped = swap(scene).object_words
        for colour, _ in scene.object_words:
            for _, shape in scene.object_words:
                assert is_true([(colour, None), (None, shape)], swapped)


def test_every_query_is_read_back_as_its_object():
    for words in BUNDLED_SPACE.objects:
        assert read(object_caption(words)) == [words]
