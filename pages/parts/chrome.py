"""The frame that every page shares: heading, one sentence, foot."""

from __future__ import annotations

import streamlit as st

from binding_core.files import ASSETS

PAPER = "“How can embedding models bind concepts?” (Uselis, Koishigarina, Oh; ICML 2026)"


def lead(title: str, sentence: str) -> None:
    """Title and the one sentence on what to look for."""
    st.html(ASSETS / "app.css")
    st.html(f'<h2 class="title">{title}</h2><p class="lead">{sentence}</p>')


def footer(provenance: str = "") -> None:
    """Where the page's numbers come from."""
    st.html(f'<p class="foot">{provenance} After {PAPER}, arXiv 2605.31503.</p>')
