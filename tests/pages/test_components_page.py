"""The page Components without a browser."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from binding_core.composition import Composition
from binding_core.encoders.controls import ControlEncoder
from binding_core.links import ComposeView
from binding_core.presets import PRESETS
from tests.conftest import FakeEncoder, own_files


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file("../../pages/components.py", default_timeout=60)
    app.session_state.navigated = True
    return app


def looked(page) -> str:
    [block] = [h.proto.body for h in page.get("html") if 'class="looked"' in h.proto.body]
    return block


def said(page) -> str:
    return " ".join(p.value for p in (*page.markdown, *page.caption, *page.info, *page.warning))


def test_a_bundled_model_is_taken_apart_at_once(page):
    page.run()
    assert not page.exception
    assert "objects recognised</span>" not in looked(page)
    assert looked(page).count('<figure class="near') == 4
    assert len(page.table) >= 4
    assert "2000 scenes, seed 0" in said(page)
    assert "High coverage, unseen objects (n = 14)" in said(page)


def test_parts_are_switched_off_and_on(page):
    page.run()
    whole = looked(page)
    switches = {box.label: box for box in page.checkbox}
    assert list(switches) == [
        "mean", "red", "square", "binding of red square",
        "blue", "circle", "binding of blue circle", "rest",
    ]  # fmt: skip
    for name in ("binding of red square", "binding of blue circle"):
        switches[name].uncheck()
    page.run()
    assert not page.exception
    assert "concepts recognised <b>yes" in looked(page)
    assert "objects recognised <b>no" in looked(page)
    assert looked(page) != whole
    for box in page.checkbox:
        box.check()
    page.run()
    assert looked(page) == whole


def test_an_exchange_looks_for_the_new_scene(page):
    page.run()
    [swap] = [b for b in page.button if b.label == "Swap colours"]
    swap.click().run()
    assert not page.exception
    assert "blue square and red circle" in said(page)
    assert "is number **1** of 602" in said(page)
    page.slider("edit_strength").set_value(0.0).run()
    assert "is number **1** of" not in said(page)


def test_the_scene_of_compose_is_offered_when_it_has_two_objects(page):
    scene = PRESETS["Objects none has seen"]
    page.session_state.composition = Composition.opened(ComposeView(scene, ()), [])
    page.run()
    assert page.selectbox("taken_scene").value == "The scene on Compose"
    assert "binding of orange heart" in [box.label for box in page.checkbox]
    three = PRESETS["Three objects"]
    page.session_state.composition = Composition.opened(ComposeView(three, ()), [])
    page.run()
    assert not page.exception
    assert "The scene on Compose" not in page.selectbox("taken_scene").options


def test_text_and_objects_are_a_choice_and_in_the_link(page):
    page.query_params["taken_side"] = "the caption"
    page.query_params["taken_into"] = "objects"
    page.run()
    assert not page.exception
    assert page.session_state.taken_side == "text"
    assert [box.label for box in page.checkbox] == ["mean", "red square", "blue circle", "rest"]


def test_a_broken_link_falls_back(page):
    page.query_params["taken_side"] = "smell"
    page.query_params["taken_apart"] = "no such model"
    page.run()
    assert not page.exception
    assert page.selectbox("taken_apart").value == "high-coverage"


def test_a_model_that_was_not_taken_apart_says_what_it_takes(page):
    page.session_state.encoder_source = lambda model_id: (
        ControlEncoder("product", dimensions=32) if model_id == "control-product" else FakeEncoder()
    )
    page.run()
    page.selectbox("taken_apart").select("control-product").run()
    assert not page.exception
    assert "has not been taken apart on this machine yet" in said(page)
    assert any(b.label == "Take it apart" for b in page.button)


def test_own_embeddings_are_taken_apart(page):
    npz, labels = own_files()
    page.run()
    page.file_uploader("own_npz").set_value(("mine.npz", npz, "application/zip"))
    page.file_uploader("own_labels").set_value(("mine.csv", labels, "text/csv")).run()
    assert not page.exception
    assert "200 scenes of 2 objects; values: 3 of colour, 3 of shape" in said(page)
    tables = len(page.table)
    [take] = [b for b in page.button if b.label == "Take them apart"]
    take.click().run()
    for _ in range(200):
        if len(page.table) > tables:
            break
        time.sleep(0.1)
        page.run()
    assert not page.exception
    found = page.table[len(page.table) - 4].value
    assert found["estimated by"].tolist().count("least squares") == 2


def test_own_embeddings_that_do_not_fit_name_the_row(page):
    npz, labels = own_files()
    page.run()
    page.file_uploader("own_npz").set_value(("mine.npz", npz, "application/zip"))
    page.file_uploader("own_labels").set_value(
        ("mine.csv", labels + b"\nc1,s1,c1,s1", "text/csv")
    ).run()
    assert not page.exception
    assert "200 embeddings and 201 rows" in said(page)
