"""Sweeps: the phase diagram that the app ships, and sweeps of one's own as they fill."""

from __future__ import annotations

import streamlit as st

from binding_core.errors import UserError
from binding_core.figures.phase import phase_diagram
from binding_core.training.phases import (
    MEASURES,
    phase_cells,
    results_csv,
    runs_of_the_same_kind,
)
from binding_core.training.presets import RUN_PRESETS
from binding_core.training.queue import sweep_work
from binding_core.training.runs import list_runs
from binding_core.training.sweeps import (
    SHIPPED,
    Sweep,
    create_sweep,
    list_sweeps,
    parse_sweep,
    parse_values,
)
from pages._shared.chrome import notice
from pages._train.fields import settings_of
from pages._train.launch import session_id, work_queue
from pages._train.wording import MEASURES as MEASURE_WORDS
from pages._train.wording import label

LOOK_EVERY = 2.0  # seconds
UNSWEPT = ("seed", "split_seed", "checkpoint_every", "report_every", "measure_every")


def sweep_section() -> None:
    """The diagram of a sweep, and the form that begins another."""
    st.subheader("Where does binding begin?", divider="gray")
    st.markdown(
        "Many runs of one recipe, each square a combination of two settings. Look for the edge "
        "where scenes of unseen objects begin to be recognised; circles are runs of your own."
    )
    sweeps = {sweep.id: sweep for sweep in [Sweep(SHIPPED), *list_sweeps()]}
    if begun := st.session_state.pop("begun_sweep", None):
        st.session_state.shown_sweep = begun  # before its widget is drawn
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Sweep",
            list(sweeps),
            format_func=lambda i: _titled(sweeps[i]),
            key="shown_sweep",
            persist_state="session",
            width=420,
        )
        shown = st.selectbox(
            "Shade",
            [(part, measure) for part in ("unseen", "seen") for measure in MEASURES],
            format_func=lambda s: f"{MEASURE_WORDS[s[1]]}, {s[0]} objects",
            key="phase_shade",
            width=330,
        )
    sweep = sweeps[chosen]
    place = work_queue().place(sweep.id)
    _controls(sweep, place)
    st.fragment(_look, run_every=None if place is None else LOOK_EVERY)(
        sweep, shown, place is not None
    )
    _own_sweep()


def _titled(sweep: Sweep) -> str:
    shipped = ", shipped with the app" if sweep.folder == SHIPPED else f" ({sweep.id[-4:]})"
    return f"{sweep.config.name}: {sweep.config.n_runs} runs{shipped}"


def _controls(sweep: Sweep, place: int | None) -> None:
    if sweep.folder == SHIPPED:
        return
    if place is not None:
        st.button(
            "Stop the sweep",
            icon=":material/pause:",
            on_click=work_queue().stop,
            args=(sweep.id,),
        )
    elif len(sweep.results) < sweep.config.n_runs:
        st.button("Go on with the sweep", on_click=_begin, args=(sweep,))


def _look(sweep: Sweep, shown: tuple[str, str], was_live: bool) -> None:
    place = work_queue().place(sweep.id)
    if was_live and place is None:
        st.rerun()
    config, rows = sweep.config, list(sweep.results.values())
    if len(rows) < config.n_runs:
        waits = (
            f", number {place} in the queue" if place else "" if place == 0 else ", stands still"
        )
        st.progress(len(rows) / config.n_runs, text=f"{len(rows)} of {config.n_runs} runs{waits}")
        if place is None and (why := sweep.failure or work_queue().reason(sweep.id)):
            notice(why)
    x, y = (*config.axes, *config.axes)[:2]
    part, measure = shown
    cells, own = (
        phase_cells(found, x=x, y=y, part=part, measure=measure)
        for found in (rows, runs_of_the_same_kind(list_runs(), config))
    )
    if not cells and not own:
        st.info("The first squares come with the first finished runs.")
        return
    said = f"{MEASURE_WORDS[measure]}, {part}"
    st.altair_chart(
        phase_diagram(cells, own=own, x=label(x), y=label(y), measure=said),
        key=f"phase {sweep.id}",
        width="stretch",
    )
    failed = sum("failed" in row for row in rows)
    seeds = f"{len(config.seeds)} seeds a square, which also draw the split"
    st.caption(
        f"Means over runs, {seeds}. {config.base.training.steps} steps a run"
        + (f"; {failed} runs diverged and are left out." if failed else ".")
    )
    st.download_button(
        "Results (CSV)", lambda: results_csv(rows), "sweep.csv", "text/csv", on_click="ignore"
    )


def _own_sweep() -> None:
    with st.expander("A sweep of your own", icon=":material/grid_on:"):
        name = st.selectbox("Recipe", list(RUN_PRESETS), key="sweep_preset")
        config = RUN_PRESETS[name].config
        settings = [
            setting
            for setting, (field, _) in settings_of(config).items()
            if field.kind in (int, float) and setting.partition(".")[2] not in UNSWEPT
        ]
        dask = st.text_input(  # outside the form, since going on with a sweep asks it too
            "Dask scheduler",
            key="sweep_dask",
            placeholder="tcp://host:8786; empty: this machine",
            help="A cluster on which the runs are trained, with this app installed there.",
        )
        with st.form("own_sweep", border=False):
            axes = [
                _axis(i, settings, wanted)
                for i, wanted in enumerate((("data.coverage", "0.2, 0.5, 0.9"), _second(settings)))
            ]
            left, right = st.columns(2)
            seeds = left.number_input("Seeds", 1, 100, 1, key="sweep_seeds")
            steps = right.number_input(
                "Steps a run", 1, 1_000_000, config.training.steps, key=f"sweep_steps {name}"
            )
            if st.form_submit_button("Begin the sweep"):
                _create(name, axes, seeds=seeds, steps=steps, dask=dask)


def _second(settings: list[str]) -> tuple[str, str]:
    return ("data.values", "8, 12") if "data.values" in settings else ("data.colours", "6, 12")


def _axis(i: int, settings: list[str], wanted: tuple[str, str]) -> tuple[str, str]:
    left, right = st.columns(2)
    setting = left.selectbox(
        f"Setting {i + 1}",
        settings,
        index=settings.index(wanted[0]),
        format_func=label,
        key=f"sweep_setting {i}",
    )
    values = right.text_input(
        "Its values", wanted[1], key=f"sweep_values {i}", help="Numbers with commas between."
    )
    return setting, values


def _create(name: str, axes: list[tuple[str, str]], *, seeds: int, steps: int, dask: str) -> None:
    try:
        if axes[0][0] == axes[1][0]:
            raise UserError("A sweep needs two different settings.")
        base = RUN_PRESETS[name].config.changed({"training.steps": steps})
        config = parse_sweep(
            {
                "name": " × ".join(label(setting).lower() for setting, _ in axes),
                "base": base.model_dump(),
                "axes": {setting: parse_values(text) for setting, text in axes},
                "seeds": list(range(seeds)),
            }
        )
        sweep = create_sweep(config)
        work_queue().submit(sweep_work(sweep, dask=dask.strip()), session=session_id())
    except UserError as error:
        notice(str(error))
        return
    st.session_state.begun_sweep = sweep.id
    st.rerun()


def _begin(sweep: Sweep) -> None:
    try:
        dask = st.session_state.get("sweep_dask", "").strip()
        work_queue().submit(sweep_work(sweep, dask=dask), session=session_id())
    except UserError as error:
        st.session_state.train_notice = str(error)
