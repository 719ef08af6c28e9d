"""Choosing one model, in the link and kept for the session."""

from __future__ import annotations

import streamlit as st

from binding_core.encoders.protocol import ModelCard
from pages._shared.encoders import usable_cards

DEFAULT_MODEL = "high-coverage"


def chosen_model(*, key: str, width: int) -> ModelCard:
    """The card of the model that is chosen under this key."""
    cards = usable_cards()
    model_id = st.selectbox(
        "Model",
        list(cards),
        index=list(cards).index(DEFAULT_MODEL),
        format_func=lambda i: cards[i].name,
        key=key,
        bind="query-params",
        persist_state="session",
        width=width,
    )
    return cards[model_id]
