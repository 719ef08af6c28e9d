"""One scene and its swap before one model: who goes with whom, and what is recognised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image

from binding_core.agreement.recognition import (
    concept_queries,
    object_queries,
    present_concepts,
    present_objects,
    recognised,
)
from binding_core.agreement.swap_test import PICTURE_SIZE
from binding_core.captions import both_orders, caption
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.encoders.protocol import Encoder, Reading
from binding_core.render import render
from binding_core.scenes import Scene

# Models differ in how far their similarities spread. A margin below this share of the spread (the
# standard deviation over all objects of the space) counts as no margin.
NO_MARGIN = 0.1

Finding = Literal["binds", "barely", "word order", "bag", "reversed", "same"]

SENTENCES: dict[Finding, str] = {
    "binds": "It binds: each picture goes with its own caption.",
    "barely": "It just binds: each picture goes with its own caption, by a small margin.",
    "word order": "Undecided: which caption wins depends on the word order.",
    "bag": "Bag of concepts: it can't tell these apart.",
    "reversed": "It binds the wrong way round: each picture goes with the other's caption.",
    "same": "Nothing to tell apart: swapping leaves the same objects.",
}


@dataclass(frozen=True)
class RankedObject:
    """An object of the space with its similarity to the picture."""

    words: Words
    similarity: float
    present: bool  # whether the scene holds it


@dataclass(frozen=True)
class Verdict:
    """What one model makes of a scene and its swap."""

    model: str
    fingerprint: str
    similarities: np.ndarray  # (2 pictures, 2 captions, 2 word orders); scene first, swap second
    objects_recognised: bool  # in the scene, over all objects of the space
    concepts_recognised: bool  # in the scene, over all concepts together
    ranking: tuple[RankedObject, ...]  # all objects, best first
    finding: Finding

    @property
    def table(self) -> np.ndarray:
        """(2 pictures, 2 captions): similarity, mean over both word orders."""
        return self.similarities.mean(axis=2)

    @property
    def margins(self) -> np.ndarray:
        """(2,): for either picture, its own caption's similarity minus the other's."""
        return _margins(self.table)

    @property
    def margin(self) -> float:
        """The mean of both margins: what is left when liking for one caption cancels out."""
        return float(self.margins.mean())

    @property
    def sentence(self) -> str:
        """The finding in plain words."""
        return SENTENCES[self.finding]


def _margins(table: np.ndarray) -> np.ndarray:
    return np.array([table[0, 0] - table[0, 1], table[1, 1] - table[1, 0]])


def find(similarities: np.ndarray, *, spread: float) -> Finding:
    """What a (2 pictures, 2 captions, 2 word orders) table of a real swap says.

    ``spread`` is the standard deviation of the scene's similarities to all objects: the scale on
    which a margin is large or small for this model.
    """
    margins = _margins(similarities.mean(axis=2))
    in_each_order = np.array([_margins(similarities[:, :, k]) for k in range(2)])
    none = NO_MARGIN * spread
    if (np.abs(margins) <= none).all() or margins[0] * margins[1] <= 0:
        return "bag"  # both pictures go with the same caption, or with neither
    if (np.sign(in_each_order) != np.sign(margins)).any():
        return "word order"
    if margins[0] < 0:
        return "reversed"
    return "binds" if margins.min() > none else "barely"


def judge(encoder: Encoder, *, scene: Scene, swapped: Scene) -> Verdict:
    """Let one encoder judge a scene and its swap, over all objects of the bundled space."""
    space = BUNDLED_SPACE
    pictures = encoder.embed_images([render(s, size=PICTURE_SIZE) for s in (scene, swapped)])
    texts = encoder.embed_texts(
        [caption(s, order=order) for s in (scene, swapped) for order in both_orders(scene)]
    )
    similarities = (pictures @ texts.T).reshape(2, 2, 2)
    object_scores = pictures[:1] @ encoder.embed_texts(object_queries(space)).T
    concept_scores = pictures[:1] @ encoder.embed_texts(concept_queries(space)).T
    has_object, has_concept = present_objects([scene], space), present_concepts([scene], space)
    best_first = np.argsort(-object_scores[0], kind="stable")
    return Verdict(
        model=encoder.id,
        fingerprint=encoder.fingerprint,
        similarities=similarities,
        objects_recognised=bool(recognised(object_scores, has_object)[0]),
        concepts_recognised=bool(recognised(concept_scores, has_concept)[0]),
        ranking=tuple(
            RankedObject(space.objects[i], float(object_scores[0, i]), bool(has_object[0, i]))
            for i in best_first
        ),
        finding=(
            "same"
            if scene.same_objects(swapped)
            else find(similarities, spread=float(object_scores.std()))
        ),
    )


@dataclass(frozen=True)
class RankedCaption:
    """A caption with its similarity to a picture."""

    text: str
    similarity: float | None  # None when the model cannot read it
    reading: Reading


def rank_captions(
    encoder: Encoder, *, picture: Image.Image, captions: Sequence[str]
) -> list[RankedCaption]:
    """The captions by similarity to the picture, best first; those it cannot read come last."""
    readings = {text: encoder.reading(text) for text in captions}
    readable = [text for text in captions if readings[text].readable]
    [embedded] = encoder.embed_images([picture])
    similarities = encoder.embed_texts(readable) @ embedded
    ranked = [
        RankedCaption(text, float(similarity), readings[text])
        for text, similarity in zip(readable, similarities, strict=True)
    ]
    ranked.sort(key=lambda r: -r.similarity)
    return ranked + [
        RankedCaption(text, None, readings[text]) for text in captions if text not in readable
    ]
