"""Compose: build a scene, swap two attributes, and see who can tell the difference."""

import streamlit as st

from binding_core.agreement.verdict import judge, rank_captions
from binding_core.captions import caption
from binding_core.encoders import ready
from binding_core.errors import UserError
from binding_core.export import scene_png, verdicts_csv
from binding_core.figures.verdict import caption_ranking_block, pair_block, verdict_block
from binding_core.links import ComposeView
from binding_core.pictures import read_picture
from binding_core.presets import PRESETS
from binding_core.render import render
from binding_core.scenes import swap
from pages.parts import composer
from pages.parts.chrome import footer, lead
from pages.parts.editor import scene_editor
from pages.parts.models import encoder, usable_cards

composer.start()
state = st.session_state
cards = usable_cards()

lead(
    "Compose",
    "Swap the colours of two objects. Nothing is added and nothing is lost, only which colour "
    "belongs to which shape: does a model notice?",
)
stage, reading = st.columns([5, 7], gap="large")


def draw_stage(view: ComposeView) -> None:
    scene_editor(state.history, acknowledged=state.acknowledged, on_edits=composer.take_edits)
    objects = view.scene.objects
    can_swap = len(objects) > 1
    if len(objects) > 2:
        pairs = [(i, j) for i in range(len(objects)) for j in range(i + 1, len(objects))]
        state.pair = view.pair
        st.selectbox(
            "Swap between",
            pairs,
            key="pair",
            format_func=lambda p: " ↔ ".join(
                f"{objects[i].colour} {objects[i].shape}" for i in p if i < len(objects)
            ),
        )
    with st.container(horizontal=True):
        for concept, kind in (("colour", "primary"), ("shape", "secondary")):
            st.button(
                f"Swap {concept}s",
                key=f"swap_{concept}",
                type=kind,
                icon=":material/swap_horiz:",
                on_click=composer.swap_now,
                args=(concept,),
                disabled=not can_swap,
            )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Start from",
            list(PRESETS),
            index=None,
            key="preset",
            placeholder="a preset",
            on_change=composer.take_preset,
        )
        st.number_input(
            "or seed", min_value=0, max_value=10**9, key="seed", on_change=composer.take_seed
        )
        st.button("Random scene", icon=":material/casino:", on_click=composer.take_random)


def draw_reading(view: ComposeView) -> None:
    for notice in state.notices:
        st.warning(notice, icon=":material/info:")
    st.pills(
        "Models",
        list(cards),
        selection_mode="multi",
        key="models",
        format_func=lambda model_id: cards[model_id].name,
        persist_state="session",
        label_visibility="collapsed",
    )
    swapped = swap(view.scene, concept=view.concept, pair=view.pair) if can_compare(view) else None
    if swapped is None:
        st.info("One object has nothing to swap with. Add a second one.")
        return
    st.html(pair_block(view.scene, swapped))
    verdicts = []
    for model_id in view.models:
        waiting = None if ready(model_id) else f"Reading {cards[model_id].name}, once …"
        try:
            with st.spinner(waiting, show_time=True) if waiting else st.container():
                verdict = judge(encoder(model_id), scene=view.scene, swapped=swapped)
        except UserError as error:
            st.warning(f"{cards[model_id].name}: {error}")
            continue
        verdicts.append(verdict)
        st.html(verdict_block(verdict, cards[model_id]))
    if not view.models:
        st.info("Choose a model above to hear its verdict.")


def can_compare(view: ComposeView) -> bool:
    return len(view.scene.objects) > 1


with stage:
    draw_stage(composer.view())
with reading:
    draw_reading(composer.view())
composer.share()
footer()
