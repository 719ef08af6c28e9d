"""Start: five lessons of a minute each."""

import streamlit as st

from binding_core.lessons import LESSONS
from pages._shared.chrome import footer, lead, link_to, meaning, teaching, through_app

through_app()
st.session_state.pop("lesson", None)  # here one lesson ends, and another may begin
lead(
    "Start",
    "A person who sees a red square and a blue circle knows which colour belongs to which shape. "
    "Does a model? Five steps of a minute each, every one on the real page.",
)
for number, lesson in enumerate(LESSONS, start=1):
    with st.container(border=True):
        left, right = st.columns([8, 3], vertical_alignment="center")
        left.markdown(f"**{number}. {lesson.title}**  \n{lesson.notice}")
        left.caption(f"Question: {lesson.question}")
        right.page_link(
            f"pages/{lesson.page}.py",
            label=f"Open lesson {number}",
            icon=":material/arrow_forward:",
            query_params=link_to(number),
        )
on = st.toggle("Teacher's mode: large type, fewer controls", value=teaching(), key="teacher")
if on != teaching():
    st.session_state.teaching = on
    st.query_params.pop("teach", None)
    st.rerun()
meaning(
    "Embedding models turn a scene into one vector. How concepts are bound in it, and when not, is "
    "what the other pages let you see, poke at and measure.",
    "Each page says how to make its effect fail. Every state has a link: what you find can be sent "
    "to others, and “?teach=1” behind any link opens it in teacher's mode.",
)
footer()
