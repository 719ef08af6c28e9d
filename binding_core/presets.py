"""Scenes to start from, each of which shows something.

"Seen" and "none has seen" speak of the bundled models' training objects; a test holds them to it.
"""

from __future__ import annotations

from binding_core.scenes import PlacedObject, Scene


def _scene(*objects: tuple[str, str, float, float, float], background: str = "mist") -> Scene:
    return Scene(
        background=background,
        objects=tuple(
            PlacedObject(colour=c, shape=s, x=x, y=y, size=size) for c, s, x, y, size in objects
        ),
    )


PRESETS: dict[str, Scene] = {
    "Red square, blue circle": _scene(
        ("red", "square", 0.3, 0.42, 0.36), ("blue", "circle", 0.7, 0.6, 0.36)
    ),
    "Objects all have seen": _scene(
        ("purple", "circle", 0.3, 0.36, 0.38), ("white", "arrow", 0.68, 0.66, 0.38)
    ),
    "Objects none has seen": _scene(
        ("orange", "heart", 0.3, 0.36, 0.38), ("cyan", "square", 0.68, 0.66, 0.38)
    ),
    "One colour twice": _scene(
        ("green", "star", 0.3, 0.4, 0.38),
        ("green", "heart", 0.7, 0.62, 0.38),
        background="sand",
    ),
    "Three objects": _scene(
        ("yellow", "triangle", 0.26, 0.3, 0.36),
        ("purple", "ring", 0.72, 0.34, 0.36),
        ("orange", "cross", 0.48, 0.74, 0.36),
        background="silver",
    ),
    "Twins": _scene(
        ("cyan", "diamond", 0.3, 0.5, 0.38),
        ("cyan", "diamond", 0.7, 0.5, 0.38),
        background="lilac",
    ),
    "Overlap": _scene(
        ("white", "semicircle", 0.44, 0.46, 0.42),
        ("brown", "arrow", 0.56, 0.58, 0.42),
        background="sage",
    ),
}

DEFAULT_SCENE = PRESETS["Red square, blue circle"]
