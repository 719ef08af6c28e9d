"""How fast a run trains on this machine, measured by training it for a moment."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from binding_core.training.run_config import PictureRunConfig, TokenRunConfig
from binding_core.training.runs import create_run

WARM_UP_STEPS = 2
STEPS = 6


def steps_per_second(config: TokenRunConfig | PictureRunConfig) -> float:
    """Steps a second, measures left aside, of a few steps in a folder that is thrown away."""
    from binding_core.training.train_run import build_world
    from binding_core.training.trainer import build_optimizers, train_step

    with tempfile.TemporaryDirectory(prefix="speed-") as home:
        world = build_world(create_run(config, folder=Path(home) / "run"))
        optimizers = build_optimizers(
            world.model,
            matrices=world.matrices if config.training.optimizer == "muon" else [],
            config=config.training,
        )
        for step in range(WARM_UP_STEPS + STEPS):
            if step == WARM_UP_STEPS:
                since = time.perf_counter()
            train_step(
                world.model, optimizers, world.loss(world.model, world.draw(step)), config.training
            )
        return STEPS / (time.perf_counter() - since)
