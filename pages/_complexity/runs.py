"""The central figure: all runs, what may explain them, and what is chosen on it."""

from __future__ import annotations

from functools import partial
from threading import Event

import streamlit as st

from binding_core.complexity.reference import control_rows, model_point
from binding_core.complexity.run_points import (
    EXPLAINS,
    RunPoint,
    correlation,
    own_points,
    own_runs,
    place_run,
    shipped_points,
)
from binding_core.encoders import bundled_cards
from binding_core.figures.complexity import central_figure, control_table, correlation_table
from binding_core.training.runs import Run
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works

FIRST = "likeness"


@st.cache_resource(show_spinner=False)
def _shipped() -> tuple[RunPoint, ...]:
    return tuple(shipped_points())


@st.cache_resource(show_spinner=False)
def _correlations() -> dict:
    return {explains: correlation(_shipped(), explains=explains) for explains in EXPLAINS}


def runs_section() -> None:
    """Figure on the left, correlations and the chosen run on the right."""
    st.fragment(_stage)()
    _own()


def _stage() -> None:
    points, own = _shipped(), own_points()
    explains = st.selectbox(
        "What may explain it",
        list(EXPLAINS),
        index=list(EXPLAINS).index(FIRST),
        format_func=EXPLAINS.get,
        key="explains",
        bind="query-params",
        persist_state="session",
        width=520,
    )
    models = [
        point
        for card in bundled_cards()
        if (point := model_point(card, fingerprint=encoder(card.id).fingerprint))
    ]
    with st.container(key="bench-runs"):
        left, right = st.columns([7, 5], gap="large")
    with left:
        template = "plotly_dark" if st.context.theme.type == "dark" else "plotly_white"
        chosen = st.plotly_chart(
            central_figure(points, explains=explains, own=own, models=models, template=template),
            key="central",
            on_select="rerun",
            selection_mode="points",
            config={"displaylogo": False},
            alt=f"{len(points)} runs: {EXPLAINS[explains]} against unseen object recognition",
        )
    with right:
        found = _correlations()[explains]
        if found:
            low, high = found.ci95
            st.markdown(
                f"Rank correlation with unseen recognition: **{found.value:+.2f}** "
                f"[{low:+.2f}, {high:+.2f}], n = {found.n} runs (bootstrap, seed {found.seed}); "
                "none would be 0."
            )
        picked = [p["customdata"][0] for p in chosen.selection.points if "customdata" in p]
        if picked:
            _run(points[int(picked[0])])
        else:
            st.caption("Hover a run to see its settings; click it for its numbers.")
        with st.expander("All explanations"):
            st.table(correlation_table(_correlations()))
        with st.expander("Is the instrument right? Four controls"):
            st.caption(
                "Encoders whose function is known. Held-out R² of each form: the bag must be "
                "additive, each product its own form, the memoriser none."
            )
            st.table(control_table(control_rows()))


def _run(point: RunPoint) -> None:
    st.markdown(
        f"**Coverage {point.settings['data.coverage']:g}, "
        f"{point.settings['data.values']:g} values, seed {point.seed}**"
    )
    numbers = {
        "unseen objects recognised": point.unseen,
        "additive, held-out R²": point.additive_r2,
        "object product, held-out R²": point.object_product_r2,
        "global product, held-out R²": point.global_product_r2,
        "objects read from the product": point.product_objects,
        "binding rank": point.rank,
        "likeness of remainders, seen": point.likeness_seen,
        "likeness of remainders, unseen": point.likeness_unseen,
    }
    st.table(
        [
            {"measure": name, "value": "not available" if value is None else f"{value:.2f}"}
            for name, value in numbers.items()
        ]
    )
    if st.button("Train this run", key="central_train", icon=":material/model_training:"):
        st.switch_page("pages/train.py")


def _own() -> None:
    """Place the user's own token runs in the figure."""
    placed = {point.name for point in own_points()}
    for run in own_runs():
        key = f"complexity of run {run.id}"
        if run.id in placed or progress(key):
            continue
        st.button(
            f"Place your run “{run.id}” in the figure",
            on_click=works().begin,
            args=(key, partial(_place, run)),
            kwargs={"kind": "complexity"},
            key=f"place {run.id}",
        )


def _place(run: Run, stop: Event, report: Report) -> RunPoint | None:
    return place_run(run)
