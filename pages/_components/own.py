"""Embeddings of one's own, taken apart like a model's."""

from __future__ import annotations

from functools import partial
from threading import Event

import streamlit as st

from binding_core.errors import UserError
from binding_core.geometry.own_embeddings import (
    MAX_ARRAY_BYTES,
    MAX_LABEL_BYTES,
    read_own_embeddings,
)
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
from pages._shared.chrome import notice
from pages._shared.works import Report, progress, works

MEGABYTE = 2**20


def own_section() -> None:
    """Two files in, the same tables out."""
    with st.expander("Embeddings of your own", icon=":material/upload:"):
        st.markdown(
            "An npz file with `embeddings`, one row a scene, and a CSV file that says what each "
            "scene holds: `colour_0, shape_0, colour_1, shape_1`, or the labels.csv of the "
            "paper's data. Nothing leaves this machine."
        )
        left, right = st.columns(2)
        npz = left.file_uploader(
            "Embeddings (npz)",
            type=["npz"],
            key="own_npz",
            max_upload_size=MAX_ARRAY_BYTES // MEGABYTE,
        )
        labels = right.file_uploader(
            "Labels (CSV)",
            type=["csv"],
            key="own_labels",
            max_upload_size=MAX_LABEL_BYTES // MEGABYTE,
        )
        modality = st.segmented_control(
            "They were made from",
            ["image", "text"],
            default="image",
            required=True,
            format_func={"image": "pictures", "text": "captions"}.get,
            key="own_modality",
        )
        if not npz or not labels:
            return
        try:
            table = read_own_embeddings(
                npz.getvalue(), labels.getvalue(), name=npz.name, modality=modality
            )
        except UserError as error:
            notice(str(error))
            return
        _taken_apart(table)


def _taken_apart(table: SceneTable) -> None:
    types = ", ".join(
        f"{len(values)} of {name}"
        for name, values in zip(table.space.types, table.space.values, strict=True)
    )
    st.markdown(f"{len(table):,} scenes of {table.places} objects; values: {types}.")
    key = f"{table.source} {table.modality}"
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
