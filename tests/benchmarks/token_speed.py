"""Training steps a second of token scenes against plain Python loops: floor 5 times as many.

The loops are written in two ways, since how a scene's loss is put down matters more to the ratio
than the labels do: with its true queries as one vector, or with a cross-entropy for each. All in
this process, on one thread, in turn; seconds are the processor's. That labels and losses are equal
is asserted first. Of each part of a step the milliseconds are given as well.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from binding_core.training.presets import RUN_PRESETS
from binding_core.training.token_model import TokenModel
from binding_core.training.token_world import token_loss
from binding_core.training.tokens import draw_token_batch
from binding_core.training.trainer import build_optimizers
from tests.benchmarks.token_reference import (
    one_true_entry_after_the_other,
    reference_batch,
    reference_labels,
    reference_loss,
    true_ones_together,
)

PRESET = "binding appears"
FLOOR = 5
WRITINGS = (true_ones_together, one_true_entry_after_the_other)


def new_model(config) -> TokenModel:
    data = config.data
    sizes = {"types": data.types, "values": data.values, "objects": data.objects}
    return TokenModel(config.network, **sizes, seed=config.training.seed)


def assert_equal(model: TokenModel, config, *, steps: range) -> float:
    """Labels are the same, and losses but for rounding; the largest difference of two losses."""
    data, largest = config.data, 0.0
    for step in steps:
        batch = draw_token_batch(data, size=config.training.batch, seed=0, step=step)
        objects, concepts = reference_labels(data, batch.scenes)
        assert np.array_equal(batch.candidates[:, 0], data.concepts(data.train))
        assert np.array_equal(batch.objects, objects)
        assert np.array_equal(batch.concepts, concepts)
        with torch.no_grad():
            fast = token_loss(model, batch, data=data, settings=config.loss).item()
            for of_row in WRITINGS:
                reference = reference_loss(
                    model, batch, data=data, settings=config.loss, of_row=of_row
                ).item()
                assert abs(fast - reference) <= 1e-5, (fast, reference)
                largest = max(largest, abs(fast - reference))
    return largest


class Way:
    """One way to train: a batch, its loss, and the trainer's step."""

    def __init__(self, config, draw: Callable, loss: Callable) -> None:
        self.config, self.draw, self.loss = config, draw, loss
        self.model = new_model(config)
        self.optimizers = build_optimizers(
            self.model, matrices=self.model.hidden_matrices(), config=config.training
        )
        self.done = 0
        self.seconds: Counter[str] = Counter()
        self.rates: list[float] = []

    def step(self) -> None:
        data, training = self.config.data, self.config.training
        start = time.process_time()
        batch = self.draw(data, size=training.batch, seed=training.seed, step=self.done)
        drawn = time.process_time()
        value = self.loss(self.model, batch, data=data, settings=self.config.loss)
        value.item()
        compared = time.process_time()
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        value.backward()
        differentiated = time.process_time()
        nn.utils.clip_grad_norm_(self.model.parameters(), training.clip_norm)
        for optimizer in self.optimizers:
            optimizer.step()
        self.done += 1
        self.seconds["batch and labels"] += drawn - start
        self.seconds["networks and loss"] += compared - drawn
        self.seconds["backward"] += differentiated - compared
        self.seconds["optimizers"] += time.process_time() - differentiated

    def round(self, steps: int) -> None:
        start = time.process_time()
        for _ in range(steps):
            self.step()
        self.rates.append(steps / (time.process_time() - start))

    def report(self) -> dict:
        return {
            "steps_per_second": round(float(np.median(self.rates)), 2),
            "milliseconds_a_step": {
                part: round(1000 * seconds / self.done, 2) for part, seconds in self.seconds.items()
            },
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fast-steps", type=int, default=20, help="steps a round")
    parser.add_argument("--reference-steps", type=int, default=3, help="steps a round")
    options = parser.parse_args()
    torch.set_num_threads(1)
    config = RUN_PRESETS[PRESET].config
    difference = assert_equal(new_model(config), config, steps=range(3))
    fast = Way(config, draw_token_batch, token_loss)
    references = {
        of_row.__name__: Way(config, reference_batch, partial(reference_loss, of_row=of_row))
        for of_row in WRITINGS
    }
    for way in (fast, *references.values()):
        way.step()  # the first step allocates
        way.done, way.seconds = 0, Counter()
    for _ in range(options.rounds):
        fast.round(options.fast_steps)
        for reference in references.values():
            reference.round(options.reference_steps)
    difference = max(difference, assert_equal(fast.model, config, steps=range(3, 6)))

    def times_as_fast(reference: Way) -> dict:
        labels = [way.seconds["batch and labels"] / way.done for way in (fast, reference)]
        ratios = [f / r for f, r in zip(fast.rates, reference.rates, strict=True)]
        return {
            **reference.report(),
            "times_as_fast": round(float(np.median(ratios)), 2),
            "of_rounds": [round(ratio, 2) for ratio in ratios],
            "times_as_fast_at_batch_and_labels": round(labels[1] / labels[0], 1),
        }

    print(
        json.dumps(
            {
                "preset": PRESET,
                "batch": config.training.batch,
                "threads": torch.get_num_threads(),
                "labels_are_equal": True,
                "largest_difference_of_losses": difference,
                "fast": fast.report(),
                "references": {name: times_as_fast(way) for name, way in references.items()},
                "floor": FLOOR,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
