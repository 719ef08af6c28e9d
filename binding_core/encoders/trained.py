"""Picture runs of the page Train as models, from their first checkpoint on.

A run's folder holds an open_clip model; ``card.json`` is written when the run begins.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from binding_core.encoders.openclip import CONFIG_NAME, WEIGHTS_NAME
from binding_core.encoders.own import CARD_NAME
from binding_core.encoders.protocol import ModelCard
from binding_core.files import runs_folder

PREFIX = "run:"


def run_cards() -> list[ModelCard]:
    """The cards of all picture runs that have weights, the newest first."""
    root = runs_folder()
    folders = [path.parent for path in root.glob(f"*/{WEIGHTS_NAME}")] if root.is_dir() else []
    # A name with a dot belongs to a run that was deleted or is being brought in.
    shown = [folder for folder in folders if not folder.name.startswith(".")]
    cards = [_card(folder) for folder in sorted(shown, key=_begun, reverse=True)]
    return [card for card in cards if card]


def weights_stamp(card: ModelCard) -> int | None:
    """Changes whenever a run's weights do; None for models whose weights stay."""
    if card.kind != "run" or card.path is None:
        return None
    return (Path(card.path) / WEIGHTS_NAME).stat().st_mtime_ns


def _begun(folder: Path) -> float:
    return (folder / CONFIG_NAME).stat().st_mtime if (folder / CONFIG_NAME).exists() else 0.0


def _card(folder: Path) -> ModelCard | None:
    try:
        card = ModelCard.model_validate_json((folder / CARD_NAME).read_bytes())
    except (OSError, ValidationError):
        return None
    megabytes = round((folder / WEIGHTS_NAME).stat().st_size / 1e6, 1)
    return card.model_copy(
        update={
            "id": PREFIX + folder.name,
            "kind": "run",
            "path": str(folder),
            "megabytes": megabytes,
        }
    )
