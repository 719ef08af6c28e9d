"""How far a projection may be trusted, in words."""

from __future__ import annotations

import streamlit as st

from binding_core.geometry.projection import Projection


def trust(shown: Projection) -> None:
    """Its trustworthiness beside that of random vectors of the same size."""
    control = shown.control.trustworthiness if shown.control else None
    told, noise = (
        "not available" if value is None else f"{value:.2f}"
        for value in (shown.trustworthiness, control)
    )
    st.caption(
        f"Trustworthiness **{told}**, of random vectors **{noise}**, on {shown.trust_rows} "
        f"points; seed {shown.seed}. {shown.note}"
    )
