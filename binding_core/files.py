"""Files that are either whole or not there, and the folders the app keeps its own in."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import platformdirs

from binding_core.errors import UserError

APP_NAME = "concept-binding-explorer"
ASSETS = Path(__file__).parent.parent / "assets"
MAX_WEIGHT_BYTES = 8 * 2**30
MAX_HEADER_BYTES = 100 * 2**20  # the safetensors format's own limit


def cache_folder() -> Path:
    """Where things lie that can be made again; CBE_CACHE_DIR moves it."""
    return Path(os.environ.get("CBE_CACHE_DIR") or platformdirs.user_cache_dir(APP_NAME))


def data_folder() -> Path:
    """Where a user's own models and settings lie; CBE_DATA_DIR moves it."""
    return Path(os.environ.get("CBE_DATA_DIR") or platformdirs.user_data_dir(APP_NAME))


def runs_folder() -> Path:
    """Where runs lie that were begun in the app."""
    return data_folder() / "runs"


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


def check_safetensors(path: Path) -> None:
    """UserError unless the file's header is that of a whole safetensors file of allowed size."""
    size = path.stat().st_size
    if size > MAX_WEIGHT_BYTES:
        raise UserError(f"{path.name} has {size / 2**30:.1f} GB; the limit is 8 GB.")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise UserError(f"{path.name} is not a safetensors file, or it is cut short.")
        try:
            header = json.loads(file.read(length))
            ends = [int(e["data_offsets"][1]) for k, e in header.items() if k != "__metadata__"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(f"{path.name} is not a safetensors file.") from error
    if size != 8 + length + max(ends, default=0):
        raise UserError(f"{path.name} is cut short: its header promises more data than it holds.")
