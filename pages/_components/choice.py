"""Which side of a model, and which scene, is taken apart."""

from __future__ import annotations

import streamlit as st

from binding_core.presets import PRESETS
from binding_core.scenes import Scene

ON_STAGE = "The scene on Compose"
PLACES = 2  # components are fitted on scenes of two objects


def chosen_side() -> str:
    """What is taken apart: "image" or "text"."""
    return st.segmented_control(
        "What it embeds",
        ["image", "text"],
        default="image",
        required=True,
        format_func={"image": "the picture", "text": "the caption"}.get,
        key="taken_side",
        bind="query-params",
        persist_state="session",
    )


def chosen_scene() -> Scene:
    """A scene of two objects: a preset, or what stands on the page Compose."""
    scenes = {
        name: preset for name, preset in PRESETS.items() if len(set(preset.object_words)) == PLACES
    }
    if composition := st.session_state.get("composition"):
        composed = composition.scene
        if len(composed.objects) == PLACES:
            scenes = {ON_STAGE: composed} | scenes
    name = st.selectbox(
        "Scene", list(scenes), key="taken_scene", persist_state="session", width=280
    )
    return scenes[name]
