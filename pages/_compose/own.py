"""A user's own captions and picture, ranked by the chosen models."""

from __future__ import annotations

import streamlit as st

from binding_core.agreement.verdict import PICTURE_SIZE, rank_captions
from binding_core.captions import both_orders, caption
from binding_core.errors import UserError
from binding_core.figures.verdict import caption_ranking_block, picture_tag
from binding_core.links import ComposeView
from binding_core.pictures import MAX_BYTES, read_picture
from binding_core.render import render
from binding_core.scenes import swap
from pages._shared.encoders import encoder, usable_cards

MAX_CAPTIONS = 50
MAX_CHARACTERS = 300  # a caption


def own_captions_and_picture(view: ComposeView) -> None:
    """Captions that the user types, ranked against the scene or against a picture of their own."""
    box = st.expander(
        "Your own captions, your own picture",
        icon=":material/edit_note:",
        key="own_open",
        on_change="rerun",
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
            picture = render(view.scene, size=PICTURE_SIZE)
            if uploaded is not None:
                try:
                    picture = read_picture(uploaded.getvalue())
                    preview = picture.copy()
                    preview.thumbnail((320, 320))
                    st.html(picture_tag(preview, alt="your picture", css="preview"))
                except UserError as error:
                    st.warning(f"{error} The scene is ranked instead.", icon=":material/info:")
        with ranked:
            lines = st.session_state.own_captions.splitlines()
            texts = list(dict.fromkeys(s[:MAX_CHARACTERS] for t in lines if (s := t.strip())))
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
                    st.warning(f"{card.name}: {error}", icon=":material/info:")


def _suggestions(view: ComposeView) -> list[str]:
    scenes = [view.scene]
    if len(view.scene.objects) > 1:
        scenes.append(swap(view.scene, concept=view.concept, pair=view.pair))
    return [caption(s, order=both_orders(view.scene)[0]) for s in scenes] + [
        "something red and something blue",
        "a photo of a dog",
    ]
