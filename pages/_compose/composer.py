"""The state of the page Compose, and what its controls do to it."""

from __future__ import annotations

import streamlit as st
from pydantic import ValidationError

from binding_core.editing import Edit, SceneHistory, follow
from binding_core.encoders import BUNDLED_IDS
from binding_core.encoders.public import public_checkpoint
from binding_core.errors import UserError
from binding_core.links import ComposeView, decode_view, encode_view, fitting_pair
from binding_core.presets import PRESETS
from binding_core.scenes import Scene, parse_scene, random_scene, swap
from pages._compose.editor import received_edits
from pages._shared.encoders import usable_cards

MAX_EDITS_AT_ONCE = 100  # of a browser that was cut off for a while


def start() -> None:
    """Take the view from the link on a first visit, or when the browser went back to another."""
    state = st.session_state
    link = st.query_params.to_dict()
    named = link.get("m", "").split("~")
    usable = usable_cards(with_public=any(public_checkpoint(model) for model in named))
    if "history" not in state:
        state.acknowledged = 0
        state.seed = 0
        _take_link(link, usable, SceneHistory)
        # The page Models may have chosen some before the first visit here.
        state.models = state.get("chosen_models", state.models)
    elif link and link != state.shared and not state.acted:
        _take_link(link, usable, state.history.then)
    elif gone := set(state.models) - set(usable):  # removed on the page Models
        state.models = [model for model in state.models if model not in gone]
    state.acted = False


def _take_link(link: dict[str, str], usable: dict, show: object) -> None:
    state = st.session_state
    view, state.notices = decode_view(
        link, known_models=dict.fromkeys(usable, True), default_models=BUNDLED_IDS
    )
    state.history = show(view.scene)
    state.models = list(view.models)
    state.concept = view.concept
    state.pair = view.pair


def view() -> ComposeView:
    """What is on stage."""
    state = st.session_state
    pair = fitting_pair(state.history.scene, state.pair)
    return ComposeView(state.history.scene, tuple(state.models), state.concept, pair)


def share() -> None:
    """Write the view into the page's link."""
    st.session_state.shared = encode_view(view())
    if st.query_params.to_dict() != st.session_state.shared:
        st.query_params.from_dict(st.session_state.shared)


def act() -> None:
    """Note that the user did something on the page: it, and not the link, decides this run.

    A click that is quicker than the browser's address line arrives with the link of the view
    before.
    """
    st.session_state.acted = True
    st.session_state.notices = []


def show(scene: Scene) -> None:
    """Put another scene on stage; undo brings the old one back."""
    act()
    st.session_state.history = st.session_state.history.then(scene)


def take_edits() -> None:
    """Make the editor's new edits, each once and in order."""
    act()
    state = st.session_state
    for raw in received_edits()[:MAX_EDITS_AT_ONCE]:
        number = raw.get("number") if isinstance(raw, dict) else None
        if not isinstance(number, int) or number <= state.acknowledged:
            continue
        state.acknowledged = number  # done with, even when it cannot be made
        try:
            edit = Edit.model_validate(raw)
            pair = follow(state.pair, edit, n_objects=len(state.history.scene.objects))
            state.history = state.history.edited(edit)
            state.pair = pair
        except UserError as error:
            state.notices = [str(error)]
        except ValidationError:
            state.notices = ["The editor sent something that is no edit; nothing was changed."]


def swap_now(concept: str) -> None:
    """Exchange one concept type between the chosen pair."""
    st.session_state.concept = concept
    show(swap(st.session_state.history.scene, concept=concept, pair=view().pair))


def take_pair() -> None:
    """Swap between the chosen pair from now on."""
    act()
    first, second = st.session_state.pair_choice.split(" ↔ ")
    st.session_state.pair = (int(first) - 1, int(second) - 1)


def take_preset() -> None:
    """Put the chosen preset on stage."""
    if st.session_state.preset in PRESETS:
        show(PRESETS[st.session_state.preset])
        st.session_state.preset = None


def take_random() -> None:
    """Put the scene of the next seed on stage, with as many objects as there are now."""
    st.session_state.seed = (st.session_state.seed or 0) + 1
    take_seed()


def take_seed() -> None:
    """Put the scene of the typed seed on stage."""
    n_objects = max(2, len(st.session_state.history.scene.objects))
    show(random_scene(space=None, n_objects=n_objects, seed=int(st.session_state.seed or 0)))


def import_scene() -> None:
    """Put the uploaded scene on stage, or say why it is not one."""
    uploaded = st.session_state.scene_file
    if uploaded is None:
        return
    try:
        show(parse_scene(uploaded.getvalue()))
    except UserError as error:
        act()
        st.session_state.notices = [f"{error} The scene on stage is unchanged."]
