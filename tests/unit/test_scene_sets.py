"""Scene sets of a map: complete, seeded, rightly named and joined."""

from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.concepts import BUNDLED_SPACE, ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.scene_sets import (
    bags_of_concepts,
    concepts_at,
    factorial_scenes,
    holding,
    modality_gap,
    objects_at,
    sampled_scenes,
    seen_or_not,
    swap_links,
)
from binding_core.geometry.scene_table import SceneTable, scene_concepts
from binding_core.scenes import swap

SLICE = {"colours": ("red", "blue"), "shapes": ("square", "circle", "star")}
SMALL = ConceptSpace(
    types=("colour", "shape"), values=(("red", "blue", "green"), ("square", "circle"))
)


def table_of(concepts: list, *, space: ConceptSpace = SMALL) -> SceneTable:
    array = np.array(concepts, dtype=np.int64)
    return SceneTable(space, array, np.eye(len(array), 4, dtype=np.float32), "text", "a test")


# red square + blue circle, its swap, all red, three more
BOUND, SWAPPED, ALIKE = [[0, 0], [1, 1]], [[1, 0], [0, 1]], [[0, 0], [0, 1]]


# --- drawing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_objects", "count"), [(1, 6), (2, 21), (3, 56)])
def test_the_factorial_holds_every_multiset_of_its_slice_once(n_objects, count):
    scenes = factorial_scenes(**SLICE, n_objects=n_objects, seed=0)
    objects = list(product(SLICE["colours"], SLICE["shapes"]))
    wanted = {tuple(sorted(c)) for c in combinations_with_replacement(objects, n_objects)}
    assert len(scenes) == count
    assert {tuple(sorted(s.object_words)) for s in scenes} == wanted


def test_copies_differ_in_place_alone_and_a_seed_repeats():
    scenes = factorial_scenes(**SLICE, per_combination=3, seed=1)
    assert scenes == factorial_scenes(**SLICE, per_combination=3, seed=1)
    assert scenes != factorial_scenes(**SLICE, per_combination=3, seed=2)
    assert len(set(scenes)) == len(scenes) == 63
    assert all(scenes[i].same_objects(scenes[i + 1]) for i in (0, 1, 3, 60))


def test_neither_depth_nor_place_tells_which_object_it_is():
    scenes = factorial_scenes(**SLICE, per_combination=40, seed=0)
    mixed = [s for s in scenes if set(s.object_words) == {("red", "square"), ("blue", "star")}]
    in_front = sum(s.objects[1].colour == "red" for s in mixed)
    on_the_left = sum(min(s.objects, key=lambda o: o.x).colour == "red" for s in mixed)
    assert len(mixed) == 40
    assert 8 < in_front < 32
    assert 8 < on_the_left < 32


def test_too_many_scenes_are_refused_by_their_number():
    colours, shapes = BUNDLED_SPACE.values
    with pytest.raises(UserError, match=r"These are 10,440 scenes; a map shows 1 to 10,000\."):
        factorial_scenes(colours=colours, shapes=shapes, seed=0)
    with pytest.raises(UserError, match="These are 10,001 scenes"):
        sampled_scenes(n=10_001, n_objects=2, seed=0)
    with pytest.raises(UserError, match="These are 0 scenes"):
        factorial_scenes(**SLICE, per_combination=0, seed=0)


def test_choices_that_cannot_be_drawn_are_named():
    with pytest.raises(UserError, match="“mauve” is no choice of colours; choose one or more"):
        factorial_scenes(colours=("red", "mauve"), shapes=("star",), seed=0)
    with pytest.raises(UserError, match="is no choice of shapes"):
        factorial_scenes(colours=("red",), shapes=(), seed=0)
    with pytest.raises(UserError, match="each once"):
        factorial_scenes(colours=("red", "red"), shapes=("star",), seed=0)
    with pytest.raises(UserError, match="1, 2 or 3 objects, not 4"):
        sampled_scenes(n=5, n_objects=4, seed=0)


def test_sampled_scenes_are_seeded_and_keep_to_the_allowed_objects():
    allowed = BUNDLED_SPACE.objects[:5]
    scenes = sampled_scenes(n=30, n_objects=3, seed=4, allowed=allowed)
    assert scenes == sampled_scenes(n=30, n_objects=3, seed=4, allowed=allowed)
    assert scenes[:10] == sampled_scenes(n=10, n_objects=3, seed=4, allowed=allowed)
    assert scenes != sampled_scenes(n=30, n_objects=3, seed=5, allowed=allowed)
    assert {w for s in scenes for w in s.object_words} == set(allowed)


# --- names --------------------------------------------------------------------------------------


def test_scenes_are_named_by_concept_object_and_bag():
    table = table_of([BOUND, SWAPPED, ALIKE])
    assert concepts_at(table, concept_type="colour", place=0) == ["red", "blue", "red"]
    assert concepts_at(table, concept_type="shape", place=1) == ["circle"] * 3
    assert objects_at(table, place=1) == ["blue circle", "red circle", "red circle"]
    assert holding(table, concept_type="colour", value="blue") == [
        "with blue",
        "with blue",
        "without blue",
    ]
    assert bags_of_concepts(table) == ["red + blue, square + circle"] * 2 + [
        "red + red, square + circle"
    ]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 9999), st.sampled_from([2, 3]), st.sampled_from(BUNDLED_SPACE.types))
def test_a_swap_keeps_the_bag_and_the_order_of_places_does_not_matter(seed, n, concept):
    scene = sampled_scenes(n=1, n_objects=n, seed=seed)[0]
    pair = [scene, swap(scene, concept=concept)]
    for modality in ("image", "text"):
        concepts = scene_concepts(pair, modality=modality)
        first, second = bags_of_concepts(table_of(concepts, space=BUNDLED_SPACE))
        assert first == second
        assert bags_of_concepts(table_of(concepts[:, ::-1], space=BUNDLED_SPACE))[0] == first
        links = swap_links(table_of(concepts, space=BUNDLED_SPACE))
        assert links == ([None, None] if scene.same_objects(pair[1]) else [1, 0])


def test_seen_unseen_and_mixed_follow_the_training_objects():
    table = table_of([BOUND, SWAPPED, ALIKE, [[0, 0], [0, 0]]])
    train = (("red", "square"), ("blue", "circle"))
    assert seen_or_not(table, train_objects=train) == ["seen", "unseen", "mixed", "seen"]
    assert seen_or_not(table, train_objects=()) is None


# --- lines ----------------------------------------------------------------------------------------


def test_a_scene_is_joined_to_its_swap_and_one_without_to_none():
    other = [[2, 0], [1, 1]]  # green square + blue circle: its swap is not in the set
    assert swap_links(table_of([BOUND, ALIKE, SWAPPED, other])) == [2, None, 0, None]


def test_copies_pair_off_by_rank():
    assert swap_links(table_of([BOUND, BOUND, SWAPPED, SWAPPED])) == [2, 3, 0, 1]
    assert swap_links(table_of([BOUND, BOUND, BOUND, SWAPPED])) == [3, 3, 3, 0]


def test_three_objects_that_all_change_are_no_swap():
    space = ConceptSpace(types=("a", "b"), values=(("1", "2", "3"), ("x", "y", "z")))
    plain = [[0, 0], [1, 1], [2, 2]]
    rotated = [[0, 1], [1, 2], [2, 0]]  # the same bag, by two swaps
    exchanged = [[0, 1], [1, 0], [2, 2]]
    assert swap_links(table_of([plain, rotated], space=space)) == [None, None]
    assert swap_links(table_of([plain, exchanged], space=space)) == [1, 0]


def test_in_a_factorial_every_scene_of_two_colours_and_shapes_has_its_swap():
    scenes = factorial_scenes(**SLICE, per_combination=2, seed=0)
    concepts = scene_concepts(scenes, modality="image")
    links = swap_links(table_of(concepts, space=BUNDLED_SPACE))
    for i, scene in enumerate(scenes):
        (colour, shape), (other_colour, other_shape) = scene.object_words
        assert (links[i] is None) == (colour == other_colour or shape == other_shape)
        if links[i] is not None:
            assert links[links[i]] == i
            assert Counter(scenes[links[i]].object_words) == Counter(swap(scene).object_words)


# --- the modality gap -----------------------------------------------------------------------------


def test_the_gap_by_hand():
    images = np.float32([[1, 0, 0], [0, 1, 0]])
    texts = np.float32([[1, 0, 0], [0, 0, 1]])
    gap = modality_gap(images, texts)
    assert gap.length == pytest.approx(np.sqrt(0.5))  # (.5, .5, 0) and (.5, 0, .5)
    assert (gap.paired_cosine, gap.unpaired_cosine, gap.n) == (0.5, 0, 2)


def test_no_pairs_have_no_gap_and_one_has_no_other():
    one = np.float32([[1, 0]])
    assert modality_gap(one[:0], one[:0]) is None
    assert modality_gap(one, -one).unpaired_cosine is None
    assert modality_gap(one, -one).length == 2
    with pytest.raises(UserError, match="do not fit"):
        modality_gap(one, np.float32([[1, 0], [0, 1]]))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(0, 99))
def test_unpaired_is_the_mean_over_all_other_pairs(n, seed):
    rng = np.random.default_rng(seed)
    images, texts = rng.standard_normal((2, n, 5))
    other = (images @ texts.T)[~np.eye(n, dtype=bool)].mean()
    assert modality_gap(images, texts).unpaired_cosine == pytest.approx(other)
