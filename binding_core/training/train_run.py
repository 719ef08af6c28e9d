"""Training a run in its folder: one way for both worlds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any, Protocol

from filelock import FileLock, Timeout
from safetensors.torch import save
from torch import Tensor, nn

from binding_core.errors import UserError
from binding_core.files import write_atomically
from binding_core.training.run_config import Part
from binding_core.training.runs import FAILURE_NAME, RESULT_NAME, Run
from binding_core.training.trainer import Metrics, train

RESULT_SCENES = 1000  # behind each figure of the result


class World(Protocol):
    """What a run trains, what with, and how it is measured."""

    model: nn.Module
    matrices: list[nn.Parameter]  # what Muon moves
    live_scenes: int  # behind each point of a live curve

    def draw(self, step: int) -> Any:
        """The batch of a step; it depends on nothing else."""
        ...

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        """The loss of a batch, a scalar."""
        ...

    def measure(self, parts: Sequence[Part], *, n: int, step: int) -> list[dict[str, dict]]:
        """Shares by name on ``n`` scenes of each part of the objects."""
        ...

    def panel(self, *, step: int) -> list[list[float]]:
        """Cosines of a few objects (rows) and queries: seen objects first, then unseen ones."""
        ...


def build_world(run: Run) -> World:
    """The world that the run's configuration asks for."""
    # Each world imports what only it needs.
    if run.config.world == "pictures":
        from binding_core.training.picture_world import PictureWorld

        return PictureWorld(run.config, folder=run.folder)
    from binding_core.training.token_world import TokenWorld

    return TokenWorld(run.config)


def train_run(
    run: Run,
    *,
    stop: Event,
    report: Callable[[Metrics], None] = lambda metrics: None,
    finish: bool = False,
) -> bool:
    """Train a run, going on from its checkpoint; True when done, False when stopped.

    ``finish`` trains no further: it measures the run as it is, which is then done. UserError when
    another process is training it, or when it fails; the run then says why.
    """
    lock = FileLock(run.folder / "lock")
    try:
        with lock.acquire(timeout=0):
            (run.folder / FAILURE_NAME).unlink(missing_ok=True)
            return _train(run, stop=stop, report=report, finish=finish)
    except Timeout as error:
        raise UserError(f"The run {run.id} is being trained by another process.") from error
    except UserError as error:
        write_atomically(run.folder / FAILURE_NAME, str(error).encode())
        raise


def _train(run: Run, *, stop: Event, report: Callable[[Metrics], None], finish: bool) -> bool:
    world, settings = build_world(run), run.config.training
    if finish:
        stop.set()  # before the first step: only the checkpoint is read

    def measure(step: int) -> dict[str, object]:
        seen, unseen = world.measure(("train", "validation"), n=world.live_scenes, step=step)
        return {"seen": seen, "unseen": unseen, "panel": world.panel(step=step)}

    def keep_weights() -> None:
        weights = {name: t.clone().contiguous() for name, t in world.model.state_dict().items()}
        write_atomically(run.weights, save(weights))

    done = train(
        model=world.model,
        matrices=world.matrices if settings.optimizer == "muon" else [],
        stream=world.draw,
        loss=world.loss,
        config=settings,
        folder=run.folder,
        stop=stop,
        report=report,
        measure=measure,
        beside_checkpoint=keep_weights,
    )
    if done or finish:
        world.model.eval()
        seen, unseen = world.measure(("train", "test"), n=RESULT_SCENES, step=run.step)
        # The last step counts; no checkpoint is chosen.
        result = {"seen": seen, "unseen": unseen, "steps": run.step, "chosen_by": None}
        write_atomically(run.folder / RESULT_NAME, json.dumps(result, indent=1).encode())
    return done or finish
