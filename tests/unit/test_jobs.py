"""Work behind a page: its snapshot, its end, and its priority."""

import os
import subprocess
import sys
from threading import Event

import pytest

from binding_core.errors import UserError
from binding_core.jobs import LOW_PRIORITY, Job, step_back

SLEEPER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def test_a_process_steps_back_and_one_that_has_ended_is_no_trouble():
    with subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as process:
        step_back(process)
        if hasattr(os, "getpriority"):  # Windows knows no such number
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == LOW_PRIORITY
    step_back(process)


def test_a_job_reports_and_ends():
    go = Event()

    def work(stop, report):
        report(1, 4)
        go.wait(10)
        return not stop.is_set()

    job = Job(work, name="a job")
    job.stop()
    go.set()
    assert job.wait(10).state == "stopped"
    assert job.snapshot.share == 0.25


@pytest.mark.parametrize(
    ("error", "said"), [(UserError("No room."), "No room."), (KeyError("x"), "did not foresee")]
)
def test_a_job_that_fails_says_why(error, said):
    def work(stop, report):
        raise error

    snapshot = Job(work, name="a job").wait(10)
    assert snapshot.state == "failed"
    assert said in snapshot.message
