"""The baseline: a Streamlit page with one button and one number."""

import streamlit as st

st.session_state.setdefault("count", 0)


def count() -> None:
    st.session_state.count += 1


st.button("Count", on_click=count)
st.html(f'<p class="count">{st.session_state.count}</p>')
