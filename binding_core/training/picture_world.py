"""The picture world: a small CLIP of the composer's pictures and their captions.

The run's folder is a model in open_clip's layout from its first checkpoint on, so that it can be
used wherever a bundled model can.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from binding_core.agreement.measures import share
from binding_core.agreement.swap_test import swap_scenes, swap_test
from binding_core.captions import describe
from binding_core.concepts import Words
from binding_core.encoders.own import CARD_NAME
from binding_core.encoders.protocol import ModelCard, Reading
from binding_core.errors import UserError
from binding_core.files import write_atomically
from binding_core.render import render
from binding_core.scenes import random_scene
from binding_core.training import model as small_clip
from binding_core.training.data import PictureBatch, PictureData, draw_batch
from binding_core.training.run_config import Part, PictureRunConfig

MEASURES = ("object_recognition", "concept_recognition", "swap_accuracy")
PANEL = 6  # seen objects, and as many unseen ones, whose queries are compared as they form
PANEL_VIEWS = 8  # pictures of each of them


def run_card(config: PictureRunConfig) -> ModelCard:
    """What is known of a run before it begins; its figures are the run's own."""
    data, split = config.data, config.split
    captions = "full captions" if data.captions == "full" else "web captions"
    return ModelCard(
        id="run",
        name=f"{config.name}, seed {config.training.seed}",
        kind="run",
        summary="A run of the page Train.",
        architecture=small_clip.ARCHITECTURE,
        licence="yours",
        trained_on=f"Pictures of {data.coverage:.0%} of {data.n_objects} objects with {captions}.",
        train_objects=split.train,
        heldout_objects=split.heldout,
        preprocessing=f"{data.pixels} px, {small_clip.PREPROCESSING}",
        source="page Train",
        recipe=config.model_dump(mode="json"),
    )


class PictureWorld:
    """A picture run's model with its data, its loss and its measures."""

    live_scenes = 200

    def __init__(self, config: PictureRunConfig, *, folder: Path) -> None:
        self.config, self.space, self.split = config, config.space, config.split
        settings = config.data
        self.data = PictureData(
            train_objects=self.split.train,
            captions=settings.captions,
            incomplete=settings.incomplete,
            loses=settings.loses,
            single=settings.single,
            captions_per_picture=settings.captions_per_picture,
            swap_negatives=settings.swap_negatives,
            by_place=settings.by_place,
            pixels=settings.pixels,
        )
        rng = np.random.default_rng([settings.split_seed, 1])
        half = len(self.split.heldout) // 2
        order = rng.permutation(len(self.split.heldout))
        self.objects: dict[Part, list[Words]] = {
            "train": list(self.split.train),
            # By the one half a recipe may be chosen, by the other nothing ever is.
            "validation": [self.split.heldout[i] for i in order[:half]],
            "test": [self.split.heldout[i] for i in order[half:]],
        }
        small_clip.write_architecture(folder, pixels=settings.pixels)
        write_atomically(folder / CARD_NAME, run_card(config).model_dump_json(indent=1).encode())
        self.model = small_clip.build_model(pixels=settings.pixels, seed=config.training.seed)
        self.matrices = small_clip.hidden_matrices(self.model)
        self.loss = small_clip.ClipLoss(folder, pixels=settings.pixels)

    def draw(self, step: int) -> PictureBatch:
        """The batch of a step."""
        training = self.config.training
        return draw_batch(self.data, size=training.batch, seed=training.seed, step=step)

    def measure(self, parts: Sequence[Part], *, n: int, step: int) -> list[dict[str, dict]]:
        """The swap test on ``n`` scenes of two objects of each part, all objects as candidates."""
        return [self._measure(part, n) for part in parts]

    def _measure(self, part: Part, n: int) -> dict[str, dict]:
        try:
            scenes = list(swap_scenes(n=n, seed=0, space=self.space, allowed=self.objects[part]))
        except UserError:  # too few objects: no scene whose swap differs
            nothing = share([], chance=None).model_dump()
            return dict.fromkeys(MEASURES, nothing)
        encoder = _InTraining(self.model, self.loss)
        settings = {"seed": 0, "space": self.space, "picture_size": self.data.pixels}
        report = swap_test(encoder, scenes=scenes, **settings)
        found = {name: getattr(report, name).model_dump() for name in MEASURES}
        if self.data.by_place:
            leaking = swap_test(encoder, scenes=scenes, by_place=True, **settings)
            found["swap_accuracy_by_place"] = leaking.swap_accuracy.model_dump()
        return found

    @torch.inference_mode()
    def panel(self, *, step: int) -> list[list[float]]:
        """Mean pictures of single objects (rows) against the objects' captions."""
        rng = np.random.default_rng([self.config.data.split_seed, 3])
        objects = [
            self.objects[part][i]
            for part in ("train", "validation")
            for i in rng.permutation(len(self.objects[part]))[:PANEL]
        ]
        scenes = [
            random_scene(space=self.space, n_objects=1, seed=[i, k], allowed=[words])
            for i, words in enumerate(objects)
            for k in range(PANEL_VIEWS)
        ]
        encoder = _InTraining(self.model, self.loss)
        pictures = encoder.embed_images([render(s, size=self.data.pixels) for s in scenes])
        means = pictures.reshape(len(objects), PANEL_VIEWS, -1).mean(1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        similarity = means @ encoder.embed_texts([describe([words]) for words in objects]).T
        return [[round(float(value), 3) for value in row] for row in similarity]


class _InTraining:
    """The encoder protocol on a model that is still being trained."""

    id, fingerprint = "in training", ""

    def __init__(self, model: nn.Module, loss: small_clip.ClipLoss) -> None:
        self._model, self._loss = model, loss

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        pixels = torch.from_numpy(np.stack([np.asarray(image) for image in images]))
        return self._loss.embed_pictures(self._model, pixels).numpy()

    @torch.inference_mode()
    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        return self._loss.embed_captions(self._model, texts).numpy()

    def reading(self, text: str) -> Reading:
        return Reading()
