"""UMAP in a process of its own: it compiles for seconds, and two fits at once can abort a process.

The app's own process never imports umap or numba. The worker is this module run as a program; it
can be killed at any time, and ends by itself when its standard input does, as it does with the
app.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from typing import IO

import numpy as np

from binding_core.errors import UserError
from binding_core.jobs import step_back

EPOCHS = 500  # UMAP's own choice for up to 10,000 rows
NEIGHBOURS = 15  # UMAP's own choice
BAR = "{n}/{total}"  # a line of progress, in tqdm's words
POLL_S = 0.1  # how soon a stop is heard

Report = Callable[[int, int], None]

_turn = Lock()  # one UMAP at a time in the app's process


def umap_points(
    tables: Sequence[np.ndarray], *, dimensions: int, seed: int, stop: Event, report: Report
) -> list[np.ndarray] | None:
    """UMAP of each table of distinct rows (n, d) on cosine distance -> float32 (n, dimensions).

    All go to one worker, since it compiles for longer than it computes. Each n must be at least
    ``dimensions`` + 2. ``report(done, total)`` counts epochs; a total of 0 says that another UMAP
    of the app is waited for. None when stopped; UserError when the worker fails.
    """
    report(0, 0)
    while not _turn.acquire(timeout=POLL_S):
        if stop.is_set():
            return None
    try:
        with tempfile.TemporaryDirectory(prefix="umap-") as folder:
            rows, points = Path(folder) / "rows.npz", Path(folder) / "points.npz"
            np.savez(rows, *tables)
            report(0, EPOCHS * len(tables))
            arguments = [rows, points, str(dimensions), str(seed)]
            if not _run_worker(arguments, log=Path(folder) / "log.txt", stop=stop, report=report):
                return None
            return _arrays(points)
    finally:
        _turn.release()


def _arrays(path: Path) -> list[np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return [file[f"arr_{i}"] for i in range(len(file.files))]


def _run_worker(arguments: list[str | Path], *, log: Path, stop: Event, report: Report) -> bool:
    """True when the worker has written its points, False when it was stopped."""
    with log.open("w+", encoding="utf-8") as errors:
        with subprocess.Popen(  # noqa: S603  our own interpreter and module
            [sys.executable, "-m", __name__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        ) as process:
            step_back(process)
            reader = Thread(target=_pass_on, args=(process.stdout, report), daemon=True)
            reader.start()
            try:
                while process.poll() is None:
                    if stop.wait(POLL_S):
                        return False
            finally:
                process.kill()
                reader.join()
        if process.returncode:
            errors.seek(0)
            lines = errors.read().strip().splitlines()
            said = lines[-1] if lines else f"exit status {process.returncode}"
            raise UserError(f"UMAP could not be computed: {said}.")
    return True


def _pass_on(progress: IO[str], report: Report) -> None:
    """Report every line of the form ``done/total``."""
    for line in progress:
        done, _, total = line.strip().partition("/")
        if done.isdigit() and total.isdigit():
            report(int(done), int(total))


def _work(rows: str, points: str, dimensions: str, seed: str) -> None:
    """What the worker does, from one file to the other; progress goes to standard output."""
    Thread(target=_end_with_the_app, daemon=True).start()
    from sklearn.neighbors import NearestNeighbors
    from umap import UMAP

    tables = _arrays(Path(rows))
    found = []
    for i, table in enumerate(tables):
        size = min(NEIGHBOURS, len(table) - 1)
        # Exact neighbours, and many times sooner than UMAP's own approximate ones on one core.
        distances, indices = (
            NearestNeighbors(n_neighbors=size, metric="cosine").fit(table).kneighbors(table)
        )
        progress = {"initial": i * EPOCHS, "total": len(tables) * EPOCHS}
        mapper = UMAP(
            n_neighbors=size,
            n_components=int(dimensions),
            metric="cosine",
            n_epochs=EPOCHS,
            random_state=int(seed),
            n_jobs=1,  # what a seed asks for
            precomputed_knn=(indices, distances),
            tqdm_kwds={"disable": False, "file": sys.stdout, "bar_format": BAR, **progress},
        )
        found.append(np.float32(mapper.fit_transform(table)))
    np.savez(points, *found)


def _end_with_the_app() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    _work(*sys.argv[1:])
