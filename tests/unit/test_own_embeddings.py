"""A user's own embeddings: read as they are, or refused with the row and the column."""

import contextlib
import io
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.errors import UserError
from binding_core.geometry import own_embeddings
from binding_core.geometry.own_embeddings import read_own_embeddings

LABELS = """colour_0,shape_0,colour_1,shape_1
red,square,blue,circle
blue,square,red,circle
green,circle,red,square
"""
# The first lines of the published files, and what follows in their headers.
CLEVR = """filename,object1_color,object1_shape,object2_color,object2_shape,\
object1_color_idx,object1_shape_idx,object2_color_idx,object2_shape_idx
0000000.png,purple,cube,gray,cylinder,5,0,3,2
0000001.png,brown,sphere,red,cube,1,1,6,0
"""
PUG = """filename,world_name,character_name,character2_name,character_texture,\
character2_texture,character_pos,character2_pos
0000000.png,Desert,Crow,Fox,Red,Blue,,
0000007.png,Desert,Crow,Fox,Blue,Red,,
"""


def npz(embeddings: object = None, **more: object) -> bytes:
    """An npz file; by default three random rows."""
    if embeddings is None:
        embeddings = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, embeddings=embeddings, **more)
    return buffer.getvalue()


def read(labels: str = LABELS, file: bytes | None = None):
    return read_own_embeddings(npz() if file is None else file, labels.encode(), name="mine")


def refused(message: str, labels: str = LABELS, file: bytes | None = None) -> None:
    with pytest.raises(UserError, match=message):
        read(labels, file)


# --- what is taken --------------------------------------------------------------------------------


def test_scenes_and_their_space_come_from_the_labels():
    table = read()
    assert table.space.types == ("colour", "shape")
    assert table.space.values == (("blue", "green", "red"), ("circle", "square"))
    assert table.concepts.tolist() == [
        [[2, 1], [0, 0]],
        [[0, 1], [2, 0]],
        [[1, 0], [2, 1]],
    ]
    assert table.modality == "image"
    assert table.source.startswith("mine ")


def test_embeddings_are_scaled_to_length_one_whatever_their_type_and_size():
    rows = np.array([[3, 4], [0, -2], [1e-3, 0]])
    wanted = [[0.6, 0.8], [0, -1], [1, 0]]
    for given_rows in (rows, rows.astype(np.float16), rows * 1e300, np.asfortranarray(rows)):
        table = read(file=npz(given_rows))
        assert table.embeddings == pytest.approx(np.array(wanted), abs=1e-6)
        assert table.embeddings.dtype == np.float32


@pytest.mark.parametrize("first", ["file", "path", "index", "id", ""])
def test_a_column_that_names_the_scene_is_no_concept(first):
    header, *rows = LABELS.splitlines()
    lines = [f"{first},{header}", *(f"{i}.png,{row}" for i, row in enumerate(rows))]
    assert np.array_equal(read("\n".join(lines)).concepts, read().concepts)


def test_the_order_of_columns_spaces_and_the_mark_of_utf8_do_not_matter():
    table = read(
        "\ufeffshape_2 , colour_1,shape_1,colour_2\n"
        "circle, red,square,blue\ncircle,blue,square,red\nsquare,green,circle,red\n\n"
    )
    assert table.space.types == ("shape", "colour")
    assert np.array_equal(table.concepts[..., ::-1], read().concepts)


def test_the_published_layouts():
    two = npz(np.eye(2, 5))
    clevr, pug = read(CLEVR, two), read(PUG, two)
    assert clevr.space.types == ("color", "shape")
    assert clevr.space.values[1] == ("cube", "cylinder", "sphere")  # the words, not the numbers
    assert [clevr.space.objects[o] for o in clevr.objects[1]] == [
        ("brown", "sphere"),
        ("red", "cube"),
    ]
    assert pug.space.types == ("name", "texture")
    assert [pug.space.objects[o] for o in pug.objects[1]] == [("Crow", "Blue"), ("Fox", "Red")]


def test_the_source_follows_the_content_of_both_files():
    other = LABELS.replace("green", "cyan")
    assert len({read().source, read(other).source, read(file=npz(np.eye(3))).source}) == 3
    assert read().source == read().source


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from(["red", "dark blue", "ünknown", 'a"b', "x,y"])] * 2),
        min_size=2,
        max_size=8,
    )
)
def test_any_words_come_back(objects):
    lines = ['"{}","{}"'.format(*(w.replace('"', '""') for w in o)) for o in objects]
    rows = np.random.default_rng(0).standard_normal((len(objects), 3))
    table = read("\n".join(["colour_0,shape_0", *lines]), npz(rows))
    assert [table.space.objects[o] for o in table.objects[:, 0]] == objects


# --- labels that are refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("red,square,blue,circle\n", "", "3 embeddings and 2 rows of labels"),
        ("green,circle", "green,", "Row 3 of the labels has nothing in the column “shape_0”"),
        ("blue,square,red,circle", "blue,square,red", "Row 2 of the labels has 3 cells.*4"),
        ("green,circle", "Red,circle", "Row 3 .*“Red”.*“colour_0”.*earlier row has “red”"),
        ("shape_1", "form_1", "Object 1 has no column for its shape"),
        ("shape_1", "shape", "column “shape” names no concept type and place"),
        ("colour_1", "shape_00", "columns “shape_0” and “shape_00” mean the same"),
        ("shape_1", "shape_0", "each of its own name"),
        ("colour_0,shape_0,colour_1,shape_1", "id,index,caption,world_name", "name no concept"),
    ],
)
def test_labels_that_do_not_fit_are_named(old, new, message):
    refused(message, LABELS.replace(old, new, 1))


def test_labels_of_no_use_are_refused():
    refused("header and two scenes at least", "colour_0\nred\n")
    refused("header and two scenes at least", "")
    with pytest.raises(UserError, match="not a CSV file in UTF-8"):
        read_own_embeddings(npz(), b"colour_0\n\xff\xff\n", name="mine")
    header, row = ",".join(f"colour_{i}" for i in range(7)), ",".join(["red"] * 7)
    refused("name 7 objects; 6 are allowed", "\n".join([header, row, row, row]))


def test_caps_hold(monkeypatch):
    for cap, message in (
        ("MAX_SCENES", "3 rows; 2 are allowed"),
        ("MAX_COLUMNS", "4 columns must be 2 at most"),
        ("MAX_LABEL_BYTES", "bytes; 2 are allowed"),
        ("MAX_OBJECT_SPACE", "span 6 objects; 2 are allowed"),
        ("MAX_WIDTH", "rows of 1 to 2 numbers"),
        ("MAX_ARRAY_BYTES", "“embeddings” has 176 bytes; 2 are allowed"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(own_embeddings, cap, 2)
            refused(message)


def test_a_file_that_occurs_twice_or_is_another_one_is_named():
    header, *rows = LABELS.splitlines()
    labelled = [f"file,{header}", f"a.png,{rows[0]}", f"b.png,{rows[1]}", f"c.png,{rows[2]}"]
    labels = "\n".join(labelled)
    rows_of = np.random.default_rng(0).standard_normal((3, 4))
    assert len(read(labels, npz(rows_of, files=np.array(["a.png", "b.png", "c.png"])))) == 3
    refused(
        "Row 2 of the labels is of “b.png”, and embedding 2 of “c.png”",
        labels,
        npz(rows_of, files=np.array(["a.png", "c.png", "d.png"])),
    )
    refused("Rows 1 and 3 of the labels name one file", labels.replace("c.png", "a.png"))
    refused("2 names for 3 embeddings", labels, npz(rows_of, files=np.array(["a.png", "b.png"])))


def test_a_scene_that_is_repeated_is_named_and_one_of_a_bag_is_not():
    twice = np.float32([[1, 0], [1, 0], [0, 1]])
    assert len(read(file=npz(twice))) == 3  # other labels: a bag embeds a scene and its swap alike
    labels = LABELS.replace("blue,square,red,circle", "red,square,blue,circle")
    refused("Row 2 repeats row 1", labels, npz(twice))
    assert len(read(labels, npz(np.eye(3)))) == 3  # another picture of the same objects


# --- embeddings that are refused ------------------------------------------------------------------


def test_numbers_that_are_none_are_named_by_row_and_column():
    rows = np.ones((3, 4))
    rows[1, 2] = np.nan
    refused("Row 2 of the embeddings holds nan in column 3", file=npz(rows))
    rows[1, 2], rows[2, 0] = 0, -np.inf
    refused("Row 3 of the embeddings holds -inf in column 1", file=npz(rows))
    rows[2] = 0
    refused("Row 3 of the embeddings is zero", file=npz(rows))


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.ones(3), "1 dimensions of type float64; it needs 2"),
        (np.ones((3, 2), dtype=int), "of type int64"),
        (np.ones((3, 2), dtype=complex), "of type complex128"),
        (np.array([["a"] * 2] * 3), "of type <U1"),
        (np.array([[None] * 2] * 3), "of type object"),
        (np.ones((1, 2)), r"shape \(1, 2\); 2 to 100,000 rows"),
        (np.ones((3, 0)), r"shape \(3, 0\)"),
    ],
)
def test_arrays_of_another_kind_are_refused(embeddings, message):
    refused(message, file=npz(embeddings))


def test_nothing_is_unpickled():
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    refused("not a whole npz file", file=pickle.dumps(Trap()))
    refused("of type object", file=npz(np.array([[Trap(), 1], [2, 3]], dtype=object)))


def test_damaged_files_are_refused():
    whole = npz()
    refused("not a whole npz file", file=b"")
    refused("not a whole npz file", file=whole[:-30])
    refused("not a whole npz file", file=whole[:90] + b"\0\1\2\3" + whole[94:])
    refused("no array “embeddings”", file=archive("other.npy", b""))
    refused("not a whole npz file", file=archive("embeddings.npy", b"\x93NUMPY\1\0\3\0{(}"))


def archive(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return buffer.getvalue()


def test_a_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(own_embeddings, "MAX_ARRAY_BYTES", 10**6)
    bomb = archive("embeddings.npy", bytes(10**7))
    assert len(bomb) < 20_000
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("it was unpacked"))
    refused("10,000,000 bytes; 1,000,000 are allowed", file=bomb)


def test_a_shape_larger_than_its_data_reserves_nothing():
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    refused("another size than its shape", file=archive("embeddings.npy", head.getvalue()))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_byte_changed_anywhere_gives_a_table_or_a_clear_error(data):
    whole = bytearray(npz())
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UserError):
        assert len(read(file=bytes(whole))) == 3
