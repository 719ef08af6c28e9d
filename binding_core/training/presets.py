"""Runs to start from, each of which shows something."""

from __future__ import annotations

from dataclasses import dataclass

from binding_core.training.run_config import PictureRunConfig, TokenRunConfig
from binding_core.training.settings import (
    PictureSettings,
    TokenLoss,
    TokenNetwork,
    TrainConfig,
)
from binding_core.training.tokens import TokenData


@dataclass(frozen=True, kw_only=True)
class RunPreset:
    """A run with what will be seen, and why."""

    config: TokenRunConfig | PictureRunConfig
    expect: str  # what will happen
    why: str


def _training(steps: int = 600, **settings: object) -> TrainConfig:
    """What the README's ablations came to."""
    recipe = {"learning_rate": 6e-3, "warmup_steps": 50, "hold": 0.5, "measure_every": 50}
    return TrainConfig(steps=steps, batch=256, **(recipe | settings))


def _pictures() -> TrainConfig:
    return TrainConfig(
        steps=800, batch=128, learning_rate=4e-3, warmup_steps=50, hold=0.5, measure_every=100
    )


def _presets() -> dict[str, RunPreset]:
    presets = (
        RunPreset(
            config=TokenRunConfig(
                name="binding appears",
                data=TokenData(coverage=0.9),
                training=_training(),
            ),
            expect="Object recognition of unseen combinations rises with that of the seen ones.",
            why="Nine tenths of the 400 objects are enough to learn how a colour and a shape are "
            "put together, instead of each pair by heart.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="binding does not",
                data=TokenData(coverage=0.25),
                training=_training(),
            ),
            expect="The seen objects are learned; unseen combinations are not recognised.",
            why="The same network and the same steps, but a quarter of the objects: each pair is "
            "learned for itself.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="stuck in the bag",
                data=TokenData(coverage=0.9),
                network=TokenNetwork(scene_reads="words"),
                training=_training(optimizer="adamw"),
            ),
            expect="Concepts are recognised at once, objects hardly, unseen ones not at all.",
            why="When both sides add up words, a scene and its swap score alike, and the loss has "
            "no slope toward binding: a saddle. AdamW alone stays there.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="begin as one, then part",
                data=TokenData(coverage=0.9),
                network=TokenNetwork(scene_reads="words", sharing="part", part_after=300),
                training=_training(1200),
            ),
            expect="Two encoders that both read words bind, although apart they are stuck.",
            why="One encoder for both sides leaves the saddle; its two copies then go their own "
            "ways.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="apart, with attributes left out",
                data=TokenData(coverage=0.9, density=0.5),
                network=TokenNetwork(scene_reads="words"),
                training=_training(1200),
            ),
            expect="Two encoders that read words, apart from the first step, leave the saddle: "
            "unseen objects are recognised after all.",
            why="Half of the objects in training have a shape and no colour. Of all that was tried "
            "on the saddle this alone helped; why is open.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="web captions",
                data=TokenData(coverage=0.9, incomplete=1.0),
                loss=TokenLoss(object_weight=0, concept_weight=0, caption_weight=1),
                training=_training(),
            ),
            expect="Concepts are recognised; a scene is not told from its swap, even a seen one.",
            why="Every caption leaves a concept of each object out, as people do beside pictures. "
            "Nothing then says which colour goes with which shape.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="three concept types",
                data=TokenData(types=3, values=8, coverage=0.9),
                # Half as many measures: with 125,000 objects each takes five seconds.
                training=_training(measure_every=100),
            ),
            expect="Objects of three concepts, such as colour, shape and size, are bound as well.",
            why="512 objects of 24 concepts: the more types, the fewer concepts an object space "
            "of the same size needs.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="four objects a scene",
                data=TokenData(values=16, objects=4, coverage=0.9),
                training=_training(1200, learning_rate=3e-3),
            ),
            expect="Scenes are told from their swaps, unseen ones too; all four objects of a scene "
            "are recognised late, and unseen ones hardly.",
            why="Sixteen pairs of the scene's concepts are plausible and four are there, and one "
            "that is missed spoils the scene.",
        ),
        RunPreset(
            config=TokenRunConfig(
                name="the paper's setting, small",
                data=TokenData(coverage=0.9, swap_negatives=False),
                network=TokenNetwork(scene_reads="words", mlp="gelu"),
                loss=TokenLoss(concept_weight=0, margin=0, both_ways=False),
                training=TrainConfig(
                    steps=2000,
                    batch=256,
                    optimizer="adamw",
                    learning_rate=1e-3,
                    measure_every=100,
                ),
            ),
            expect="Two encoders that read words, AdamW, objects alone in the loss: the plateau.",
            why="The paper trains such a pair 25 times as long, on a larger object space. What "
            "leaves the plateau sooner is in the presets above: Muon, objects as tokens, or "
            "encoders that begin as one.",
        ),
        RunPreset(
            config=PictureRunConfig(
                name="pictures: binding appears",
                data=PictureSettings(coverage=0.9),
                training=_pictures(),
            ),
            expect="A small CLIP learns pictures and captions: unseen scenes are soon told from "
            "their swaps, and their objects are recognised later than the seen ones.",
            why="The composer's own pictures, 12 colours × 12 shapes. From its first checkpoint on "
            "the run is a model on the page Compose.",
        ),
        RunPreset(
            config=PictureRunConfig(
                name="pictures: web captions",
                data=PictureSettings(
                    coverage=0.9,
                    captions="web",
                    incomplete=1.0,
                    single=0.5,
                    captions_per_picture=4,
                    swap_negatives=False,
                ),
                training=_pictures(),
            ),
            expect="The same CLIP on captions that leave concepts out: swap accuracy stays at "
            "one half.",
            why="Same network, same steps, same pictures: only the captions differ.",
        ),
    )
    return {preset.config.name: preset for preset in presets}


RUN_PRESETS = _presets()
