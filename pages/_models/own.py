"""A user's own models: added from this machine, removed again."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from binding_core.encoders import ModelCard, forget, load
from binding_core.encoders.own import (
    add_own_model,
    is_copy,
    own_models_folder,
    remove_own_model,
)
from binding_core.errors import UserError
from binding_core.figures.cards import card_block
from binding_core.presets import DEFAULT_SCENE
from binding_core.render import render
from pages._models.compose_link import open_in_compose
from pages._shared.chrome import notice
from pages._shared.encoders import forget_cards


def own_model(card: ModelCard) -> None:
    """One own model with a button that removes its copy."""
    with st.container(border=True, key=f"box_{card.id}"):
        st.html(card_block(card))
        with st.container(horizontal=True):
            open_in_compose(card)
            if is_copy(Path(card.path or "")):
                st.button(
                    "Remove the app's copy",
                    key=f"remove_{card.id}",
                    on_click=_remove,
                    args=(card.id,),
                )


def _remove(model_id: str) -> None:
    try:
        remove_own_model(model_id)
    except UserError as error:
        st.session_state.models_notice = str(error)
        return
    forget(model_id)
    forget_cards()


def add_model() -> None:
    """The form that copies a model into the app's data folder."""
    with st.form("add_model", border=True):
        st.markdown(
            "A folder in open_clip's layout (`open_clip_config.json`, "
            "`open_clip_model.safetensors`), or a `.safetensors` file with the name of its "
            "architecture. Nothing else is opened: other formats can hold code. A folder put into "
            f"`{own_models_folder()}` by hand is found as well."
        )
        path = st.text_input("Folder or .safetensors file on this machine", key="own_path")
        architecture = st.text_input(
            "Architecture (for a weights file)",
            key="own_architecture",
            placeholder="ViT-B-32",
            help="A name that open_clip knows; say ViT-B-32-quickgelu for OpenAI's weights.",
        )
        sent = st.form_submit_button("Add the model", icon=":material/add:")
    if not sent:
        return
    try:
        if not path.strip():
            raise UserError("Name a folder or a .safetensors file first.")
        card = add_own_model(Path(path.strip()), architecture=architecture.strip() or None)
        try:
            with st.spinner("Reading the weights, to be sure that they fit …"):
                encoder = load(card.id)
                encoder.embed_texts(["a red square"])
                encoder.embed_images([render(DEFAULT_SCENE)])
        except UserError:
            forget(card.id)
            remove_own_model(card.id)
            raise
    except UserError as error:
        notice(str(error))
        return
    forget_cards()
    st.toast(f"“{card.name}” is added; Compose can use it now.")
    st.rerun()
