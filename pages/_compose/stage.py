"""The scene on stage, and the ways to put another one there."""

from __future__ import annotations

import streamlit as st

from binding_core.presets import PRESETS
from pages._compose import composer
from pages._compose.editor import scene_editor
from pages._shared.chrome import notice


def stage() -> None:
    """The scene editor."""
    composition = st.session_state.composition
    with st.container():  # always there, so that a notice does not move the editor's place
        for text in composition.notices:
            notice(text)
    scene_editor(composition.history, acknowledged=composition.acknowledged)


def start_from() -> None:
    """Presets and seeded random scenes."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Start from",
            list(PRESETS),
            index=None,
            key="scene_preset",
            placeholder="a preset",
            on_change=composer.take_preset,
        )
        st.number_input(
            "Seed",
            min_value=0,
            max_value=10**9,
            key="seed",
            on_change=composer.take_seed,
            persist_state="session",
        )
        st.button("Random scene", icon=":material/casino:", on_click=composer.take_random)
