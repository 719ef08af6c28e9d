"""Settings that outlive a session."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, ValidationError

from binding_core.errors import UserError
from binding_core.files import data_folder, write_atomically

SETTINGS_NAME = "settings.json"


class Settings(BaseModel):
    """What a user has decided for this machine."""

    model_config = ConfigDict(frozen=True)

    stay_offline: bool = False  # never ask the model hub for anything


def read_settings() -> Settings:
    """The saved settings; the defaults when there are none or the file is damaged."""
    try:
        return Settings.model_validate_json((data_folder() / SETTINGS_NAME).read_bytes())
    except (OSError, ValidationError):
        return Settings()


def save_settings(settings: Settings) -> None:
    """Keep the settings; UserError when the folder cannot be written."""
    try:
        content = settings.model_dump_json().encode()
        write_atomically(data_folder() / SETTINGS_NAME, content)
    except OSError as error:
        raise UserError(
            f"The setting holds only until the app ends: {data_folder()} cannot be written "
            f"({error.strerror})."
        ) from error


def offline_by_environment() -> bool:
    """Whether HF_HUB_OFFLINE forbids the app to ask the hub for anything."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def offline() -> bool:
    """Whether the app must not ask the hub for anything."""
    return offline_by_environment() or read_settings().stay_offline
