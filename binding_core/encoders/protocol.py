"""What every encoder offers, whoever trained it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict

from binding_core.concepts import Words

Kind = Literal["bundled", "public", "own", "run", "control"]


@dataclass(frozen=True)
class Reading:
    """What a model makes of a text before it embeds it."""

    unknown_words: tuple[str, ...] = ()  # words it has never met in training
    cut_off: bool = False  # whether the text is longer than the model reads
    readable: bool = True  # False when it cannot embed the text at all


@runtime_checkable
class Encoder(Protocol):
    """Pictures and texts to unit-norm float32 embeddings of one space.

    Both methods may be called from several threads at once and depend on their arguments alone.
    """

    id: str
    fingerprint: str  # hash of weights and preprocessing: equal fingerprints, equal embeddings

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """n pictures of any size -> (n, d)."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """n texts -> (n, d)."""
        ...

    def reading(self, text: str) -> Reading:
        """How the model reads a text, so that nothing is dropped silently."""
        ...


class ModelCard(BaseModel):
    """What is known of a model without loading it.

    The same card lies as card.json in the folder of a model that was trained here.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    kind: Kind
    summary: str  # one plain sentence
    architecture: str  # open_clip's name, or a description
    licence: str
    trained_on: str
    path: str | None = None  # the model's folder or file; None when it is not on this machine
    megabytes: float | None = None  # weights
    parameters: int | None = None
    train_objects: tuple[Words, ...] = ()  # (colour, shape) words; empty when not known
    heldout_objects: tuple[Words, ...] = ()
    preprocessing: str | None = None  # pixels, mean/std, interpolation, resize mode, activation
    source: str | None = None  # where it comes from
    figures: dict[str, dict] = {}  # measured figures, one SwapReport a split
    recipe: dict = {}  # how it was trained: data, optimizer, steps, seed
