"""Work that goes on behind a page: a thread, a stop event, a lock, and a snapshot to look at."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Literal

from binding_core.errors import UserError

State = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True)
class Snapshot:
    """How far a job is."""

    state: State
    done: int = 0  # in whatever unit the work counts
    total: int = 0  # 0 when it is not known
    message: str = ""  # why it failed, in words for the user

    @property
    def share(self) -> float:
        """The share that is done, 0 to 1."""
        return min(1.0, self.done / self.total) if self.total else 0.0


LOW_PRIORITY = 10  # of 19


def step_back(process: subprocess.Popen) -> None:
    """Let the app go first where both want a core; what the process starts later follows it.

    On a machine with a core to spare the process is as fast as ever.
    """
    if hasattr(os, "setpriority"):
        with suppress(OSError):  # it may have ended already
            os.setpriority(os.PRIO_PROCESS, process.pid, LOW_PRIORITY)


Work = Callable[[Event, Callable[[int, int], None]], bool]
"""``work(stop, report)`` returns True when all is done, False when it was stopped."""


class Job:
    """One piece of work in a thread of its own; it touches no page and ends with the process."""

    def __init__(self, work: Work, *, name: str) -> None:
        self._snapshot = Snapshot("running")
        self._stop = Event()
        self._lock = Lock()
        self._thread = Thread(target=self._run, args=(work,), name=name, daemon=True)
        self._thread.start()

    def _run(self, work: Work) -> None:
        try:
            finished = work(self._stop, self._report)
            self._update(state="done" if finished else "stopped")
        except UserError as error:
            self._update(state="failed", message=str(error))
        except Exception:
            logging.getLogger(__name__).exception("job %s failed", self._thread.name)
            self._update(
                state="failed",
                message="Something went wrong that the app did not foresee; see its log.",
            )

    def _report(self, done: int, total: int) -> None:
        self._update(done=done, total=total)

    def _update(self, **changes: object) -> None:
        with self._lock:
            self._snapshot = replace(self._snapshot, **changes)

    @property
    def snapshot(self) -> Snapshot:
        """How far the job is now."""
        with self._lock:
            return self._snapshot

    def stop(self) -> None:
        """Ask the work to end; it does so at its next report."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> Snapshot:
        """Wait until the job has ended, or for ``timeout`` seconds."""
        self._thread.join(timeout)
        return self.snapshot
