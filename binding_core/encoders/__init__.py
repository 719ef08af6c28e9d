"""Encoders: open_clip models (bundled, public, a user's own, runs) and controls, one protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from binding_core.encoders.controls import CONTROL_RULES, ControlEncoder
from binding_core.encoders.openclip import OpenClipEncoder
from binding_core.encoders.own import CARD_NAME, own_cards
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.encoders.public import (
    PUBLIC_CHECKPOINTS,
    card_of,
    public_checkpoint,
)
from binding_core.encoders.trained import PREFIX as RUN_PREFIX
from binding_core.encoders.trained import run_cards, weights_stamp
from binding_core.errors import UserError
from binding_core.files import ASSETS

__all__ = [
    "BUNDLED_IDS",
    "MODELS",
    "Encoder",
    "ModelCard",
    "available",
    "bundled_cards",
    "card",
    "control_cards",
    "forget",
    "load",
    "own_cards",
    "public_cards",
    "ready",
    "run_cards",
    "warm_up",
]

BUNDLED_IDS = ("web-captions", "low-coverage", "high-coverage")
MODELS = ASSETS / "models"

_loaded: dict[str, tuple[int | None, Encoder]] = {}  # with the stamp of the weights
_loading = Lock()


def bundled_cards(root: Path = MODELS) -> list[ModelCard]:
    """The cards of the bundled models that lie under ``root``, from least to most binding."""
    folders = [root / name for name in BUNDLED_IDS]
    return [
        ModelCard.model_validate_json((folder / CARD_NAME).read_bytes()).model_copy(
            update={"path": str(folder)}
        )
        for folder in folders
        if (folder / CARD_NAME).is_file()
    ]


def control_cards() -> list[ModelCard]:
    """The four controls, whose binding function is known by construction."""
    return [
        ModelCard(
            id=f"control-{kind}",
            name=f"Control: {kind.replace('-', ' ')}",
            kind="control",
            summary=rule,
            architecture="random tables, no network",
            licence="MIT",
            trained_on="nothing: constructed",
            megabytes=0.0,
            source="binding_core/encoders/controls.py",
        )
        for kind, rule in CONTROL_RULES.items()
    ]


def public_cards() -> list[ModelCard]:
    """The cards of the public checkpoints that the registry names."""
    return [card_of(checkpoint) for checkpoint in PUBLIC_CHECKPOINTS]


def available() -> list[ModelCard]:
    """Every model the app knows; a card whose ``path`` is None is not on this machine yet."""
    return [*bundled_cards(), *own_cards(), *run_cards(), *public_cards(), *control_cards()]


def card(model_id: str) -> ModelCard:
    """The card of that id; UserError when there is none."""
    # The registry comes last: asking the hub's cache costs an import that others need not wait for.
    for cards in (bundled_cards, control_cards, own_cards, run_cards, public_cards):
        for known in cards():
            if known.id == model_id:
                return known
    raise UserError(
        f"There is no model “{model_id}”; these are known: {', '.join(c.id for c in available())}."
    )


def load(model_id: str) -> Encoder:
    """The encoder of that id. Weights are read at the first embedding, not here.

    The same id gives the same encoder object, shared by every session; a run that has since
    written other weights gives another. UserError when the id is unknown or the model is not on
    this machine.
    """
    with _loading:
        kept = _loaded.get(model_id)
        # Only a run's weights change, so that other models' cards need not be read each time.
        stamp = weights_stamp(card(model_id)) if model_id.startswith(RUN_PREFIX) else None
        if kept is None or kept[0] != stamp:
            kept = _loaded[model_id] = stamp, _new_encoder(model_id)
        return kept[1]


def forget(model_id: str) -> None:
    """Let go of an encoder, so that its memory is freed and the next load reads the disk."""
    with _loading:
        _loaded.pop(model_id, None)


def _new_encoder(model_id: str) -> Encoder:
    known = card(model_id)
    if known.kind == "control":
        return ControlEncoder(model_id.removeprefix("control-"))
    if known.path is None:
        raise UserError(f"{known.name} is not on this machine; the page “Models” downloads it.")
    if checkpoint := public_checkpoint(model_id):
        return OpenClipEncoder(
            Path(known.path),
            model_id=model_id,
            preprocess=checkpoint.preprocess,
            quick_gelu=checkpoint.activation == "QuickGELU",
        )
    return OpenClipEncoder(Path(known.path), model_id=model_id)


def warm_up(model_ids: Sequence[str]) -> None:
    """Import torch and read the models' weights, so that the first embedding comes at once."""
    for model_id in model_ids:
        encoder = load(model_id)
        if isinstance(encoder, OpenClipEncoder):
            encoder.warm_up()


def ready(model_id: str) -> bool:
    """Whether the model's next embedding needs no loading."""
    encoder = load(model_id)
    return not isinstance(encoder, OpenClipEncoder) or encoder.loaded
