"""From a model's card to its verdict."""

from __future__ import annotations

import streamlit as st

from binding_core.encoders import BUNDLED_IDS, ModelCard
from pages._shared.encoders import forget_cards


def open_in_compose(card: ModelCard) -> None:
    """A button that opens Compose with this model beside the others."""
    if st.button("Open in Compose", key=f"open_{card.id}", icon=":material/dashboard:"):
        forget_cards()  # it may have come to this machine since they were listed
        chosen = st.session_state.get("models", list(BUNDLED_IDS))
        st.session_state.chosen_models = list(dict.fromkeys([*chosen, card.id]))
        st.session_state.models = st.session_state.chosen_models
        st.switch_page("pages/compose.py")
