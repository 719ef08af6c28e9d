"""Taking a model apart behind the page, once a process, and finding what was kept."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock

import streamlit as st

from binding_core.encoders import control_cards
from binding_core.encoders.protocol import ModelCard
from binding_core.geometry.component_store import find_instruments, find_report, take_model_apart
from binding_core.geometry.one_scene import Instruments
from binding_core.geometry.report import N_SCENES, ModelReport
from binding_core.jobs import Job
from pages._shared.chrome import notice
from pages._shared.encoders import encoder

LOOK_EVERY = 0.5  # seconds


class Works:
    """The process's jobs, one a model, and one at a time."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._turn = Lock()

    def begin(self, card: ModelCard, with_twin: bool) -> None:
        """Take the model apart unless that is being done."""
        job = self.job(card.id)
        if job and job.snapshot.state == "running":
            return
        taken = encoder(card.id)

        def work(stop: Event, report: Callable[[int, int], None]) -> bool:
            with self._turn:
                found = take_model_apart(
                    taken, card=card, with_twin=with_twin, report=report, stop=stop
                )
            return found is not None

        self._jobs[card.id] = Job(work, name=f"components of {card.id}")

    def job(self, model_id: str) -> Job | None:
        """The model's latest job."""
        return self._jobs.get(model_id)


@st.cache_resource
def works() -> Works:
    """The process's one."""
    return Works()


def report_of(card: ModelCard) -> ModelReport | None:
    """What is known of the model; if nothing is, what it takes to find out is drawn."""
    found = find_report(encoder(card.id).fingerprint)
    if found:
        return found
    job = works().job(card.id)
    running = job is not None and job.snapshot.state == "running"
    if running:
        st.button("Stop", icon=":material/stop:", on_click=job.stop, key="stop_taking_apart")
        st.fragment(_look, run_every=LOOK_EVERY)(job)
        return None
    if job and job.snapshot.message:
        notice(job.snapshot.message)
    st.info(
        f"{card.name} has not been taken apart on this machine yet. It embeds {N_SCENES:,} scenes "
        "of two objects, as pictures and as captions, and fits components and probes: less than a "
        "minute for a model of the size of the bundled ones."
    )
    with_twin = st.checkbox(
        "Also with random weights, for comparison (twice as long)",
        key="with_twin",
        disabled=card.id in {control.id for control in control_cards()},
    )
    st.button(
        "Take it apart",
        type="primary",
        icon=":material/stacked_bar_chart:",
        on_click=works().begin,
        args=(card, with_twin),
    )
    return None


def _look(job: Job) -> None:
    snapshot = job.snapshot
    if snapshot.state != "running":
        st.rerun()
    st.progress(
        snapshot.share,
        text=f"Step {snapshot.done} of {snapshot.total}"
        if snapshot.total
        else "Waits for its turn",
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _kept_instruments(fingerprint: str) -> dict[str, Instruments] | None:
    return find_instruments(fingerprint)


def instruments_of(card: ModelCard) -> dict[str, Instruments] | None:
    """What the model's scenes are taken apart with, by modality."""
    return _kept_instruments(encoder(card.id).fingerprint)
