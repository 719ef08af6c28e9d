"""Taking a view elsewhere and bringing one in."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from binding_core.agreement.verdict import Verdict
from binding_core.export import scene_png, verdicts_csv
from binding_core.links import ComposeView
from binding_core.render import MAX_PIXELS, MIN_PIXELS
from binding_core.scenes import swap
from pages._compose import composer


def link_export_import(view: ComposeView, verdicts: Sequence[Verdict]) -> None:
    """Picture, scene and results as files; a scene file back in."""
    box = st.expander(
        "Link, export, import",
        icon=":material/ios_share:",
        key="exchange_open",
        on_change=composer.act,
    )
    if not box.open:
        return
    with box:
        st.markdown(
            "The address of this page holds the whole view: copy it, and whoever opens it sees "
            "this scene, these models and this swap."
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            size = st.number_input(
                "Pixels a side", MIN_PIXELS, MAX_PIXELS, value=512, key="png_size", width=160
            )
            # Made when it is asked for, not at every edit.
            st.download_button(
                "Picture (PNG)",
                lambda: scene_png(view.scene, size=size),
                "scene.png",
                "image/png",
                on_click="ignore",
            )
            st.download_button(
                "Scene (JSON)",
                view.scene.model_dump_json(indent=1),
                "scene.json",
                "application/json",
                on_click="ignore",
            )
            if verdicts:
                swapped = swap(view.scene, concept=view.concept, pair=view.pair)
                st.download_button(
                    "Results (CSV)",
                    lambda: verdicts_csv(verdicts, scene=view.scene, swapped=swapped),
                    "verdicts.csv",
                    "text/csv",
                    on_click="ignore",
                )
        st.file_uploader(
            "Import a scene (JSON)",
            type=["json"],
            key="scene_file",
            on_change=composer.import_scene,
            max_upload_size=1,
        )
