"""Embeddings of one's own, taken apart like a model's."""

from __future__ import annotations

from functools import partial
from threading import Event

import streamlit as st

from binding_core.geometry.report import (
    TABLE_STEPS,
    Progress,
    Stopped,
    TableReport,
    table_json,
    table_report,
)
from binding_core.geometry.scene_table import SceneTable
from pages._components.tables import tables
from pages._shared.own_table import own_table
from pages._shared.works import Report, progress, works


def own_section() -> None:
    """Two files in, the same tables out."""
    with st.expander("Embeddings of your own", icon=":material/upload:"):
        if table := own_table(key="own"):
            _taken_apart(table)


def _taken_apart(table: SceneTable) -> None:
    key = f"components of {table.source} {table.modality}"
    if progress(key):
        return
    found = works().found(key)
    if not isinstance(found, TableReport):
        st.button(
            "Take them apart",
            on_click=works().begin,
            args=(key, partial(_take_apart, table)),
            kwargs={"kind": "components"},
            icon=":material/stacked_bar_chart:",
        )
        return
    tables({table.modality: found}, table.modality)
    st.download_button(
        "These tables (JSON)",
        lambda: table_json(found),
        "components.json",
        "application/json",
        on_click="ignore",
    )


def _take_apart(table: SceneTable, stop: Event, report: Report) -> TableReport | None:
    try:
        return table_report(table, progress=Progress(TABLE_STEPS, report, stop))
    except Stopped:
        return None
