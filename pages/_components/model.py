"""A model taken apart, or what it takes to do that."""

from __future__ import annotations

from threading import Event

import streamlit as st

from binding_core.encoders.protocol import ModelCard
from binding_core.geometry.component_store import find_instruments, find_report, take_model_apart
from binding_core.geometry.one_scene import Instruments
from binding_core.geometry.report import N_SCENES, ModelReport
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works


def report_of(card: ModelCard) -> ModelReport | None:
    """What is known of the model; if nothing is, what it takes to find out is drawn."""
    taken = encoder(card.id)
    if found := find_report(taken.fingerprint):
        return found
    if progress(f"components of {card.id}"):
        return None
    st.info(
        f"{card.name} has not been taken apart on this machine yet. It embeds {N_SCENES:,} scenes "
        "of two objects, as pictures and as captions, and fits components and probes: less than a "
        "minute for a model of the size of the bundled ones."
    )
    with_twin = st.checkbox(
        "Also with random weights, for comparison (twice as long)",
        key="with_twin",
        disabled=card.kind == "control",
    )

    def take_apart(stop: Event, report: Report) -> ModelReport | None:
        return take_model_apart(taken, card=card, with_twin=with_twin, report=report, stop=stop)

    st.button(
        "Take it apart",
        type="primary",
        icon=":material/stacked_bar_chart:",
        on_click=works().begin,
        args=(f"components of {card.id}", take_apart),
        kwargs={"kind": "components"},
    )
    return None


@st.cache_resource(max_entries=8, show_spinner=False)
def _kept_instruments(fingerprint: str) -> dict[str, Instruments] | None:
    return find_instruments(fingerprint)


def instruments_of(card: ModelCard) -> dict[str, Instruments] | None:
    """What the model's scenes are taken apart with, by modality."""
    return _kept_instruments(encoder(card.id).fingerprint)
