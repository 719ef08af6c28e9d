"""What the lessons say must be so."""

import pytest

from binding_core.agreement.verdict import judge
from binding_core.encoders import load
from binding_core.lessons import LESSONS, lesson_of
from binding_core.links import decode_view
from binding_core.scenes import swap
from binding_core.training.presets import RUN_PRESETS

MODELS = {"web-captions": True, "high-coverage": True}


def view(number):
    found, notices = decode_view(
        LESSONS[number - 1].parameters, known_models=MODELS, default_models=()
    )
    assert notices == []
    return found


@pytest.mark.parametrize("wrong", ["0", "6", "-1", "x", None, "²"])
def test_a_link_that_names_no_lesson_is_none(wrong):
    assert lesson_of(wrong) is None


def test_the_first_lesson_binds_and_has_nothing_to_swap_in_one_colour():
    scene = view(1).scene
    assert judge(load("high-coverage"), scene=scene, swapped=swap(scene)).finding == "binds"
    red = scene.objects[1].model_copy(update={"colour": "red"})
    alike = scene.model_copy(update={"objects": (scene.objects[0], red)})
    assert alike.same_objects(swap(alike))


def test_the_second_lesson_shows_a_bag_that_knows_an_object_alone():
    scene, model = view(2).scene, load("web-captions")
    both = judge(model, scene=scene, swapped=swap(scene))
    assert (both.finding, both.objects_recognised, both.concepts_recognised) == (
        "bag",
        False,
        True,
    )
    alone = scene.model_copy(update={"objects": scene.objects[:1]})
    assert judge(model, scene=alone, swapped=alone).objects_recognised


def test_the_last_lesson_starts_from_a_preset_that_is_there():
    assert LESSONS[-1].parameters["preset"] in RUN_PRESETS
    assert "“binding does not”" in LESSONS[-1].answer
    assert "binding does not" in RUN_PRESETS
