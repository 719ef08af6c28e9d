"""Fits of a binding function against the published way: 4,000 full-batch epochs of Adam.

Networks and product forms are fitted to the same scenes of training objects and judged by the same
probes on scenes of held-out objects. The reference has a rate of 1e-2, falling to 0 by a cosine,
and no regularisation. One JSON line a fit with processor seconds; then, for each kind of fit,
whether the floors are met: the reference's objects and concepts recognised are not above our
interval, and it takes ten times as long. Ours include the choice of the penalty inside the training
objects.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from binding_core.complexity.approximators import fit_regressor, one_hot
from binding_core.complexity.evaluation import (
    ComplexityRow,
    Split,
    part_for_probes,
    product_rows,
    split_table,
)
from binding_core.complexity.sweep import embed_pairs
from binding_core.encoders import load
from binding_core.geometry.scene_table import SceneTable

EPOCHS, RATE, SPEEDUP = 4000, 1e-2, 10


class ProductForm(nn.Module):
    """Additive tables and, for each object, products of its concepts' vectors; shared by places."""

    def __init__(self, *, sizes: tuple[int, ...], rank: int, dimensions: int) -> None:
        super().__init__()
        self.additive = nn.ModuleList(nn.Embedding(size, dimensions) for size in sizes)
        self.tables = nn.ModuleList(nn.Embedding(size, rank) for size in sizes)
        self.mixing = nn.Linear(rank, dimensions)

    def forward(self, concepts: torch.Tensor) -> torch.Tensor:
        """Concepts (n, places, types) -> embeddings (n, d)."""
        columns = concepts.unbind(-1)
        sums = sum(table(c) for table, c in zip(self.additive, columns, strict=True))
        factors = [table(c) for table, c in zip(self.tables, columns, strict=True)]
        products = torch.stack(factors).prod(dim=0)
        return (sums + self.mixing(products)).sum(dim=1)


def by_adam(
    model: nn.Module, inputs_of: Callable[[SceneTable], torch.Tensor], split: Split
) -> Callable[[SceneTable], np.ndarray]:
    """The published recipe on standardised embeddings."""
    inputs, embeddings = inputs_of(split.fitted), split.fitted.embeddings
    mean, scale = embeddings.mean(axis=0), float(embeddings.std())
    targets = torch.from_numpy((embeddings - mean) / scale)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.mse_loss(model(inputs), targets).backward()
        optimizer.step()
        schedule.step()

    @torch.inference_mode()
    def predict(table: SceneTable) -> np.ndarray:
        return mean + scale * model(inputs_of(table)).numpy()

    return predict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="high-coverage")
    parser.add_argument("--modality", choices=("image", "text"), default="text")
    parser.add_argument("--coverage", type=float, default=0.7)
    parser.add_argument("--widths", type=int, nargs="*", default=[256])
    parser.add_argument("--ranks", type=int, nargs="*", default=[16])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = embed_pairs(load(options.model), modality=options.modality)
    split = split_table(
        *part_for_probes(table, seed=options.seed), coverage=options.coverage, seed=options.seed
    )
    sizes, dimensions = table.space.sizes, table.embeddings.shape[1]
    fit_regressor(split.fitted.rows(np.arange(20)), regressor="MLP 64", seed=0)  # imports

    def timed(name: str, fit: Callable[[], ComplexityRow]) -> tuple[ComplexityRow, float]:
        start = time.process_time()
        row = fit()
        seconds = time.process_time() - start
        line = {
            "model": options.model,
            "modality": options.modality,
            "coverage": options.coverage,
            "fit": name,
            "processor_seconds": round(seconds, 2),
            "r2_heldout": round(row.r2_heldout, 3),
            "objects": row.objects.model_dump(),
            "concepts": row.concepts.model_dump(),
            "n_fitted": row.n_fitted,
        }
        print(json.dumps(line), flush=True)
        return row, seconds

    def compared(
        name: str, ours: Callable[[], ComplexityRow], reference: Callable[[], ComplexityRow]
    ) -> None:
        (our_row, our_seconds), (row, seconds) = (
            timed(name, ours),
            timed(f"{name}, Adam", reference),
        )
        verdict = {
            "fit": name,
            "accurate_enough": our_row.objects.ci95[1] >= row.objects.value
            and our_row.concepts.ci95[1] >= row.concepts.value,
            "speedup": round(seconds / our_seconds, 1),
            "fast_enough": seconds >= SPEEDUP * our_seconds,
        }
        print(json.dumps(verdict), flush=True)

    def network(width: int) -> Callable[[], ComplexityRow]:
        def fit() -> ComplexityRow:
            torch.manual_seed(options.seed)
            places = table.places * len(table.space.concepts)
            model = nn.Sequential(nn.Linear(places, width), nn.ReLU(), nn.Linear(width, dimensions))
            predict = by_adam(model, lambda scenes: torch.from_numpy(one_hot(scenes)), split)
            return split.judge(predict, approximator=f"MLP {width}")

        return fit

    def product(rank: int) -> Callable[[], ComplexityRow]:
        def fit() -> ComplexityRow:
            torch.manual_seed(options.seed)
            model = ProductForm(sizes=sizes, rank=rank, dimensions=dimensions)
            predict = by_adam(model, lambda scenes: torch.from_numpy(scenes.concepts), split)
            return split.judge(predict, approximator="object product", rank=rank)

        return fit

    for rank in options.ranks:
        compared(
            f"object product, rank {rank}",
            lambda rank=rank: product_rows(split, form="object product", ranks=(rank,))[0],
            product(rank),
        )
    for width in options.widths:

        def fit_ours(width: int = width) -> ComplexityRow:
            fitted = fit_regressor(split.fitted, regressor=f"MLP {width}", seed=options.seed)
            return split.judge(fitted, approximator=f"MLP {width}")

        compared(f"MLP {width}", fit_ours, network(width))


if __name__ == "__main__":
    main()
