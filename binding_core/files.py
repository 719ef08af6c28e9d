"""Files that are either whole or not there, and the folders the app keeps its own in."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import platformdirs

APP_NAME = "concept-binding-explorer"
ASSETS = Path(__file__).parent.parent / "assets"


def cache_folder() -> Path:
    """Where things lie that can be made again; CBE_CACHE_DIR moves it."""
    return Path(os.environ.get("CBE_CACHE_DIR") or platformdirs.user_cache_dir(APP_NAME))


def data_folder() -> Path:
    """Where a user's own models and settings lie; CBE_DATA_DIR moves it."""
    return Path(os.environ.get("CBE_DATA_DIR") or platformdirs.user_data_dir(APP_NAME))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash half-way, sees the old one or the new one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
