"""Mending disagreement by one linear map on the captions, or on the pictures.

After LABCLIP (Koishigarina et al., arXiv 2502.03566): a matrix trained by contrast with swapped
captions. Ridge regression and the orthogonal Procrustes solution stand beside it in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Literal, get_args

import numpy as np

from binding_core.agreement.measures import Share, share
from binding_core.agreement.swap_test import swap_scenes
from binding_core.alignment.agreement_set import AgreementSet, Embedded, embed_set
from binding_core.concepts import BUNDLED_SPACE, Words, split_objects
from binding_core.encoders.protocol import Encoder
from binding_core.geometry.report import Progress, Stopped
from binding_core.scenes import Scene

Method = Literal["contrast", "ridge", "Procrustes"]
Side = Literal["captions", "pictures"]
TestPart = Literal["trained scenes", "new scenes", "new objects"]

N_SCENES = 3000
TRAINED = 0.7  # of the bags of concepts of the training objects
NEW_OBJECTS = 0.25  # of all scenes
COVERAGE = 0.7  # of the objects, where a model's own training objects are not known
STEPS = 300
REPORT_EVERY = 25  # steps
REPORTS = STEPS // REPORT_EVERY
BATCH = 256
LEARNING_RATE = 5e-3
WEIGHT_DECAY = 1e-2  # of the map's difference from the identity
SCALE = 20.0  # of the cosines in the softmax
RIDGE = 1e-2  # of the mean variance of a dimension, times the scenes

# Swap accuracy before and after, CLIP (arXiv 2502.03566), where every object was seen in training.
PAPER = {"CLEVR": (0.58, 0.95), "PUG:SPARE": (0.50, 0.94)}


@dataclass(frozen=True)
class MendedRow:
    """Swap accuracy on one part of the scenes, before and after the map."""

    part: TestPart
    before: Share
    after: Share


@dataclass(frozen=True)
class Mending:
    """One map, how it was found, and what it mends."""

    model: str
    fingerprint: str
    method: Method
    side: Side
    rows: tuple[MendedRow, ...]
    n_trained: int  # scenes
    n_train_objects: int
    seed: int

    @property
    def sentence(self) -> str:
        """What the map mends and what it can't, read off the intervals."""
        new = {row.part: row for row in self.rows}
        scenes, objects = (_change(new[part]) for part in ("new scenes", "new objects"))
        told = {"better": "mends", "same": "does not change", "worse": "worsens"}
        if scenes is None or objects is None:
            return "There are too few scenes to say what the map mends."
        if scenes == objects:
            return (
                f"The map {told[scenes]} the agreement on new scenes of trained objects and on new "
                "objects alike."
            )
        return (
            f"The map {told[scenes]} the agreement on new scenes of trained objects, and "
            f"{told[objects]} that on objects that it was not trained on."
        )


def _change(row: MendedRow) -> Literal["better", "same", "worse"] | None:
    if row.before.ci95 is None or row.after.ci95 is None:
        return None
    if row.after.ci95[0] > row.before.ci95[1]:
        return "better"
    return "worse" if row.after.ci95[1] < row.before.ci95[0] else "same"


@dataclass(frozen=True)
class MendingScenes:
    """Embedded scenes with the part that each belongs to, and the objects trained on."""

    embedded: Embedded
    part: np.ndarray  # of each scene, one of TestPart
    n_train_objects: int


def mending_scenes(
    encoder: Encoder,
    *,
    train_objects: Sequence[Words] = (),
    n: int = N_SCENES,
    seed: int = 0,
    report: Callable[[int], None] = lambda done: None,
) -> MendingScenes:
    """Scenes of the model's training objects, and of all others, embedded.

    A scene and its swap share their bag of concepts, and no bag is both trained and tested.
    """
    trained = set(train_objects) or set(
        split_objects(BUNDLED_SPACE, coverage=COVERAGE, seed=seed).train
    )
    heldout = [words for words in BUNDLED_SPACE.objects if words not in trained]
    n_new = round(n * NEW_OBJECTS) if len(heldout) > 1 else 0
    scenes: list[Scene] = []
    for k, (allowed, size) in enumerate(((sorted(trained), n - n_new), (heldout, n_new))):
        scenes += swap_scenes(n=size, seed=seed + 1000 * k + 500, allowed=allowed)
    bags = [
        tuple(tuple(sorted(values)) for values in zip(*s.object_words, strict=True)) for s in scenes
    ]
    ordered = sorted(set(bags[: n - n_new]))
    chosen = np.random.default_rng(seed).permutation(len(ordered)) < TRAINED * len(ordered)
    in_training = dict(zip(ordered, chosen.tolist(), strict=True))
    parts = [
        "new objects" if i >= n - n_new else "trained scenes" if in_training[bag] else "new scenes"
        for i, bag in enumerate(bags)
    ]
    drawn = AgreementSet(tuple(scenes), n_random=0, part=np.array(parts))
    return MendingScenes(embed_set(encoder, drawn, report=report), np.array(parts), len(trained))


def fit_map(
    captions: np.ndarray,
    pictures: np.ndarray,
    *,
    swapped: np.ndarray,
    method: Method,
    side: Side = "captions",
    seed: int = 0,
    report: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """The map (d, d), applied from the right to the embeddings of its side.

    Captions, pictures and swapped captions are unit-norm (n, d), row by row. ``report`` hears of
    every REPORT_EVERY steps and may end the work by raising.
    """
    source, target = (captions, pictures) if side == "captions" else (pictures, captions)
    if method == "Procrustes":
        from scipy.linalg import orthogonal_procrustes

        return orthogonal_procrustes(source, target)[0]
    if method == "ridge":
        normal = source.T @ source
        penalty = RIDGE * np.trace(normal) / len(normal)
        return np.linalg.solve(normal + penalty * np.eye(len(normal)), source.T @ target)
    return _by_contrast(captions, pictures, swapped, side=side, seed=seed, report=report)


def _by_contrast(
    captions: np.ndarray,
    pictures: np.ndarray,
    swapped: np.ndarray,
    *,
    side: Side,
    seed: int,
    report: Callable[[], None],
) -> np.ndarray:
    """Each picture tells its caption from all others of the batch and from all swapped ones."""
    import torch
    from torch.nn import functional as F

    told, seen, false = (
        torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32))
        for a in (captions, pictures, swapped)
    )
    drawing = torch.Generator().manual_seed(seed)
    change = torch.zeros(told.shape[1], told.shape[1], requires_grad=True)  # from the identity
    optimizer = torch.optim.AdamW([change], lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for step in range(STEPS):
        rows = torch.randint(len(told), (min(BATCH, len(told)),), generator=drawing).unique()
        candidates = torch.cat([told[rows], false[rows]])
        # Equal captions of the batch are all true of the picture: none is a negative.
        same = told[rows] @ candidates.T > 1 - 1e-6
        own = torch.arange(len(rows))
        same[own, own] = False
        asking = seen[rows]
        if side == "captions":
            candidates = candidates + candidates @ change
        else:
            asking = asking + asking @ change
        scores = SCALE * F.normalize(asking, dim=1) @ F.normalize(candidates, dim=1).T
        loss = F.cross_entropy(scores.masked_fill(same, -torch.inf), own)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % REPORT_EVERY == 0:
            report()
    return np.eye(len(change)) + change.detach().numpy()


def mend(
    encoder: Encoder,
    *,
    train_objects: Sequence[Words] = (),
    methods: Sequence[Method] = get_args(Method),
    sides: Sequence[Side] = get_args(Side),
    n: int = N_SCENES,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> tuple[Mending, ...] | None:
    """Find each map and test it; None when stopped."""
    progress = Progress(n + len(methods) * len(sides) * REPORTS, report, stop or Event())
    try:
        scenes = mending_scenes(
            encoder, train_objects=train_objects, n=n, seed=seed, report=progress.step
        )
        found = []
        for side in sides:
            for method in methods:
                found.append(_mended(encoder, scenes, method, side, seed, progress))
    except Stopped:
        return None
    return tuple(found)


def _mended(
    encoder: Encoder,
    scenes: MendingScenes,
    method: Method,
    side: Side,
    seed: int,
    progress: Progress,
) -> Mending:
    pictures = scenes.embedded.pictures
    captions, swapped = scenes.embedded.captions[:, 0], scenes.embedded.swapped["colour"][:, 0]
    fits = scenes.part == "trained scenes"
    mapped = fit_map(
        captions[fits],
        pictures[fits],
        swapped=swapped[fits],
        method=method,
        side=side,
        seed=seed,
        report=progress.step if method == "contrast" else lambda: None,
    )
    if method != "contrast":
        progress.step(REPORTS)
    before = _margins(pictures, captions, swapped)
    if side == "captions":
        after = _margins(pictures, captions @ mapped, swapped @ mapped)
    else:
        after = _margins(pictures @ mapped, captions, swapped)
    return Mending(
        model=encoder.id,
        fingerprint=encoder.fingerprint,
        method=method,
        side=side,
        rows=tuple(
            MendedRow(
                part=part,
                before=share(before[scenes.part == part] > 0, chance=0.5),
                after=share(after[scenes.part == part] > 0, chance=0.5),
            )
            for part in get_args(TestPart)
        ),
        n_trained=int(fits.sum()),
        n_train_objects=scenes.n_train_objects,
        seed=seed,
    )


def _margins(pictures: np.ndarray, captions: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Cosine with the own caption minus that with the swapped one, (n,)."""
    own, other = (
        np.einsum("nd,nd->n", pictures, told) / np.linalg.norm(told, axis=1)
        for told in (captions, swapped)
    )
    return own - other
