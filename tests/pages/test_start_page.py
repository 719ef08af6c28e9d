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


def test_teachers_mode_is_a_switch():
    start = page()
    start.toggle("teacher").set_value(True).run()
    assert not start.exception
    assert start.session_state.teaching is True
