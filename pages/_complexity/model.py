"""One model against all approximators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event

import numpy as np
import streamlit as st

from binding_core.complexity.evaluation import ComplexityRow
from binding_core.complexity.reference import control_rows
from binding_core.complexity.sweep import (
    COVERAGES,
    SEEDS,
    ComplexitySettings,
    find_rows,
    measure_complexity,
    rank_of,
    rows_csv,
)
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.figures.complexity import SHOWN, coverage_figure, rank_figure, row_table
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works

SIDES = {"image": "Pictures", "text": "Captions"}


def chosen_side() -> str:
    """Pictures or captions."""
    return st.segmented_control(
        "Side",
        list(SIDES),
        default="image",
        required=True,
        format_func=SIDES.get,
        key="approximated_side",
    )


def rows_of(card: ModelCard, modality: str) -> list[ComplexityRow]:
    """What is known of the model so far; drawn is how more is found out."""
    model = encoder(card.id)
    rows = find_rows(model.fingerprint, modality)
    key = f"complexity of {card.id} {modality}"
    if progress(key):
        _partial(model.fingerprint, modality)
        return []
    seeds = sorted({row.seed for row in rows})
    quick = ComplexitySettings(modality, seeds=(0,), regressors=False)
    full = ComplexitySettings(modality)
    with st.container(horizontal=True, vertical_alignment="center"):
        if not rows:
            st.info(f"{card.name} has not been approximated on this machine yet.")
        begin = partial(works().begin, key)
        if 0 not in seeds or {r.coverage for r in rows} < set(COVERAGES):
            st.button(
                "Fit the structural forms",
                type="primary",
                icon=":material/function:",
                on_click=begin,
                args=(partial(_measure, model, quick),),
                kwargs={"kind": "complexity"},
                key="complexity_quick",
                help="Every pair of objects, five coverages, one seed: one or two minutes",
            )
        elif set(seeds) < set(SEEDS) or not any(r.approximator == "forest" for r in rows):
            st.button(
                "Fit everything: networks, forest, boosting, three seeds",
                icon=":material/function:",
                on_click=begin,
                args=(partial(_measure, model, full),),
                kwargs={"kind": "complexity"},
                key="complexity_full",
                help="Some minutes; what is there is kept, and it can be stopped and gone on with",
            )
    return rows


def _measure(
    model: Encoder, settings: ComplexitySettings, stop: Event, report: Report
) -> list[ComplexityRow] | None:
    behind = getattr(model, "encoder", model)  # ten thousand rows would flush the cache
    return measure_complexity(behind, settings=settings, report=report, stop=stop)


@st.fragment(run_every=3.0)
def _partial(fingerprint: str, modality: str) -> None:
    """What is there already, drawn anew as it comes."""
    rows = find_rows(fingerprint, modality)
    if not rows:
        st.caption("The first results come when all pairs of objects are embedded.")
        return
    st.caption(f"{len(rows)} rows so far; they are kept when the work is stopped.")
    table = row_table(rows, coverage=max(row.coverage for row in rows))
    st.table(table)


def approximators_section(card: ModelCard, rows: Sequence[ComplexityRow], modality: str) -> None:
    """Curves over coverage, the rank, and the rows."""
    st.subheader(f"{card.name}: what predicts the embeddings of new objects?", divider="gray")
    template = "plotly_dark" if st.context.theme.type == "dark" else "plotly_white"
    controls = control_rows()
    shown = st.segmented_control(
        "Show",
        list(SHOWN),
        default="objects",
        required=True,
        format_func=SHOWN.get,
        key="complexity_shown",
    )
    st.plotly_chart(
        coverage_figure(rows, shown=shown, controls=controls, template=template),
        key="complexity_curves",
        config={"displaylogo": False},
        alt=f"{SHOWN[shown]} by coverage, one line an approximator",
    )
    st.caption(
        "Means over seeds, bars to the highest and lowest seed. “Real embeddings” are what probes "
        "read in the scenes themselves: the ceiling. Open marks have fewer than 30 test scenes. "
        "Rank and penalty are chosen on objects kept out within the training objects. The paper "
        "reports objects at about .20 for CLIP even at width 4,096 and coverage .9."
    )
    ranks = list(rank_of(rows).values())
    with st.container(key="bench-ranks"):
        left, right = st.columns([7, 5], gap="large")
    with left:
        st.plotly_chart(
            rank_figure(
                rows,
                controls=controls,
                rank=float(np.median(ranks)) if ranks else None,
                template=template,
            ),
            key="complexity_ranks",
            config={"displaylogo": False},
            alt="Held-out R² of the object product by its rank, beside the controls",
        )
    with right:
        if ranks:
            st.markdown(
                f"**Binding rank {np.median(ranks):g}** (by seed: {', '.join(map(str, ranks))}): "
                "the smallest number of products whose object recognition is within the interval "
                "of the best. 0 means that no product helps."
            )
        st.caption(
            "Grey lines are the controls, with 16 numbers each: the product control is found at "
            "rank 16, the bag needs none, the memoriser cannot be predicted."
        )
    with st.expander("All rows"):
        coverage = st.select_slider(
            "Coverage", sorted({r.coverage for r in rows}), key="complexity_coverage"
        )
        st.table(row_table(rows, coverage=coverage))
    st.download_button(
        "All rows (CSV)",
        lambda: rows_csv(rows, model=card.id, fingerprint=encoder(card.id).fingerprint),
        f"complexity {card.id} {modality}.csv",
        "text/csv",
        on_click="ignore",
    )
