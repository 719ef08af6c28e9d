"""A user's own models: folders in open_clip's layout, or weights with a named architecture.

Only safetensors files are ever read; nothing is unpickled.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from binding_core.encoders.openclip import CONFIG_NAME, WEIGHTS_NAME, read_config
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.files import check_safetensors, data_folder, write_atomically

MAX_EXTRA_BYTES = 100 * 2**20  # of a tokenizer or config file beside the weights
CARD_NAME = "card.json"


def own_models_folder() -> Path:
    """Where own models lie, one folder each; a folder put there by hand is found as well."""
    return data_folder() / "models"


def own_cards() -> list[ModelCard]:
    """The cards of the user's own models, by name."""
    root = own_models_folder()
    if not root.is_dir():
        return []
    return [_card(folder) for folder in sorted(root.iterdir()) if (folder / CONFIG_NAME).is_file()]


def add_own_model(path: Path, *, architecture: str | None = None) -> ModelCard:
    """Copy a model into the app's data folder and give its card.

    ``path`` is a folder in open_clip's ``local-dir`` layout, or a .safetensors file together with
    the name of an open_clip architecture. UserError names what does not fit.
    """
    path = path.expanduser()
    if path.is_dir():
        read_config(path)
        weights = path / WEIGHTS_NAME
        extras = [f for f in path.iterdir() if f.suffix in {".json", ".txt", ".gz", ".model"}]
    elif path.suffix == ".safetensors" and path.is_file():
        weights, extras = path, []
        if not architecture:
            raise UserError("A weights file needs the name of its open_clip architecture.")
    else:
        raise UserError(
            f"“{path}” is neither a model folder nor a .safetensors file; other formats can hold "
            "code and are not opened."
        )
    if not weights.is_file():
        raise UserError(f"“{path}” has no {WEIGHTS_NAME}.")
    check_safetensors(weights)
    config = None if path.is_dir() else _named_config(str(architecture))

    folder = own_models_folder() / _free_name(path.stem if config else path.name)
    try:
        folder.mkdir(parents=True)
        for extra in extras:
            if extra.stat().st_size < MAX_EXTRA_BYTES:
                shutil.copy(extra, folder / extra.name)
        if config:
            write_atomically(folder / CONFIG_NAME, json.dumps(config, indent=2).encode())
        shutil.copy(weights, folder / WEIGHTS_NAME)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"The model could not be copied to {folder}: {error.strerror}.") from error
    return _card(folder)


def remove_own_model(model_id: str) -> None:
    """Delete the copy of an own model; the file it was copied from stays."""
    name = model_id.removeprefix("own:")
    if name in {c.name for c in own_cards()}:
        shutil.rmtree(own_models_folder() / name)


def _named_config(architecture: str) -> dict:
    import open_clip

    config = open_clip.get_model_config(architecture)
    if config is None:
        raise UserError(
            f"open_clip knows no architecture “{architecture}”; “ViT-B-32” is one it knows."
        )
    return {"model_cfg": config, "preprocess_cfg": {}}


def _free_name(wanted: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip(".-")[:60] or "model"
    taken = (
        {f.name for f in own_models_folder().iterdir()} if own_models_folder().is_dir() else set()
    )
    names = [stem, *(f"{stem}-{i}" for i in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)


def _card(folder: Path) -> ModelCard:
    weights = folder / WEIGHTS_NAME
    return ModelCard(
        id=f"own:{folder.name}",
        name=folder.name,
        kind="own",
        summary="A model of your own.",
        architecture="open_clip, as its config says",
        licence="not known to the app",
        trained_on="not known to the app",
        path=str(folder),
        megabytes=round(weights.stat().st_size / 1e6, 1) if weights.exists() else None,
        preprocessing="as its config says",
    )
