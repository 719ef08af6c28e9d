"""The page Complexity without a browser, which draws no chart here."""

import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from binding_core.complexity.sweep import find_rows
from binding_core.encoders.controls import ControlEncoder


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file("../../pages/complexity.py", default_timeout=60)
    app.session_state.navigated = True
    return app


def said(page) -> str:
    return " ".join(p.value for p in (*page.markdown, *page.caption, *page.info, *page.warning))


def test_runs_and_a_bundled_model_are_there_at_once(page):
    page.run()
    assert not page.exception
    assert "n = 200 runs" in said(page)
    assert "Binding rank" in said(page)
    assert len(page.get("plotly_chart")) == 3
    controls = next(t.value for t in page.table if "control" in t.value)
    assert list(controls["control"]) == ["bag", "product", "global-product", "memoriser"]


def test_another_explanation_has_another_correlation(page):
    page.run()
    before = next(m.value for m in page.markdown if "Rank correlation" in m.value)
    page.selectbox("explains").set_value("rank").run()
    after = next(m.value for m in page.markdown if "Rank correlation" in m.value)
    assert before != after
    assert not page.exception


@pytest.mark.parametrize("shown", ["concepts", "r2_heldout"])
def test_every_measure_is_drawn_for_captions_too(page, shown):
    page.run()
    page.button_group("complexity_shown").set_value(shown)
    page.button_group("approximated_side").set_value("text").run()
    assert not page.exception
    assert len(page.get("plotly_chart")) == 3


def test_an_unknown_model_is_measured_behind_the_page_stopped_and_gone_on_with(page, monkeypatch):
    import binding_core.complexity.sweep as sweep

    every = sweep.every_pair(seed=0)
    some = [every[i] for i in np.random.default_rng(0).permutation(len(every))[:1500]]
    monkeypatch.setattr(sweep, "every_pair", lambda seed: some)
    monkeypatch.setattr(sweep, "COVERAGES", (0.7,))
    page.run()
    page.selectbox("approximated").set_value("control-bag").run()
    assert "has not been approximated" in said(page)
    page.button("complexity_quick").click().run()
    for _ in range(300):
        page.run()
        if find_rows(ControlEncoder("bag").fingerprint, "image"):
            break
        time.sleep(0.1)
    assert not page.exception
    assert find_rows(ControlEncoder("bag").fingerprint, "image")
    for _ in range(20):
        if not any(b.key == "stop complexity of control-bag image" for b in page.button):
            break
        page.button("stop complexity of control-bag image").click().run()
        time.sleep(0.5)
    page.run()
    assert not page.exception
