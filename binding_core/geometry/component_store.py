"""Models taken apart, kept: shipped with the app for the bundled ones, else in the cache folder."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from threading import Event

from binding_core.encoders.openclip import OpenClipEncoder
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.errors import UserError
from binding_core.files import ASSETS, cache_folder, write_atomically
from binding_core.geometry.one_scene import (
    Instruments,
    fit_instruments,
    instruments_bytes,
    read_instruments,
)
from binding_core.geometry.report import (
    N_SCENES,
    SEED,
    ModelReport,
    model_report,
    parse_report,
    report_json,
)
from binding_core.geometry.scene_table import Modality

SHIPPED = ASSETS / "components"


def kept_folder() -> Path:
    """Where those lie that were taken apart on this machine."""
    return cache_folder() / "components"


def find_report(fingerprint: str) -> ModelReport | None:
    """The kept report of the model with this fingerprint; None when there is none."""
    for folder in (SHIPPED, kept_folder()):
        content = _read(folder / f"{fingerprint}.json")
        if content is None:
            continue
        try:
            report = parse_report(content)
        except UserError as error:
            warnings.warn(f"{folder / fingerprint}.json is not used: {error}", stacklevel=2)
            continue
        if report.fingerprint == fingerprint:
            return report
    return None


def find_instruments(fingerprint: str) -> dict[Modality, Instruments] | None:
    """What that model's scenes are taken apart with; None when it is not kept."""
    for folder in (SHIPPED, kept_folder()):
        content = _read(folder / f"{fingerprint}.npz")
        if content is None:
            continue
        try:
            return read_instruments(content, fingerprint=fingerprint)
        except UserError as error:
            warnings.warn(f"{folder / fingerprint}.npz is not used: {error}", stacklevel=2)
    return None


def take_model_apart(
    encoder: Encoder,
    *,
    card: ModelCard,
    with_twin: bool = False,
    folder: Path | None = None,
    n_scenes: int = N_SCENES,
    seed: int = SEED,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> ModelReport | None:
    """Take a model apart and keep what was found in ``folder``; None when stopped.

    UserError when the folder cannot be written to.
    """
    folder = folder or kept_folder()
    _keep(lambda: folder.mkdir(parents=True, exist_ok=True), folder)  # before a minute's work
    behind = getattr(encoder, "encoder", encoder)  # a cache would keep 6,000 rows for one use
    twin = behind.random_twin() if with_twin and isinstance(behind, OpenClipEncoder) else None
    found = model_report(
        behind,
        train_objects=card.train_objects,
        twin=twin,
        n_scenes=n_scenes,
        seed=seed,
        report=report,
        stop=stop,
    )
    if found is None:
        return None
    result, tables = found
    instruments = {m: fit_instruments(table, seed=seed) for m, table in tables.items()}
    content = instruments_bytes(instruments, fingerprint=result.fingerprint)
    _keep(lambda: write_atomically(folder / f"{result.fingerprint}.npz", content), folder)
    # Last, since the page looks for it: whoever finds it finds the other as well.
    content = report_json(result)
    _keep(lambda: write_atomically(folder / f"{result.fingerprint}.json", content), folder)
    return result


def _keep(write: Callable[[], None], folder: Path) -> None:
    try:
        write()
    except OSError as error:
        raise UserError(
            f"The result can't be kept in {folder}: {error.strerror or error}."
        ) from error


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
