"""A user's own models: folders in open_clip's layout, or weights with a named architecture.

Only safetensors files are ever read; nothing is unpickled.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from pathlib import Path

from binding_core.encoders.openclip import (
    CONFIG_NAME,
    MERGES_NAME,
    TOKENIZER_FILES,
    WEIGHTS_NAME,
    read_config,
)
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.files import check_safetensors, data_folder, write_atomically

MAX_EXTRA_BYTES = 100 * 2**20  # of a tokenizer or config file beside the weights
CARD_NAME = "card.json"
COPY_MARK = "copied-by-the-app.txt"  # lies in folders that the app made and may delete


def own_models_folder() -> Path:
    """Where own models lie, one folder each; a folder put there by hand is found as well."""
    return data_folder() / "models"


def own_cards() -> list[ModelCard]:
    """The cards of the user's own models, by name."""
    root = own_models_folder()
    if not root.is_dir():
        return []
    return [
        _card(folder)
        for folder in sorted(root.iterdir())
        if not folder.name.startswith(".") and (folder / CONFIG_NAME).is_file()
    ]


def add_own_model(path: Path, *, architecture: str | None = None) -> ModelCard:
    """Copy a model into the app's data folder and give its card.

    ``path`` is a folder in open_clip's ``local-dir`` layout, or a .safetensors file together with
    the name of an open_clip architecture. UserError names what does not fit.
    """
    root = own_models_folder()
    beside = root / f".adding-{uuid.uuid4().hex}"  # a copy that is not whole is never listed
    try:
        path = path.expanduser()
        config, weights, extras = _parts(path, architecture)
        check_safetensors(weights)
        beside.mkdir(parents=True)
        for extra in extras:
            shutil.copy(extra, beside / extra.name)
        if config:
            write_atomically(beside / CONFIG_NAME, json.dumps(config, indent=2).encode())
        shutil.copy(weights, beside / WEIGHTS_NAME)
        (beside / COPY_MARK).write_text(f"copied from {path}\n", encoding="utf-8")
        folder = root / _free_name(path.stem if config else path.name)
        beside.rename(folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: "~nobody" has no home folder
        raise UserError(f"The model could not be copied from “{path}”: {error}.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return _card(folder)


def remove_own_model(model_id: str) -> None:
    """Delete the app's copy of an own model; what it was copied from stays.

    UserError for a folder that the user put there by hand: it may be the only one.
    """
    folder = own_models_folder() / model_id.removeprefix("own:")
    if model_id not in {card.id for card in own_cards()}:
        return
    if not is_copy(folder):
        raise UserError(
            f"“{folder}” was put there by hand, so it is not deleted; remove it yourself."
        )
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise UserError(f"“{folder}” could not be deleted: {error.strerror}.") from error


def is_copy(folder: Path) -> bool:
    """Whether the app itself made the folder."""
    return (folder / COPY_MARK).is_file() and not folder.is_symlink()


def _parts(path: Path, architecture: str | None) -> tuple[dict | None, Path, list[Path]]:
    """(config to be written, weights, files to copy beside them) of what a user names."""
    if path.is_dir():
        read_config(path)
        if not (path / WEIGHTS_NAME).is_file():
            raise UserError(f"“{path}” has no {WEIGHTS_NAME}.")
        names = (CONFIG_NAME, MERGES_NAME, *TOKENIZER_FILES)
        extras = [path / n for n in names if (path / n).is_file()]
        return None, path / WEIGHTS_NAME, [f for f in extras if f.stat().st_size < MAX_EXTRA_BYTES]
    if path.suffix == ".safetensors" and path.is_file():
        if not architecture:
            raise UserError("A weights file needs the name of its open_clip architecture.")
        return _named_config(architecture), path, []
    raise UserError(
        f"“{path}” is neither a model folder nor a .safetensors file; other formats can hold code "
        "and are not opened."
    )


def _named_config(architecture: str) -> dict:
    """Config of an architecture that open_clip knows, with the preprocessing of its checkpoints."""
    import open_clip

    config = open_clip.get_model_config(architecture)
    if config is None:
        raise UserError(
            f"open_clip knows no architecture “{architecture}”; “ViT-B-32” is one it knows."
        )
    if config["text_cfg"].get("hf_tokenizer_name") or config["text_cfg"].get("hf_model_name"):
        raise UserError(
            f"“{architecture}” needs tokenizer files beside its weights: give a folder in "
            "open_clip's layout instead."
        )
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    known = open_clip.get_pretrained_cfg(architecture, tags[0]) if tags else {}
    names = ("mean", "std", "interpolation", "resize_mode")
    return {"model_cfg": config, "preprocess_cfg": {n: known[n] for n in names if n in known}}


def _free_name(wanted: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip(".-")[:60] or "model"
    # Upper and lower case are one on some systems' disks.
    taken = {folder.name.casefold() for folder in own_models_folder().iterdir()}
    names = [stem, *(f"{stem}-{i}" for i in range(2, len(taken) + 3))]
    return next(name for name in names if name.casefold() not in taken)


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
        megabytes=round(weights.stat().st_size / 1e6, 1) if weights.is_file() else None,
        preprocessing=_preprocessing(folder),
    )


def _preprocessing(folder: Path) -> str:
    try:
        config = read_config(folder)
    except UserError as error:
        return str(error)
    given = config.get("preprocess_cfg") or {}
    activation = "QuickGELU" if config["model_cfg"].get("quick_gelu") else "GELU"
    return ", ".join([activation, *(f"{name} {value}" for name, value in given.items())])
