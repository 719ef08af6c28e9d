"""Scenes in words, and words read back.

One small grammar serves screen, tests and training: a caption lists descriptions, and a
description names an object's colour, its shape, or both:
``a red square``, ``a square``, ``something red``, ``a red square, a star and something blue``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from binding_core.concepts import COLOURS, SHAPES, Words
from binding_core.errors import UserError
from binding_core.scenes import Scene

Description = tuple[str | None, str | None]
"""(colour, shape) of an object; None where the words leave it out."""

FUNCTION_WORDS = ("a", "an", "and", "something")


def describe(descriptions: Sequence[Description]) -> str:
    """Descriptions as one caption, in the order given.

    >>> describe([("red", "square"), (None, "star"), ("orange", None)])
    'a red square, a star and something orange'
    """
    phrases = [_phrase(colour, shape) for colour, shape in descriptions]
    if len(phrases) < 2:
        return "".join(phrases)
    return ", ".join(phrases[:-1]) + " and " + phrases[-1]


def _phrase(colour: str | None, shape: str | None) -> str:
    if shape is None:
        return f"something {colour}"
    noun = f"{colour} {shape}" if colour else shape
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def place_order(scene: Scene) -> list[int]:
    """Object indices from left to right: an order that tells place, for showing that leak."""
    return sorted(range(len(scene.objects)), key=lambda i: scene.objects[i].x)


def caption(scene: Scene, *, order: Sequence[int] | None = None) -> str:
    """The scene in words: every object with all its concepts.

    ``order`` is a permutation of object indices. None draws one from the objects' words alone, so
    word order tells nothing of place or depth, and moving an object keeps the caption.
    """
    if order is None:
        order = drawn_order(scene.object_words)
    if sorted(order) != list(range(len(scene.objects))):
        raise UserError(
            f"The order {list(order)} is not a permutation of the {len(scene.objects)} objects."
        )
    return describe([scene.objects[i].words for i in order])


def drawn_order(objects: Sequence[Words]) -> tuple[int, ...]:
    """A permutation of object indices, seeded by the multiset of objects and by nothing else."""
    by_words = sorted(range(len(objects)), key=lambda i: objects[i])
    text = "|".join(" ".join(objects[i]) for i in by_words)
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    shuffled = np.random.default_rng(seed).permutation(len(objects))
    return tuple(by_words[i] for i in shuffled)


def both_orders(scene: Scene) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The drawn word order and its reverse; the same one twice for a single object."""
    order = drawn_order(scene.object_words)
    return order, order[::-1]


def object_caption(words: Words) -> str:
    """The query for an object: ``a red square``."""
    return describe([words])


def concept_caption(concept_type: str, value: str) -> str:
    """The query for a concept: ``something red`` or ``a square``."""
    return describe([(value, None) if concept_type == "colour" else (None, value)])


def read(text: str) -> list[Description]:
    """The descriptions a caption lists, in its order; the inverse of :func:`describe`.

    UserError when the text is outside the grammar.
    """
    descriptions: list[Description] = []
    for phrase in re.split(r"\s*(?:,|\band\b)\s*", text.strip().lower()):
        match phrase.split():
            case ["something", colour] if colour in COLOURS:
                descriptions.append((colour, None))
            case ["a" | "an", shape] if shape in SHAPES:
                descriptions.append((None, shape))
            case ["a" | "an", colour, shape] if colour in COLOURS and shape in SHAPES:
                descriptions.append((colour, shape))
            case _:
                raise UserError(
                    f"“{phrase}” is not a description like “a red square”, “a star” or "
                    "“something blue”."
                )
    return descriptions


def vocabulary() -> tuple[str, ...]:
    """Every word that captions use."""
    return (*FUNCTION_WORDS, *COLOURS, *SHAPES)


def is_true(descriptions: Sequence[Description], objects: Sequence[Words]) -> bool:
    """Whether a caption of these descriptions is true of a scene with these objects.

    Every description must fit an object. Complete ones, with colour and shape, each need one of
    their own: "a red square and a red square" asks for two. Incomplete ones do not: "something red
    and a square" is true of a single red square. Were it false there, incomplete captions would
    tell which colour and which shape are *not* one object's, and a model learns to bind the wrong
    way round from that (measured: swap accuracy 0.25 on seen objects).
    """
    complete = Counter(d for d in descriptions if None not in d)
    incomplete = [d for d in descriptions if None in d]
    return complete <= Counter(objects) and all(
        any(colour in (None, words[0]) and shape in (None, words[1]) for words in objects)
        for colour, shape in incomplete
    )
