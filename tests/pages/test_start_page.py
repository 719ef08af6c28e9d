"""The page Start without a browser."""

from streamlit.testing.v1 import AppTest

from binding_core.lessons import LESSONS


def page() -> AppTest:
    app = AppTest.from_file("../../app.py", default_timeout=60)
    app.run()
    return app.switch_page("pages/start.py").run()


def test_five_lessons_link_to_their_pages():
    start = page()
    assert not start.exception
    links = start.get("page_link")
    assert [link.proto.label for link in links] == [
        f"Open lesson {n}" for n in range(1, len(LESSONS) + 1)
    ]


def test_a_lesson_is_told_above_its_own_page_only():
    app = AppTest.from_file("../../app.py", default_timeout=60)
    app.query_params["lesson"] = "4"
    app.run()
    assert not any("Lesson 4" in h.proto.body for h in app.get("html"))
    app.query_params["lesson"] = "4"
    app.switch_page("pages/agreement.py").run()
    assert not app.exception
    assert any("Lesson 4 of 5" in h.proto.body for h in app.get("html"))
    assert "Next: Train until it binds" in [link.proto.label for link in app.get("page_link")]


def test_coming_back_ends_a_lesson():
    app = AppTest.from_file("../../app.py", default_timeout=60)
    app.query_params["lesson"] = "1"
    app.run()
    assert any("Lesson 1 of 5" in h.proto.body for h in app.get("html"))
    del app.query_params["lesson"]
    app.switch_page("pages/start.py").run()
    app.switch_page("pages/compose.py").run()
    assert not app.exception
    assert not any("Lesson 1 of 5" in h.proto.body for h in app.get("html"))


def test_teachers_mode_is_a_switch():
    start = page()
    start.toggle("teacher").set_value(True).run()
    assert not start.exception
    assert start.session_state.teaching is True
