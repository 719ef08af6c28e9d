"""The heat map on the left; on the right the tension, or the cell that was clicked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from binding_core.alignment.heat_map import bags_of_scenes
from binding_core.alignment.report import AgreementReport
from binding_core.captions import caption
from binding_core.concepts import BUNDLED_SPACE
from binding_core.figures.agreement import heat_figure, tension_table
from binding_core.figures.thumbnails import thumbnail_row
from binding_core.geometry.component_store import find_instruments
from binding_core.links import encode_scene


def stage(reports: Sequence[AgreementReport], names: Mapping[str, str]) -> None:
    """A click on a cell redraws no more than this."""
    by_model = {report.model: report for report in reports}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = st.selectbox(
            "Map of",
            list(by_model),
            index=len(by_model) - 1,
            format_func=lambda i: names.get(i, i),
            key="heat_model",
            bind="query-params",
            width=220,
        )
        n_objects = st.segmented_control(
            "Objects a scene",
            list(by_model[model].heat),
            default=min(by_model[model].heat),
            required=True,
            key="heat_objects",
        )
    report = by_model[model]
    with st.container(key="bench-heat"):
        left, right = st.columns([6, 6], gap="large")
    with left:
        template = "plotly_dark" if st.context.theme.type == "dark" else "plotly_white"
        chosen = st.plotly_chart(
            heat_figure(report, n_objects=n_objects, template=template),
            key=f"heat {model} {n_objects}",
            on_select="rerun",
            selection_mode="points",
            width="content",
            config={"displaylogo": False, "displayModeBar": False},
            alt=f"Cosines of pictures and captions of {names.get(model, model)}, ordered by bag "
            "of concepts",
        )
    with right:
        cells = [point["customdata"] for point in chosen.selection.points if "customdata" in point]
        _cell(report, n_objects, cells)
    st.markdown("**Readable alone, disagreeing together**")
    st.table(tension_table(reports, names=names))


def _cell(report: AgreementReport, n_objects: int, cells: list) -> None:
    scenes = bags_of_scenes(n_objects)
    told = [f"{i + 1}: {caption(scene)}" for i, scene in enumerate(scenes)]
    # What is clicked fills the two fields, which serve the keyboard as well.
    if cells and st.session_state.get("heat_clicked") != (cells[0], n_objects):
        st.session_state.heat_clicked = (cells[0], n_objects)
        st.session_state.heat_row, st.session_state.heat_column = map(int, cells[0])
    for key, first in (("heat_row", 0), ("heat_column", 1)):
        if not 0 <= st.session_state.get(key, first) < len(scenes):
            st.session_state[key] = first
        st.session_state.setdefault(key, first)
    row = st.selectbox(
        "Picture (row)", range(len(scenes)), format_func=told.__getitem__, key="heat_row"
    )
    column = st.selectbox(
        "Caption (column)", range(len(scenes)), format_func=told.__getitem__, key="heat_column"
    )
    cosines = np.array(report.heat[n_objects])
    asked, other = scenes[row], scenes[column]
    own, here = cosines[row, row], cosines[row, column]
    if row == column:
        st.markdown(f"Its own caption has a cosine of **{own:.2f}** with this picture.")
    else:
        st.markdown(
            f"The picture's own caption has **{own:.2f}**, this one **{here:.2f}**: "
            + (
                f"the picture prefers {'its own' if own > here else 'this caption'}, by "
                f"{abs(own - here):.2f}."
                if abs(own - here) >= 0.005
                else "the two cannot be told apart."
            )
        )
    st.html(thumbnail_row([(asked, own), *([] if row == column else [(other, here)])], marked={0}))
    _why(report, n_objects, row, column)
    left, right = st.columns(2)
    for where, name, scene in ((left, "picture", asked), (right, "caption’s scene", other)):
        if where.button(f"Open the {name} in Compose", key=f"heat_open_{name}"):
            st.switch_page("pages/compose.py", query_params={"s": encode_scene(scene)})


def _why(report: AgreementReport, n_objects: int, row: int, column: int) -> None:
    """The parts of picture and caption, object by object, after the additive components."""
    instruments = find_instruments(report.fingerprint) if n_objects == 2 else None
    if not instruments:
        return
    scenes = bags_of_scenes(n_objects)
    parts = {
        modality: {
            " ".join(words): instruments[modality].objects[BUNDLED_SPACE.object_index(words)]
            for words in scene.object_words
        }
        for modality, scene in (("image", scenes[row]), ("text", scenes[column]))
    }
    st.caption("Why: the object parts of both sides, multiplied with each other (page Components).")
    st.table(
        [
            {"in the picture": seen}
            | {f"“{told}”": f"{a @ b:+.2f}" for told, b in parts["text"].items()}
            for seen, a in parts["image"].items()
        ]
    )
