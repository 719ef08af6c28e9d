from math import comb

import numpy as np
import pytest

from binding_core.agreement.measures import mean_share, share
from binding_core.agreement.recognition import (
    chance_of_recognition,
    present_concepts,
    present_objects,
    recognised,
)
from binding_core.agreement.swap_test import swap_scenes, swap_test
from binding_core.agreement.verdict import find, judge, rank_captions
from binding_core.captions import caption
from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.presets import DEFAULT_SCENE, PRESETS
from binding_core.render import render
from binding_core.scenes import random_scene, swap

# --- recognition, by hand ---------------------------------------------------------------------


def test_recognition_needs_every_present_one_strictly_above_every_absent_one():
    scores = np.array([[3, 2, 1, 0], [3, 1, 2, 0], [3, 2, 2, 0], [3, 2, 1, 0]], dtype=float)
    present = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
    assert recognised(scores, present).tolist() == [True, False, False, False]  # a tie is no


def test_chance_is_that_of_a_random_ranking():
    present = np.zeros((2, 144), dtype=bool)
    present[0, :2] = True
    present[1, :1] = True  # two equal objects
    assert chance_of_recognition(present) == pytest.approx((1 / comb(144, 2) + 1 / 144) / 2)
    rng = np.random.default_rng(0)
    few = np.zeros((20_000, 6), dtype=bool)
    few[:, :2] = True
    assert recognised(rng.random(few.shape), few).mean() == pytest.approx(1 / 15, abs=0.006)


def test_presence_tables_name_what_is_in_the_scene():
    objects = present_objects([DEFAULT_SCENE], BUNDLED_SPACE)[0]
    concepts = present_concepts([DEFAULT_SCENE], BUNDLED_SPACE)[0]
    assert [BUNDLED_SPACE.objects[i] for i in np.nonzero(objects)[0]] == [
        ("red", "square"),
        ("blue", "circle"),
    ]
    assert [BUNDLED_SPACE.concepts[i][1] for i in np.nonzero(concepts)[0]] == [
        "red",
        "blue",
        "circle",
        "square",
    ]
    twins = PRESETS["Twins"]
    assert present_objects([twins], BUNDLED_SPACE).sum() == 1
    assert present_concepts([twins], BUNDLED_SPACE).sum() == 2


# --- shares -----------------------------------------------------------------------------------


def test_a_share_carries_the_wilson_interval():
    measured = share([True] * 8 + [False] * 2, chance=0.5)
    assert measured.value == 0.8
    # Wilson (1927) for 8 of 10, z = 1.96, by hand
    assert measured.ci95 == pytest.approx((0.4901625, 0.9433178), abs=1e-5)
    assert "n = 10" in str(measured)
    assert "chance 0.5" in str(measured)


def test_a_mean_of_shares_counts_scenes_and_not_their_parts():
    measured = mean_share([1.0, 0.5, 1.0, 1.0], chance=0.1)
    assert (measured.value, measured.n) == (0.875, 4)
    assert measured.ci95 == share([True] * 4, chance=0.1).ci95  # 3.5 answers, rounded to even
    assert mean_share([], chance=None).value is None


def test_nothing_to_compare_is_not_available_rather_than_zero():
    empty = share([], chance=0.5)
    assert (empty.value, empty.ci95, empty.n) == (None, None, 0)
    assert str(empty) == "not available"


# --- the four controls: what the instruments must find by construction ---------------------------


def measured(kind: str, n: int = 60, n_objects: int = 2, noise: float = 0.0):
    scenes = list(swap_scenes(n=n, seed=0, n_objects=n_objects))
    return swap_test(ControlEncoder(kind, noise=noise), scenes=scenes, seed=0, picture_size=32)


def test_a_bag_scores_the_swapped_caption_exactly_alike():
    report = measured("bag")
    assert report.swap_accuracy.value == 0.0  # always a tie, and a tie is wrong
    # Only because single-object captions have unequal norms before they are made one do a few
    # scenes pass by accident.
    assert report.object_recognition.value < 0.2
    assert report.concept_recognition.value > 0.95


@pytest.mark.parametrize("n_objects", [2, 3])
def test_a_noisy_bag_guesses(n_objects):
    swap_accuracy = measured("bag", n=400, n_objects=n_objects, noise=0.1).swap_accuracy
    low, high = swap_accuracy.ci95
    assert low < 0.5 < high


@pytest.mark.parametrize("kind", ["product", "memoriser", "global-product"])
@pytest.mark.parametrize("n_objects", [2, 3])
def test_whatever_binds_passes_the_swap_test(kind, n_objects):
    assert measured(kind, n_objects=n_objects).swap_accuracy.value > 0.95


@pytest.mark.parametrize("kind", ["product", "memoriser"])
def test_a_sum_over_objects_gives_the_objects_back(kind):
    report = measured(kind)
    assert report.object_recognition.value > 0.95


def test_the_memoriser_knows_objects_better_than_concepts_and_the_bag_the_other_way_round():
    memoriser, bag = measured("memoriser"), measured("bag")
    assert memoriser.object_recognition.value > memoriser.concept_recognition.value
    assert bag.concept_recognition.value > bag.object_recognition.value


def test_a_control_refuses_pictures_it_cannot_read():
    picture = render(DEFAULT_SCENE, size=32)
    picture.info.clear()
    with pytest.raises(UserError, match="only pictures that this app has drawn"):
        ControlEncoder("bag").embed_images([picture])
    assert not ControlEncoder("bag").reading("a photo of a dog").readable
    assert ControlEncoder("bag").reading("a red square").readable


def test_controls_are_unit_norm_and_repeatable():
    for kind in ("bag", "product", "global-product", "memoriser"):
        one, other = ControlEncoder(kind, noise=0.3), ControlEncoder(kind, noise=0.3)
        texts = ["a red square", "something blue", "a star and a heart"]
        rows = one.embed_texts(texts)
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
        assert np.array_equal(rows, other.embed_texts(texts))
        assert one.embed_texts([]).shape == (0, 256)


# --- the swap test ------------------------------------------------------------------------------


def test_swap_scenes_differ_from_their_swaps_and_keep_to_the_allowed_objects():
    allowed = BUNDLED_SPACE.objects[:20]
    scenes = list(swap_scenes(n=40, seed=3, allowed=allowed))
    assert len(scenes) == 40
    assert all(not s.same_objects(swap(s)) for s in scenes)
    assert {w for s in scenes for w in s.object_words} <= set(allowed)
    assert scenes == list(swap_scenes(n=40, seed=3, allowed=allowed))
    assert scenes != list(swap_scenes(n=40, seed=4, allowed=allowed))


def test_objects_without_a_differing_swap_are_refused():
    with pytest.raises(UserError, match="could be drawn"):
        list(swap_scenes(n=5, seed=0, allowed=[("red", "square"), ("red", "star")]))
    with pytest.raises(UserError, match="two objects at least"):
        list(swap_scenes(n=5, seed=0, n_objects=1))


def test_one_object_scenes_have_no_swap_accuracy_but_recognition():
    scenes = [random_scene(space=None, n_objects=1, seed=s) for s in range(20)]
    report = swap_test(ControlEncoder("memoriser"), scenes=scenes, seed=0, picture_size=32)
    assert report.swap_accuracy.value is None
    assert report.object_recognition.value == 1.0
    assert report.object_recognition.chance == pytest.approx(1 / 144)
    empty = swap_test(ControlEncoder("bag"), scenes=[], seed=0)
    assert empty.object_recognition.value is None


# --- one scene ----------------------------------------------------------------------------------


def table(a: float, b: float, c: float, d: float, order: float = 0.0) -> np.ndarray:
    """(pictures, captions, word orders); ``order`` favours the second caption in order one."""
    both = np.array([[a, b], [c, d]])
    tilt = np.array([[0, order], [0, order]])
    return np.stack([both + tilt, both - tilt], axis=2)


@pytest.mark.parametrize(
    ("similarities", "finding"),
    [
        (table(0.8, 0.2, 0.1, 0.7), "binds"),
        (table(0.51, 0.5, 0.5, 0.7), "barely"),
        (table(0.6, 0.5, 0.5, 0.6, order=0.2), "word order"),
        (table(0.5, 0.6, 0.6, 0.5, order=0.2), "word order"),
        (table(0.8, 0.5, 0.8, 0.5), "bag"),
        (table(0.5, 0.5, 0.5, 0.5), "bag"),
        (table(0.51, 0.5, 0.5, 0.51), "bag"),
        (table(0.2, 0.8, 0.7, 0.1), "reversed"),
        (table(0.5, 0.51, 0.8, 0.3), "reversed"),
    ],
)
def test_findings_say_what_the_table_says(similarities, finding):
    assert find(similarities, spread=0.2) == finding


def test_findings_do_not_depend_on_a_models_scale():
    """Public CLIPs spread their similarities over a tenth of what small ones do."""
    for scale in (0.1, 1, 10):
        assert find(scale * table(0.6, 0.5, 0.5, 0.6), spread=scale * 0.2) == "binds"
        assert find(scale * table(0.51, 0.5, 0.5, 0.51), spread=scale * 0.2) == "bag"


def test_a_bag_and_a_memoriser_get_different_verdicts():
    swapped = swap(DEFAULT_SCENE)
    bag = judge(ControlEncoder("bag"), scene=DEFAULT_SCENE, swapped=swapped)
    memoriser = judge(ControlEncoder("memoriser"), scene=DEFAULT_SCENE, swapped=swapped)
    assert bag.finding == "bag"
    assert bag.margin == pytest.approx(0, abs=1e-6)
    assert not bag.objects_recognised
    assert memoriser.finding == "binds"
    assert memoriser.objects_recognised
    assert {o.words for o in memoriser.ranking[:2]} == set(DEFAULT_SCENE.object_words)
    assert len(memoriser.ranking) == 144
    assert memoriser.margins == pytest.approx(
        [
            memoriser.table[0, 0] - memoriser.table[0, 1],
            memoriser.table[1, 1] - memoriser.table[1, 0],
        ]
    )


def test_a_swap_that_changes_nothing_is_said_to():
    for name in ("Twins", "One colour twice"):
        verdict = judge(
            ControlEncoder("memoriser"), scene=PRESETS[name], swapped=swap(PRESETS[name])
        )
        assert verdict.finding == "same"


def test_captions_are_ranked_best_first():
    picture = render(DEFAULT_SCENE, size=64)
    ranked = rank_captions(
        ControlEncoder("memoriser"),
        picture=picture,
        captions=["a dog", caption(swap(DEFAULT_SCENE)), "a red square", caption(DEFAULT_SCENE)],
    )
    assert [r.text for r in ranked] == [
        caption(DEFAULT_SCENE),
        "a red square",
        caption(swap(DEFAULT_SCENE)),
        "a dog",
    ]
    assert ranked[-1].similarity is None  # a control cannot read it, and says so
