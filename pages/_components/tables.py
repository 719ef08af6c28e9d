"""A model's tables: levels, edits, removal; and the binding remainder of several models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import streamlit as st

from binding_core.encoders import bundled_cards
from binding_core.figures.components import (
    edit_rows,
    level_table,
    paper_level_table,
    remainder_chart,
    remainder_rows,
    removal_rows,
)
from binding_core.geometry.component_store import find_report
from binding_core.geometry.remainder import RemainderReport
from binding_core.geometry.report import LevelRow, ModelReport, TableReport, report_json
from pages._shared.encoders import encoder, usable_cards

PAPER_NOTE = (
    "“Paper” is “How can embedding models bind concepts?”, CLIP B/32, as told in a third party's "
    "notes; not measured here."
)


def tables_section(report: ModelReport, modality: str) -> None:
    """What the model's embeddings are made of, over many scenes."""
    st.subheader("Over many scenes", divider="gray")
    tables(report.tables, modality, twin=report.twin.get(modality, ()))
    st.download_button(
        "All tables (JSON)",
        lambda: report_json(report),
        f"components {report.model}.json",
        "application/json",
        on_click="ignore",
    )


def tables(
    reports: Mapping[str, TableReport], modality: str, *, twin: Sequence[LevelRow] = ()
) -> None:
    """Levels and edits of one modality, removal of all that there are."""
    table = reports[modality]
    levels, edits, removal = st.tabs(["Levels I and II", "Edits", "Targeted removal"])
    with levels:
        best = max(
            (row for row in table.levels if row.report.level == "objects"),
            key=lambda row: row.report.r2_heldout or 0,
        )
        if best.report.r2_heldout is not None:
            st.markdown(
                f"Sums of object parts ({best.report.estimator}) explain "
                f"**{best.report.r2_heldout:.0%}** of how scenes differ that they were not fitted "
                "on."
            )
        st.table(level_table(table.levels, twin))
        chance = table.levels[0].report.retrieval.chance
        st.caption(
            f"{table.n_scenes} scenes, seed {table.seed}: 40 % for the probes, 30 % "
            f"for the components, {table.levels[0].report.n_heldout} held out. 95 % intervals in "
            f"brackets; chance of finding the scene {_small(chance)}, of reading its objects "
            f"{_small(table.levels[0].objects.chance)}."
        )
        with st.expander("The paper's numbers, Level I"):
            st.table(paper_level_table())
            st.caption(PAPER_NOTE)
    with edits:
        st.markdown(
            "An object's part is put in another's place, or two parts are exchanged so that a "
            "concept changes owner. Is the new scene the nearest one?"
        )
        st.table(edit_rows(table.edits))
        st.caption(
            "Paper, objects replaced, avg / avg+pos / single: CLEVR 1.00 / 1.00 / 0.97, CLEVR-2D "
            f"0.99 / 0.99 / 0.97, PUG:SPARE 0.86 / 0.94. {PAPER_NOTE}"
        )
    with removal:
        st.markdown(
            "The parts of a scene's concepts, or of its objects, are taken out of its embedding; "
            "wrong ones are those of another scene. What do probes still read?"
        )
        st.table(removal_rows({m: t.removal for m, t in reports.items()}))
        st.caption(f"Paper: concepts / objects. {PAPER_NOTE}")


def remainder_section(report: ModelReport | None) -> None:
    """The binding remainder of the bundled models side by side, and of the chosen one."""
    st.subheader("Do image and text bind alike?", divider="gray")
    st.markdown(
        "The **binding remainder** is the part of an object's component that no sum of its "
        "concepts explains (beyond the paper). How alike is it on the two sides of a model?"
    )
    reports: dict[str, dict[str, RemainderReport]] = {}
    for card in bundled_cards():
        if found := find_report(encoder(card.id).fingerprint):
            reports[card.name] = found.remainder
    if report and report.model not in {card.id for card in bundled_cards()}:
        cards = usable_cards()
        name = cards[report.model].name if report.model in cards else report.model
        reports[name] = report.remainder
    if not reports:
        st.info("No model has been taken apart yet.")
        return
    measure = st.segmented_control(
        "Likeness by",
        ["RSA", "Procrustes R²", "CKA"],
        default="RSA",
        required=True,
        key="remainder_measure",
    )
    if chart := remainder_chart(reports, measure=measure):
        st.altair_chart(chart, key=f"remainder {measure}", width="stretch")
    st.caption(_said(reports))
    with st.expander("The numbers"):
        rows = remainder_rows(reports)
        st.table(rows)
        st.download_button(
            "Binding remainder (JSON)",
            lambda: json.dumps(rows, indent=1, ensure_ascii=False),
            "binding remainder.json",
            "application/json",
            on_click="ignore",
        )


def _said(reports: dict[str, dict[str, RemainderReport]]) -> str:
    """One sentence a model, drawn from its numbers on unseen objects, or on all."""
    sentences = []
    for model, parts in reports.items():
        for part in ("unseen", "all"):
            report = parts.get(part)
            rsa = {like.measure: like for like in (report.remainder or ())} if report else {}
            if "RSA" not in rsa:
                continue
            like = rsa["RSA"]
            alike = "more alike than chance" if like.p_value < 0.05 else "no more alike than chance"
            sentences.append(
                f"{model}, {part} objects (n = {like.n}): {alike}, {like.value:.2f} where chance "
                f"gives {like.chance95[0]:.2f} to {like.chance95[1]:.2f}."
            )
            break
    return "RSA. " + " ".join(sentences)


def _small(value: float | None) -> str:
    return "not available" if value is None else f"{value:.2g}"
