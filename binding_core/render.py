"""Scenes as pictures: the one renderer for screen, tests and training.

Every shape is one polygon in a unit box, so the scene editor draws the very same outlines as SVG.
Pictures are painted OVERSAMPLING times too large and averaged down, which anti-aliases the edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from binding_core.errors import UserError
from binding_core.scenes import Scene, parse_scene

MIN_PIXELS, MAX_PIXELS = 16, 1024
OVERSAMPLING = 4
SCENE_KEY = "scene"  # the entry of Image.info, and of exported PNG files, that holds the JSON

# Lightness steps of 6 CIELAB units and more, from black to white, keep the twelve apart in grey
# print and under every kind of colour blindness; tests/unit/test_render.py measures it.
COLOUR_RGB = {
    "black": (12, 12, 14),
    "purple": (76, 16, 130),
    "brown": (106, 60, 26),
    "blue": (22, 78, 190),
    "red": (212, 28, 36),
    "gray": (128, 128, 128),
    "green": (40, 172, 70),
    "orange": (248, 150, 20),
    "pink": (255, 164, 202),
    "cyan": (88, 232, 246),
    "yellow": (255, 236, 60),
    "white": (255, 255, 255),
}
BACKGROUND_RGB = {
    "mist": (214, 221, 228),
    "sand": (226, 214, 190),
    "sage": (188, 206, 186),
    "lilac": (208, 198, 222),
    "silver": (178, 184, 190),
    "slate": (62, 72, 84),
}

Point = tuple[float, float]


def _regular(n: int, *, radius: float = 0.5, turn: float = -90) -> list[Point]:
    angles = [math.radians(turn + 360 * i / n) for i in range(n)]
    return [(radius * math.cos(a), radius * math.sin(a)) for a in angles]


def _arc(cx: float, cy: float, radius: float, start: float, end: float, n: int) -> list[Point]:
    angles = [math.radians(start + (end - start) * i / n) for i in range(n + 1)]
    return [(cx + radius * math.cos(a), cy + radius * math.sin(a)) for a in angles]


def _star() -> list[Point]:
    outer, inner = _regular(5, radius=0.55), _regular(5, radius=0.23, turn=-54)
    return [(x, y + 0.04) for pair in zip(outer, inner, strict=True) for x, y in pair]


def _heart() -> list[Point]:
    angles = [math.tau * i / 40 for i in range(40)]
    return [
        (
            0.5 * math.sin(a) ** 3,
            -(13 * math.cos(a) - 5 * math.cos(2 * a) - 2 * math.cos(3 * a) - math.cos(4 * a)) / 31
            - 0.07,
        )
        for a in angles
    ]


def _crescent() -> list[Point]:
    # A disc without a second disc to its right; the two circles meet at +-70 degrees.
    meet = 70
    x, y = 0.5 * math.cos(math.radians(meet)), 0.5 * math.sin(math.radians(meet))
    bite = 0.475
    centre = x + math.sqrt(bite**2 - y**2)
    edge = math.degrees(math.atan2(y, x - centre))
    outer = _arc(0, 0, 0.5, meet, 360 - meet, 32)
    inner = _arc(centre, 0, bite, 360 - edge, edge, 24)
    return [(px + 0.08, py) for px, py in outer + inner[1:-1]]


def _ring() -> list[Point]:
    # Outer edge, then the inner one the other way round, joined by a seam of no width.
    return _arc(0, 0, 0.5, 0, 360, 40) + _arc(0, 0, 0.26, 360, 0, 28)


SHAPE_POINTS: dict[str, tuple[Point, ...]] = {
    name: tuple((round(x, 4), round(y, 4)) for x, y in points)
    for name, points in {
        "circle": _regular(48),
        "square": [(-0.44, -0.44), (0.44, -0.44), (0.44, 0.44), (-0.44, 0.44)],
        "triangle": [(0, -0.47), (0.5, 0.42), (-0.5, 0.42)],
        "diamond": [(0, -0.5), (0.36, 0), (0, 0.5), (-0.36, 0)],
        "star": _star(),
        "heart": _heart(),
        "cross": [
            (-0.16, -0.5), (0.16, -0.5), (0.16, -0.16), (0.5, -0.16), (0.5, 0.16), (0.16, 0.16),
            (0.16, 0.5), (-0.16, 0.5), (-0.16, 0.16), (-0.5, 0.16), (-0.5, -0.16), (-0.16, -0.16),
        ],
        "crescent": _crescent(),
        "ring": _ring(),
        "arrow": [
            (0.5, 0), (0.02, -0.42), (0.02, -0.17), (-0.5, -0.17),
            (-0.5, 0.17), (0.02, 0.17), (0.02, 0.42),
        ],
        "hourglass": [
            (-0.42, -0.5), (0.42, -0.5), (0.07, 0), (0.42, 0.5), (-0.42, 0.5), (-0.07, 0),
        ],
        "semicircle": [(x, y + 0.24) for x, y in _arc(0, 0, 0.5, 180, 360, 32)],
    }.items()
}  # fmt: skip
"""Outline of each shape in the box [-0.5, 0.5] squared, y pointing down."""


@cache
def _outline(shape: str) -> np.ndarray:
    return np.array(SHAPE_POINTS[shape])


def _paint(scene: Scene, size: int) -> Image.Image:
    side = size * OVERSAMPLING
    picture = Image.new("RGB", (side, side), BACKGROUND_RGB[scene.background])
    draw = ImageDraw.Draw(picture)
    for o in scene.objects:
        points = (_outline(o.shape) * o.size + (o.x, o.y)) * side - 0.5
        draw.polygon(points.ravel().tolist(), fill=COLOUR_RGB[o.colour])
    return picture.reduce(OVERSAMPLING)


def render(scene: Scene, *, size: int = 224) -> Image.Image:
    """The scene as a square RGB picture of ``size`` pixels (16 to 1024)."""
    if not MIN_PIXELS <= size <= MAX_PIXELS:
        raise UserError(f"A picture has {MIN_PIXELS} to {MAX_PIXELS} pixels a side, not {size}.")
    picture = _paint(scene, size)
    picture.info[SCENE_KEY] = scene.model_dump_json()
    return picture


def scene_of(picture: Image.Image) -> Scene | None:
    """The scene that :func:`render` wrote into a picture; None for any other picture."""
    text = picture.info.get(SCENE_KEY)
    try:
        return parse_scene(text) if isinstance(text, str) else None
    except UserError:  # somebody else's entry of that name
        return None


def render_batch(scenes: Sequence[Scene], *, size: int) -> np.ndarray:
    """Pictures as uint8 (n, size, size, 3); each is exactly ``render(scene, size=size)``."""
    pictures = np.empty((len(scenes), size, size, 3), dtype=np.uint8)
    for picture, scene in zip(pictures, scenes, strict=True):
        picture[:] = np.asarray(_paint(scene, size))
    return pictures
