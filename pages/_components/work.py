"""Taking a model apart behind the page, once a process, and finding what was kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Event, Lock

import streamlit as st

from binding_core.encoders.protocol import ModelCard
from binding_core.geometry.component_store import find_instruments, find_report, take_model_apart
from binding_core.geometry.one_scene import Instruments
from binding_core.geometry.report import N_SCENES, ModelReport
from binding_core.jobs import Job
from pages._shared.chrome import notice
from pages._shared.encoders import encoder

LOOK_EVERY = 0.5  # seconds
MAX_KEPT = 16

Report = Callable[[int, int], None]
TakeApart = Callable[[Event, Report], object | None]


class Works:
    """The process's jobs, by what they take apart, one at a time; what they found is kept."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._found: OrderedDict[str, object] = OrderedDict()
        self._turn = Lock()

    def begin(self, key: str, take_apart: TakeApart) -> None:
        """Begin unless that is being done; ``take_apart`` gives None when it was stopped."""
        if self.running(key):
            return

        def work(stop: Event, report: Report) -> bool:
            with self._turn:
                found = take_apart(stop, report)
            if found is not None:
                self._found[key] = found
                while len(self._found) > MAX_KEPT:
                    self._found.popitem(last=False)
            return found is not None

        self._jobs[key] = Job(work, name=f"components of {key}")

    def running(self, key: str) -> Job | None:
        """The job that is at it, or waits for its turn."""
        job = self._jobs.get(key)
        return job if job and job.snapshot.state == "running" else None

    def failure(self, key: str) -> str:
        """Why the last try failed, in words; empty when it did not."""
        return self._jobs[key].snapshot.message if key in self._jobs else ""

    def found(self, key: str) -> object | None:
        """What was found, while it is kept."""
        return self._found.get(key)


@st.cache_resource
def works() -> Works:
    """The process's one."""
    return Works()


def report_of(card: ModelCard) -> ModelReport | None:
    """What is known of the model; if nothing is, what it takes to find out is drawn."""
    taken = encoder(card.id)
    if found := find_report(taken.fingerprint):
        return found
    if progress(card.id):
        return None
    st.info(
        f"{card.name} has not been taken apart on this machine yet. It embeds {N_SCENES:,} scenes "
        "of two objects, as pictures and as captions, and fits components and probes: less than a "
        "minute for a model of the size of the bundled ones."
    )
    with_twin = st.checkbox(
        "Also with random weights, for comparison (twice as long)",
        key="with_twin",
        disabled=card.kind == "control",
    )

    def take_apart(stop: Event, report: Report) -> ModelReport | None:
        return take_model_apart(taken, card=card, with_twin=with_twin, report=report, stop=stop)

    st.button(
        "Take it apart",
        type="primary",
        icon=":material/stacked_bar_chart:",
        on_click=works().begin,
        args=(card.id, take_apart),
    )
    return None


def progress(key: str) -> bool:
    """Draw how far the work of that name is; whether it is at it. Says why it failed if it did."""
    if job := works().running(key):
        st.button("Stop", icon=":material/stop:", on_click=job.stop, key=f"stop {key}")
        st.fragment(_look, run_every=LOOK_EVERY)(job)
        return True
    if why := works().failure(key):
        notice(why)
    return False


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
