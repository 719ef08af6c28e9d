"""A composed view in a link: compact, versioned, readable, length-capped.

``1~mist~red.square.300.500.320~blue.circle.700.500.320``: version, background, then each object as
colour, shape, x, y and size in thousandths of the canvas. Encoding loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from binding_core.concepts import BUNDLED_SPACE
from binding_core.errors import UserError
from binding_core.presets import DEFAULT_SCENE
from binding_core.scenes import MAX_OBJECTS, PlacedObject, Scene

VERSION = "1"
PARAMETERS = ("s", "m", "c", "p")  # of a view; a link may carry others, for other parts of the page
MAX_LINK_CHARACTERS = 20 + 40 * MAX_OBJECTS


def encode_scene(scene: Scene) -> str:
    """The scene in characters that a URL carries unchanged."""
    objects = [
        f"{o.colour}.{o.shape}." + ".".join(str(round(v * 1000)) for v in (o.x, o.y, o.size))
        for o in scene.objects
    ]
    return "~".join([VERSION, scene.background, *objects])


def decode_scene(text: str) -> Scene:
    """The scene of a link; UserError when it is broken, too long, or of another version."""
    if len(text) > MAX_LINK_CHARACTERS:
        raise UserError(
            f"The link's scene has {len(text):,} characters; up to {MAX_LINK_CHARACTERS} are read."
        )
    version, *rest = text.split("~")
    if version != VERSION or not rest:
        raise UserError("The link's scene is not one that this version of the app can read.")
    background, *objects = rest
    try:
        return Scene(background=background, objects=tuple(_decode_object(o) for o in objects))
    except (ValidationError, ValueError) as error:
        raise UserError(
            "The link's scene is broken: it needs a background and one to six objects like "
            "“red.square.300.500.320”."
        ) from error


def _decode_object(text: str) -> PlacedObject:
    colour, shape, *numbers = text.split(".")
    x, y, size = (int(n) / 1000 for n in numbers)
    return PlacedObject(colour=colour, shape=shape, x=x, y=y, size=size)


@dataclass(frozen=True)
class ComposeView:
    """What the page Compose shows: everything that its link carries."""

    scene: Scene
    models: tuple[str, ...]  # ids
    concept: str = "colour"  # the concept type that a swap exchanges
    pair: tuple[int, int] = (0, 1)  # the objects between which it is exchanged


def encode_view(view: ComposeView) -> dict[str, str]:
    """The query parameters of a view."""
    return {
        "s": encode_scene(view.scene),
        "m": "~".join(view.models),
        "c": view.concept,
        "p": "~".join(map(str, view.pair)),
    }


def decode_view(
    parameters: Mapping[str, str],
    *,
    known_models: Mapping[str, bool],
    default_models: tuple[str, ...],
) -> tuple[ComposeView, list[str]]:
    """The view of a link, and a sentence for each part of it that had to be left out.

    ``known_models`` says of every model id whether it can be used here.
    """
    notices: list[str] = []
    scene, concept, pair = DEFAULT_SCENE, "colour", (0, 1)
    models = tuple(m for m in default_models if known_models.get(m))
    if "s" in parameters:
        try:
            scene = decode_scene(parameters["s"])
        except UserError as error:
            notices.append(f"{error} The default scene is shown instead.")
    if "m" in parameters:
        wanted = dict.fromkeys(m for m in parameters["m"][:500].split("~") if m)
        models = tuple(m for m in wanted if known_models.get(m))
        if len(models) < len(wanted):
            notices.append("The link names a model that is not on this machine; it is left out.")
    if "c" in parameters:
        if parameters["c"] in BUNDLED_SPACE.types:
            concept = parameters["c"]
        else:
            notices.append("The link asks for a swap that does not exist; colours are swapped.")
    if "p" in parameters:
        numbers = parameters["p"][:20].split("~")
        if len(numbers) == 2 and all(n.isdecimal() for n in numbers):
            pair = (int(numbers[0]), int(numbers[1]))
        else:
            notices.append("The link names no pair of objects; the first two are swapped.")
    return ComposeView(scene, models, concept, fitting_pair(scene, pair)), notices


def fitting_pair(scene: Scene, pair: tuple[int, int]) -> tuple[int, int]:
    """The pair when the scene has both objects, else the first two."""
    first, second = pair
    return pair if first != second and max(pair) < len(scene.objects) else (0, 1)
