"""The state of the page Compose, and what its controls do to it."""

from __future__ import annotations

import streamlit as st
from pydantic import ValidationError

from binding_core.editing import Edit, SceneHistory
from binding_core.encoders import BUNDLED_IDS
from binding_core.errors import UserError
from binding_core.links import ComposeView, decode_view, encode_view, fitting_pair
from binding_core.presets import PRESETS
from binding_core.scenes import parse_scene, random_scene, swap
from pages._compose.editor import received_edits
from pages._shared.encoders import usable_cards


def start() -> None:
    """On a session's first visit, take the view from the link."""
    state = st.session_state
    usable = usable_cards()
    if "history" in state:
        if gone := set(state.models) - set(usable):  # removed on the page Models
            state.models = [model for model in state.models if model not in gone]
        return
    view, notices = decode_view(
        st.query_params.to_dict(),
        known_models=dict.fromkeys(usable, True),
        default_models=BUNDLED_IDS,
    )
    state.history = SceneHistory(view.scene)
    state.acknowledged = 0
    if "models" not in state or "m" in st.query_params:  # the page Models may have chosen some
        state.models = list(view.models)
    state.concept = view.concept
    state.pair = view.pair
    state.seed = 0
    state.notices = notices


def view() -> ComposeView:
    """What is on stage."""
    state = st.session_state
    pair = fitting_pair(state.history.scene, state.pair)
    return ComposeView(state.history.scene, tuple(state.models), state.concept, pair)


def share() -> None:
    """Write the view into the page's link."""
    wanted = encode_view(view())
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def take_edits() -> None:
    """Make the editor's new edits, each once and in order."""
    state = st.session_state
    state.notices = []
    for raw in received_edits():
        try:
            edit = Edit.model_validate(raw)
            if edit.number <= state.acknowledged:
                continue
            state.acknowledged = edit.number
            state.history = state.history.edited(edit)
        except UserError as error:
            state.notices.append(str(error))
        except ValidationError:
            state.notices.append("The editor sent something that is no edit; nothing was changed.")


def swap_now(concept: str) -> None:
    """Exchange one concept type between the chosen pair."""
    state = st.session_state
    state.concept = concept
    state.history = state.history.then(swap(state.history.scene, concept=concept, pair=view().pair))


def take_preset() -> None:
    """Put the chosen preset on stage."""
    state = st.session_state
    if state.preset in PRESETS:
        state.history = state.history.then(PRESETS[state.preset])
        state.preset = None


def take_random() -> None:
    """Put the scene of the next seed on stage, with as many objects as there are now."""
    state = st.session_state
    state.seed = (state.seed or 0) + 1
    take_seed()


def take_seed() -> None:
    """Put the scene of the typed seed on stage."""
    state = st.session_state
    n_objects = max(2, len(state.history.scene.objects))
    scene = random_scene(space=None, n_objects=n_objects, seed=int(state.seed or 0))
    state.history = state.history.then(scene)


def import_scene() -> None:
    """Put the uploaded scene on stage, or say why it is not one."""
    state = st.session_state
    state.notices = []
    if state.scene_file is None:
        return
    try:
        state.history = state.history.then(parse_scene(state.scene_file.getvalue()))
    except UserError as error:
        state.notices.append(f"{error} The scene on stage is unchanged.")
