"""The session's composition, and what the page's controls do to it.

Every action ends in one assignment to ``st.session_state.composition``; see there why.
"""

from __future__ import annotations

import streamlit as st

from binding_core.composition import Composition
from binding_core.encoders import BUNDLED_IDS
from binding_core.encoders.public import public_checkpoint
from binding_core.errors import UserError
from binding_core.links import PARAMETERS, ComposeView, decode_view
from binding_core.presets import PRESETS
from binding_core.scenes import Scene, parse_scene, random_scene
from pages._compose.editor import received_edits
from pages._shared.encoders import usable_cards


def start() -> None:
    """Bring the composition up to date: from the link, from the editor, and back into the link.

    The link is read on a first visit and when the browser went back to another view.
    """
    state = st.session_state
    asked = st.query_params.to_dict()
    link = {name: value for name, value in asked.items() if name in PARAMETERS}
    named = link.get("m", "").split("~")
    usable = usable_cards(with_public=any(public_checkpoint(model) for model in named))
    known = dict.fromkeys(usable, True)
    if "composition" not in state:
        view, notices = decode_view(link, known_models=known, default_models=BUNDLED_IDS)
        state.seed = 0
        # The page Models may have chosen some before the first visit here.
        state.models = state.get("chosen_models", list(view.models))
        state.composition = Composition.opened(view, notices)
    composition = state.composition.edited(received_edits())
    if link and composition.link and link != composition.link:
        view, notices = decode_view(link, known_models=known, default_models=BUNDLED_IDS)
        state.models = list(view.models)
        composition = composition.revisited(view, notices)
    if gone := set(state.models) - set(usable):  # removed on the page Models
        state.models = [model for model in state.models if model not in gone]
    state.composition = composition.shared(state.models)
    # Before the verdicts, which may wait for a model.
    if link != state.composition.link:
        st.query_params.from_dict(asked | state.composition.link)  # a lesson's number stays


def view() -> ComposeView:
    """What is on stage."""
    return st.session_state.composition.view(st.session_state.models)


def act() -> None:
    """Note that the user did something on the page: it, and not the link, decides this run."""
    st.session_state.composition = st.session_state.composition.touched()


def show(scene: Scene) -> None:
    """Put another scene on stage."""
    st.session_state.composition = st.session_state.composition.then(scene)


def swap_now(concept: str) -> None:
    """Exchange one concept type between the chosen pair."""
    st.session_state.composition = st.session_state.composition.swapped(concept)


def take_pair() -> None:
    """Swap between the chosen pair from now on."""
    first, second = st.session_state.pair_choice.split(" ↔ ")
    pair = (int(first) - 1, int(second) - 1)
    st.session_state.composition = st.session_state.composition.paired(pair)


def take_preset() -> None:
    """Put the chosen preset on stage."""
    if st.session_state.scene_preset in PRESETS:
        show(PRESETS[st.session_state.scene_preset])
        st.session_state.scene_preset = None


def take_random() -> None:
    """Put the scene of the next seed on stage, with as many objects as there are now."""
    st.session_state.seed = (st.session_state.seed or 0) + 1
    take_seed()


def take_seed() -> None:
    """Put the scene of the typed seed on stage."""
    n_objects = max(2, len(st.session_state.composition.scene.objects))
    show(random_scene(space=None, n_objects=n_objects, seed=int(st.session_state.seed or 0)))


def import_scene() -> None:
    """Put the uploaded scene on stage, or say why it is not one."""
    uploaded = st.session_state.scene_file
    if uploaded is None:
        return
    try:
        show(parse_scene(uploaded.getvalue()))
    except UserError as error:
        refusal = UserError(f"{error} The scene on stage is unchanged.")
        st.session_state.composition = st.session_state.composition.refused(refusal)
