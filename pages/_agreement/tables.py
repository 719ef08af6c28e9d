"""Margins and the tables of a whole set of scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from binding_core.alignment.report import AgreementReport, Case
from binding_core.figures.agreement import (
    bias_table,
    margin_figure,
    recognition_table,
    retrieval_table,
    swap_table,
)
from binding_core.figures.thumbnails import thumbnail_row
from binding_core.links import decode_scene
from binding_core.scenes import Scene


def tables_section(reports: Sequence[AgreementReport], names: Mapping[str, str]) -> None:
    """Everything that the models' reports hold."""
    st.subheader("Over many scenes", divider="gray")
    template = "plotly_dark" if st.context.theme.type == "dark" else "plotly_white"
    st.plotly_chart(
        margin_figure(reports, names=names, template=template),
        key="margins",
        config={"displaylogo": False},
        alt="How often each margin occurs, one line a model",
    )
    swaps, retrieval, reading, order, cases = st.tabs(
        ["Swap accuracy", "Retrieval", "Recognition", "Word order and place", "Worst and best"]
    )
    with swaps:
        st.caption(
            "Seen scenes hold training objects alone, unseen ones held-out objects alone; “all” "
            "are drawn from every object. Chance is ½."
        )
        st.table(swap_table(reports, names=names))
    with retrieval:
        st.caption(
            "Every picture against all captions, every caption against all pictures; each scene's "
            "swap is among them. A tie is wrong."
        )
        st.table(retrieval_table(reports, names=names))
    with reading:
        for report in reports:
            st.markdown(f"**{names.get(report.model, report.model)}**")
            st.table(recognition_table(report))
    with order:
        st.caption(
            "Without any lean the first two are ½. The last says how often both captions, told "
            "the other way round, turn the swap test's answer."
        )
        st.table(bias_table(reports, names=names))
    with cases:
        for report in reports:
            st.markdown(f"**{names.get(report.model, report.model)}**: lowest margins, highest")
            st.html(thumbnail_row(_shown(report.worst)))
            st.html(thumbnail_row(_shown(report.best)))


def _shown(cases: Sequence[Case]) -> list[tuple[Scene, float]]:
    return [(decode_scene(case.scene), case.margin) for case in cases]
