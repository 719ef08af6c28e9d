"""Training runs on disk: one folder each, written atomically.

``config.json`` and ``environment.json`` are there from the start, ``metrics.jsonl`` grows, weights
and a checkpoint (weights with the optimizer's state) are renewed, ``result.json`` comes at the end.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from binding_core.encoders.openclip import WEIGHTS_NAME as PICTURE_WEIGHTS_NAME
from binding_core.errors import UserError
from binding_core.files import runs_folder, write_atomically
from binding_core.training.run_config import PictureRunConfig, TokenRunConfig, parse_config

CONFIG_NAME = "config.json"
ENVIRONMENT_NAME = "environment.json"
METRICS_NAME = "metrics.jsonl"
WEIGHTS_NAME = "weights.safetensors"
RESULT_NAME = "result.json"
FAILURE_NAME = "failure.txt"
NOTE_NAME = "note.txt"
MAX_NOTE = 2000  # characters
LIBRARIES = ("torch", "numpy")
State = Literal["waiting", "done", "failed"]


@dataclass(frozen=True)
class Run:
    """A run's folder and what can be read from it at any time."""

    folder: Path

    @property
    def id(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def config(self) -> TokenRunConfig | PictureRunConfig:
        """UserError when the file is missing or damaged."""
        try:
            content = json.loads((self.folder / CONFIG_NAME).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"The run {self.id} has no readable {CONFIG_NAME}.") from error
        return parse_config(content)

    @property
    def state(self) -> State:
        """Whether it is done, has failed, or waits to be gone on with."""
        if (self.folder / RESULT_NAME).exists():
            return "done"
        return "failed" if (self.folder / FAILURE_NAME).exists() else "waiting"

    @property
    def weights(self) -> Path:
        """Where its weights lie, from the first checkpoint on."""
        pictures = self.config.world == "pictures"
        return self.folder / (PICTURE_WEIGHTS_NAME if pictures else WEIGHTS_NAME)

    @property
    def failure(self) -> str:
        """Why it failed; empty when it did not."""
        path = self.folder / FAILURE_NAME
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def note(self) -> str:
        """What its owner wrote about it; empty when nothing."""
        path = self.folder / NOTE_NAME
        return path.read_text("utf-8") if path.exists() else ""

    def write_note(self, text: str) -> None:
        """Keep a note beside the run; UserError when it is too long or can't be written."""
        if len(text) > MAX_NOTE:
            raise UserError(f"A note has at most {MAX_NOTE:,} characters, not {len(text):,}.")
        try:
            write_atomically(self.folder / NOTE_NAME, text.encode())
        except OSError as error:
            raise UserError(f"The note can't be kept: {error.strerror or error}.") from error

    @property
    def metrics(self) -> list[dict]:
        """The lines of the metrics stream so far; one that is still being written is left out."""
        path = self.folder / METRICS_NAME
        if not path.exists():
            return []
        lines = path.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.endswith("}")]

    @property
    def step(self) -> int:
        """Steps done, as far as the metrics say."""
        metrics = self.metrics
        return metrics[-1]["step"] if metrics else 0

    def summary(self) -> dict:
        """What a list of runs says of this one."""
        return {
            "id": self.id,
            "state": self.state,
            "created": self.created,
            "step": self.step,
            "config": self.config.model_dump(),
            "result": self.result,
        }

    @property
    def result(self) -> dict | None:
        """The measures on test objects at the end; None before."""
        path = self.folder / RESULT_NAME
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    @property
    def created(self) -> str:
        """When it was begun, ISO 8601, UTC."""
        path = self.folder / ENVIRONMENT_NAME
        return json.loads(path.read_text("utf-8"))["created"] if path.exists() else ""


def free_folder(name: str, *, root: Path) -> Path:
    """A folder under ``root`` that is not there yet, called after ``name``."""
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"
    return root / f"{word}-{uuid.uuid4().hex[:8]}"


def create_run(config: TokenRunConfig | PictureRunConfig, *, folder: Path | None = None) -> Run:
    """Make the folder of a new run; UserError when it can't be written or is taken."""
    folder = folder or free_folder(config.name, root=runs_folder())
    if (folder / CONFIG_NAME).exists():
        raise UserError(f"There is a run in {folder} already.")
    environment = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{library: version(library) for library in LIBRARIES},
    }
    try:
        write_atomically(folder / ENVIRONMENT_NAME, (json.dumps(environment) + "\n").encode())
        write_atomically(folder / CONFIG_NAME, (config.model_dump_json(indent=1) + "\n").encode())
    except OSError as error:
        raise UserError(
            f"The run can't be kept in {folder}: {error.strerror or error}. Nothing was started."
        ) from error
    return Run(folder)


def list_runs() -> list[Run]:
    """All runs with a readable configuration, the newest first."""
    root = runs_folder()
    if not root.is_dir():
        return []
    runs = []
    for folder in root.iterdir():
        run = Run(folder)
        if folder.name.startswith(".") or not (folder / CONFIG_NAME).exists():
            continue
        try:
            run.config  # noqa: B018  raises when damaged
        except UserError:
            continue
        runs.append(run)
    return sorted(runs, key=lambda run: run.created, reverse=True)


def find_run(run_id: str) -> Run:
    """The run of that id; UserError when there is none."""
    for run in list_runs():
        if run.id == run_id:
            return run
    raise UserError("That run is no longer there.")


def delete_run(run: Run) -> Path:
    """Move a run out of the list; the path from which :func:`restore_run` brings it back."""
    bin_folder = run.folder.parent / ".deleted"
    bin_folder.mkdir(exist_ok=True)
    gone = bin_folder / run.id
    shutil.rmtree(gone, ignore_errors=True)
    run.folder.rename(gone)
    return gone


def restore_run(gone: Path) -> Run:
    """Bring a deleted run back."""
    return Run(gone.rename(gone.parent.parent / gone.name))
