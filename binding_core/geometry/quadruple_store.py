"""The quadruple figure of a model, kept: shipped for the bundled models, else in the cache."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Event

from pydantic import TypeAdapter, ValidationError

from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.files import write_atomically
from binding_core.geometry.quadruple import Quadruple, quadruple, quadruple_scenes
from binding_core.geometry.scene_map import SHIPPED, kept_folder
from binding_core.geometry.scene_table import Modality, embed_scenes

Pair = tuple[str, str]
DEFAULT = (("red", "blue"), ("square", "circle"))

_FILE = TypeAdapter(Quadruple)


def _name(fingerprint: str, modality: Modality, colours: Pair, shapes: Pair) -> str:
    text = " ".join([fingerprint, modality, *colours, *shapes])
    return f"quadruple-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def find_quadruple(
    fingerprint: str, *, modality: Modality, colours: Pair, shapes: Pair
) -> Quadruple | None:
    """The kept figure; None when there is none, or it is damaged."""
    for folder in (SHIPPED, kept_folder()):
        path = folder / _name(fingerprint, modality, colours, shapes)
        try:
            return _FILE.validate_json(path.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValidationError):
            warnings.warn(f"{path} is damaged and not used.", stacklevel=2)
    return None


def draw_quadruple(
    encoder: Encoder,
    *,
    modality: Modality,
    colours: Pair,
    shapes: Pair,
    folder: Path | None = None,
    stop: Event | None = None,
    report: Callable[[int, int], None] = lambda done, of: None,
) -> Quadruple | None:
    """Embed what the figure needs, draw it and keep it; None when stopped."""
    tables = []
    for scenes in quadruple_scenes(colours=colours, shapes=shapes):
        if stop and stop.is_set():
            return None
        tables.append(embed_scenes(encoder, scenes=scenes, modality=modality, report=report))
    found = quadruple(*tables, colours=colours, shapes=shapes)
    folder = folder or kept_folder()
    try:
        write_atomically(
            folder / _name(encoder.fingerprint, modality, colours, shapes), _FILE.dump_json(found)
        )
    except OSError as error:
        raise UserError(
            f"The figure can't be kept in {folder}: {error.strerror or error}."
        ) from error
    return found
