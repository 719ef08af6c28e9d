"""A user's own embeddings: an npz file, and a CSV file that says what each scene holds.

The npz file holds ``embeddings`` (n, d) and, if wished, ``files`` (n,), the name of the file each
was made from. The CSV file has a header and one row a scene, in the same order. Its columns name a
concept type and a place, in one of three layouts:

- ``colour_0, shape_0, colour_1, shape_1``
- ``object1_color, object1_shape, object2_color, object2_shape``: labels.csv of CLEVR and CLEVR-2D
- ``character_name, character_texture, character2_name, character2_texture``: that of PUG:SPARE

The last two are those of the paper's data (github.com/oshapio/binding-concepts-complexity).
Nothing is unpickled. Rows are counted from 1, the first below the header.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from math import prod

import numpy as np

from binding_core.concepts import ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.scene_table import Modality, SceneTable
from binding_core.scenes import MAX_OBJECTS

MAX_SCENES = 100_000
MAX_WIDTH = 8_192  # d
MAX_ARRAY_BYTES = 512 * 2**20  # unpacked
MAX_LABEL_BYTES = 50 * 2**20
MAX_COLUMNS = 100
MAX_OBJECT_SPACE = 10_000  # objects that the labels span

PLACED_COLUMN = (
    re.compile(r"(?P<type>.+)_(?P<place>\d{1,3})"),
    re.compile(r"object(?P<place>\d{1,3})_(?P<type>.+)"),
    re.compile(r"character(?P<place>\d{0,3})_(?P<type>name|texture)"),
)
FILE_COLUMNS = ("filename", "file", "path")
OTHER_COLUMNS = re.compile(  # which the layouts carry, and which say nothing of the concepts
    r"(Unnamed: 0)?|index|id|caption|world_name|character\d*_pos|object\d+_.+_idx"
)


def read_own_embeddings(
    npz: bytes, labels: bytes, *, name: str, modality: Modality = "image"
) -> SceneTable:
    """The scenes and their embeddings, scaled to length 1, from the content of the two files.

    The concept space is what the labels name: types in the order of their columns, values sorted.
    UserError, naming row and column, for anything that does not fit.
    """
    columns, rows = _label_rows(labels)
    embeddings, files = _arrays(npz)
    if len(embeddings) != len(rows):
        raise UserError(
            f"There are {len(embeddings):,} embeddings and {len(rows):,} rows of labels; each "
            "embedding needs one row."
        )
    _check_files(columns, rows, files)
    space, concepts = _concepts(columns, rows)
    unit = _unit(embeddings)
    _check_repeats(concepts, unit)
    digest = hashlib.sha256(npz + labels).hexdigest()[:16]
    return SceneTable(space, concepts, unit, modality, f"{name} {digest}")


# --- the labels -----------------------------------------------------------------------------------


def _label_rows(labels: bytes) -> tuple[list[str], list[list[str]]]:
    """Column names and rows of the CSV file, without spaces around any cell."""
    if len(labels) > MAX_LABEL_BYTES:
        raise UserError(f"The labels have {len(labels):,} bytes; {MAX_LABEL_BYTES:,} are allowed.")
    try:
        text = labels.decode("utf-8-sig")
        lines = [[cell.strip() for cell in line] for line in csv.reader(io.StringIO(text)) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"The labels are not a CSV file in UTF-8: {error}.") from error
    if len(lines) < 3:
        raise UserError("The labels need a header and two scenes at least.")
    columns, rows = lines[0], lines[1:]
    if len(rows) > MAX_SCENES:
        raise UserError(f"The labels have {len(rows):,} rows; {MAX_SCENES:,} are allowed.")
    if len(columns) > MAX_COLUMNS or len(set(columns)) < len(columns):
        raise UserError(
            f"The labels' {len(columns)} columns must be {MAX_COLUMNS} at most, each of its own "
            "name."
        )
    for i, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise UserError(
                f"Row {i} of the labels has {len(row)} cells; the header has {len(columns)}."
            )
    return columns, rows


def _placed(columns: Sequence[str]) -> dict[tuple[str, int], int]:
    """For every concept type and place, as the columns name it, the column's position."""
    found: dict[tuple[str, int], int] = {}
    for i, column in enumerate(columns):
        if column in FILE_COLUMNS or OTHER_COLUMNS.fullmatch(column):
            continue
        matches = [match for layout in PLACED_COLUMN if (match := layout.fullmatch(column))]
        if not matches:
            raise UserError(
                f"The column “{column}” names no concept type and place; name it like “colour_0” "
                "or “object1_color”."
            )
        key = (matches[0]["type"], int(matches[0]["place"] or 1))
        if key in found:
            raise UserError(f"The columns “{columns[found[key]]}” and “{column}” mean the same.")
        found[key] = i
    if not found:
        raise UserError("The labels name no concept; they need columns like “colour_0”.")
    return found


def _concepts(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[ConceptSpace, np.ndarray]:
    """The concept space, and each scene's value numbers, int64 (n, M, C)."""
    placed = _placed(columns)
    types = tuple(dict.fromkeys(name for name, _ in placed))
    places = sorted({place for _, place in placed})
    if len(places) > MAX_OBJECTS:
        raise UserError(f"The labels name {len(places)} objects; {MAX_OBJECTS} are allowed.")
    for name in types:
        for place in places:
            if (name, place) not in placed:
                raise UserError(
                    f"Object {place} has no column for its {name}; each object needs one."
                )
    values = []
    for name in types:
        at = [placed[name, place] for place in places]
        values.append(_values(name, at, columns, rows))
    if prod(map(len, values)) > MAX_OBJECT_SPACE:
        raise UserError(
            f"The labels span {prod(map(len, values)):,} objects; {MAX_OBJECT_SPACE:,} are allowed."
        )
    numbers = [{value: i for i, value in enumerate(known)} for known in values]
    concepts = np.array(
        [
            [
                [
                    number[row[placed[name, place]]]
                    for name, number in zip(types, numbers, strict=True)
                ]
                for place in places
            ]
            for row in rows
        ],
        dtype=np.int64,
    )
    return ConceptSpace(types=types, values=tuple(values)), concepts


def _values(
    name: str, at: Sequence[int], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """The sorted values of one concept type, which stands in the columns ``at``."""
    written: dict[str, str] = {}
    for i, row in enumerate(rows, 1):
        for column in at:
            value = row[column]
            if not value:
                raise UserError(
                    f"Row {i} of the labels has nothing in the column “{columns[column]}”."
                )
            first = written.setdefault(value.casefold(), value)
            if first != value:
                raise UserError(
                    f"Row {i} of the labels has “{value}” in the column “{columns[column]}”, where "
                    f"an earlier row has “{first}”; write each {name} in one way."
                )
    return tuple(sorted(written.values()))


def _check_files(
    columns: Sequence[str], rows: Sequence[Sequence[str]], files: np.ndarray | None
) -> None:
    """UserError when a file occurs twice, or is not the one that the embedding was made from.

    A file that is left out of one of the two shifts all rows behind it.
    """
    named = [i for i, column in enumerate(columns) if column in FILE_COLUMNS]
    if not named:
        return
    first: dict[str, int] = {}
    for i, row in enumerate(rows, 1):
        file = row[named[0]]
        if first.setdefault(file, i) != i:
            raise UserError(f"Rows {first[file]} and {i} of the labels name one file, “{file}”.")
        if files is not None and str(files[i - 1]) != file:
            raise UserError(
                f"Row {i} of the labels is of “{file}”, and embedding {i} of “{files[i - 1]}”."
            )


# --- the embeddings -------------------------------------------------------------------------------


def _arrays(npz: bytes) -> tuple[np.ndarray, np.ndarray | None]:
    """``embeddings`` (n, d) of any float type, and ``files`` (n,) if it is there."""
    try:
        with zipfile.ZipFile(io.BytesIO(npz)) as archive:
            held = archive.namelist()
            if "embeddings.npy" not in held:
                raise UserError("The npz file holds no array “embeddings”.")
            embeddings = _array(archive, "embeddings", kind="f", dimensions=2)
            has_files = "files.npy" in held
            files = _array(archive, "files", kind="U", dimensions=1) if has_files else None
    except UserError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many kinds for a damaged file
        raise UserError(f"The embeddings are not a whole npz file: {error}.") from error
    n, d = embeddings.shape
    if not (2 <= n <= MAX_SCENES and 1 <= d <= MAX_WIDTH):
        raise UserError(
            f"“embeddings” has the shape {embeddings.shape}; 2 to {MAX_SCENES:,} rows of 1 to "
            f"{MAX_WIDTH:,} numbers are allowed."
        )
    if files is not None and len(files) != n:
        raise UserError(f"“files” has {len(files):,} names for {n:,} embeddings.")
    return embeddings, files


def _array(archive: zipfile.ZipFile, name: str, *, kind: str, dimensions: int) -> np.ndarray:
    """One array, whose size is known before it is unpacked, and its type before it is read."""
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > MAX_ARRAY_BYTES:  # no more than this is ever unpacked
        raise UserError(
            f"“{name}” has {member.file_size:,} bytes; {MAX_ARRAY_BYTES:,} are allowed."
        )
    content = io.BytesIO(archive.read(member))
    version = np.lib.format.read_magic(content)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read_header(content)
    if dtype.kind != kind or len(shape) != dimensions:
        wanted = {"f": "floating-point numbers", "U": "texts"}[kind]
        raise UserError(
            f"“{name}” has {len(shape)} dimensions of type {dtype}; it needs {dimensions} of "
            f"{wanted}."
        )
    if prod(shape) * dtype.itemsize != member.file_size - content.tell():
        raise UserError(f"“{name}” has another size than its shape {shape} asks for.")
    content.seek(0)
    return np.lib.format.read_array(content, allow_pickle=False)


def _unit(embeddings: np.ndarray) -> np.ndarray:
    """The rows scaled to length 1, float32 (n, d)."""
    not_finite = np.argwhere(~np.isfinite(embeddings))
    if len(not_finite):
        row, column = not_finite[0].tolist()
        raise UserError(
            f"Row {row + 1} of the embeddings holds {embeddings[row, column]} in column "
            f"{column + 1}; only finite numbers are allowed."
        )
    largest = np.abs(embeddings).max(axis=1, keepdims=True)
    if not largest.all():
        row = int(np.argmin(largest))
        raise UserError(f"Row {row + 1} of the embeddings is zero, so that it has no direction.")
    scaled = (embeddings / largest).astype(np.float64)  # squares of what is huge would overflow
    return np.float32(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))


def _check_repeats(concepts: np.ndarray, embeddings: np.ndarray) -> None:
    """UserError for a scene that stands there twice: it would be fitted on and tested on."""
    first: dict[bytes, int] = {}
    for i, (scene, row) in enumerate(zip(concepts, embeddings, strict=True), 1):
        key = scene.tobytes() + row.tobytes()
        if first.setdefault(key, i) != i:
            raise UserError(
                f"Row {i} repeats row {first[key]}, with the same labels and the same embedding; "
                "keep one of them."
            )
