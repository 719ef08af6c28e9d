"""Work behind the pages: found again by its name from any session, and stopped at will."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from threading import Event, Lock

import streamlit as st

from binding_core.jobs import Job
from pages._shared.chrome import notice

LOOK_EVERY = 0.5  # seconds
POLL_S = 0.1  # how soon a waiting job hears that it is stopped
MAX_KEPT = 16

Report = Callable[[int, int], None]
FindOut = Callable[[Event, Report], object | None]


class Works:
    """The process's jobs by name; what they found is kept for a while.

    Jobs of one kind wait for one another, and for no other kind.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._found: OrderedDict[str, object] = OrderedDict()
        self._turns: defaultdict[str, Lock] = defaultdict(Lock)

    def begin(self, key: str, find_out: FindOut, *, kind: str) -> None:
        """Begin unless that is being done; ``find_out`` gives None when it was stopped."""
        if self.running(key):
            return

        def work(stop: Event, report: Report) -> bool:
            turn = self._turns[kind]
            while not turn.acquire(timeout=POLL_S):
                if stop.is_set():
                    return False
            try:
                found = find_out(stop, report)
            finally:
                turn.release()
            if found is not None:
                self._found[key] = found
                while len(self._found) > MAX_KEPT:
                    self._found.popitem(last=False)
            return found is not None

        self._jobs[key] = Job(work, name=key)

    def running(self, key: str) -> Job | None:
        """The job that is at it, or waits for its turn."""
        job = self._jobs.get(key)
        return job if job and job.snapshot.state == "running" else None

    def tried(self, key: str) -> bool:
        """Whether it was begun at all, however it went."""
        return key in self._jobs

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
    done = f"Step {snapshot.done} of {snapshot.total}" if snapshot.total else "Waits for its turn"
    st.progress(snapshot.share, text=done)
