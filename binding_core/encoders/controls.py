"""Encoders whose binding function is known by construction; they test the diagnostics.

A control does not look at pixels: it reads the scene that the renderer wrote into the picture,
and the descriptions out of the caption, so that what each diagnostic must find follows by algebra.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from PIL import Image

from binding_core.captions import Description, read
from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders.protocol import Reading
from binding_core.errors import UserError
from binding_core.render import scene_of

ControlKind = Literal["bag", "product", "global-product", "memoriser"]

CONTROL_RULES: dict[ControlKind, str] = {
    "bag": "The sum of the scene's concept vectors: no binding at all.",
    "product": "The sum, over objects, of the product of the object's concept vectors.",
    "global-product": "The product, over objects, of the sum of the object's concept vectors.",
    "memoriser": "The sum of one random vector for every object, whatever its concepts.",
}
"""Each control's binding function; products are elementwise."""


class ControlEncoder:
    """A scene's embedding from random tables with standard normal entries over sqrt(d).

    The rules are in CONTROL_RULES. A text that leaves a concept out uses the mean over what it
    leaves open. Pictures and texts share the tables; ``noise`` adds to the unit-norm embedding a
    normal vector of that expected length, drawn from content and modality alone.
    """

    def __init__(
        self, kind: ControlKind, *, noise: float = 0.0, dimensions: int = 256, seed: int = 0
    ) -> None:
        self.id = f"control-{kind}" + (f"-noise-{noise:g}" if noise else "")
        self.kind = kind
        self.fingerprint = hashlib.sha256(
            f"{kind} {noise} {dimensions} {seed}".encode()
        ).hexdigest()[:16]
        self._noise = noise
        rng = np.random.default_rng(seed)
        colours, shapes = BUNDLED_SPACE.sizes
        scale = dimensions**-0.5
        # Multiples of 2**-16: their sums are exact, so that what is equal by algebra is equal to
        # the last bit, and a bag scores a swapped caption exactly as the true one.
        colour_table, shape_table, own_table = (
            np.round(rng.standard_normal(size) * scale * 2**16) / 2**16
            for size in (
                (colours, 1, dimensions),
                (1, shapes, dimensions),
                (colours, shapes, dimensions),
            )
        )
        # One vector for every object, (colours, shapes, d), whatever the rule that made it.
        self._objects = {
            "bag": colour_table + shape_table,
            "product": colour_table * shape_table / scale,
            "global-product": colour_table + shape_table,
            "memoriser": own_table,
        }[kind]

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """n rendered pictures -> (n, d); UserError for a picture that this app did not draw."""
        scenes = [scene_of(image) for image in images]
        if any(scene is None for scene in scenes):
            raise UserError(
                f"“{self.id}” is a control: it reads only pictures that this app has drawn."
            )
        return self._rows([scene.object_words for scene in scenes if scene], "image")

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """n captions of the app's grammar -> (n, d)."""
        return self._rows([read(text) for text in texts], "text")

    def reading(self, text: str) -> Reading:
        """A control reads the captions' grammar and nothing else."""
        try:
            read(text)
        except UserError:
            return Reading(readable=False)
        return Reading()

    def _rows(self, scenes: Sequence[Sequence[Description]], modality: str) -> np.ndarray:
        rows = [self._embed(descriptions, modality) for descriptions in scenes]
        width = self._objects.shape[-1]
        return np.array(rows, dtype=np.float32).reshape(len(scenes), width)

    def _embed(self, descriptions: Sequence[Description], modality: str) -> np.ndarray:
        # Sorted: word order and drawing order are not part of a control's binding function.
        ordered = sorted(descriptions, key=str)
        vectors = np.array([self._object(*d) for d in ordered])
        if self.kind == "global-product":
            raw = np.prod(vectors * np.sqrt(vectors.shape[1]), axis=0)
        else:
            raw = vectors.sum(axis=0)
        unit = raw / np.linalg.norm(raw)
        if self._noise:
            content = f"{self.fingerprint} {modality} {ordered}"
            seed = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big")
            step = np.random.default_rng(seed).standard_normal(len(unit)) * len(unit) ** -0.5
            unit = unit + self._noise * step
            unit /= np.linalg.norm(unit)
        return unit

    def _object(self, colour: str | None, shape: str | None) -> np.ndarray:
        colours, shapes = BUNDLED_SPACE.values
        rows = slice(None) if colour is None else [colours.index(colour)]
        columns = slice(None) if shape is None else [shapes.index(shape)]
        return self._objects[rows][:, columns].mean(axis=(0, 1))
