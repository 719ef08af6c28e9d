"""One scene taken apart: its embedding as a sum of named parts, and what is left without some.

Everything here is plain arithmetic on arrays, so that a page can redraw it at every click.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from zipfile import BadZipFile

import numpy as np

from binding_core.agreement.recognition import recognised
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.errors import UserError
from binding_core.geometry.components import Components, fit_components
from binding_core.geometry.level_two import level_two
from binding_core.geometry.levels import unit_rows
from binding_core.geometry.probes import Probe, fit_probe
from binding_core.geometry.scene_sets import sampled_scenes
from binding_core.geometry.scene_table import Modality, SceneTable
from binding_core.scenes import Scene

Split = Literal["objects", "concepts"]
BANK_SCENES = 600  # of those that the components were fitted on; what nearest scenes come from
SHIPPED_TYPE = np.float16  # three digits, of unit vectors


@dataclass(frozen=True)
class Part:
    """One summand of an embedding."""

    name: str  # "mean", "red square", "red", "binding of red square", "rest"
    kind: Literal["mean", "object", "concept", "binding", "rest", "exchange"]
    vector: np.ndarray  # float64 (d,)


@dataclass(frozen=True)
class Instruments:
    """What a scene of the bundled space is taken apart and read with: one model, one modality."""

    modality: Modality
    n_scenes: int  # that everything was fitted on
    seed: int  # they were drawn with
    mean: np.ndarray  # (d,)
    objects: np.ndarray  # (|O|, d): object components; least squares
    explained: np.ndarray  # (|O|, d): the part of each that concepts explain
    concepts: np.ndarray  # (sum of V_k, d): what each concept adds to an object
    object_weights: np.ndarray  # (d, |O|) and
    object_bias: np.ndarray  # (|O|,), a linear probe
    concept_weights: np.ndarray  # (d, sum of V_k) and
    concept_bias: np.ndarray  # (sum of V_k,)
    bank: np.ndarray  # (BANK_SCENES, d): embeddings of the first of these scenes

    @cached_property
    def bank_scenes(self) -> tuple[Scene, ...]:
        """The bank's scenes, drawn again: each depends on the seed and its number alone."""
        return sampled_scenes(n=len(self.bank), n_objects=2, seed=self.seed)


@dataclass(frozen=True)
class Neighbour:
    """A scene of the bank and how near it is."""

    scene: Scene
    similarity: float  # cosine
    wanted: bool  # whether it holds just the objects that were looked for


@dataclass(frozen=True)
class Looked:
    """What probes and the bank make of a vector."""

    object_recognition: bool  # the scene's objects score above all others
    concept_recognition: bool
    object_ranks: dict[Words, int]  # of the scene's objects among all, from 1
    concept_ranks: dict[str, int]
    top_objects: tuple[Words, ...]  # what the probe reads first, best first
    nearest: tuple[Neighbour, ...]
    found_at: int | None  # rank of the nearest scene of just these objects; None if there is none
    n_bank: int  # scenes that were looked among


def fit_instruments(table: SceneTable, *, seed: int) -> Instruments:
    """Fit components and probes on a table of the bundled space, drawn with this seed.

    Components and probes share no scene, as everywhere: a part that is switched off would
    otherwise take the probe's own errors with it. UserError when not every object is determined.
    """
    half = np.arange(len(table)) % 2 == 0
    components = fit_components(table.rows(half), level="objects", estimator="least squares")
    if table.space != BUNDLED_SPACE or not components.determined.all():
        raise UserError("A single scene is taken apart where all 144 objects are determined.")
    levels = level_two(components, table.space)
    probes = [
        fit_probe(table.rows(~half), target=target, seed=seed) for target in ("objects", "concepts")
    ]
    return Instruments(
        modality=table.modality,
        n_scenes=len(table),
        seed=seed,
        bank=table.embeddings[:BANK_SCENES],
        **_arrays(components, levels.explained[0], levels.concepts, *probes),
    )


def _arrays(
    components: Components,
    explained: np.ndarray,
    concepts: Components,
    object_probe: Probe,
    concept_probe: Probe,
) -> dict[str, np.ndarray]:
    return {
        "mean": components.mean,
        "objects": components.vectors[0],
        "explained": explained,
        "concepts": concepts.vectors[0],
        "object_weights": object_probe.weights,
        "object_bias": object_probe.bias,
        "concept_weights": concept_probe.weights,
        "concept_bias": concept_probe.bias,
    }


def take_apart(
    instruments: Instruments, embedding: np.ndarray, *, objects: Sequence[Words], into: Split
) -> tuple[Part, ...]:
    """The embedding (d,) of a scene of these objects as parts that sum to it.

    Into objects: mean, one part an object, and the rest. Into concepts: each object's part is its
    concepts' parts and its binding, what no sum of concepts explains.
    """
    parts = [Part("mean", "mean", instruments.mean.astype(np.float64))]
    for words in objects:
        parts += _object_parts(instruments, words, into=into)
    rest = embedding - sum(part.vector for part in parts)
    return (*parts, Part("rest", "rest", rest))


def exchange(instruments: Instruments, *, old: Words, new: Words, strength: float) -> Part:
    """What an edit adds: another object's component for one object's, at some strength."""
    going, coming = (
        instruments.objects[BUNDLED_SPACE.object_index(words)].astype(np.float64)
        for words in (old, new)
    )
    name = f"{' '.join(new)} for {' '.join(old)}"
    return Part(name, "exchange", strength * (coming - going))


def _object_parts(instruments: Instruments, words: Words, *, into: Split) -> list[Part]:
    space, tools, name = BUNDLED_SPACE, instruments, " ".join(words)
    number = space.object_index(words)
    if into == "objects":
        return [Part(name, "object", tools.objects[number].astype(np.float64))]
    binding = tools.objects[number].astype(np.float64) - tools.explained[number]
    return [
        *(
            Part(value, "concept", tools.concepts[i].astype(np.float64))
            for value, i in zip(words, space.concept_indices(words), strict=True)
        ),
        Part(f"binding of {name}", "binding", binding),
    ]


def summed(parts: Sequence[Part], *, without: Collection[int] = ()) -> np.ndarray:
    """The sum of all parts but those at some positions, float64 (d,)."""
    kept = [part.vector for i, part in enumerate(parts) if i not in without]
    return np.sum(kept, axis=0) if kept else np.zeros_like(parts[0].vector)


def look(
    instruments: Instruments,
    vector: np.ndarray,
    *,
    objects: Sequence[Words],
    also: Sequence[tuple[Scene, np.ndarray]] = (),
    without: Collection[tuple[Words, ...]] = (),
    k: int = 4,
) -> Looked:
    """What is read out of a vector (d,) when these objects are looked for.

    Nearest are k scenes of the bank by cosine, and of the scenes ``also`` given with their
    embeddings; those ``without``, as sorted objects, are left out of both.
    """
    space, tools = BUNDLED_SPACE, instruments
    object_scores = vector @ tools.object_weights + tools.object_bias
    concept_scores = vector @ tools.concept_weights + tools.concept_bias
    held_objects = sorted({space.object_index(words) for words in objects})
    held_concepts = sorted({i for words in objects for i in space.concept_indices(words)})
    bank = np.vstack([tools.bank, *(row[None] for _, row in also)])
    scenes = (*tools.bank_scenes, *(scene for scene, _ in also))
    similarity = unit_rows(bank) @ unit_rows(vector[None])[0]
    wanted = tuple(sorted(objects))
    nearest = [
        Neighbour(scenes[i], float(similarity[i]), held == wanted)
        for i in np.argsort(-similarity, kind="stable")
        if (held := tuple(sorted(scenes[i].object_words))) not in without
    ]
    return Looked(
        object_recognition=_recognised(object_scores, held_objects),
        concept_recognition=_recognised(concept_scores, held_concepts),
        object_ranks={space.objects[i]: _rank(object_scores, i) for i in held_objects},
        concept_ranks={space.concepts[i][1]: _rank(concept_scores, i) for i in held_concepts},
        top_objects=tuple(
            space.objects[i] for i in np.argsort(-object_scores, kind="stable")[: len(objects)]
        ),
        nearest=tuple(nearest[:k]),
        found_at=next((i for i, near in enumerate(nearest, 1) if near.wanted), None),
        n_bank=len(nearest),
    )


def _recognised(scores: np.ndarray, held: Sequence[int]) -> bool:
    present = np.zeros(len(scores), dtype=bool)
    present[list(held)] = True
    return bool(recognised(scores[None], present[None])[0])


def _rank(scores: np.ndarray, i: int) -> int:
    return 1 + int((scores > scores[i]).sum())


# --- files ----------------------------------------------------------------------------------------

_NUMBERS = ("n_scenes", "seed")


def instruments_bytes(instruments: dict[Modality, Instruments], *, fingerprint: str) -> bytes:
    """Both modalities' instruments of one model as npz, vectors in half precision.

    Half precision moves a probe's scores by about a thousandth of themselves.
    """
    arrays = {"fingerprint": np.array(fingerprint)}
    for modality, tools in instruments.items():
        for name, value in vars(tools).items():
            if isinstance(value, np.ndarray):
                arrays[f"{modality}/{name}"] = value.astype(SHIPPED_TYPE)
            elif name in _NUMBERS:
                arrays[f"{modality}/{name}"] = np.array(value)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read_instruments(content: bytes, *, fingerprint: str) -> dict[Modality, Instruments]:
    """The instruments of such a file; UserError when it is damaged or another model's."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        whose = str(arrays.pop("fingerprint"))
        found: dict[str, dict] = {}
        for name, value in arrays.items():
            modality, _, field = name.partition("/")
            number = field in _NUMBERS
            found.setdefault(modality, {"modality": modality})[field] = (
                int(value) if number else value.astype(np.float32)
            )
        instruments = {modality: Instruments(**fields) for modality, fields in found.items()}
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise UserError("The file of components is damaged.") from error
    if whose != fingerprint:
        raise UserError("These components are another model's.")
    return instruments
