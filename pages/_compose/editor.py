"""The scene editor: an SVG stage that sends numbered edits."""

from __future__ import annotations

import json

import streamlit as st

from binding_core.editing import SceneHistory
from binding_core.files import ASSETS
from binding_core.render import BACKGROUND_RGB, COLOUR_RGB, SHAPE_POINTS
from binding_core.scenes import MAX_OBJECTS, MAX_SIZE, MIN_SIZE

KEY = "editor"


def _hex(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


_PALETTE = {
    "colours": {name: _hex(rgb) for name, rgb in COLOUR_RGB.items()},
    "backgrounds": {name: _hex(rgb) for name, rgb in BACKGROUND_RGB.items()},
    "shapes": {
        name: " ".join(f"{x:g},{y:g}" for x, y in points) for name, points in SHAPE_POINTS.items()
    },
    "sizes": [MIN_SIZE, MAX_SIZE],
    "max_objects": MAX_OBJECTS,
}
_FRONT_END = ASSETS / "editor"

_mount = st.components.v2.component(
    "scene_editor",
    html=(_FRONT_END / "editor.html").read_text("utf-8"),
    css=(_FRONT_END / "editor.css").read_text("utf-8"),
    js=f"const PALETTE = {json.dumps(_PALETTE)};\n{(_FRONT_END / 'editor.js').read_text('utf-8')}",
)


def scene_editor(history: SceneHistory, *, acknowledged: int) -> None:
    """Draw the stage, whose edits :func:`received_edits` gives in the next run.

    With more than two objects each bears its number, by which a pair is chosen for the swap.
    """
    _mount(
        key=KEY,
        data={
            "scene": history.scene.model_dump(),
            "acknowledged": acknowledged,
            "numbered": len(history.scene.objects) > 2,
            "can_undo": bool(history.past),
            "can_redo": bool(history.future),
        },
        default={"edits": []},
        on_edits_change=lambda: None,  # Streamlit wants one; the edits are taken as the page starts
    )


def received_edits() -> object:
    """What the browser sent last: the edits it has no acknowledgement for, oldest first.

    They may be any JSON: whoever speaks to the server need not be the editor.
    """
    return st.session_state.get(KEY, {}).get("edits")
