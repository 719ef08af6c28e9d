"""The settings of a run: typed, bounded, and readable without importing torch.

The bounds hold where pydantic reads the settings from a form, a file or a command.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

MAX_OBJECT_SPACE = 125_000


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained. Muon moves the hidden matrices, AdamW everything else."""

    steps: Annotated[int, Field(ge=1, le=1_000_000)]  # optimizer steps in all
    batch: Annotated[int, Field(ge=2, le=8192)] = 128  # scenes a step
    seed: Annotated[int, Field(ge=0)] = 0  # of the weights and of the data
    optimizer: Literal["muon", "adamw"] = "muon"  # adamw: AdamW alone
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1.5e-3  # AdamW's peak
    muon_learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.02  # Muon's peak
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.1  # on matrices only
    warmup_steps: Annotated[int, Field(ge=0)] = 100  # linear rise from 0
    hold: Annotated[float, Field(ge=0, lt=1)] = 0.1  # share of steps before the linear fall to 0
    clip_norm: Annotated[float, Field(gt=0)] = 1.0  # largest gradient norm
    checkpoint_every: Annotated[int, Field(ge=1)] = 250  # steps
    report_every: Annotated[int, Field(ge=1)] = 25  # steps
    measure_every: Annotated[int, Field(ge=1)] = 100  # steps; a multiple of report_every


@dataclass(frozen=True, kw_only=True)
class TokenNetwork:
    """Sizes and kind of a token run's two encoders."""

    depth: Annotated[int, Field(ge=1, le=12)] = 2  # transformer blocks
    width: Annotated[int, Field(ge=8, le=1024)] = 64  # of the residual stream
    heads: Annotated[int, Field(ge=1, le=16)] = 4  # attention heads; they divide the width
    output: Annotated[int, Field(ge=2, le=2048)] = 128  # dimensions of an embedding
    mlp: Literal["gated", "gelu"] = "gated"  # gated: the product of two linear maps
    scene_reads: Literal["objects", "words"] = "objects"  # tokens of the scene side
    sharing: Literal["apart", "shared", "part"] = "apart"  # part: begin as one, then part
    part_after: Annotated[int, Field(ge=1)] = 300  # steps, when sharing is "part"


@dataclass(frozen=True, kw_only=True)
class TokenLoss:
    """What a token run's scenes are contrasted with, and how."""

    object_weight: Annotated[float, Field(ge=0, le=10)] = 1.0  # of queries that name one object
    concept_weight: Annotated[float, Field(ge=0, le=10)] = 1.0  # of queries that name one concept
    caption_weight: Annotated[float, Field(ge=0, le=10)] = 0.0  # of captions of whole scenes
    both_ways: bool = True  # scenes find their queries, and queries their scenes
    margin: Annotated[float, Field(ge=0, le=1)] = 0.2  # cosine by which complete queries must win
    max_scale: Annotated[float, Field(ge=1, le=1000)] = 100.0  # largest inverse temperature


@dataclass(frozen=True, kw_only=True)
class CaptionSettings:
    """How scenes are told in captions. The defaults leave nothing out."""

    incomplete: Annotated[float, Field(ge=0, le=1)] = 0.0  # share of objects that lose a concept
    loses: Literal["either", "colour", "shape"] = "either"  # tokens: the first, the second type
    single: Annotated[float, Field(ge=0, le=1)] = 0.0  # share of captions that name one object
    swap_negatives: bool = True  # swapped captions stand among the false ones
    by_place: bool = False  # the leak: words in the order of places, so that place tells the swap


@dataclass(frozen=True, kw_only=True)
class PictureSettings(CaptionSettings):
    """The object space of a picture run, its split, and which captions a picture brings."""

    colours: Annotated[int, Field(ge=2, le=12)] = 12  # the first of the composer's
    shapes: Annotated[int, Field(ge=2, le=12)] = 12
    coverage: Annotated[float, Field(gt=0, le=1)] = 0.9  # share of the object space in training
    split_seed: Annotated[int, Field(ge=0)] = 0
    captions: Literal["full", "web"] = "full"  # full: also one an object and one a concept
    captions_per_picture: Annotated[int, Field(ge=1, le=8)] = 2  # web
    pixels: Annotated[int, Field(ge=32, le=96, multiple_of=32)] = 64  # side of a picture

    @property
    def n_objects(self) -> int:
        """|O|."""
        return self.colours * self.shapes
