"""Where a sweep's runs are worked on: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from binding_core.errors import UserError

DASK_TIMEOUT = 10  # seconds to find the scheduler


def local_executor(*, workers: int | None = None) -> Executor:
    """A pool of processes, one thread each, as many as there are cores unless told otherwise."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of the workers: torch reads it when it is imported
    return ProcessPoolExecutor(
        workers or os.cpu_count(),
        mp_context=multiprocessing.get_context("spawn"),
        # An interrupt is for the process that leads the sweep, which tells the workers.
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The cluster whose scheduler is at ``address``; UserError when it can't be reached."""
    try:
        from distributed import Client
    except ImportError as error:
        raise UserError(
            "A Dask cluster needs the package “distributed”: pip install distributed."
        ) from error
    try:
        client = Client(address, timeout=DASK_TIMEOUT)
    except (OSError, ValueError) as error:
        raise UserError(f"There is no Dask scheduler at “{address}”: {error}.") from error
    with client, client.get_executor(pure=False) as executor:
        yield executor
