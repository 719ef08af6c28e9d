"""Sweeps: the same run over and over with other settings and seeds, as a phase diagram needs it.

The runs go through any ``concurrent.futures.Executor``. A sweep is a folder: ``sweep.json`` says
what is to be run, ``results.jsonl`` grows by a line a run, ``weights/`` keeps what was trained.
Only the process that leads the sweep writes there, so a lost worker loses no result, and a result
that comes twice is kept once.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from threading import Event
from typing import Annotated

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from binding_core.errors import UserError
from binding_core.files import ASSETS, data_folder, write_atomically
from binding_core.training.run_config import (
    PictureRunConfig,
    RunConfig,
    TokenRunConfig,
    first_fault,
)
from binding_core.training.runs import FAILURE_NAME, create_run, free_folder

SWEEP_NAME = "sweep.json"
RESULTS_NAME = "results.jsonl"
MAX_RUNS = 10_000
MAX_LOST_IN_A_ROW = 3  # times that a pool may break before any run comes back
LOOK_EVERY = 0.5  # seconds between two looks at the stop event
SHIPPED = ASSETS / "sweep"

Value = int | float | str | bool
Axis = Annotated[tuple[Value, ...], Field(min_length=1)]


@dataclass(frozen=True)
class Cell:
    """One run of a sweep: where it stands on the axes, and its seed."""

    settings: dict[str, Value]
    seed: int

    @property
    def key(self) -> str:
        """The cell in words that sort and compare, as in “data.coverage=0.9 seed=1”."""
        return " ".join(f"{name}={value}" for name, value in self.settings.items()) + (
            f" seed={self.seed}"
        )


class SweepConfig(BaseModel):
    """A run to start from, the settings that vary, and the seeds of each combination."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "sweep"
    base: RunConfig
    axes: Annotated[dict[str, Axis], Field(min_length=1, max_length=4)]
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (0, 1, 2)

    @model_validator(mode="after")
    def _every_run_can_be(self) -> SweepConfig:
        if self.n_runs > MAX_RUNS:
            raise ValueError(f"{self.n_runs:,} runs; at most {MAX_RUNS:,} make a sweep")
        if len(set(self.seeds)) < len(self.seeds) or any(
            len(set(values)) < len(values) for values in self.axes.values()
        ):
            raise ValueError("a value or a seed is named twice")
        for cell in self.cells():
            if cell.seed == self.seeds[0]:  # what can be with one seed can be with every other
                self.run_config(cell)
        return self

    @property
    def n_runs(self) -> int:
        """How many runs the sweep has in all."""
        combinations = 1
        for values in self.axes.values():
            combinations *= len(values)
        return combinations * len(self.seeds)

    def cells(self) -> Iterator[Cell]:
        """Every run, seed after seed, so that a rough picture of the whole comes first."""
        for seed in self.seeds:
            for values in product(*self.axes.values()):
                yield Cell(dict(zip(self.axes, values, strict=True)), seed)

    def run_config(self, cell: Cell) -> TokenRunConfig | PictureRunConfig:
        """A cell's run; the seed is that of the weights, of the data and of the split."""
        return self.base.changed(
            {
                **cell.settings,
                "training.seed": cell.seed,
                "data.split_seed": cell.seed,
                # Nobody watches these curves; the result is measured all the same.
                "training.measure_every": self.base.training.steps,
            }
        )


def parse_values(text: str) -> tuple[Value, ...]:
    """The values of an axis from a text such as “0.2, 0.5”; UserError names what is no number.

    >>> parse_values("0.25, 8")
    (0.25, 8)
    """
    values = []
    for word in text.split(","):
        try:
            number = float(word)
        except ValueError:
            raise UserError(
                f"“{word.strip()}” is not a number; an axis takes numbers with commas between."
            ) from None
        values.append(int(number) if number.is_integer() and "." not in word else number)
    return tuple(values)


def parse_sweep(content: object) -> SweepConfig:
    """The sweep of what a form or a file said; UserError names what is wrong."""
    try:
        return SweepConfig.model_validate(content)
    except ValidationError as error:
        raise UserError(f"This sweep can't be: {first_fault(error)}.") from error


@dataclass(frozen=True)
class Sweep:
    """A sweep's folder and what can be read from it at any time."""

    folder: Path

    @property
    def id(self) -> str:
        """The folder's name."""
        return self.folder.name

    @cached_property
    def config(self) -> SweepConfig:
        """UserError when the file is missing or damaged."""
        try:
            return parse_sweep(json.loads((self.folder / SWEEP_NAME).read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise UserError(f"There is no readable {SWEEP_NAME} in {self.folder}.") from error

    @property
    def results(self) -> dict[str, dict]:
        """What came back so far, by cell; a line that was cut short is left out."""
        path = self.folder / RESULTS_NAME
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines if line.endswith("}")]
        return {Cell(row["settings"], row["seed"]).key: row for row in rows}

    def weights(self, cell: Cell) -> Path:
        """Where the weights of a cell's run lie, once it is done."""
        name = hashlib.sha256(cell.key.encode()).hexdigest()[:16]
        return self.folder / "weights" / f"{name}.safetensors"

    @property
    def failure(self) -> str:
        """Why it could not go on; empty when it could."""
        path = self.folder / FAILURE_NAME
        return path.read_text("utf-8") if path.exists() else ""


def sweeps_folder() -> Path:
    """Where sweeps lie that were begun in the app."""
    return data_folder() / "sweeps"


def create_sweep(config: SweepConfig, *, folder: Path | None = None) -> Sweep:
    """Make a sweep's folder; one that holds the same sweep already is gone on with."""
    folder = folder or free_folder(config.name, root=sweeps_folder())
    if (folder / SWEEP_NAME).exists():
        sweep = Sweep(folder)
        if sweep.config != config:
            raise UserError(f"There is another sweep in {folder}.")
        return sweep
    try:
        write_atomically(folder / SWEEP_NAME, (config.model_dump_json(indent=1) + "\n").encode())
    except OSError as error:
        raise UserError(
            f"The sweep can't be kept in {folder}: {error.strerror or error}. Nothing was started."
        ) from error
    return Sweep(folder)


def list_sweeps() -> list[Sweep]:
    """The user's sweeps, the newest first."""
    root = sweeps_folder()
    found = [Sweep(path.parent) for path in root.glob(f"*/{SWEEP_NAME}")] if root.is_dir() else []
    return sorted(found, key=lambda s: (s.folder / SWEEP_NAME).stat().st_mtime, reverse=True)


def train_cell(
    config: TokenRunConfig | PictureRunConfig, *, stop: Event | None = None
) -> tuple[dict, bytes] | None:
    """Train one run in a folder of its own, wherever the executor's worker is.

    Its result and its weights; None when it was stopped. A run that diverges has a result as well:
    the reason.
    """
    from binding_core.training.train_run import train_run

    with tempfile.TemporaryDirectory(prefix="sweep-") as home:
        run = create_run(config, folder=Path(home) / "run")
        try:
            if not train_run(run, stop=stop or Event()):
                return None
        except UserError as error:
            return {"failed": str(error)}, b""
        return run.result, run.weights.read_bytes()


def run_sweep(
    sweep: Sweep,
    *,
    executor: Callable[[], AbstractContextManager[Executor]],
    work: Callable[[TokenRunConfig | PictureRunConfig], tuple[dict, bytes] | None] = train_cell,
    stop: Event,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> bool:
    """Run what is still missing of a sweep; True when all is there, False when stopped.

    ``executor()`` makes an executor, and makes another when a worker's death has broken it.
    ``work`` is what a worker does; it must be picklable. UserError when another process leads the
    sweep, or when workers die again and again.
    """
    config = sweep.config
    try:
        with FileLock(sweep.folder / "lock").acquire(timeout=0):
            (sweep.folder / FAILURE_NAME).unlink(missing_ok=True)
            return _lead(sweep, config, executor, work, stop, report)
    except Timeout as error:
        raise UserError("This sweep is being run by another process.") from error
    except UserError as error:
        write_atomically(sweep.folder / FAILURE_NAME, str(error).encode())
        raise


def _lead(
    sweep: Sweep,
    config: SweepConfig,
    executor: Callable[[], AbstractContextManager[Executor]],
    work: Callable,
    stop: Event,
    report: Callable[[int, int], None],
) -> bool:
    done, lost = set(sweep.results), 0
    report(len(done), config.n_runs)
    while missing := [cell for cell in config.cells() if cell.key not in done]:
        try:
            with executor() as pool:
                jobs = {pool.submit(work, config.run_config(cell)): cell for cell in missing}
                for cell, outcome in _as_they_come(jobs, stop):
                    if outcome is None:  # stopped within the run
                        continue
                    _keep(sweep, cell, *outcome)
                    done.add(cell.key)
                    lost = 0
                    report(len(done), config.n_runs)
        except (OSError, UserError):  # of this process, where trying again is of no use
            raise
        except Exception as error:  # each executor has its own for a worker that died
            lost += 1
            if lost > MAX_LOST_IN_A_ROW:
                raise UserError(
                    f"The sweep's workers fail again and again ({error or type(error).__name__}), "
                    "perhaps for want of memory. What was finished is safe; try fewer workers or a "
                    "smaller network."
                ) from error
        if stop.is_set():
            return len(done) == config.n_runs
    return True


def _as_they_come(
    jobs: dict[Future, Cell], stop: Event
) -> Iterator[tuple[Cell, tuple[dict, bytes] | None]]:
    """Outcomes as they come; after a stop only those of runs that can't be cancelled any more."""
    waiting = set(jobs)
    try:
        while waiting:
            ready, waiting = wait(waiting, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED)
            for job in ready:
                yield jobs[job], job.result()
            if stop.is_set():
                waiting = {job for job in waiting if not job.cancel()}
    finally:
        for job in waiting:
            job.cancel()


def _keep(sweep: Sweep, cell: Cell, result: dict, weights: bytes) -> None:
    if weights:  # before the result: a result says that its weights are there
        write_atomically(sweep.weights(cell), weights)
    row = {"settings": cell.settings, "seed": cell.seed, **result}
    path = sweep.folder / RESULTS_NAME
    with path.open("ab+") as file:
        if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
            file.write(b"\n")  # a crash cut the last line short
        file.write((json.dumps(row) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())
