"""How long each preset takes on this machine, measured once a server, behind the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from threading import Event

import streamlit as st

from binding_core.jobs import Job, step_back
from binding_core.training.presets import RUN_PRESETS

LOOK_EVERY = 1.0  # seconds


class Speeds:
    """The seconds that each preset takes, as they are measured by a process of its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.job = Job(self._measure, name="speed of the presets")

    def _measure(self, stop: Event, report: Callable[[int, int], None]) -> bool:
        with subprocess.Popen(
            [sys.executable, "-m", "binding_core", "speed", "--json"],
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # as it will be trained
            text=True,
        ) as process:
            step_back(process)
            for line in process.stdout:
                row = json.loads(line)
                self.seconds[row["preset"]] = row["seconds"]
                report(len(self.seconds), len(RUN_PRESETS))
        return not process.returncode


@st.cache_resource
def _shared_speeds() -> Speeds:
    return Speeds()


def expected_time(preset: str) -> None:
    """One line on how long the preset takes here; it looks again until that is known."""
    speeds = st.session_state.get("speeds") or _shared_speeds()
    known = preset in speeds.seconds or speeds.job.snapshot.state != "running"
    st.fragment(_say, run_every=None if known else LOOK_EVERY)(preset, speeds, known)


def _say(preset: str, speeds: Speeds, was_known: bool) -> None:
    seconds = speeds.seconds.get(preset)
    if seconds is None:
        measuring = speeds.job.snapshot.state == "running"
        st.caption(
            "How long it takes here is being measured …"
            if measuring
            else "How long it takes here could not be measured."
        )
        return
    st.caption(f"About {in_words(seconds)} on this machine, measured when the app was started.")
    if not was_known:
        st.rerun()  # once more without the clock


def in_words(seconds: float) -> str:
    """A time as people say it: seconds up to two minutes, then minutes."""
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
