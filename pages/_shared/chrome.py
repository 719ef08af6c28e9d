"""The frame that every page shares: heading, one sentence, meaning, foot."""

from __future__ import annotations

import re
import runpy
from collections.abc import Sequence
from html import escape

import streamlit as st

from binding_core.agreement.verdict import Verdict
from binding_core.files import ASSETS
from binding_core.glossary import with_definitions
from binding_core.lessons import LESSONS, lesson_of

PAPER = (
    "<a href='https://arxiv.org/abs/2605.31503'>“How can embedding models bind concepts?”</a> "
    "(Uselis, Koishigarina, Oh; ICML 2026)"
)


def navigated() -> None:
    """Note that this session came through app.py."""
    st.session_state.navigated = True


def through_app() -> None:
    """Run app.py when a page was opened without it.

    A server's very first session, when a link leads it straight to a page, runs the file in pages/
    alone: Streamlit's old way, until st.navigation has been called once.
    """
    if not st.session_state.get("navigated"):
        runpy.run_path(str(ASSETS.parent / "app.py"))
        st.stop()


def lead(title: str, sentence: str) -> None:
    """Title and the one sentence on what to look for, under the lesson that led here."""
    st.html(ASSETS / "app.css")
    if teaching():
        st.html(ASSETS / "teaching.css")
    _lesson(title)
    st.html(f'<h1 class="title">{escape(title)}</h1><p class="lead">{escape(sentence)}</p>')


def teaching() -> bool:
    """Teacher's mode: large type, fewer controls. A link with teach=1 switches it on, 0 off."""
    if (asked := st.query_params.get("teach")) is not None:
        st.session_state.teaching = asked == "1"
    return bool(st.session_state.get("teaching"))


def link_to(number: int) -> dict[str, str]:
    """The query parameters that open a lesson."""
    teach = {"teach": "1"} if st.session_state.get("teaching") else {}
    return LESSONS[number - 1].parameters | {"lesson": str(number)} | teach


def _lesson(title: str) -> None:
    if (asked := st.query_params.get("lesson")) is not None:
        st.session_state.lesson = asked
    found = lesson_of(st.session_state.get("lesson"))
    if not found or found[1].page != title.lower():
        return
    number, lesson = found
    with st.container(border=True, key="lesson"):
        st.html(
            f'<div class="lesson"><b>Lesson {number} of {len(LESSONS)}: {escape(lesson.title)}</b>'
            f"<p>{escape(lesson.notice)}</p><p><i>{escape(lesson.question)}</i></p>"
            f"<details><summary>Answer</summary>{escape(lesson.answer)}</details></div>"
        )
        with st.container(horizontal=True):
            if number < len(LESSONS):
                after = LESSONS[number]
                st.page_link(
                    f"pages/{after.page}.py",
                    label=f"Next: {after.title}",
                    icon=":material/arrow_forward:",
                    query_params=link_to(number + 1),
                )
            st.page_link("pages/start.py", label="All lessons", icon=":material/school:")


def notice(text: str) -> None:
    """A sentence for the user, shown to the letter: it may quote what a stranger's file says."""
    st.warning(re.sub(r"([\\`*_{}\[\]<>#|$:~])", r"\\\1", text), icon=":material/info:")


def meaning(means: str, break_it: str) -> None:
    """What the page shows, and how to make it fail."""
    st.html(
        '<div class="meaning">'
        f"<section><h3>What this means</h3><p>{with_definitions(means)}</p></section>"
        f"<section><h3>Break it</h3><p>{with_definitions(break_it)}</p></section></div>"
    )


def footer(verdicts: Sequence[Verdict] = ()) -> None:
    """What the page's numbers were computed from, and the source."""
    models = ", ".join(f"{escape(v.model)} <code>{v.fingerprint}</code>" for v in verdicts)
    computed = f"Cosine similarities computed here by {models}. " if models else ""
    st.html(f'<p class="foot">{computed}After {PAPER}.</p>')
