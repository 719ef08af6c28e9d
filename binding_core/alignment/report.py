"""One model's agreement between pictures and captions: every table of the page Agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal, get_args

import numpy as np
from pydantic import TypeAdapter, ValidationError

from binding_core.agreement.measures import Share, share
from binding_core.agreement.recognition import (
    chance_of_recognition,
    concept_queries,
    object_queries,
    present_concepts,
    present_objects,
    recognised,
)
from binding_core.agreement.swap_test import PICTURE_SIZE
from binding_core.alignment.agreement_set import (
    SWAPPED,
    AgreementSet,
    Embedded,
    Part,
    agreement_set,
    embed_set,
)
from binding_core.alignment.heat_map import BAGS, bags_of_scenes
from binding_core.captions import both_orders, caption
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.errors import UserError
from binding_core.files import ASSETS, cache_folder, write_atomically
from binding_core.geometry.probes import Target, fit_probe, probe_recognition, split_scenes
from binding_core.geometry.report import Progress, Stopped
from binding_core.geometry.scene_table import Modality, SceneTable, scene_concepts
from binding_core.links import encode_scene
from binding_core.render import render

Direction = Literal["image to text", "text to image"]
N_SCENES = 2000
OF_THREE = 0.3  # of the scenes have three objects, the others two
SEED = 0
CASES = 6
TIE = 1e-6  # cosines of float32 that are nearer are equal
SHIPPED = ASSETS / "agreement"


@dataclass(frozen=True)
class SwapRow:
    """Swap accuracy of scenes of one number of objects, one concept type, one part."""

    n_objects: int
    concept: str
    part: Part
    accuracy: Share


@dataclass(frozen=True)
class RetrievalRow:
    """How often the nearest of all candidates is right, and how often it is the swap instead."""

    n_objects: int
    direction: Direction
    correct: Share
    swapped_first: Share


@dataclass(frozen=True)
class Recognition:
    """Objects and concepts found across modalities, and by probes within one."""

    where: Literal["across", "within pictures", "within captions"]
    objects: Share
    concepts: Share


@dataclass(frozen=True)
class Bias:
    """How often something that has nothing to do with the scene's meaning leans one way."""

    name: str
    share: Share


@dataclass(frozen=True)
class Case:
    """One scene with its margin."""

    scene: str  # as in a link
    margin: float


@dataclass(frozen=True)
class AgreementReport:
    """What one model's pictures and captions make of each other."""

    model: str
    fingerprint: str
    picture_size: int
    n_scenes: int
    seed: int
    swaps: tuple[SwapRow, ...]
    retrieval: tuple[RetrievalRow, ...]
    recognition: tuple[Recognition, ...]
    biases: tuple[Bias, ...]
    margins: tuple[float, ...]  # colours exchanged, scenes of two objects drawn from all
    worst: tuple[Case, ...]
    best: tuple[Case, ...]
    heat: dict[int, tuple[tuple[float, ...], ...]]  # by objects a scene, see bags_of_scenes


_REPORT = TypeAdapter(AgreementReport)


def agreement_report(
    encoder: Encoder,
    *,
    train_objects: Sequence[Words] = (),
    n_scenes: int = N_SCENES,
    seed: int = SEED,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> AgreementReport | None:
    """Measure one model on scenes of two and of three objects; None when stopped."""
    if n_scenes < 40:
        raise UserError(f"{n_scenes} scenes are too few for agreement: take at least 40.")
    of_three = round(n_scenes * OF_THREE)
    steps = Progress(n_scenes + 4, report, stop or Event())
    try:
        by_objects = {}
        for n_objects, n in ((2, n_scenes - of_three), (3, of_three)):
            scenes = agreement_set(n=n, n_objects=n_objects, train_objects=train_objects, seed=seed)
            by_objects[n_objects] = embed_set(encoder, scenes, report=steps.step)
            steps.step()
        two = by_objects[2]
        across = _across(encoder, two)
        steps.step()
        within = [_within(two, modality, encoder.id, seed) for modality in get_args(Modality)]
        steps.step()
    except Stopped:
        return None
    margins = two.margins("colour")[two.scenes.rows("all"), 0]
    order = np.argsort(margins, kind="stable")
    return AgreementReport(
        model=encoder.id,
        fingerprint=encoder.fingerprint,
        picture_size=two.picture_size,
        n_scenes=sum(len(e.scenes.scenes) for e in by_objects.values()),
        seed=seed,
        swaps=tuple(row for e in by_objects.values() for row in _swap_rows(e)),
        retrieval=tuple(row for e in by_objects.values() for row in _retrieval_rows(e)),
        recognition=(across, *within),
        biases=_biases(encoder, two),
        margins=tuple(round(float(m), 5) for m in margins),
        worst=_cases(two.scenes, margins, order[:CASES]),
        best=_cases(two.scenes, margins, order[::-1][:CASES]),
        heat={n_objects: _heat(encoder, n_objects) for n_objects in BAGS},
    )


def _heat(encoder: Encoder, n_objects: int) -> tuple[tuple[float, ...], ...]:
    """Cosines of every picture (row) with every caption (column) of the heat map's scenes."""
    scenes = bags_of_scenes(n_objects)
    size = getattr(encoder, "picture_size", PICTURE_SIZE)
    pictures = encoder.embed_images([render(s, size=size) for s in scenes])
    cosines = pictures @ encoder.embed_texts([caption(s) for s in scenes]).T
    return tuple(tuple(round(float(v), 4) for v in row) for row in cosines)


def _cases(scenes: AgreementSet, margins: np.ndarray, rows: np.ndarray) -> tuple[Case, ...]:
    return tuple(Case(encode_scene(scenes.scenes[i]), float(margins[i])) for i in rows)


def _objects_a_scene(embedded: Embedded) -> int:
    return len(embedded.scenes.scenes[0].objects)


def _swap_rows(embedded: Embedded) -> list[SwapRow]:
    return [
        SwapRow(
            n_objects=_objects_a_scene(embedded),
            concept=concept,
            part=part,
            accuracy=share(
                embedded.margins(concept)[embedded.scenes.rows(part), 0] > 0, chance=0.5
            ),
        )
        for concept in SWAPPED
        for part in get_args(Part)
    ]


def _retrieval_rows(embedded: Embedded) -> list[RetrievalRow]:
    """Among the scenes drawn from all objects, whose swaps are all in the bank."""
    rows = embedded.scenes.rows("all")
    multisets, swaps = embedded.scenes.multisets[rows], embedded.scenes.swaps[rows]
    of_swap = embedded.scenes.multisets[swaps]
    pictures, captions = embedded.pictures[rows], embedded.captions[rows, 0]
    found = []
    for direction, asked, bank in (
        ("image to text", pictures, captions),
        ("text to image", captions, pictures),
    ):
        similarity = asked @ bank.T
        own, of_own_swap = multisets[:, None] == multisets, of_swap[:, None] == multisets
        best, best_swap, best_other = (
            np.where(which, similarity, -np.inf).max(axis=1)
            for which in (own, of_own_swap, ~(own | of_own_swap))
        )
        chance = float(own.mean())
        right = (best > best_swap + TIE) & (best > best_other + TIE)
        swapped = (best_swap > best + TIE) & (best_swap > best_other + TIE)
        found.append(
            RetrievalRow(
                n_objects=_objects_a_scene(embedded),
                direction=direction,
                correct=share(right, chance=chance),
                swapped_first=share(swapped, chance=float(of_own_swap.mean())),
            )
        )
    return found


def _across(encoder: Encoder, embedded: Embedded) -> Recognition:
    rows = np.flatnonzero(embedded.scenes.rows("all"))
    scenes = [embedded.scenes.scenes[i] for i in rows]
    pictures = embedded.pictures[rows]
    shares = []
    for queries, present in (
        (object_queries(BUNDLED_SPACE), present_objects(scenes, BUNDLED_SPACE)),
        (concept_queries(BUNDLED_SPACE), present_concepts(scenes, BUNDLED_SPACE)),
    ):
        scores = pictures @ encoder.embed_texts(queries).T
        shares.append(share(recognised(scores, present), chance=chance_of_recognition(present)))
    return Recognition("across", *shares)


def _within(embedded: Embedded, modality: Modality, source: str, seed: int) -> Recognition:
    """Probes of one modality alone, fitted on half of the different scenes."""
    pictures = modality == "image"
    table = SceneTable(
        space=BUNDLED_SPACE,
        concepts=scene_concepts(embedded.scenes.scenes, modality=modality),
        embeddings=embedded.pictures if pictures else embedded.captions[:, 0],
        modality=modality,
        source=source,
    )
    fits, tests = split_scenes(table, by="scenes", test_share=0.4, seed=seed)
    targets: tuple[Target, ...] = get_args(Target)
    objects, concepts = (
        probe_recognition(fit_probe(table.rows(fits), target=t, seed=seed), table.rows(tests))
        for t in targets
    )
    return Recognition("within pictures" if pictures else "within captions", objects, concepts)


def _biases(encoder: Encoder, embedded: Embedded) -> tuple[Bias, ...]:
    """Word order and place, apart: which of two objects a caption, or a picture, leans to.

    Of the caption "A and B" and its reverse, whether the first-named object's own caption is
    nearer; of a picture, whether the larger object's is; and how often the swap test's answer
    turns when both captions name their objects the other way round.
    """
    rows = np.flatnonzero(embedded.scenes.rows("all"))
    scenes = [embedded.scenes.scenes[i] for i in rows]
    alone = encoder.embed_texts(object_queries(BUNDLED_SPACE))
    held = np.array([[BUNDLED_SPACE.object_index(w) for w in s.object_words] for s in scenes])
    orders = np.array([both_orders(s) for s in scenes])  # (n, 2, 2)
    first_named = []
    for k in range(2):
        told = np.take_along_axis(held, orders[:, k], axis=1)
        to_objects = np.einsum("nd,nod->no", embedded.captions[rows, k], alone[told])
        first_named.append(to_objects[:, 0] - to_objects[:, 1])
    sizes = np.array([[o.size for o in s.objects] for s in scenes])
    to_objects = np.einsum("nd,nod->no", embedded.pictures[rows], alone[held])
    larger = np.sign(sizes[:, 0] - sizes[:, 1]) * (to_objects[:, 0] - to_objects[:, 1])
    turned = np.prod(np.sign(embedded.margins("colour")[rows]), axis=1) <= 0
    return (
        Bias("first-named object nearer", share(np.concatenate(first_named) > TIE, chance=0.5)),
        Bias("larger object nearer", share(larger[sizes[:, 0] != sizes[:, 1]] > TIE, chance=0.5)),
        Bias("answer turns with word order", share(turned, chance=0.5)),
    )


# --- kept by fingerprint --------------------------------------------------------------------------


def find_agreement(fingerprint: str) -> AgreementReport | None:
    """The kept report of the model with this fingerprint; None when there is none."""
    for folder in (SHIPPED, kept_folder()):
        try:
            found = _REPORT.validate_json((folder / f"{fingerprint}.json").read_bytes())
        except (OSError, ValidationError):  # not there, or of an older version: measured anew
            continue
        if found.fingerprint == fingerprint:
            return found
    return None


def keep_agreement(found: AgreementReport, *, shipped: bool = False) -> None:
    """Keep a report for later; UserError when the folder cannot be written to."""
    folder = SHIPPED if shipped else kept_folder()
    try:
        write_atomically(folder / f"{found.fingerprint}.json", agreement_json(found))
    except OSError as error:
        raise UserError(
            f"The result can't be kept in {folder}: {error.strerror or error}."
        ) from error


def agreement_of(
    encoder: Encoder,
    *,
    card: ModelCard,
    n_scenes: int = N_SCENES,
    seed: int = SEED,
    fresh: bool = False,
    report: Callable[[int, int], None] = lambda done, of: None,
    stop: Event | None = None,
) -> AgreementReport | None:
    """The kept report if it is of these scenes and this seed, else a new one; None when stopped."""
    kept = None if fresh else find_agreement(encoder.fingerprint)
    if kept and (kept.n_scenes, kept.seed) == (n_scenes, seed):
        return kept
    found = agreement_report(
        getattr(encoder, "encoder", encoder),  # a cache would keep thousands of rows for one use
        train_objects=card.train_objects,
        n_scenes=n_scenes,
        seed=seed,
        report=report,
        stop=stop,
    )
    if found and not fresh and (n_scenes, seed) == (N_SCENES, SEED):
        keep_agreement(found)
    return found


def agreement_json(found: AgreementReport) -> bytes:
    """The report as JSON."""
    return _REPORT.dump_json(found, indent=1)


def kept_folder() -> Path:
    """Where the reports of models lie that were measured on this machine."""
    return cache_folder() / "agreement"
