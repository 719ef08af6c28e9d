"""Edits of a scene, as the scene editor sends them, with undo and redo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from binding_core.concepts import BUNDLED_SPACE
from binding_core.errors import UserError
from binding_core.scenes import BACKGROUNDS, MAX_OBJECTS, PlacedObject, Scene

MAX_UNDO = 100
DUPLICATE_OFFSET = 0.08  # how far a copy lies from its original, as a share of the canvas


class Edit(BaseModel):
    """One edit; ``index`` names the object and the other fields what becomes of it.

    ``number`` counts a session's edits, so that one that is sent twice is made once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    op: Literal["change", "add", "duplicate", "delete", "forward", "background", "undo", "redo"]
    number: int = Field(default=0, ge=0)
    index: int = Field(default=0, ge=0, lt=MAX_OBJECTS)
    colour: str | None = None
    shape: str | None = None
    x: float | None = None
    y: float | None = None
    size: float | None = None
    background: Literal[BACKGROUNDS] | None = None


def apply_edit(scene: Scene, edit: Edit) -> Scene:
    """The scene after one edit other than undo and redo; UserError when it cannot be made."""
    objects = list(scene.objects)
    if edit.op not in ("add", "background") and edit.index >= len(objects):
        raise UserError(f"There is no object {edit.index + 1}; the scene has {len(objects)}.")
    match edit.op:
        case "change":
            fields = edit.model_dump(include={"colour", "shape", "x", "y", "size"})
            given = {name: value for name, value in fields.items() if value is not None}
            objects[edit.index] = _checked(objects[edit.index].model_dump() | given)
        case "add":
            _require_room(objects)
            objects.append(_new_object(scene))
        case "duplicate":
            _require_room(objects)
            original = objects[edit.index]
            away = {
                axis: value + DUPLICATE_OFFSET if value < 0.8 else value - DUPLICATE_OFFSET
                for axis, value in (("x", original.x), ("y", original.y))
            }
            objects.append(_checked(original.model_dump() | away))
        case "delete":
            if len(objects) == 1:
                raise UserError("A scene has one object at least, so the last one stays.")
            del objects[edit.index]
        case "forward":
            later = min(edit.index + 1, len(objects) - 1)
            objects[edit.index], objects[later] = objects[later], objects[edit.index]
        case "background":
            return scene.model_copy(update={"background": edit.background or scene.background})
    return scene.model_copy(update={"objects": tuple(objects)})


def follow(pair: tuple[int, int], edit: Edit, *, n_objects: int) -> tuple[int, int]:
    """The pair of objects after an edit that may move their positions in the scene.

    ``n_objects`` is the number before the edit. A pair that loses an object becomes the first two.
    """
    if edit.op == "forward" and edit.index + 1 < n_objects:
        moved = {edit.index: edit.index + 1, edit.index + 1: edit.index}
        return moved.get(pair[0], pair[0]), moved.get(pair[1], pair[1])
    if edit.op == "delete":
        if edit.index in pair:
            return (0, 1)
        return pair[0] - (pair[0] > edit.index), pair[1] - (pair[1] > edit.index)
    return pair


def _checked(fields: dict) -> PlacedObject:
    try:
        return PlacedObject(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"The object's {first['loc'][0]} cannot be set: {first['msg']}.") from error


def _require_room(objects: list[PlacedObject]) -> None:
    if len(objects) >= MAX_OBJECTS:
        raise UserError(f"A scene has at most {MAX_OBJECTS} objects.")


def _new_object(scene: Scene) -> PlacedObject:
    """An object whose colour and shape the scene lacks, in its emptiest of nine places."""
    taken = np.array([(o.x, o.y) for o in scene.objects])
    grid = np.array([(x, y) for y in (0.5, 0.22, 0.78) for x in (0.5, 0.22, 0.78)])
    nearest = np.linalg.norm(grid[:, None] - taken[None], axis=-1).min(axis=1)
    x, y = grid[nearest.argmax()].tolist()
    colours, shapes = BUNDLED_SPACE.values
    used = {value for o in scene.objects for value in o.words}
    return PlacedObject(
        colour=next(c for c in colours if c not in used),
        shape=next(s for s in shapes if s not in used),
        x=x,
        y=y,
    )


@dataclass(frozen=True)
class SceneHistory:
    """The scene on stage, with what came before it and what was undone."""

    scene: Scene
    past: tuple[Scene, ...] = ()
    future: tuple[Scene, ...] = ()

    def then(self, scene: Scene) -> SceneHistory:
        """A new scene on stage; what was undone is gone."""
        if scene == self.scene:
            return self
        return SceneHistory(scene=scene, past=(*self.past, self.scene)[-MAX_UNDO:])

    def edited(self, edit: Edit) -> SceneHistory:
        """The history after one edit; UserError, and nothing lost, when it cannot be made."""
        match edit.op:
            case "undo":
                return self.undo()
            case "redo":
                return self.redo()
            case _:
                return self.then(apply_edit(self.scene, edit))

    def undo(self) -> SceneHistory:
        """One step back, if there is one."""
        if not self.past:
            return self
        return replace(
            self, scene=self.past[-1], past=self.past[:-1], future=(self.scene, *self.future)
        )

    def redo(self) -> SceneHistory:
        """One step forward again, if there is one."""
        if not self.future:
            return self
        return replace(
            self, scene=self.future[0], past=(*self.past, self.scene), future=self.future[1:]
        )
