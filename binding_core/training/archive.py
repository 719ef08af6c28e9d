"""A run as one zip file, out and in.

What comes in is a stranger's: it is checked whole, file by file, before a run appears in the list.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import stat
import uuid
import zipfile
import zlib
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from safetensors import SafetensorError, safe_open

from binding_core.agreement.measures import Share
from binding_core.agreement.swap_test import SwapReport
from binding_core.encoders.openclip import CONFIG_NAME as OPEN_CLIP_CONFIG_NAME
from binding_core.encoders.openclip import MAX_CONFIG_BYTES, MERGES_NAME, read_config
from binding_core.encoders.openclip import WEIGHTS_NAME as PICTURE_WEIGHTS_NAME
from binding_core.encoders.own import CARD_NAME
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.files import check_safetensors, runs_folder, write_atomically
from binding_core.training.run_config import (
    PictureRunConfig,
    TokenRunConfig,
    first_fault,
    parse_config,
)
from binding_core.training.runs import (
    CONFIG_NAME,
    ENVIRONMENT_NAME,
    FAILURE_NAME,
    METRICS_NAME,
    NOTE_NAME,
    RESULT_NAME,
    WEIGHTS_NAME,
    Run,
    free_folder,
)

CHECKPOINT_NAME = "checkpoint.safetensors"  # the trainer's own name, but its module imports torch
MAX_ARCHIVE_BYTES = 300 * 2**20
# What a run may consist of, with the most bytes of each. The order is that of the export, so that
# a run that is being trained meanwhile comes out usable: weights of its result or later ones, and
# no metrics missing before its checkpoint.
FILES = {
    CONFIG_NAME: 100_000,
    ENVIRONMENT_NAME: 10_000,
    NOTE_NAME: 10_000,
    FAILURE_NAME: 10_000,
    RESULT_NAME: 100_000,
    OPEN_CLIP_CONFIG_NAME: MAX_CONFIG_BYTES,
    MERGES_NAME: 1_000_000,
    CARD_NAME: 1_000_000,
    CHECKPOINT_NAME: 300 * 2**20,  # weights and twice as much optimizer state
    WEIGHTS_NAME: 100 * 2**20,
    PICTURE_WEIGHTS_NAME: 100 * 2**20,
    METRICS_NAME: 50 * 2**20,
}
STORED = (".safetensors", ".gz")  # compressing them gains nothing
SAME_TIME = (1980, 1, 1, 0, 0, 0)  # of every file, so that equal runs give equal bytes
MEMBER_HEADER = b"PK\x01\x02"
ENCRYPTED = 0x1
MAX_SEED = 2**63 - 1  # a larger one stops the list of runs from being drawn
MAX_PANEL = 50  # rows, and as many columns
MAX_MERGES_BYTES = 10_000_000
# What zipfile raises for an archive that is damaged, cut short or of a kind that it doesn't read.
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError)


class _Checked(BaseModel):
    """Numbers must be numbers and finite; what no reader asks for may stand beside them."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Share(Share, _Checked):
    @model_validator(mode="after")
    def _can_be_shown(self) -> Self:
        numbers = (self.value, self.chance, *(self.ci95 or (None,)))
        if numbers == (None, None, None):
            return self
        if None in numbers:
            raise ValueError("value, ci95 and chance are either all there or all null")
        if not all(0 <= number <= 1 for number in numbers):
            raise ValueError("value, ci95 and chance lie between 0 and 1")
        return self


class _Measures(_Checked):
    __pydantic_extra__: dict[str, _Share]  # such as swap_accuracy_by_place
    model_config = ConfigDict(extra="allow")

    object_recognition: _Share
    concept_recognition: _Share
    swap_accuracy: _Share


class _CurvePoint(_Measures):
    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        # The curves ask for object recognition alone, and then take the others for granted.
        others = (self.concept_recognition.value, self.swap_accuracy.value)
        if self.object_recognition.value is not None and None in others:
            raise ValueError("a measure is null where object recognition is not")
        return self


class _Measured(_Checked):
    seen: _CurvePoint
    unseen: _CurvePoint
    panel: Annotated[list[list[float]], Field(min_length=1, max_length=MAX_PANEL)]

    @model_validator(mode="after")
    def _panel_is_square(self) -> Self:
        if any(len(row) != len(self.panel) for row in self.panel):
            raise ValueError("the panel has as many columns as rows")
        return self


class _Line(_Checked):
    step: Annotated[int, Field(ge=1)]
    loss: float
    steps_per_second: Annotated[float, Field(ge=0)]
    measured: _Measured = None  # may be missing, but not null: readers ask whether it is there


class _Result(_Checked):
    seen: _Measures
    unseen: _Measures


class _Environment(_Checked):
    created: Annotated[str, Field(max_length=40)]


class _Card(ModelCard):
    figures: dict[str, SwapReport] = Field(default_factory=dict)


SHAPES: dict[str, type[BaseModel]] = {
    ENVIRONMENT_NAME: _Environment,
    RESULT_NAME: _Result,
    CARD_NAME: _Card,
}


def export_run(run: Run) -> bytes:
    """A zip of the run's files; UserError when one is unreadable or too large to be taken back."""
    run.config  # noqa: B018  raises when damaged
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in FILES:
            try:
                content = _to_export(run.folder / name)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise UserError(
                    f"The run can't be exported: {name} can't be read ({error.strerror or error})."
                ) from error
            member = zipfile.ZipInfo(name, date_time=SAME_TIME)
            member.create_system = 3  # Unix, whatever this machine is: the same bytes everywhere
            member.external_attr = (stat.S_IFREG | 0o644) << 16
            stored = name.endswith(STORED)
            member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    content = buffer.getvalue()
    if len(content) > MAX_ARCHIVE_BYTES:
        raise UserError(
            f"The run can't be exported: it has {_megabytes(len(content))}, and an archive may "
            f"have {_megabytes(MAX_ARCHIVE_BYTES)}."
        )
    return content


def import_run(content: bytes, *, into: Path | None = None) -> Run:
    """The run of an archive, in a new folder under ``into`` or else under the app's own runs.

    UserError names what is wrong; then there is no new run, nor anything left of one.
    """
    if len(content) > MAX_ARCHIVE_BYTES:
        raise UserError(
            f"The archive has {_megabytes(len(content))}; up to {_megabytes(MAX_ARCHIVE_BYTES)} "
            "are read."
        )
    archive = _open(content)
    members = _members(archive)
    texts = {
        name: _read(archive, member)
        for name, member in members.items()
        if not name.endswith(".safetensors")
    }
    config = _check_texts(texts)
    root = into or runs_folder()
    beside = root / f".importing-{uuid.uuid4().hex}"  # a run that is not whole is never listed
    try:
        for name, member in members.items():
            # Weights are read one by one, so that not all of them are in memory.
            is_text = name in texts
            write_atomically(beside / name, texts[name] if is_text else _read(archive, member))
        _check_models(beside, steps=config.training.steps)
        folder = free_folder(config.name, root=root)
        beside.rename(folder)
    except OSError as error:
        raise UserError(
            f"The run can't be kept in {root}: {error.strerror or error}. Nothing was imported."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Run(folder)


def _to_export(path: Path) -> bytes:
    size, cap = path.stat().st_size, FILES[path.name]
    if size > cap:
        raise UserError(
            f"The run can't be exported: {path.name} has {_megabytes(size)}, and an archive takes "
            f"{_megabytes(cap)} of it."
        )
    content = path.read_bytes()
    # A line that is still being written is left out.
    return content[: content.rfind(b"\n") + 1] if path.name == METRICS_NAME else content


def _open(content: bytes) -> zipfile.ZipFile:
    # Counted first: zipfile makes an object of every member. By chance the four bytes of a
    # member's header stand in weights as well, but hardly ever.
    if content.count(MEMBER_HEADER) > 2 * len(FILES):
        raise UserError(f"The archive holds too many files; a run has at most {len(FILES)}.")
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except UNREADABLE as error:
        raise UserError("This is not a zip archive, or it is damaged or cut short.") from error


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The archive's members by name, each one a run's; nothing is unpacked yet."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.orig_filename  # the other name is cut at a null byte
        if fault := _fault(member):
            raise UserError(f"“{_shown(name)}” in the archive {fault}.")
        if name in members:
            raise UserError(f"“{name}” is in the archive twice.")
        members[name] = member
    if CONFIG_NAME not in members:
        raise UserError(f"The archive has no {CONFIG_NAME}: it does not hold a run.")
    return members


def _fault(member: zipfile.ZipInfo) -> str:
    """What is wrong with a member as the archive lists it; empty when nothing is."""
    name = member.orig_filename
    if "/" in name or "\\" in name:
        return "is a folder or lies in one; a run's files lie side by side"
    if name not in FILES:
        return f"is not a file of a run; these are: {', '.join(FILES)}"
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        return "is a link or a device; only plain files are taken"
    if member.flag_bits & ENCRYPTED:
        return "is encrypted; an archive without a password is needed"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed in a way that is not read; “deflate” is"
    if member.file_size > FILES[name]:
        return f"has {_megabytes(member.file_size)}; up to {_megabytes(FILES[name])} are read"
    return ""


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """A member's content, of the size and checksum that the archive says."""
    name = member.filename
    damaged = f"“{name}” in the archive is damaged or cut short."
    try:
        with archive.open(member) as file:
            content = file.read(FILES[name] + 1)  # never more, whatever it would unpack to
    except UNREADABLE as error:
        raise UserError(damaged) from error
    if len(content) != member.file_size:
        raise UserError(damaged)
    return content


def _check_texts(files: dict[str, bytes]) -> TokenRunConfig | PictureRunConfig:
    """The run's configuration; UserError when it or another file is not what readers expect."""
    if MERGES_NAME in files:
        _check_merges(files[MERGES_NAME])
    texts = {name: _text(name, files[name]) for name in files if name != MERGES_NAME}
    try:
        # RecursionError: brackets within brackets within brackets
        config = parse_config(json.loads(texts[CONFIG_NAME]))
    except UserError as error:
        raise UserError(f"{CONFIG_NAME} in the archive: {_shown(str(error), 300)}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{CONFIG_NAME} in the archive is not valid JSON.") from error
    if config.training.seed > MAX_SEED:
        raise UserError(f"{CONFIG_NAME} in the archive: a seed is at most {MAX_SEED}.")
    for name, shape in SHAPES.items():
        if name in texts:
            _check_json(texts[name], shape, called=name)
    _check_metrics(texts.get(METRICS_NAME, ""), steps=config.training.steps)
    return config


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} in the archive is not text in UTF-8.") from error


def _check_json(text: str, shape: type[BaseModel], *, called: str) -> BaseModel:
    try:
        return shape.model_validate_json(text)
    except ValidationError as error:
        fault = _shown(first_fault(error), 300)
        raise UserError(f"{called} in the archive can't be used: {fault}.") from error


def _check_metrics(text: str, *, steps: int) -> None:
    last = 0
    for number, line in enumerate(text.splitlines(), 1):  # as Run.metrics takes it apart
        called = f"Line {number} of {METRICS_NAME}"
        step = _check_json(line, _Line, called=called).step
        if not last < step <= steps:
            raise UserError(
                f"{called} in the archive is of step {step} after step {last}: steps rise, up to "
                f"the {steps} of the run."
            )
        last = step


def _check_merges(content: bytes) -> None:
    """UserError unless it is packed text of bearable size: a few bytes can unpack to gigabytes."""
    try:
        with gzip.open(io.BytesIO(content)) as file:
            text = file.read(MAX_MERGES_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{MERGES_NAME} in the archive is damaged or cut short.") from error
    if len(text) > MAX_MERGES_BYTES:
        raise UserError(
            f"{MERGES_NAME} in the archive unpacks to more than {_megabytes(MAX_MERGES_BYTES)}."
        )
    _text(MERGES_NAME, text)


def _check_models(folder: Path, *, steps: int) -> None:
    """UserError unless the unpacked weights, and the config beside them, are whole."""
    if (config := folder / OPEN_CLIP_CONFIG_NAME).exists():
        try:
            read_config(folder)
        except UserError as error:  # which names a folder that no one is to see
            said = _shown(str(error).replace(str(config), config.name), 300)
            raise UserError(f"In the archive: {said}") from error
    for path in folder.glob("*.safetensors"):
        try:
            check_safetensors(path)
            with safe_open(path, framework="numpy") as file:  # looks at types and shapes too
                step = (file.metadata() or {}).get("step", "")
        except (SafetensorError, OverflowError) as error:  # OverflowError: an offset of 1e999
            raise UserError(f"{path.name} in the archive has a damaged header.") from error
        if path.name == CHECKPOINT_NAME:
            done = int(step) if re.fullmatch(r"[0-9]{1,7}", step) else None
            if done is None or done > steps:
                raise UserError(
                    f"{path.name} in the archive doesn't say at which of the run's {steps} steps "
                    "it was written."
                )


def _shown(text: str, length: int = 60) -> str:
    """A stranger's words on one line of bearable length."""
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= length else plain[: length - 1] + "…"


def _megabytes(size: int) -> str:
    return f"{size / 2**20:.2g} MB" if size < 10 * 2**20 else f"{size / 2**20:,.0f} MB"
