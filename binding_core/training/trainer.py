"""One trainer for every world: a model, a data stream, a loss, a metrics stream, a stop event.

A run is a folder: ``metrics.jsonl`` and ``checkpoint.safetensors`` (weights, optimizer state and
step). Killed at any moment it goes on from its last checkpoint with the same weights to the last
bit, since a batch is a function of the step alone. Whoever names the folder sees to it that it
holds a run of the same configuration.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event
from typing import TypeVar

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from binding_core.errors import UserError
from binding_core.files import check_safetensors, write_atomically
from binding_core.training.muon import Muon
from binding_core.training.settings import TrainConfig

CHECKPOINT_NAME = "checkpoint.safetensors"
METRICS_NAME = "metrics.jsonl"

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Metrics:
    """One line of the metrics stream."""

    step: int  # steps done
    loss: float  # mean over the steps since the last line
    steps_per_second: float
    measured: Mapping[str, object] | None = None  # what the run's own measure gave at this step

    def line(self) -> dict:
        """As it stands in the metrics stream, where what was not measured is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Diverged(UserError):
    """The loss is no longer a number; the message says at which step and what to try."""


def build_optimizers(
    model: nn.Module, *, matrices: list[nn.Parameter], config: TrainConfig
) -> list[torch.optim.Optimizer]:
    """Muon for ``matrices``, AdamW for the rest; vectors and scalars do not decay."""
    held = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in held]
    adamw = torch.optim.AdamW(
        [
            {"params": [p for p in rest if p.ndim > 1], "weight_decay": config.weight_decay},
            {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=config.learning_rate,
        betas=(0.9, 0.98),
        fused=True,
    )
    if not matrices:
        return [adamw]
    muon = Muon(matrices, lr=config.muon_learning_rate, weight_decay=config.weight_decay)
    return [adamw, muon]


def learning_rate_factor(step: int, config: TrainConfig) -> float:
    """Share of the peak learning rate at a step: a linear rise, a plateau, a linear fall."""
    rise = min(1.0, (step + 1) / max(1, config.warmup_steps))
    fall = (config.steps - step) / max(1.0, config.steps * (1 - config.hold))
    return rise * min(1.0, fall)


def train(
    *,
    model: nn.Module,
    matrices: list[nn.Parameter],
    stream: Callable[[int], Batch],
    loss: Callable[[nn.Module, Batch], Tensor],
    config: TrainConfig,
    folder: Path,
    stop: Event,
    report: Callable[[Metrics], None] = lambda metrics: None,
    measure: Callable[[int], Mapping[str, object]] | None = None,
    beside_checkpoint: Callable[[], None] = lambda: None,
) -> bool:
    """Train ``model`` in place, going on from the folder's checkpoint when there is one.

    ``stream(step)`` gives the step's batch and must depend on nothing else. ``measure(step)`` is
    asked now and then, after so many steps; its time does not count as training.
    ``beside_checkpoint()`` is called after each checkpoint. Returns True when all steps are done,
    False when ``stop`` was set (a checkpoint is written first). Raises :class:`Diverged` when the
    loss is no longer finite.
    """
    folder.mkdir(parents=True, exist_ok=True)
    optimizers = build_optimizers(model, matrices=matrices, config=config)
    peaks = [[group["lr"] for group in o.param_groups] for o in optimizers]
    step = load_checkpoint(folder / CHECKPOINT_NAME, model, optimizers)
    _drop_metrics_after(folder / METRICS_NAME, step)

    model.train()
    losses: list[float] = []
    since = time.monotonic()
    while step < config.steps and not stop.is_set():
        factor = learning_rate_factor(step, config)
        for optimizer, peak in zip(optimizers, peaks, strict=True):
            for group, rate in zip(optimizer.param_groups, peak, strict=True):
                group["lr"] = rate * factor
        value = loss(model, stream(step))
        if not math.isfinite(value.item()):
            raise Diverged(
                f"The loss is {value.item()} at step {step}: training has diverged. The last "
                "checkpoint is safe. Try a lower learning rate or a longer warm-up."
            )
        train_step(model, optimizers, value, config)
        step += 1
        losses.append(value.item())

        if step % config.report_every == 0 or step == config.steps:
            seconds = time.monotonic() - since
            due = measure and (step % config.measure_every == 0 or step == config.steps)
            if due:
                model.eval()
            metrics = Metrics(
                step=step,
                loss=sum(losses) / len(losses),
                steps_per_second=len(losses) / seconds,
                measured=measure(step) if due else None,
            )
            model.train()
            losses, since = [], time.monotonic()
            with (folder / METRICS_NAME).open("a", encoding="utf-8") as file:
                file.write(json.dumps(metrics.line()) + "\n")
            report(metrics)
        if step % config.checkpoint_every == 0:
            save_checkpoint(folder / CHECKPOINT_NAME, model, optimizers, step)
            beside_checkpoint()
    save_checkpoint(folder / CHECKPOINT_NAME, model, optimizers, step)
    beside_checkpoint()
    return step >= config.steps


def train_step(
    model: nn.Module, optimizers: list[torch.optim.Optimizer], loss: Tensor, config: TrainConfig
) -> None:
    """One step down the gradient of ``loss``, a scalar."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
    for optimizer in optimizers:
        optimizer.step()


def save_checkpoint(
    path: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer], step: int
) -> None:
    """Write weights, optimizer state and step as one safetensors file, atomically."""
    tensors = {f"model.{name}": t for name, t in model.state_dict().items()}
    for i, optimizer in enumerate(optimizers):
        for j, state in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{j}.{key}": t for key, t in state.items()}
    # clone: safetensors refuses tensors that share memory
    content = save(
        {name: t.detach().clone().contiguous() for name, t in tensors.items()},
        metadata={"step": str(step)},
    )
    write_atomically(path, content)


def load_checkpoint(path: Path, model: nn.Module, optimizers: list[torch.optim.Optimizer]) -> int:
    """Put a checkpoint's weights and optimizer state in place; its step, or 0 without a file.

    UserError when the file is damaged or cut short.
    """
    if not path.exists():
        return 0
    check_safetensors(path)
    with safe_open(path, framework="pt") as file:
        step = int(file.metadata()["step"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    prefix = "model."
    model.load_state_dict(
        {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    )
    for i, optimizer in enumerate(optimizers):
        state: dict[int, dict[str, Tensor]] = {}
        for name, t in tensors.items():
            match name.split("."):
                case ["optimizer", index, j, key] if int(index) == i:
                    state.setdefault(int(j), {})[key] = t
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return step


def _drop_metrics_after(path: Path, step: int) -> None:
    """Forget metrics of steps that a killed run did after its last checkpoint."""
    if path.exists():
        kept = [
            line
            for line in path.read_text("utf-8").splitlines()
            # A line that a crash cut short belongs to a step after the checkpoint.
            if line.endswith("}") and json.loads(line)["step"] <= step
        ]
        write_atomically(path, "".join(line + "\n" for line in kept).encode())
