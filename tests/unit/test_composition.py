"""What the page Compose shows, and what each action makes of it."""

import pytest

from binding_core.composition import Composition
from binding_core.editing import SceneHistory
from binding_core.errors import UserError
from binding_core.links import decode_view
from binding_core.presets import DEFAULT_SCENE, PRESETS

MODELS = ("web-captions", "high-coverage")


@pytest.fixture
def composition() -> Composition:
    return Composition(SceneHistory(DEFAULT_SCENE)).shared(MODELS)


def test_edits_are_taken_once_and_in_order_however_often_they_are_sent(composition):
    add, blue = {"number": 1, "op": "add"}, {"number": 2, "op": "change", "index": 2, "x": 0.5}
    once = composition.edited([add])
    both = once.edited([add, blue])
    assert len(both.scene.objects) == 3
    assert both.scene.objects[2].x == 0.5
    assert both.acknowledged == 2
    assert both.edited([add, blue]) == both
    assert composition.edited([add, blue]) == both


@pytest.mark.parametrize(
    "action",
    [
        lambda c: c.then(PRESETS["Twins"]),
        lambda c: c.swapped("shape"),
        lambda c: c.paired((0, 1)),
        lambda c: c.edited([{"number": 1, "op": "add"}]),
        lambda c: c.refused(UserError("no")),
        lambda c: c.touched(),
    ],
)
def test_after_an_action_no_link_decides_until_the_view_is_shared_again(composition, action):
    assert composition.link
    acted = action(composition)
    assert acted.link is None
    shared = acted.shared(MODELS)
    known = dict.fromkeys(MODELS, True)
    view, notices = decode_view(shared.link, known_models=known, default_models=())
    assert view == shared.view(MODELS)
    assert notices == []


def test_the_back_button_brings_an_earlier_view_and_undo_the_later_one(composition):
    earlier = composition.view(MODELS)
    swapped = composition.swapped("shape")
    back = swapped.revisited(earlier)
    assert back.view(MODELS) == earlier
    assert back.edited([{"number": 1, "op": "undo"}]).scene == swapped.scene


def test_a_swap_takes_the_chosen_pair_and_a_second_one_takes_it_back(composition):
    three = composition.then(PRESETS["Three objects"]).paired((1, 2))
    swapped = three.swapped("colour")
    assert swapped.scene.objects[0] == three.scene.objects[0]
    assert swapped.scene != three.scene
    assert swapped.swapped("colour").scene == three.scene
    # the pair goes with its objects, and is the first two again when one of them is gone
    assert three.edited([{"number": 1, "op": "forward", "index": 0}]).pair == (0, 2)
    assert three.edited([{"number": 1, "op": "delete", "index": 2}]).pair == (0, 1)


@pytest.mark.parametrize(
    "message",
    [
        5,
        "text",
        None,
        [None, 3, "x"],
        [{"number": 1}],
        [{"number": "1", "op": "add"}],
        [{"number": 1, "op": "change", "index": 99, "x": 0.5}],
        [{"number": 1, "op": "change", "index": 0, "x": 1e400}],
        [{"number": 1, "op": "add", "evil": {}}],
        [{"number": i, "op": "add"} for i in range(1, 5000)],
    ],
)
def test_hostile_messages_change_nothing_worse_than_a_notice(composition, message):
    after = composition.edited(message)
    assert 2 <= len(after.scene.objects) <= 6
    if after.scene == composition.scene:
        assert after == composition or after.notices
