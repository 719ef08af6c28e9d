"""What a form needs to know of a setting, read from its type: kind, bounds, choices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class SettingField:
    """A setting's kind, with the lowest and the highest value that it takes."""

    kind: type  # int, float, bool or str
    lowest: float | None = None
    highest: float | None = None
    multiple_of: int | None = None
    choices: tuple[str, ...] = ()


def setting_fields(settings: type) -> dict[str, SettingField]:
    """Every field of a settings dataclass, in its order.

    >>> from binding_core.training.settings import TokenNetwork
    >>> setting_fields(TokenNetwork)["depth"]
    SettingField(kind=<class 'int'>, lowest=1, highest=12, multiple_of=None, choices=())
    """
    hints = get_type_hints(settings, include_extras=True)
    return {field.name: _field(hints[field.name]) for field in fields(settings)}


def _field(hint: Any) -> SettingField:
    if get_origin(hint) is Literal:
        return SettingField(str, choices=get_args(hint))
    if get_origin(hint) is not Annotated:
        return SettingField(hint)
    kind, *notes = get_args(hint)
    [bounds] = [note for note in notes if isinstance(note, FieldInfo)]
    said = {name: value for note in bounds.metadata for name, value in _bounds_of(note).items()}
    return SettingField(
        kind,
        lowest=said.get("ge", said.get("gt")),
        highest=said.get("le", said.get("lt")),
        multiple_of=said.get("multiple_of"),
    )


def _bounds_of(note: Any) -> dict[str, Any]:
    """The bounds that one note of pydantic's holds."""
    return {name: getattr(note, name) for name in note.__slots__}
