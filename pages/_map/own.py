"""A map of embeddings of one's own."""

from __future__ import annotations

from functools import partial
from threading import Event

import streamlit as st

from binding_core.figures.maps import MapRows, link_pairs, map_figure
from binding_core.geometry.projection import Projection, project
from binding_core.geometry.scene_sets import bags_of_concepts, concepts_at, objects_at, swap_links
from binding_core.geometry.scene_table import SceneTable
from pages._map.choice import METHODS
from pages._map.trust import trust
from pages._shared.own_table import own_table
from pages._shared.works import Report, progress, works

HEIGHT = 480  # pixels


def own_section() -> None:
    """Two files in, a map with its control out."""
    with st.expander("Embeddings of your own", icon=":material/upload:"):
        if table := own_table(key="own_map"):
            _mapped(table)


def _mapped(table: SceneTable) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = st.segmented_control(
            "Projection of yours",
            list(METHODS),
            default="pca",
            required=True,
            format_func=METHODS.get,
            key="own_map_method",
        )
        types = [
            (name, place)
            for place in range(table.places)
            for name in ("object", *table.space.types)
        ]
        colour_by = st.selectbox(
            "Colour yours by",
            ["bag of concepts", *types],
            format_func=lambda by: by if isinstance(by, str) else f"{by[0]} at place {by[1] + 1}",
            key="own_map_colour",
        )
    key = f"map of {table.source} by {method}"
    if progress(key):
        return
    shown = works().found(key)
    if not isinstance(shown, Projection):
        st.button(
            "Draw the map",
            on_click=works().begin,
            args=(key, partial(_project, table, method)),
            kwargs={"kind": f"map by {method}"},
            key="own_map_draw",
        )
        return
    rows = MapRows(
        ids=range(len(table)),
        labels=_labels(table, colour_by),
        forms=[table.modality] * len(table),
    )
    dark = st.context.theme.type == "dark"
    figure = map_figure(
        shown,
        rows,
        links=link_pairs(swap_links(table)),
        link_name="to the swap",
        template="plotly_dark" if dark else "plotly_white",
    )
    figure.update_layout(height=HEIGHT, legend={"orientation": "h", "y": -0.02})
    st.plotly_chart(figure, key="own_map_chart", alt=f"{METHODS[method]} of your embeddings")
    trust(shown)


def _labels(table: SceneTable, by: str | tuple[str, int]) -> list[str]:
    if isinstance(by, str):
        return bags_of_concepts(table)
    name, place = by
    if name == "object":
        return objects_at(table, place=place)
    return concepts_at(table, concept_type=name, place=place)


def _project(table: SceneTable, method: str, stop: Event, report: Report) -> Projection | None:
    return project(table.embeddings, method=method, stop=stop, report=report)
