"""How complicated the binding function of a token run is, and how alike in its two encoders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from binding_core.complexity.evaluation import (
    ComplexityRow,
    additive_row,
    ceiling_row,
    part_for_probes,
    product_rows,
    split_table,
)
from binding_core.concepts import ConceptSpace
from binding_core.geometry.likeness import Likeness
from binding_core.geometry.remainder import binding_remainder
from binding_core.geometry.scene_table import SceneTable
from binding_core.training.run_config import TokenRunConfig
from binding_core.training.tokens import TokenData, draw_scenes

N_SCENES = 12_000
COVERAGE = 0.7  # of all objects, whatever the run was trained on: every run has the same test
RANKS = (1, 4, 16, 64, 128, 256)
PAIR_RANKS = (1, 8, 64)
PENALTIES = (0.05, 0.1, 0.2, 0.4)
ROTATIONS = 20
CHUNK = 4096


@dataclass(frozen=True)
class RunComplexity:
    """What the central figure shows of one run besides its own result."""

    rows: tuple[ComplexityRow, ...]  # real embeddings, additive, both products
    likeness: dict[str, tuple[Likeness, ...] | None]  # remainder of scene and query side: by part
    seed: int


def token_space(data: TokenData) -> ConceptSpace:
    """The run's object space with made-up words."""
    values = tuple(
        tuple(f"{chr(97 + k)}{v}" for v in range(data.values)) for k in range(data.types)
    )
    return ConceptSpace(types=tuple(f"type {k}" for k in range(data.types)), values=values)


def token_tables(
    config: TokenRunConfig, weights: Path, *, n: int = N_SCENES, seed: int = 0
) -> tuple[SceneTable, SceneTable]:
    """What a run's scene side makes of random scenes, and its query side of every object alone.

    Scenes are of all objects, trained or not, each multiset once.
    """
    import torch
    from safetensors.torch import load_file

    from binding_core.training.token_world import TokenWorld

    world = TokenWorld(config)
    world.model.load_state_dict(load_file(weights))
    model, data = world.model.eval(), config.data
    drawn = draw_scenes(
        np.arange(data.n_objects), n=2 * n, objects=data.objects, rng=np.random.default_rng(seed)
    )
    first = np.unique(np.sort(drawn, axis=1), axis=0, return_index=True)[1]
    scenes = data.concepts(drawn[np.sort(first)[:n]])
    alone = data.concepts(np.arange(data.n_objects))[:, None]
    with torch.inference_mode():
        embedded = torch.cat([model.scenes(part) for part in torch.from_numpy(scenes).split(CHUNK)])
        queries = model.queries(torch.from_numpy(alone), step=config.training.steps)
    space = token_space(data)
    return (
        SceneTable(space, scenes, embedded.numpy(), "image", "scene side"),
        SceneTable(space, alone, queries.numpy(), "text", "query side"),
    )


def measure_token_run(config: TokenRunConfig, weights: Path, *, seed: int = 0) -> RunComplexity:
    """Fit the forms to a run's scene side, and compare its sides' binding remainders."""
    scenes, queries = token_tables(config, weights, seed=seed)
    split = split_table(*part_for_probes(scenes, seed=seed), coverage=COVERAGE, seed=seed)
    rows = [ceiling_row(split), additive_row(split)]
    rows += product_rows(split, form="object product", ranks=RANKS, penalties=PENALTIES)
    rows += product_rows(split, form="global product", ranks=PAIR_RANKS, penalties=PENALTIES)
    seen = np.zeros(config.data.n_objects, dtype=bool)
    seen[config.data.train] = True
    compared = {
        name: binding_remainder(scenes, queries, objects=part, rotations=ROTATIONS, seed=seed)
        for name, part in (("seen", seen), ("unseen", ~seen))
    }
    return RunComplexity(
        rows=tuple(rows),
        likeness={name: report.remainder for name, report in compared.items()},
        seed=seed,
    )
