"""The swap, and what each chosen model makes of it."""

from __future__ import annotations

from contextlib import nullcontext

import streamlit as st

from binding_core.agreement.verdict import Verdict, judge
from binding_core.errors import UserError
from binding_core.figures.verdict import pair_block, verdict_block
from binding_core.links import ComposeView
from binding_core.scenes import swap
from pages._compose import composer
from pages._shared.chrome import notice
from pages._shared.encoders import encoder, is_waiting, usable_cards


def swap_controls(view: ComposeView) -> None:
    """The swap buttons and, with more than two objects, the pair they act on."""
    objects = view.scene.objects
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for concept, kind in (("colour", "primary"), ("shape", "secondary")):
            st.button(
                f"Swap {concept}s",
                key=f"swap_{concept}",
                type=kind,
                icon=":material/swap_horiz:",
                on_click=composer.swap_now,
                args=(concept,),
                disabled=len(objects) < 2,
            )
        if len(objects) > 2:
            first, second = sorted(view.pair)
            st.session_state.pair_choice = f"{first + 1} ↔ {second + 1}"
            st.selectbox(
                "Objects to swap between",
                [
                    f"{i} ↔ {j}"
                    for i in range(1, len(objects))
                    for j in range(i + 1, len(objects) + 1)
                ],
                key="pair_choice",
                on_change=composer.take_pair,
                width=150,
            )


def verdicts_of(view: ComposeView) -> list[Verdict]:
    """Draw the scene, its swap and each chosen model's verdict; the verdicts that could be had."""
    cards = usable_cards()
    if len(view.scene.objects) < 2:
        st.info("One object has nothing to swap with. Add a second one.")
        return []
    swapped = swap(view.scene, concept=view.concept, pair=view.pair)
    st.html(pair_block(view.scene, swapped))
    st.pills(
        "Models",
        list(cards),
        selection_mode="multi",
        key="models",
        format_func=lambda model_id: cards[model_id].name,
        on_change=composer.act,
        persist_state="session",
        label_visibility="collapsed",
        wrap=True,
    )
    if not view.models:
        st.info("Choose a model above to hear its verdict.")
    verdicts = []
    for model_id in view.models:
        reading = f"Reading the model “{cards[model_id].name}” for the first time …"
        try:
            with st.spinner(reading) if is_waiting(model_id) else nullcontext():
                verdict = judge(encoder(model_id), scene=view.scene, swapped=swapped)
        except UserError as error:
            notice(f"{cards[model_id].name}: {error}")
            continue
        verdicts.append(verdict)
        st.html(verdict_block(verdict, cards[model_id], scene=view.scene))
    return verdicts
