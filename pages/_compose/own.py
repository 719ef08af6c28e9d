"""A user's own captions and picture, ranked by the chosen models."""

from __future__ import annotations

import streamlit as st
from PIL import Image
from streamlit.runtime.uploaded_file_manager import UploadedFile

from binding_core.agreement.swap_test import PICTURE_SIZE
from binding_core.agreement.verdict import rank_captions
from binding_core.captions import both_orders, caption
from binding_core.errors import UserError
from binding_core.figures.verdict import caption_ranking_block, picture_tag
from binding_core.links import ComposeView
from binding_core.pictures import MAX_BYTES, read_picture
from binding_core.render import render
from binding_core.scenes import swap
from pages._compose import composer
from pages._shared.chrome import notice
from pages._shared.encoders import encoder, usable_cards

MAX_CAPTIONS = 50
MAX_CHARACTERS = 300  # a caption, on average
LARGEST_SIDE = 1024  # pixels of an own picture that are kept


def own_captions_and_picture(view: ComposeView) -> None:
    """Captions that the user types, ranked against the scene or against a picture of their own."""
    box = st.expander(
        "Your own captions, your own picture",
        icon=":material/edit_note:",
        key="own_open",
        on_change=composer.act,
    )
    if not box.open:
        return
    with box:
        given, ranked = st.columns([5, 7], gap="large")
        with given:
            st.text_area(
                "Captions, one a line",
                value="\n".join(_suggestions(view)),
                key="own_captions",
                height=140,
                max_chars=MAX_CAPTIONS * MAX_CHARACTERS,
                persist_state="session",
            )
            uploaded = st.file_uploader(
                "A picture instead of the scene",
                type=["png", "jpg", "jpeg", "webp"],
                key="own_picture",
                max_upload_size=MAX_BYTES // 2**20,
            )
            picture = _own_picture(uploaded) or render(view.scene, size=PICTURE_SIZE)
        with ranked:
            lines = st.session_state.own_captions.splitlines()
            texts = list(dict.fromkeys(s for t in lines if (s := t.strip())))
            if len(texts) > MAX_CAPTIONS:
                st.info(f"The first {MAX_CAPTIONS} of {len(texts)} captions are ranked.")
                texts = texts[:MAX_CAPTIONS]
            if not texts:
                st.info("Type a caption on the left to see it ranked.")
                return
            for model_id in view.models:
                card = usable_cards()[model_id]
                try:
                    found = rank_captions(encoder(model_id), picture=picture, captions=texts)
                    st.html(caption_ranking_block(found, card))
                except UserError as error:
                    notice(f"{card.name}: {error}")


def _own_picture(uploaded: UploadedFile | None) -> Image.Image | None:
    """The uploaded picture, decoded once however often the page is drawn, with its preview."""
    if uploaded is None:
        return None
    state = st.session_state
    if state.get("own_picture_id") != uploaded.file_id:
        state.own_picture_id = uploaded.file_id
        state.own_picture_read, state.own_picture_error = None, ""
        try:
            state.own_picture_read = read_picture(uploaded.getvalue())
            # No model reads more pixels than this, and each rerun hashes them.
            state.own_picture_read.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        except UserError as error:
            state.own_picture_error = str(error)
    if state.own_picture_read is None:
        notice(f"{state.own_picture_error} The scene is ranked instead.")
        return None
    preview = state.own_picture_read.copy()
    preview.thumbnail((320, 320))
    st.html(picture_tag(preview, alt="your picture", css="preview"))
    return state.own_picture_read


def _suggestions(view: ComposeView) -> list[str]:
    scenes = [view.scene]
    if len(view.scene.objects) > 1:
        scenes.append(swap(view.scene, concept=view.concept, pair=view.pair))
    return [caption(s, order=both_orders(view.scene)[0]) for s in scenes] + [
        "something red and something blue",
        "a photo of a dog",
    ]
