"""Sets of scenes for a map: how they are drawn, named, and joined to one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np

from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.errors import UserError
from binding_core.geometry.scene_table import SceneTable
from binding_core.scenes import Scene, random_scene

MAX_SCENES = 10_000
OBJECTS_A_SCENE = (1, 2, 3)


def factorial_scenes(
    *,
    colours: Sequence[str],
    shapes: Sequence[str],
    n_objects: int = 2,
    per_combination: int = 1,
    seed: int,
) -> tuple[Scene, ...]:
    """Every multiset of objects from a slice of the space, each at ``per_combination`` places.

    Two equal objects make a scene as well. Depth says nothing of which object it is. UserError
    for an unknown concept, and for more than 10,000 scenes.
    """
    for name, chosen, known in zip(
        BUNDLED_SPACE.types, (colours, shapes), BUNDLED_SPACE.values, strict=True
    ):
        unknown = [value for value in chosen if value not in known]
        if unknown or not chosen or len(set(chosen)) < len(chosen):
            raise UserError(
                f"“{', '.join(unknown or chosen)}” is no choice of {name}s; choose one or more of "
                f"{', '.join(known)}, each once."
            )
    _check_objects(n_objects)
    objects = list(product(colours, shapes))
    _check_size(comb(len(objects) + n_objects - 1, n_objects) * per_combination)
    return tuple(
        scene_of(words, seed=(seed, i, copy))
        for i, words in enumerate(combinations_with_replacement(objects, n_objects))
        for copy in range(per_combination)
    )


def sampled_scenes(
    *, n: int, n_objects: int, seed: int, allowed: Sequence[Words] | None = None
) -> tuple[Scene, ...]:
    """``n`` scenes of the bundled space, or of the allowed objects alone, drawn one by one.

    UserError for more than 10,000 scenes, and for other than 1 to 3 objects.
    """
    _check_objects(n_objects)
    _check_size(n)
    return tuple(
        random_scene(space=None, n_objects=n_objects, seed=(seed, i), allowed=allowed)
        for i in range(n)
    )


def _check_objects(n_objects: int) -> None:
    if n_objects not in OBJECTS_A_SCENE:
        raise UserError(f"A map's scenes have 1, 2 or 3 objects, not {n_objects}.")


def _check_size(n: int) -> None:
    if not 1 <= n <= MAX_SCENES:
        raise UserError(f"These are {n:,} scenes; a map shows 1 to {MAX_SCENES:,}.")


def scene_of(words: Sequence[Words], *, seed: Sequence[int]) -> Scene:
    """These objects at random places, in a random order of depth."""
    drawn = random_scene(space=None, n_objects=len(words), seed=seed)
    order = np.random.default_rng(seed).permutation(len(words))
    objects = tuple(
        placed.model_copy(update=dict(zip(BUNDLED_SPACE.types, words[i], strict=True)))
        for placed, i in zip(drawn.objects, order, strict=True)
    )
    return drawn.model_copy(update={"objects": objects})


# --- what a scene is called, one name a scene, for a map's colours ------------------------------


def concepts_at(table: SceneTable, *, concept_type: str, place: int) -> list[str]:
    """The value of one concept type at a place (0 is the first), e.g. "red"."""
    k = table.space.types.index(concept_type)
    return [table.space.values[k][number] for number in table.concepts[:, place, k]]


def holding(table: SceneTable, *, concept_type: str, value: str) -> list[str]:
    """Whether a scene holds a concept, wherever: "with red" or "without red"."""
    position = table.space.concepts.index((concept_type, value))
    held = table.concept_counts[:, position] > 0
    return [f"with {value}" if there else f"without {value}" for there in held]


def objects_at(table: SceneTable, *, place: int) -> list[str]:
    """The object at a place (0 is the first), e.g. "red square"."""
    return [" ".join(table.space.objects[number]) for number in table.objects[:, place]]


def bags_of_concepts(table: SceneTable) -> list[str]:
    """The scene's concepts without their binding, e.g. "blue + red, circle + square".

    A scene and its swap have the same bag.
    """
    return [
        ", ".join(
            " + ".join(values[number] for number in sorted(scene[:, k]))
            for k, values in enumerate(table.space.values)
        )
        for scene in table.concepts
    ]


def seen_or_not(table: SceneTable, *, train_objects: Sequence[Words]) -> list[str] | None:
    """ "seen" for a scene of training objects alone, "unseen" for one without any, else "mixed".

    None when the training objects are not known.
    """
    if not train_objects:
        return None
    known = np.zeros(table.space.n_objects, dtype=bool)
    known[[table.space.object_index(words) for words in train_objects]] = True
    share = known[table.objects].mean(axis=1)
    return [{0.0: "unseen", 1.0: "seen"}.get(s, "mixed") for s in share.tolist()]


# --- what is joined by a line ---------------------------------------------------------------------


def swap_links(table: SceneTable) -> list[int | None]:
    """For each scene the position of its swap within the set; None where there is none.

    The swap has one concept type exchanged between two objects, and other objects for it. Of
    several scenes with the swap's objects, the one of the same rank among its equals is taken, so
    that equally many pair off.
    """
    equals: dict[tuple, list[int]] = defaultdict(list)
    keys = [_multiset(scene) for scene in table.concepts]
    for i, key in enumerate(keys):
        equals[key].append(i)
    rank = {i: r for alike in equals.values() for r, i in enumerate(alike)}
    links: list[int | None] = []
    for i, scene in enumerate(table.concepts):
        found = next((equals[key] for key in _swaps(scene) if key in equals), None)
        links.append(found[rank[i] % len(found)] if found else None)
    return links


def _multiset(scene: np.ndarray) -> tuple:
    return tuple(sorted(map(tuple, scene.tolist())))


def _swaps(scene: np.ndarray) -> list[tuple]:
    """The multisets of objects that a swap of this scene (M, C) gives, other than its own."""
    found = []
    for i, j in combinations(range(len(scene)), 2):
        for k in range(scene.shape[1]):
            swapped = scene.copy()
            swapped[[i, j], k] = scene[[j, i], k]
            found.append(_multiset(swapped))
    return [key for key in found if key != _multiset(scene)]


# --- pictures and their captions -----------------------------------------------------------------


@dataclass(frozen=True)
class ModalityGap:
    """How far pictures lie from captions (Liang et al. 2022, arXiv 2203.02053)."""

    length: float  # Euclidean distance of the mean picture and the mean caption, 0 to 2
    paired_cosine: float  # mean over pictures, each with its own caption
    unpaired_cosine: float | None  # mean over all other pairs; None for a single picture
    n: int  # pairs


def modality_gap(images: np.ndarray, texts: np.ndarray) -> ModalityGap | None:
    """Of unit-norm pictures (n, d) and their captions (n, d), row by row; None for no rows.

    UserError when the two differ in shape.
    """
    if images.shape != texts.shape:
        raise UserError(
            f"Each picture needs its caption, in one space: {images.shape} and {texts.shape} "
            "do not fit."
        )
    n = len(images)
    if not n:
        return None
    paired = float(np.einsum("nd,nd->", images, texts, dtype=float))
    image, text = images.mean(axis=0, dtype=float), texts.mean(axis=0, dtype=float)
    return ModalityGap(
        length=float(np.linalg.norm(image - text)),
        paired_cosine=paired / n,
        unpaired_cosine=(n * n * float(image @ text) - paired) / (n * (n - 1)) if n > 1 else None,
        n=n,
    )
