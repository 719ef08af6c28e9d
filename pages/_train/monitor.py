"""The run that is being watched, with its curves as they grow."""

from __future__ import annotations

import streamlit as st

from binding_core.errors import UserError
from binding_core.figures.curves import PARTS, curves, loss_curve, measured_lines, panel_chart
from binding_core.training.run_config import PictureRunConfig, TokenRunConfig
from binding_core.training.runs import Run, find_run, list_runs
from pages._shared.chrome import notice
from pages._train.launch import start, work_queue
from pages._train.speed import in_words
from pages._train.wording import MEASURES

LOOK_EVERY = 1.0  # seconds


def monitor() -> None:
    """The watched run, looked at every second while it is in the queue."""
    if text := st.session_state.pop("train_notice", ""):
        notice(text)
    run = _watched()
    if run is None:
        st.info("No run yet. Press “Train”: the curves appear here within seconds.")
        return
    st.query_params["run"] = run.id
    place = work_queue().place(run.id)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"#### {run.config.name}")
        _controls(run, place)
    st.caption(_told(run.config))
    live = place is not None
    # A fragment of its own looks again only while there is something to see.
    st.fragment(_look, run_every=LOOK_EVERY if live else None)(run, live)
    _result(run)


def _told(config: TokenRunConfig | PictureRunConfig) -> str:
    data = config.data
    if config.world == "tokens":
        world = f"{data.n_objects:,} objects of tokens, {data.objects} a scene"
    else:
        world = f"pictures of {data.n_objects} objects, {data.captions} captions"
    return f"{world} · coverage {data.coverage:g} · seed {config.training.seed}"


def _controls(run: Run, place: int | None) -> None:
    # Outside the fragment that looks every second: a click on what is being redrawn can be lost.
    if place is not None:
        label, icon = ("Take it out", "close") if place else ("Pause", "pause")
        st.button(label, icon=f":material/{icon}:", on_click=work_queue().stop, args=(run.id,))
    elif run.state != "done":
        st.button("Go on", icon=":material/play_arrow:", on_click=_go_on, args=(run,))
        if run.step:
            st.button(
                "End it here",
                icon=":material/stop:",
                on_click=_go_on,
                args=(run,),
                kwargs={"finish": True},
                help="Measure what it has learned so far, as at the end.",
            )


def _go_on(run: Run, *, finish: bool = False) -> None:
    try:
        start(run, finish=finish)
    except UserError as error:
        st.session_state.train_notice = str(error)


def _watched() -> Run | None:
    """The run that this session watches: its own choice, the link's, or the newest."""
    state = st.session_state
    wanted = state.get("watched") or st.query_params.get("run")
    if wanted:
        try:
            return find_run(wanted)
        except UserError as error:
            state.watched = None
            notice(f"{error} The newest run is shown instead.")
    runs = list_runs()
    return runs[0] if runs else None


def _look(run: Run, was_live: bool) -> None:
    place = work_queue().place(run.id)
    if was_live and place is None:
        st.rerun()  # it has ended since: draw the page without the clock
    metrics, steps = run.metrics, run.config.training.steps
    _state(run, place, steps=steps, metrics=metrics)
    lines = measured_lines(metrics)
    if not lines:
        st.info("The first measures come after some steps." if place == 0 else "No measures yet.")
        return
    latest = {line["part"]: line for line in lines if line["step"] == lines[-1]["step"]}
    charts = curves(lines, steps=steps)
    spots = [st.container(), *st.columns(2), st.container()]  # what it is about first, and large
    for spot, (measure, chart) in zip(spots, charts.items(), strict=False):
        with spot:
            st.altair_chart(chart, key=f"{run.id} {measure}", width="stretch")
            now = [f"{part} {latest[part][measure]:.2f}" for part in PARTS if part in latest]
            st.caption(" · ".join(now))
    left, right = st.columns(2)
    with left:
        st.altair_chart(loss_curve(metrics, steps=steps), key=f"{run.id} loss", width="stretch")
    with right:
        panels = [line["measured"]["panel"] for line in metrics if "measured" in line]
        st.altair_chart(panel_chart(panels[-1]), key=f"{run.id} panel", width="stretch")


def _state(run: Run, place: int | None, *, steps: int, metrics: list[dict]) -> None:
    done = metrics[-1]["step"] if metrics else 0
    if place:
        st.markdown(f"Waits as number {place} in the queue.")
    elif place == 0:
        speed = metrics[-1]["steps_per_second"] if metrics else 0
        left = (
            f"{speed:.1f} steps/s, about {in_words((steps - done) / speed)} left" if speed else ""
        )
        st.progress(done / steps, text=f"Step {done} of {steps}, {left or 'being set up'}")
    elif run.state == "done":
        ended = f"Ended after {done} of {steps}" if done < steps else f"Done after {steps}"
        st.markdown(f":material/check_circle: {ended} steps.")
    elif failure := run.failure or work_queue().reason(run.id):
        notice(failure)
    else:
        st.markdown(f"Stands still at step {done} of {steps}. Its last checkpoint is safe.")


def _result(run: Run) -> None:
    if not (result := run.result):
        return
    rows = [
        {
            "scenes of": f"{part} objects",
            **{
                name: _said(result[part][measure])
                for measure, name in MEASURES.items()
                if result[part].get(measure)
            },
        }
        for part in PARTS
    ]
    st.markdown(
        "**At the end**, on objects by which nothing was chosen; 95 % intervals, chance in "
        "brackets:"
    )
    st.table(rows)


def _said(share: dict) -> str:
    if share["value"] is None:
        return "not available"
    low, high = share["ci95"]
    chance = share["chance"]
    return f"{share['value']:.2f} [{low:.2f}, {high:.2f}], n = {share['n']} ({chance:.2g})"
