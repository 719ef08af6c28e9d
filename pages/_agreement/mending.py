"""One linear map between captions and pictures: what it mends, and what it can't."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event

import streamlit as st

from binding_core.alignment.mending import N_SCENES, Mending, mend
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.figures.agreement import mending_table
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works


def mending_section(cards: Sequence[ModelCard]) -> None:
    """Train the maps behind the page, and show what they change."""
    if not cards:
        return
    st.subheader("Mend it by one linear map", divider="gray")
    by_id = {card.id: card for card in cards}
    card = by_id[
        st.selectbox(
            "Model to mend",
            list(by_id),
            format_func=lambda i: by_id[i].name,
            key="mended_model",
            width=260,
        )
    ]
    model = encoder(card.id)
    key = f"mending of {model.fingerprint}"
    st.markdown(
        "A matrix on one side is trained on scenes of the model's training objects, and tested on "
        "new scenes of these objects and on objects that it was not trained on. The literature "
        "reports the first; the second is what binding is about."
    )
    if progress(key):
        return
    if found := works().found(key):
        _shown(found)
        return
    st.button(
        "Train the maps",
        icon=":material/healing:",
        on_click=works().begin,
        args=(key, partial(_mend, model, card)),
        kwargs={"kind": "mending"},
        key="mend",
        help=f"{N_SCENES:,} scenes; some seconds",
    )


def _mend(
    model: Encoder, card: ModelCard, stop: Event, report: Report
) -> tuple[Mending, ...] | None:
    behind = getattr(model, "encoder", model)  # a cache would keep thousands of rows for one use
    return mend(behind, train_objects=card.train_objects, report=report, stop=stop)


def _shown(mendings: tuple[Mending, ...]) -> None:
    first = mendings[0]
    st.markdown(f"**{first.sentence}** (contrast, on captions)")
    st.table(mending_table(mendings))
    st.caption(
        f"Swap accuracy before → after, chance ½. Trained on {first.n_trained:,} scenes of "
        f"{first.n_train_objects} objects, seed {first.seed}; a scene and its swap share a bag of "
        "concepts, and no bag is both trained and tested. The paper's rows are the paper's: CLIP, "
        "every object seen in training."
    )
