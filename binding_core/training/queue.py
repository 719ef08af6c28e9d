"""One training or sweep at a time, in a process of its own, and a visible queue before it.

A process of its own keeps the app quick, can be killed, and ends by itself when the app does: it
reads its standard input, whose end means "write a checkpoint and stop".
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Thread

from binding_core.errors import UserError
from binding_core.jobs import step_back
from binding_core.training.runs import Run
from binding_core.training.sweeps import SWEEP_NAME, Sweep

MAX_WAITING = 3  # pieces of work that one session may have in the queue
LOG_NAME = "log.txt"
FINISHED, REFUSED, INTERRUPTED = 0, 2, 130  # exit statuses of python -m binding_core


@dataclass(frozen=True)
class Work:
    """A run or a sweep that a process of its own is to train."""

    id: str
    folder: Path
    arguments: tuple[str, ...]  # of python -m binding_core


def run_work(run: Run, *, finish: bool = False) -> Work:
    """Train a run, new or interrupted, or measure it as it is and so finish it."""
    last = ("--finish",) if finish else ()
    return Work(run.id, run.folder, ("train", "--resume", str(run.folder), *last))


def sweep_work(sweep: Sweep, *, dask: str = "") -> Work:
    """Train what a sweep still lacks: here, where a core is left to the app, or on a cluster."""
    where = ("--dask", dask) if dask else ("--workers", str(max(1, (os.cpu_count() or 1) - 1)))
    config = sweep.folder / SWEEP_NAME
    arguments = ("sweep", "--config", str(config), "--out", str(sweep.folder), *where)
    return Work(sweep.id, sweep.folder, arguments)


@dataclass
class _Entry:
    work: Work
    session: str
    process: subprocess.Popen | None = None
    stopped: bool = False  # perhaps before its process was there


class WorkQueue:
    """What is to be trained; the first of it is in training."""

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._reasons: dict[str, str] = {}
        self._changed = Condition()
        Thread(target=self._serve, name="training queue", daemon=True).start()

    def submit(self, work: Work, *, session: str) -> None:
        """Queue a piece of work; UserError when the session has too much of it waiting."""
        with self._changed:
            if any(entry.work.id == work.id for entry in self._entries):
                return
            if sum(entry.session == session for entry in self._entries) >= MAX_WAITING:
                raise UserError(
                    f"You have {MAX_WAITING} trainings in the queue; stop one, or wait for it to "
                    "end."
                )
            self._reasons.pop(work.id, None)
            self._entries.append(_Entry(work, session))
            self._changed.notify_all()

    def stop(self, work_id: str) -> None:
        """Take work out of the queue; what is in training writes its checkpoint first."""
        with self._changed:
            for entry in self._entries:
                if entry.work.id == work_id:
                    if entry is self._entries[0]:
                        entry.stopped = True
                        _ask_to_stop(entry)
                    else:
                        self._entries.remove(entry)
                    return

    def place(self, work_id: str) -> int | None:
        """0 for what is in training, n for the n-th that waits, None for what is not queued."""
        with self._changed:
            for i, entry in enumerate(self._entries):
                if entry.work.id == work_id:
                    return i
        return None

    def reason(self, work_id: str) -> str:
        """Why its process ended though nobody had asked it to; empty when it did not."""
        with self._changed:
            return self._reasons.get(work_id, "")

    def wait(self, timeout: float) -> bool:
        """Wait until the queue is empty, for tests and shutdown; False when it still is not."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._entries, timeout)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._entries)
                entry = self._entries[0]
            reason = self._train(entry)
            with self._changed:
                if reason:
                    self._reasons[entry.work.id] = reason
                self._entries.remove(entry)
                self._changed.notify_all()

    def _train(self, entry: _Entry) -> str:
        """Wait for the process that does the work; why it failed, or nothing."""
        work = entry.work
        log_path = work.folder / LOG_NAME
        try:
            with log_path.open("w", encoding="utf-8") as log:
                process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                    [sys.executable, "-m", "binding_core", *work.arguments, "--guarded"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},  # leaves a core to the app
                )
            step_back(process)
            with self._changed:
                entry.process = process
                if entry.stopped:
                    _ask_to_stop(entry)
            status = process.wait()
            said = log_path.read_text("utf-8").splitlines()
        except OSError as error:
            return f"The training could not be started: {error}."
        if status in (FINISHED, INTERRUPTED):
            return ""
        if status == REFUSED and said:
            return said[-1]
        return (
            f"The training's process ended by itself (exit status {status}), perhaps for want of "
            "memory. Its last checkpoint is safe: go on, or try a smaller network."
        )


def _ask_to_stop(entry: _Entry) -> None:
    if entry.process:
        entry.process.stdin.close()  # closing it again does no harm
