"""The page Agreement without a browser, which draws no chart here."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from binding_core.alignment.report import find_agreement
from binding_core.composition import Composition
from binding_core.encoders.controls import ControlEncoder
from binding_core.links import ComposeView
from binding_core.presets import DEFAULT_SCENE


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file("../../pages/agreement.py", default_timeout=60)
    app.session_state.navigated = True
    return app


def said(page) -> str:
    return " ".join(p.value for p in (*page.markdown, *page.caption, *page.info, *page.warning))


def settled(page, what) -> None:
    for _ in range(300):
        page.run()
        if what():
            return
        time.sleep(0.1)
    raise AssertionError(said(page))


def test_the_bundled_models_stand_side_by_side_at_once(page):
    page.run()
    assert not page.exception
    assert page.multiselect("agreeing").value == ["web-captions", "low-coverage", "high-coverage"]
    assert len(page.get("plotly_chart")) == 2
    tension = page.table[1].value
    assert list(tension["model"]) == ["Web captions", "Low coverage", "High coverage"]
    assert len(page.get("download_button")) == 2


def test_a_cell_is_chosen_without_a_mouse(page):
    page.run()
    page.selectbox("heat_row").select_index(4)
    page.selectbox("heat_column").select_index(4).run()
    assert not page.exception
    assert "Its own caption has a cosine" in said(page)
    page.selectbox("heat_column").select_index(5).run()
    assert "prefers its own" in said(page)
    page.selectbox("heat_model").set_value("web-captions").run()
    assert not page.exception


def test_three_objects_and_back_keep_the_page_whole(page):
    page.run()
    page.selectbox("heat_row").select_index(19).run()
    page.button_group("heat_objects").set_value(3).run()
    assert not page.exception
    page.selectbox("heat_row").select_index(23).run()
    page.button_group("heat_objects").set_value(2).run()
    assert not page.exception


def test_no_model_is_said_in_words(page):
    page.run()
    page.multiselect("agreeing").set_value([]).run()
    assert not page.exception
    assert "Choose a model" in said(page)


def test_a_model_that_is_not_known_is_measured_behind_the_page(page, monkeypatch):
    import binding_core.alignment.report as module
    import pages._agreement.choice as choice

    monkeypatch.setattr(module, "N_SCENES", 100)
    real = choice.agreement_of
    monkeypatch.setattr(
        choice, "agreement_of", lambda model, **more: real(model, n_scenes=100, **more)
    )
    page.run()
    page.multiselect("agreeing").set_value(["control-memoriser"]).run()
    assert "has not been measured" in said(page)
    page.button("measure control-memoriser").click().run()
    settled(page, lambda: len(page.get("plotly_chart")) == 2)
    assert find_agreement(ControlEncoder("memoriser").fingerprint)


def test_the_scene_of_compose_is_judged_by_each_model(page):
    page.session_state.composition = Composition.opened(ComposeView(DEFAULT_SCENE, ()), [])
    page.run()
    assert not page.exception
    findings = next(t.value for t in page.table if "finding" in t.value)
    assert len(findings) == 3


def test_maps_are_trained_and_say_what_they_mend(page, monkeypatch):
    import pages._agreement.mending as mending

    real = mending.mend
    monkeypatch.setattr(mending, "mend", lambda model, **more: real(model, n=300, **more))
    page.run()
    page.button("mend").click().run()
    settled(page, lambda: "(contrast, on captions)" in said(page))
    table = page.table[-1].value
    assert len(table) == 6 + 2
    assert list(table["source"])[-1].startswith("paper")


def test_teachers_mode_comes_by_link_and_goes(page):
    page.query_params["teach"] = "1"
    page.run()
    assert any("125%" in h.proto.body for h in page.get("html"))
    page.query_params["teach"] = "0"
    page.run()
    assert not any("125%" in h.proto.body for h in page.get("html"))
