"""Views of the map that a user has given a name: what the address held."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from binding_core.errors import UserError
from binding_core.files import data_folder, write_atomically

MAX_VIEWS = 100
FILE_NAME = "map_views.json"


class NamedView(BaseModel):
    """A name and the query parameters of its link."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=80)]
    parameters: Annotated[dict[str, str], Field(max_length=40)]


_VIEWS = TypeAdapter(Annotated[list[NamedView], Field(max_length=MAX_VIEWS)])


def list_views() -> list[NamedView]:
    """The kept views; UserError when their file is damaged, which is then left as it is."""
    try:
        return _VIEWS.validate_json((data_folder() / FILE_NAME).read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        raise UserError(f"{data_folder() / FILE_NAME} is damaged; its views are lost.") from error


def keep_view(name: str, parameters: dict[str, str]) -> None:
    """Keep a view; one of the same name gives way. UserError when it can't be kept."""
    name = name.strip()
    if not 1 <= len(name) <= 80:
        raise UserError("A view needs a name of up to 80 characters.")
    others = [view for view in list_views() if view.name != name]
    if len(others) >= MAX_VIEWS:
        raise UserError(f"There are {MAX_VIEWS} views already; delete one first.")
    _write([*others, NamedView(name=name, parameters=parameters)])


def delete_view(name: str) -> None:
    """Forget the view of that name."""
    _write([view for view in list_views() if view.name != name])


def _write(views: list[NamedView]) -> None:
    try:
        write_atomically(data_folder() / FILE_NAME, _VIEWS.dump_json(views, indent=1))
    except OSError as error:
        raise UserError(f"The view can't be kept: {error.strerror or error}.") from error
