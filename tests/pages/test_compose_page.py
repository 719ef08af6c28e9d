"""The page Compose without a browser: what AppTest can see, with a fake encoder put in."""

import pytest
from streamlit.testing.v1 import AppTest

from binding_core.links import ComposeView, encode_view
from binding_core.presets import PRESETS
from binding_core.scenes import random_scene
from tests.conftest import FakeEncoder


def new_session() -> AppTest:
    app = AppTest.from_file("../../pages/compose.py", default_timeout=60)
    app.session_state.navigated = True
    app.session_state.encoder_source = FakeEncoder
    return app


@pytest.fixture
def page() -> AppTest:
    return new_session()


def blocks(app) -> list[str]:
    return [h.proto.body for h in app.get("html")]


def verdicts(app) -> list[str]:
    return [b for b in blocks(app) if '<article class="verdict"' in b]


def test_a_first_visit_shows_three_verdicts_and_no_error(page):
    page.run()
    assert not page.exception
    assert len(verdicts(page)) == 3
    assert any("What this means" in b for b in blocks(page))
    assert any("fingerprint-of-web-captions" in b for b in blocks(page))


def test_a_swap_and_a_second_one(page):
    page.run()
    before = page.session_state.composition.scene
    page.button("swap_colour").click().run()
    swapped = page.session_state.composition.scene
    assert swapped.object_words == (("blue", "square"), ("red", "circle"))
    page.button("swap_shape").click().run()
    page.button("swap_shape").click().run()
    page.button("swap_colour").click().run()
    assert page.session_state.composition.scene == before
    assert not page.exception


def test_the_view_is_written_into_the_link_and_read_from_it(page):
    page.run()
    page.button("swap_shape").click().run()
    link = dict(page.query_params)
    assert link["c"] in ("shape", ["shape"])
    other = new_session()
    for key, value in link.items():
        other.query_params[key] = value
    other.run()
    assert other.session_state.composition.scene == page.session_state.composition.scene
    assert not other.exception


def test_what_a_link_says_to_the_rest_of_the_page_stays_in_it():
    page = AppTest.from_file("../../app.py", default_timeout=60)
    page.session_state.encoder_source = FakeEncoder
    page.query_params["lesson"] = "1"
    page.run()
    assert not page.exception
    page.button("swap_shape").click().run()
    assert "1" in page.query_params["lesson"]
    assert any("Lesson 1 of 5" in h.proto.body for h in page.get("html"))


def test_a_broken_link_is_named(page):
    page.query_params["s"] = "1~mist~nothing"
    page.query_params["m"] = "gone"
    page.run()
    assert not page.exception
    said = " ".join(w.value for w in page.warning)
    assert "default scene is shown" in said
    assert "not on this machine" in said


def test_one_object_and_no_model_are_explained(page):
    page.run()
    single = random_scene(space=None, n_objects=1, seed=0)
    page.session_state.composition = page.session_state.composition.then(single)
    page.run()
    assert not page.exception
    assert "nothing to swap with" in page.info[0].value
    assert page.button("swap_colour").disabled
    undo = [{"number": 1, "op": "undo"}]
    page.session_state.composition = page.session_state.composition.edited(undo)
    page.session_state.models = []
    page.run()
    assert not page.exception
    assert "Choose a model" in page.info[0].value


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_can_be_started_from(page, name):
    page.run()
    page.selectbox("scene_preset").select(name).run()
    assert not page.exception
    assert page.session_state.composition.scene == PRESETS[name]


def test_a_pair_is_chosen_among_three_objects_and_survives_a_deletion(page):
    page.run()
    page.session_state.composition = page.session_state.composition.then(PRESETS["Three objects"])
    page.run()
    page.selectbox("pair_choice").select_index(2).run()
    assert page.session_state.composition.pair == (1, 2)
    page.button("swap_colour").click().run()
    assert page.session_state.composition.scene.object_words[0] == ("yellow", "triangle")
    page.session_state.composition = page.session_state.composition.then(PRESETS["Overlap"])
    page.run()
    assert not page.exception
    page.button("swap_colour").click().run()
    assert not page.exception


def test_seeds_give_scenes_and_an_emptied_field_is_no_error(page):
    page.run()
    page.number_input("seed").set_value(7).run()
    assert page.session_state.composition.scene == random_scene(space=None, n_objects=2, seed=7)
    page.number_input("seed").set_value(None).run()
    assert not page.exception


def test_a_model_that_cannot_be_loaded_does_not_take_the_others_down(page):
    from binding_core.errors import UserError

    def broken(model_id):
        if model_id == "low-coverage":
            raise UserError("its file is damaged.")
        return FakeEncoder(model_id)

    page.session_state.encoder_source = broken
    page.run()
    assert not page.exception
    assert len(verdicts(page)) == 2
    assert "its file is damaged." in page.warning[0].value


def test_a_model_removed_meanwhile_is_left_out(page):
    page.run()
    page.session_state.models = ["high-coverage", "own:gone"]
    page.run()
    assert not page.exception
    assert len(verdicts(page)) == 1
    assert page.session_state.models == ["high-coverage"]


def test_a_linked_pair_outlives_the_selectbox(page):
    """A link of three objects, then two, then three again: the pair must never be lost."""
    view = ComposeView(PRESETS["Three objects"], ("high-coverage",), "shape", (1, 2))
    for key, value in encode_view(view).items():
        page.query_params[key] = value
    page.run()
    assert page.session_state.composition.pair == (1, 2)
    for preset in ("Overlap", "Three objects", "Twins"):
        page.selectbox("scene_preset").select(preset).run()
        page.run()
        assert not page.exception
        page.button("swap_colour").click().run()
        assert not page.exception


def test_going_back_in_the_browser_brings_the_earlier_view_and_undo_the_later(page):
    page.run()
    first = dict(page.query_params.items())
    page.button("swap_colour").click().run()
    swapped = page.session_state.composition.scene
    for key, value in first.items():
        page.query_params[key] = value[0] if isinstance(value, list) else value
    page.run()
    assert page.session_state.composition.scene == PRESETS["Red square, blue circle"]
    assert page.session_state.composition.history.undo().scene == swapped


def test_a_click_that_overtakes_the_address_line_is_not_undone_by_it(page):
    page.run()
    stale = {k: v[0] if isinstance(v, list) else v for k, v in page.query_params.items()}
    page.button("swap_colour").click().run()
    for key, value in stale.items():
        page.query_params[key] = value
    page.button("swap_colour").click().run()
    assert len(page.session_state.composition.history.past) == 2
    assert page.session_state.composition.scene == PRESETS["Red square, blue circle"]
