"""Embeddings of one's own from two files."""

from __future__ import annotations

import streamlit as st

from binding_core.errors import UserError
from binding_core.geometry.own_embeddings import (
    MAX_ARRAY_BYTES,
    MAX_LABEL_BYTES,
    read_own_embeddings,
)
from binding_core.geometry.scene_table import SceneTable
from pages._shared.chrome import notice

MEGABYTE = 2**20


def own_table(*, key: str) -> SceneTable | None:
    """The scenes of an npz file and its labels; None until both are there and fit."""
    st.markdown(
        "An npz file with `embeddings`, one row a scene, and a CSV file that says what each "
        "scene holds: `colour_0, shape_0, colour_1, shape_1`, or the labels.csv of the "
        "paper's data. Nothing leaves this machine."
    )
    left, right = st.columns(2)
    npz = left.file_uploader(
        "Embeddings (npz)",
        type=["npz"],
        key=f"{key}_npz",
        max_upload_size=MAX_ARRAY_BYTES // MEGABYTE,
    )
    labels = right.file_uploader(
        "Labels (CSV)",
        type=["csv"],
        key=f"{key}_labels",
        max_upload_size=MAX_LABEL_BYTES // MEGABYTE,
    )
    modality = st.segmented_control(
        "They were made from",
        ["image", "text"],
        default="image",
        required=True,
        format_func={"image": "pictures", "text": "captions"}.get,
        key=f"{key}_modality",
    )
    if not npz or not labels:
        return None
    try:
        table = read_own_embeddings(
            npz.getvalue(), labels.getvalue(), name=npz.name, modality=modality
        )
    except UserError as error:
        notice(str(error))
        return None
    types = ", ".join(
        f"{len(values)} of {name}"
        for name, values in zip(table.space.types, table.space.values, strict=True)
    )
    st.markdown(f"{len(table):,} scenes of {table.places} objects; values: {types}.")
    return table
