"""A training step of token scenes in plain Python loops, to measure the array operations against.

Scenes are drawn one by one. Whether a scene holds a query is asked of each pair of a scene and a
query, and the loss is summed up scene by scene. The network and the optimizers are the run's own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from binding_core.training.settings import TokenLoss
from binding_core.training.token_model import TokenModel
from binding_core.training.tokens import ABSENT, TokenBatch, TokenData


@dataclass(frozen=True)
class ReferenceBatch:
    """Scenes and what they are contrasted with: all training objects, and all concepts."""

    step: int
    scenes: np.ndarray  # int64 (n, M, C), value numbers
    candidates: np.ndarray  # int64 (m, 1, C)
    objects: np.ndarray  # bool (n, m): which candidates a scene holds
    concepts: np.ndarray  # bool (n, C * V): which concepts it holds


def reference_batch(data: TokenData, *, size: int, seed: int, step: int) -> ReferenceBatch:
    """The batch of (seed, step); its scenes are not those that the fast path draws."""
    rng = np.random.default_rng([seed, step])
    train = data.concepts(data.train)
    scenes = np.zeros((size, data.objects, data.types), dtype=np.int64)
    for i in range(size):
        scenes[i] = train[rng.choice(len(train), size=data.objects, replace=False)]
    objects, concepts = reference_labels(data, scenes)
    return ReferenceBatch(
        step=step, scenes=scenes, candidates=train[:, None], objects=objects, concepts=concepts
    )


def reference_labels(data: TokenData, scenes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What scenes hold: value numbers (n, M, C) -> bool (n, training objects), bool (n, C * V)."""
    candidates = data.concepts(data.train).tolist()
    names = [(k, value) for k in range(data.types) for value in range(data.values)]
    objects = np.zeros((len(scenes), len(candidates)), dtype=bool)
    concepts = np.zeros((len(scenes), len(names)), dtype=bool)
    for i, scene in enumerate(scenes.tolist()):
        for j, candidate in enumerate(candidates):
            for held in scene:
                if held == candidate:
                    objects[i, j] = True
        for j, (k, value) in enumerate(names):
            for held in scene:
                if held[k] == value:
                    concepts[i, j] = True
    return objects, concepts


def reference_loss(
    model: TokenModel,
    batch: ReferenceBatch | TokenBatch,
    *,
    data: TokenData,
    settings: TokenLoss,
    of_row: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """The value of ``token_loss``, for encoders apart and without captions of whole scenes.

    ``of_row`` is how the loss of one scene is written down, see below.
    """
    scenes = model.scenes(torch.from_numpy(batch.scenes))
    scale = model.log_scale.exp().clamp(max=settings.max_scale)

    def contrast(queries: np.ndarray, truth: np.ndarray, margin: float) -> Tensor:
        embedded = model.queries(torch.from_numpy(queries), step=batch.step)
        similarity = scenes @ embedded.T
        found = _by_rows(similarity, truth, scale=scale, margin=margin, of_row=of_row)
        if not settings.both_ways:
            return found
        back = _by_rows(similarity.T, truth.T, scale=scale, margin=margin, of_row=of_row)
        return (found + back) / 2

    objects = contrast(batch.candidates, batch.objects, settings.margin)
    concepts = contrast(_concept_queries(data), batch.concepts, 0.0)
    return settings.object_weight * objects + settings.concept_weight * concepts


def _concept_queries(data: TokenData) -> np.ndarray:
    queries = []
    for k in range(data.types):
        for value in range(data.values):
            words = [ABSENT] * data.types
            words[k] = value
            queries.append([words])
    return np.array(queries)


def _by_rows(
    similarity: Tensor,
    truth: np.ndarray,
    *,
    scale: Tensor,
    margin: float,
    of_row: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    losses = []
    for row, holds in zip(similarity, truth.tolist(), strict=True):
        true = [j for j, held in enumerate(holds) if held]
        false = [j for j, held in enumerate(holds) if not held]
        if true:
            losses.append(of_row(scale * (row[true] - margin), scale * row[false]))
    return torch.stack(losses).mean()


def true_ones_together(true: Tensor, false: Tensor) -> Tensor:
    """A row's mean cross-entropy, its true entries as one vector against the sum of the false."""
    return (torch.logaddexp(true, false.logsumexp(0)) - true).mean()


def one_true_entry_after_the_other(true: Tensor, false: Tensor) -> Tensor:
    """The same as torch's cross-entropy of each true entry among itself and the false ones."""
    first = torch.tensor(0)
    each = [F.cross_entropy(torch.cat([entry[None], false]), first) for entry in true]
    return torch.stack(each).mean()
