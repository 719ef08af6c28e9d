"""The scenes by which agreement is measured, and what one model makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from binding_core.agreement.swap_test import PICTURE_SIZE, swap_scenes
from binding_core.captions import both_orders, describe
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.encoders.protocol import Encoder
from binding_core.errors import UserError
from binding_core.render import render
from binding_core.scenes import Scene, swap, swap_words

Part = Literal["all", "seen", "mixed", "unseen"]
CHUNK = 256  # pictures held in memory at a time
SWAPPED = ("colour", "shape")  # concept types that are exchanged in captions


@dataclass(frozen=True)
class AgreementSet:
    """Scenes of one number of objects, each followed by its swap.

    The first ``n_random`` scenes are drawn from all objects; the others add scenes of the model's
    training objects alone, and of the held-out ones alone.
    """

    scenes: tuple[Scene, ...]
    n_random: int
    part: np.ndarray  # of each scene: "seen", "mixed" or "unseen"; "" when not known

    def rows(self, part: Part) -> np.ndarray:
        """Which scenes make up a part, bool (n,); "all" are those drawn from all objects."""
        if part == "all":
            return np.arange(len(self.scenes)) < self.n_random
        return self.part == part

    @property
    def multisets(self) -> np.ndarray:
        """A number for each multiset of objects, int64 (n,)."""
        number: dict[tuple, int] = {}
        keys = [tuple(sorted(scene.object_words)) for scene in self.scenes]
        return np.array([number.setdefault(key, len(number)) for key in keys])

    @property
    def swaps(self) -> np.ndarray:
        """Position of each scene's swap, int64 (n,)."""
        return np.arange(len(self.scenes)) ^ 1


def agreement_set(
    *, n: int, n_objects: int, train_objects: Sequence[Words] = (), seed: int = 0
) -> AgreementSet:
    """``n`` scenes, half of them the swaps of the others; a quarter of them seen, one unseen.

    Without known training objects all are drawn from all objects.
    """
    pairs = n // 2
    groups: list[Sequence[Words] | None] = [None]
    trained = set(train_objects)
    heldout = [words for words in BUNDLED_SPACE.objects if words not in trained]
    if trained and heldout:
        groups += [tuple(train_objects), tuple(heldout)]
    sizes = [pairs - 2 * (pairs // 4), pairs // 4, pairs // 4] if len(groups) > 1 else [pairs]
    scenes: list[Scene] = []
    for k, (allowed, size) in enumerate(zip(groups, sizes, strict=True)):
        drawn = swap_scenes(n=size, seed=seed + 1000 * k, n_objects=n_objects, allowed=allowed)
        try:
            for scene in drawn:
                scenes += [scene, swap(scene)]
        except UserError:  # held-out objects that hold no pair to swap: this part stays empty
            continue
    return AgreementSet(
        scenes=tuple(scenes),
        n_random=2 * sizes[0],
        part=np.array([_part(scene, trained) for scene in scenes], dtype="<U6"),
    )


def _part(scene: Scene, trained: set[Words]) -> str:
    if not trained:
        return ""
    known = [words in trained for words in scene.object_words]
    return "seen" if all(known) else "mixed" if any(known) else "unseen"


@dataclass(frozen=True)
class Embedded:
    """What one model makes of an agreement set; all rows are of unit length."""

    scenes: AgreementSet
    pictures: np.ndarray  # float32 (n, d)
    captions: np.ndarray  # float32 (n, 2, d): both word orders, the one that is always used first
    swapped: dict[str, np.ndarray]  # by concept type, float32 (n, 2, d)
    picture_size: int  # pixels a side

    def margins(self, concept: str) -> np.ndarray:
        """Similarity to the own caption minus that to the swapped one, (n, 2 word orders)."""
        own, other = (
            np.einsum("nd,nod->no", self.pictures, told)
            for told in (self.captions, self.swapped[concept])
        )
        return own - other


def embed_set(
    encoder: Encoder,
    scenes: AgreementSet,
    *,
    report: Callable[[int], None] = lambda done: None,
) -> Embedded:
    """Draw the scenes at the model's own size and embed them with all their captions."""
    size = getattr(encoder, "picture_size", PICTURE_SIZE)
    parts = []
    for start in range(0, len(scenes.scenes), CHUNK):
        chunk = scenes.scenes[start : start + CHUNK]
        parts.append(encoder.embed_images([render(s, size=size) for s in chunk]))
        report(len(chunk))
    orders = [both_orders(s) for s in scenes.scenes]
    own = [s.object_words for s in scenes.scenes]
    told = {"own": own} | {c: [swap_words(words, concept=c) for words in own] for c in SWAPPED}
    # All at once: what one scene's swapped caption says, another's own may say.
    captions = _embed_once(
        encoder,
        [
            describe([words[i] for i in order])
            for of in told.values()
            for words, both in zip(of, orders, strict=True)
            for order in both
        ],
    )
    by_caption = dict(zip(told, captions.reshape(len(told), len(orders), 2, -1), strict=True))
    return Embedded(
        scenes=scenes,
        pictures=np.concatenate(parts) if parts else encoder.embed_texts([]),
        captions=by_caption.pop("own"),
        swapped=by_caption,
        picture_size=size,
    )


def _embed_once(encoder: Encoder, texts: Sequence[str]) -> np.ndarray:
    """Each different text is embedded once."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return encoder.embed_texts(list(place))[[place[text] for text in texts]]
