"""Scenes: multisets of placed objects, how they are drawn at random, and the swap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from binding_core.concepts import BUNDLED_SPACE, COLOURS, SHAPES, ConceptSpace, Words
from binding_core.errors import UserError

MAX_OBJECTS = 6
MIN_SIZE, MAX_SIZE = 0.1, 0.6  # an object's width as a share of the canvas
BACKGROUNDS = ("mist", "sand", "sage", "lilac", "silver", "slate")
MAX_JSON_BYTES = 20_000

# A random scene's sizes, up to three objects; more objects get smaller ones (see random_scene).
RANDOM_SIZES = (0.3, 0.44)
# Objects may overlap, but centres stay this share of the summed radii apart, so that the lower
# one keeps most of its area in sight and the caption stays true of the picture.
MIN_CENTRE_DISTANCE = 0.65
PLACING_TRIES = 60

# Three decimals are finer than a pixel and make links lossless.
Rounded = AfterValidator(lambda value: round(value, 3))
Coordinate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), Rounded]
Size = Annotated[float, Field(ge=MIN_SIZE, le=MAX_SIZE, allow_inf_nan=False), Rounded]


class PlacedObject(BaseModel):
    """One object and where it lies on the unit canvas (origin top left)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    colour: Literal[COLOURS]
    shape: Literal[SHAPES]
    x: Coordinate  # centre, 0 = left edge, 1 = right edge
    y: Coordinate  # centre, 0 = top edge, 1 = bottom edge
    size: Size = 0.32  # width as a share of the canvas

    @property
    def words(self) -> Words:
        """The object without its place: ``("red", "square")``."""
        return (self.colour, self.shape)


class Scene(BaseModel):
    """One to six placed objects on a background; later objects lie in front of earlier ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1  # of this JSON layout
    background: Literal[BACKGROUNDS] = "mist"
    objects: tuple[PlacedObject, ...] = Field(min_length=1, max_length=MAX_OBJECTS)

    @property
    def object_words(self) -> tuple[Words, ...]:
        """The scene's objects in words, in drawing order."""
        return tuple(o.words for o in self.objects)

    def same_objects(self, other: Scene) -> bool:
        """Whether both scenes hold the same multiset of objects, wherever they lie."""
        return Counter(self.object_words) == Counter(other.object_words)


def parse_scene(text: str | bytes) -> Scene:
    """Read a scene from JSON that a user gave; UserError says what is wrong with it."""
    if len(text) > MAX_JSON_BYTES:
        raise UserError(
            f"The scene file has {len(text):,} bytes; a scene has at most {MAX_JSON_BYTES:,}."
        )
    try:
        return Scene.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        at = f" at “{where}”" if where else ""
        raise UserError(f"This is not a scene{at}: {first['msg']}.") from error


def swap(scene: Scene, *, concept: str = "colour", pair: tuple[int, int] = (0, 1)) -> Scene:
    """The scene with one concept type exchanged between two objects; places stay.

    Swapping twice gives the scene back. UserError when the concept type is unknown or the pair
    does not name two different objects of the scene.
    """
    swapped = swap_words(scene.object_words, concept=concept, pair=pair)
    objects = tuple(
        placed.model_copy(update=dict(zip(BUNDLED_SPACE.types, words, strict=True)))
        for placed, words in zip(scene.objects, swapped, strict=True)
    )
    return scene.model_copy(update={"objects": objects})


def swap_words(
    objects: Sequence[Words], *, concept: str = "colour", pair: tuple[int, int] = (0, 1)
) -> tuple[Words, ...]:
    """What a scene's objects are called after :func:`swap`; the same errors."""
    if concept not in BUNDLED_SPACE.types:
        allowed = " or ".join(BUNDLED_SPACE.types)
        raise UserError(f"“{concept}” cannot be swapped; swap {allowed}.")
    i, j = pair
    n = len(objects)
    if i == j or not (0 <= i < n and 0 <= j < n):
        raise UserError(f"A swap needs two different objects out of {n}, not {i} and {j}.")
    (colour_i, shape_i), (colour_j, shape_j) = objects[i], objects[j]
    swapped = list(objects)
    if concept == "colour":
        swapped[i], swapped[j] = (colour_j, shape_i), (colour_i, shape_j)
    else:
        swapped[i], swapped[j] = (colour_i, shape_j), (colour_j, shape_i)
    return tuple(swapped)


def random_scene(
    *,
    space: ConceptSpace | None,
    n_objects: int,
    seed: int | Sequence[int],
    allowed: Sequence[Words] | None = None,
) -> Scene:
    """Draw a scene: objects uniformly from ``allowed`` (all of the space when None), free places.

    Objects may overlap in part (see MIN_CENTRE_DISTANCE); sizes and backgrounds vary. The same
    seed gives the same scene. ``space=None`` is the bundled 12 x 12 space.
    """
    space = space or BUNDLED_SPACE
    if not 1 <= n_objects <= MAX_OBJECTS:
        raise UserError(f"A scene has 1 to {MAX_OBJECTS} objects, not {n_objects}.")
    pool = space.objects if allowed is None else allowed
    if not len(pool):
        raise UserError(
            "There is no object to draw a scene from: the list of allowed ones is empty."
        )
    rng = np.random.default_rng(seed)
    words = [pool[i] for i in rng.integers(len(pool), size=n_objects)]
    background = BACKGROUNDS[rng.integers(len(BACKGROUNDS))]
    crowding = min(1.0, math.sqrt(3 / n_objects))
    sizes = (rng.uniform(*RANDOM_SIZES, size=n_objects) * crowding).tolist()
    objects = [
        PlacedObject(**dict(zip(space.types, w, strict=True)), x=x, y=y, size=size)
        for w, size, (x, y) in zip(words, sizes, _places(sizes, rng), strict=True)
    ]
    return Scene(background=background, objects=tuple(objects))


def _places(sizes: list[float], rng: np.random.Generator) -> list[tuple[float, float]]:
    """Centres for objects of these sizes inside the canvas, the roomiest of a few tries each."""
    places: list[tuple[float, float]] = []
    for i, size in enumerate(sizes):
        margin = size / 2
        tries = rng.uniform(margin, 1 - margin, size=(PLACING_TRIES if i else 1, 2)).tolist()
        best, best_room = None, -math.inf
        for x, y in tries:
            room = min(
                (
                    math.hypot(x - px, y - py) / ((size + other) / 2)
                    for (px, py), other in zip(places, sizes, strict=False)
                ),
                default=math.inf,
            )
            if room > best_room:
                best, best_room = (x, y), room
            if room >= MIN_CENTRE_DISTANCE:
                break
        places.append(best)
    return places
