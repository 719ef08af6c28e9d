"""What decides a run's curve: one configuration a world, checked as a whole."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from binding_core.concepts import BUNDLED_SPACE, ConceptSpace, ObjectSplit, split_objects
from binding_core.errors import UserError
from binding_core.training.settings import (
    MAX_OBJECT_SPACE,
    PictureSettings,
    TokenLoss,
    TokenNetwork,
    TrainConfig,
)
from binding_core.training.tokens import TokenData

Part = Literal["train", "validation", "test"]  # of the object space


class _RunConfig(BaseModel):
    """What the configurations of both worlds have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="own settings", max_length=100)
    training: TrainConfig = TrainConfig(steps=600)

    def changed(self, settings: dict[str, object]) -> Self:
        """With some settings changed, named as in ``data.coverage``; UserError when they can't."""
        content = self.model_dump()
        for name, value in settings.items():
            section, _, field = name.rpartition(".")
            place = content.get(section) if section else content
            if not isinstance(place, dict) or field not in place:
                raise UserError(f"There is no setting “{name}”.")
            place[field] = value
        return parse_config(content)


class TokenRunConfig(_RunConfig):
    """Everything that decides a token run's curve."""

    world: Literal["tokens"] = "tokens"
    data: TokenData = TokenData()
    network: TokenNetwork = TokenNetwork()
    loss: TokenLoss = TokenLoss()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        data, network, loss = self.data, self.network, self.loss
        if data.values**data.types > MAX_OBJECT_SPACE:
            raise ValueError(
                f"{data.values} values of {data.types} types span {data.values**data.types:,} "
                f"objects; at most {MAX_OBJECT_SPACE:,} are trained on"
            )
        _check_coverage(data.coverage, data.n_objects, values=data.values)
        if round(data.coverage * data.n_objects) < data.objects:
            raise ValueError(f"scenes of {data.objects} need as many training objects")
        if network.width % network.heads:
            raise ValueError(f"{network.heads} heads do not divide the width {network.width}")
        if network.sharing != "apart" and network.scene_reads == "objects":
            raise ValueError("encoders that share their weights both read words")
        if network.sharing == "part" and network.part_after >= self.training.steps:
            raise ValueError(
                f"the encoders part after {network.part_after} steps, and training ends after "
                f"{self.training.steps}"
            )
        if not (loss.object_weight or loss.concept_weight or loss.caption_weight):
            raise ValueError("objects, concepts and captions all weigh nothing in the loss")
        if not loss.caption_weight and (data.incomplete or data.single or data.by_place):
            raise ValueError(
                "incomplete captions and word order matter only where captions weigh something "
                "in the loss"
            )
        return self


class PictureRunConfig(_RunConfig):
    """Everything that decides a picture run's curve."""

    world: Literal["pictures"] = "pictures"
    data: PictureSettings = PictureSettings()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        data = self.data
        _check_coverage(data.coverage, data.n_objects, values=max(data.colours, data.shapes))
        if data.captions == "full" and (data.incomplete or data.single):
            raise ValueError("full captions leave nothing out; choose “web” captions for that")
        return self

    @property
    def space(self) -> ConceptSpace:
        """The composer's first colours and shapes."""
        colours, shapes = BUNDLED_SPACE.values
        return ConceptSpace(
            types=BUNDLED_SPACE.types,
            values=(colours[: self.data.colours], shapes[: self.data.shapes]),
        )

    @property
    def split(self) -> ObjectSplit:
        """Training and held-out objects of that space."""
        data = self.data
        return split_objects(self.space, coverage=data.coverage, seed=data.split_seed)


RunConfig = Annotated[TokenRunConfig | PictureRunConfig, Field(discriminator="world")]
_ANY = TypeAdapter(RunConfig)


def parse_config(content: object) -> TokenRunConfig | PictureRunConfig:
    """The configuration of what a form, a file or a command said; UserError names what is wrong."""
    try:
        return _ANY.validate_python(content)
    except ValidationError as error:
        raise UserError(f"This run can't be: {first_fault(error)}.") from error


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong, as half a sentence that names the setting."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("tokens", "pictures"))
    said = first["msg"].removeprefix("Value error, ")
    return f"“{where}”: {said}" if where else said[0].upper() + said[1:]


def _check_coverage(coverage: float, n_objects: int, *, values: int) -> None:
    if (n_train := round(coverage * n_objects)) < values:
        raise ValueError(
            f"coverage {coverage:g} gives {n_train} training objects; at least {values} are "
            "needed, so that every concept is seen"
        )
