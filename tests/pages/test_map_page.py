"""The page Map without a browser, which draws no chart here."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from binding_core.composition import Composition
from binding_core.encoders.controls import ControlEncoder
from binding_core.geometry.map_views import list_views
from binding_core.links import ComposeView
from binding_core.presets import DEFAULT_SCENE
from pages._map.choice import COLOURS
from tests.conftest import own_files


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file("../../pages/map.py", default_timeout=60)
    app.session_state.navigated = True
    return app


def said(page) -> str:
    return " ".join(p.value for p in (*page.markdown, *page.caption, *page.info, *page.warning))


def pictures(page) -> int:
    return sum(h.proto.body.count('<figure class="near') for h in page.get("html"))


def settled(page, what) -> None:
    for _ in range(300):
        page.run()
        if what():
            return
        time.sleep(0.1)
    raise AssertionError(said(page))


def test_a_bundled_models_map_is_there_at_once(page):
    page.run()
    assert not page.exception
    assert "of random vectors **0." in said(page)
    assert "sums lie nearest to what they should make" in said(page)
    assert len(page.get("plotly_chart")) == 2


def test_a_scene_is_chosen_without_a_mouse(page):
    page.run()
    assert pictures(page) == 0
    page.selectbox("map_point").select_index(3).run()
    assert not page.exception
    assert pictures(page) == 1 + 4
    assert "Nearest to “" in said(page)
    assert any(b.label == "Open in Compose" for b in page.button)


def test_pictures_and_captions_show_their_gap(page):
    page.query_params["map_sides"] = "both"
    page.query_params["map_method"] = "MDS"
    page.query_params["map_dimensions"] = "3-D"
    page.query_params["map_lines"] = "picture to caption"
    page.run()
    assert not page.exception
    assert "The modality gap is" in said(page)


@pytest.mark.parametrize("colour", ["object", "colour", "shape", "seen", "modality"])
def test_every_colouring_draws(page, colour):
    page.run()
    page.selectbox("map_colour").select(colour).run()
    assert not page.exception
    assert f"coloured by {COLOURS[colour]}" in page.get("plotly_chart")[0].proto.alt


def test_a_set_that_was_not_drawn_is_drawn_behind_the_page(page):
    page.session_state.encoder_source = lambda model_id: ControlEncoder("product")
    page.query_params["map_method"] = "PCA"
    page.query_params["map_draws"] = "3"
    settled(page, lambda: "Trustworthiness" in said(page))
    assert not page.exception
    assert "on 30 points" in said(page)


def test_scenes_that_can_not_be_drawn_say_why(page):
    page.query_params["map_method"] = "PCA"
    page.run()
    page.multiselect("map_colours").set_value([]).run()
    assert not page.exception
    assert "choose one or more of red" in said(page)
    assert len(page.get("plotly_chart")) == 1  # the quadruple stays


def test_the_scene_on_compose_is_placed_and_marked_approximate(page):
    page.session_state.composition = Composition.opened(ComposeView(DEFAULT_SCENE, ()), [])
    page.run()
    page.toggle("map_own").set_value(True).run()
    assert not page.exception
    assert "hence approximate" in said(page)


def test_a_view_is_kept_and_deleted(page):
    page.query_params["map_method"] = "MDS"
    page.run()
    page.text_input("view_name").set_value("by MDS").run()
    [keep] = [b for b in page.button if b.label == "Keep it"]
    keep.click().run()
    [view] = list_views()
    assert view.name == "by MDS"
    assert view.parameters["map_method"] in ("MDS", ["MDS"])
    [link] = [h.proto.body for h in page.get("html") if "by MDS" in h.proto.body]
    assert 'href="map?' in link
    [delete] = [b for b in page.button if b.label == "Delete"]
    delete.click().run()
    assert list_views() == []


def test_a_view_without_a_name_is_refused(page):
    page.run()
    [keep] = [b for b in page.button if b.label == "Keep it"]
    keep.click().run()
    assert not page.exception
    assert "needs a name" in said(page)


def test_a_broken_link_falls_back(page):
    for key, value in (("mapped", "none"), ("map_method", "x"), ("map_dimensions", "9")):
        page.query_params[key] = value
    page.run()
    assert not page.exception
    assert page.selectbox("mapped").value == "high-coverage"


def test_own_embeddings_are_mapped(page):
    npz, labels = own_files()
    page.run()
    page.file_uploader("own_map_npz").set_value(("mine.npz", npz, "application/zip"))
    page.file_uploader("own_map_labels").set_value(("mine.csv", labels, "text/csv")).run()
    assert "200 scenes of 2 objects; values: 3 of colour, 3 of shape" in said(page)
    charts = len(page.get("plotly_chart"))
    page.button("own_map_draw").click()
    settled(page, lambda: len(page.get("plotly_chart")) > charts)
    assert not page.exception
    assert "on 200 points" in said(page)
    page.selectbox("own_map_colour").select_index(2).run()
    assert not page.exception
    assert len(page.get("plotly_chart")) > charts
