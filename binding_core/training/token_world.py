"""The token world: what its runs learn from and are measured by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from binding_core.agreement.measures import Share, share
from binding_core.agreement.recognition import chance_of_recognition, recognised
from binding_core.training.loss import soft_contrastive
from binding_core.training.run_config import Part, TokenRunConfig
from binding_core.training.settings import TokenLoss
from binding_core.training.token_model import TokenModel
from binding_core.training.tokens import (
    ABSENT,
    TokenBatch,
    TokenData,
    draw_scenes,
    draw_token_batch,
    swap_first_type,
)

PANEL = 6  # seen objects, and as many unseen ones, whose queries are compared as they form
CHUNK = 4096  # candidates that are embedded and compared at a time


def token_loss(
    model: TokenModel, batch: TokenBatch, *, data: TokenData, settings: TokenLoss
) -> Tensor:
    """The loss of a batch, a scalar: weighted contrasts with objects, concepts and captions.

    Encoders that begin as one part here, at the beginning of their step.
    """
    if model.network.sharing == "part" and batch.step == model.network.part_after:
        model.part()
    scenes = model.scenes(torch.from_numpy(batch.scenes))
    scale = model.log_scale.exp().clamp(max=settings.max_scale)

    def contrast(queries: np.ndarray, embedded: Tensor, truth: np.ndarray) -> Tensor:
        complete = torch.from_numpy((queries != ABSENT).all((1, 2)))
        return soft_contrastive(
            scenes @ embedded.T,
            torch.from_numpy(truth),
            scale=scale,
            complete=complete,
            margin=settings.margin,
            both_ways=settings.both_ways,
        )

    parts = [
        (weight, queries, truth)
        for weight, queries, truth in (
            (settings.object_weight, batch.candidates, batch.objects),
            (settings.concept_weight, data.concept_queries(), batch.concepts),
            (settings.caption_weight, batch.captions, batch.told),
        )
        if weight
    ]
    embedded = _embed_together([queries for _, queries, _ in parts], model=model, step=batch.step)
    return sum(
        weight * contrast(queries, vectors, truth)
        for (weight, queries, truth), vectors in zip(parts, embedded, strict=True)
    )


def _embed_together(
    groups: Sequence[np.ndarray], *, model: TokenModel, step: int
) -> Sequence[Tensor]:
    """Embeddings of groups of queries, of one length (n, m, C) in one pass: it saves a seventh."""
    if len({queries.shape[1] for queries in groups}) > 1:
        return [model.queries(torch.from_numpy(queries), step=step) for queries in groups]
    vectors = model.queries(torch.from_numpy(np.concatenate(groups)), step=step)
    return vectors.split([len(queries) for queries in groups])


@dataclass(frozen=True)
class TokenMeasures:
    """How well a token model binds scenes of some of its objects; candidates are all of O."""

    object_recognition: Share
    concept_recognition: Share
    swap_accuracy: Share
    swap_accuracy_by_place: Share | None = None  # captions in the order of places: the leak


@torch.inference_mode()
def measure_tokens(
    model: TokenModel,
    data: TokenData,
    *,
    parts: Sequence[np.ndarray],
    n: int,
    seed: int,
    step: int,
    captions: bool = False,
) -> list[TokenMeasures]:
    """Recognition and swap accuracy on ``n`` fresh scenes of each part of the objects.

    Object recognition is exact over all |O| objects, chunk by chunk. ``captions`` says whether the
    query encoder has learned to read whole ones: their similarity is then the mean over both word
    orders. Otherwise a caption's similarity is the mean of its objects' similarities. The swap
    exchanges the first concept type of two objects, and scenes that it leaves unchanged are not
    counted.
    """
    drawn = [
        draw_scenes(part, n=n, objects=data.objects, rng=np.random.default_rng([seed, 2]))
        for part in parts
        if len(part) >= data.objects
    ]
    if not drawn:
        return [_nothing() for _ in parts]
    scenes = np.concatenate(drawn)
    concepts = data.concepts(scenes)
    embedded = model.scenes(torch.from_numpy(concepts))

    def similarities(queries: np.ndarray) -> np.ndarray:
        return (embedded @ model.queries(torch.from_numpy(queries), step=step).T).numpy()

    def to_caption(told: np.ndarray) -> np.ndarray:
        return (embedded * model.queries(torch.from_numpy(told), step=step)).sum(1).numpy()

    present = np.full(scenes.shape, np.nan, dtype=np.float32)
    highest_absent = np.full(len(scenes), -np.inf, dtype=np.float32)
    for start in range(0, data.n_objects, CHUNK):
        positions = np.arange(start, min(start + CHUNK, data.n_objects))
        scores = similarities(data.concepts(positions)[:, None])
        rows, columns = np.nonzero((scenes >= positions[0]) & (scenes <= positions[-1]))
        held = scenes[rows, columns] - start
        present[rows, columns] = scores[rows, held]
        scores[rows, held] = -np.inf
        highest_absent = np.maximum(highest_absent, scores.max(1))
    objects = present.min(1) > highest_absent
    holds = data.present_concepts(scenes)
    found = recognised(similarities(data.concept_queries()), holds)

    swapped = swap_first_type(concepts)
    differs = (np.sort(data.positions(swapped), 1) != np.sort(scenes, 1)).any(1)
    if captions:
        forth = np.arange(data.objects)
        orders = (forth, forth[::-1].copy())
        margins = [to_caption(concepts[:, o]) - to_caption(swapped[:, o]) for o in orders]
        right, right_by_place = sum(margins) > 0, margins[0] > 0
    else:
        pairs = torch.from_numpy(swapped[:, :2]).flatten(0, 1)[:, None]
        of_swapped = model.queries(pairs, step=step).view(len(scenes), 2, -1)
        false = torch.einsum("nd,nkd->n", embedded, of_swapped).numpy() / 2
        right = right_by_place = present[:, :2].mean(1) > false

    choices = np.zeros((1, data.n_objects), dtype=bool)
    choices[0, : data.objects] = True
    measures, start = [], 0
    for part in parts:
        if len(part) < data.objects:
            measures.append(_nothing())
            continue
        rows = slice(start, start + n)
        start += n
        counted = differs[rows]
        measures.append(
            TokenMeasures(
                object_recognition=share(objects[rows], chance=chance_of_recognition(choices)),
                concept_recognition=share(found[rows], chance=chance_of_recognition(holds[rows])),
                swap_accuracy=share(right[rows][counted], chance=0.5),
                swap_accuracy_by_place=share(right_by_place[rows][counted], chance=0.5)
                if captions and data.by_place
                else None,
            )
        )
    return measures


def _nothing() -> TokenMeasures:
    nothing = share([], chance=None)
    return TokenMeasures(nothing, nothing, nothing)


@torch.inference_mode()
def panel_similarities(model: TokenModel, data: TokenData, *, step: int) -> list[list[float]]:
    """Cosine similarities of scenes' objects and queries for a small panel of objects.

    Rows are the single objects as the scene encoder reads them, columns the queries; seen objects
    first, then unseen ones. A model that binds has ones on the diagonal only.
    """
    objects = data.concepts(panel_objects(data))[:, None]
    concepts = torch.from_numpy(objects)
    similarity = model.scenes(concepts) @ model.queries(concepts, step=step).T
    return [[round(value, 3) for value in row] for row in similarity.tolist()]


def panel_objects(data: TokenData) -> np.ndarray:
    """The panel: positions of up to PANEL seen objects, then of up to PANEL unseen ones."""
    rng = np.random.default_rng([data.split_seed, 3])
    chosen = [rng.permutation(part)[:PANEL] for part in (data.train, data.validation)]
    return np.concatenate(chosen)


class TokenWorld:
    """A token run's model with its data, its loss and its measures."""

    live_scenes = 300

    def __init__(self, config: TokenRunConfig) -> None:
        self.config, self.data = config, config.data
        self.reads_captions = config.loss.caption_weight > 0
        self.model = TokenModel(
            config.network,
            types=self.data.types,
            values=self.data.values,
            objects=self.data.objects,
            seed=config.training.seed,
        )
        self.matrices = self.model.hidden_matrices()

    def draw(self, step: int) -> TokenBatch:
        """The batch of a step."""
        training = self.config.training
        return draw_token_batch(
            self.data,
            size=training.batch,
            seed=training.seed,
            step=step,
            captions=self.reads_captions,
        )

    def loss(self, model: TokenModel, batch: TokenBatch) -> Tensor:
        """The loss of a batch, a scalar."""
        return token_loss(model, batch, data=self.data, settings=self.config.loss)

    def measure(self, parts: Sequence[Part], *, n: int, step: int) -> list[dict[str, dict]]:
        """The measures on ``n`` scenes of each part of the objects."""
        measures = measure_tokens(
            self.model,
            self.data,
            parts=[getattr(self.data, part) for part in parts],
            n=n,
            seed=self.config.training.seed,
            step=step,
            captions=self.reads_captions,
        )
        return [
            {name: value.model_dump() for name, value in vars(of_part).items() if value is not None}
            for of_part in measures
        ]

    def panel(self, *, step: int) -> list[list[float]]:
        """See :func:`panel_similarities`."""
        return panel_similarities(self.model, self.data, step=step)
