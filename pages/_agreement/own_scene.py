"""The current scene of the page Compose, before the chosen models."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from binding_core.agreement.verdict import judge
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.figures.thumbnails import thumbnail_row
from binding_core.scenes import Scene, swap
from pages._shared.chrome import notice
from pages._shared.encoders import encoder


def scene_section(cards: Sequence[ModelCard]) -> None:
    """What the chosen models make of the scene on Compose and its swap."""
    composition = st.session_state.get("composition")
    if composition is None:
        return
    scene: Scene = composition.scene
    st.subheader("Your scene", divider="gray")
    if len(scene.objects) < 2:
        st.markdown("The scene on Compose has a single object: there is nothing to swap.")
        return
    swapped = swap(scene)
    left, right = st.columns([4, 8], gap="large")
    with left:
        st.html(thumbnail_row([(scene, None), (swapped, None)], marked={0}))
    rows = []
    for card in cards:
        try:
            verdict = judge(encoder(card.id), scene=scene, swapped=swapped)
        except UserError as error:
            notice(str(error))
            continue
        rows.append(
            {
                "model": card.name,
                "own caption": f"{verdict.table[0, 0]:.2f}",
                "swapped caption": f"{verdict.table[0, 1]:.2f}",
                "finding": verdict.sentence,
            }
        )
    right.table(rows)
