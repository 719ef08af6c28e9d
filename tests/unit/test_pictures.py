import contextlib
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from binding_core.errors import UserError
from binding_core.pictures import MAX_BYTES, read_picture
from binding_core.presets import DEFAULT_SCENE
from binding_core.render import render


def encoded(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_three_formats_are_read(kind):
    picture = read_picture(encoded(Image.new("RGB", (40, 30), (200, 10, 10)), kind))
    assert picture.mode == "RGB"
    assert picture.size == (40, 30)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "I;16", "1"])
def test_every_mode_becomes_rgb(mode):
    assert read_picture(encoded(Image.new(mode, (20, 20)))).mode == "RGB"


def test_transparency_is_laid_on_white():
    picture = Image.new("RGBA", (2, 1), (255, 0, 0, 255))
    picture.putpixel((1, 0), (255, 0, 0, 0))
    read = read_picture(encoded(picture))
    assert read.getpixel((0, 0)) == (255, 0, 0)
    assert read.getpixel((1, 0)) == (255, 255, 255)


def test_exif_rotation_is_applied():
    picture = Image.new("RGB", (40, 20), "white")
    picture.paste((255, 0, 0), (0, 0, 20, 20))  # red on the left
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter clockwise
    read = read_picture(encoded(picture, "JPEG", exif=exif))
    assert read.size == (20, 40)
    red, _, blue = read.getpixel((10, 5))  # now on top
    assert red > 200 > 60 > blue


def bomb(width: int, height: int) -> bytes:
    """A PNG whose header promises more pixels than anybody wants to decode."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [6_000, 12_000, 60_000])
def test_decompression_bombs_are_refused_by_their_header(side):
    with pytest.raises(UserError, match="million"):
        read_picture(bomb(side, side))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a PNG"),
        (b"hello", "not a PNG"),
        (b"GIF89a" + b"\0" * 50, "not a PNG"),
        (b"\x80\x04\x95", "not a PNG"),
        (b"\0" * (MAX_BYTES + 1), "10 MB"),
        (bomb(100, 100), "damaged"),
        (encoded(Image.effect_noise((200, 200), 60))[:2000], "damaged"),
        (encoded(Image.effect_noise((200, 200), 60), "JPEG")[:900], "damaged"),
    ],
)
def test_broken_files_are_named(data, reason):
    with pytest.raises(UserError, match=reason):
        read_picture(data)


def test_sixteen_bit_grey_keeps_its_shades():
    values = np.array([[0, 1000, 30000, 65535]], dtype=np.uint16)
    read = read_picture(encoded(Image.fromarray(values)))
    assert np.asarray(read)[0, :, 0].tolist() == [0, 3, 117, 255]


def test_broken_exif_costs_only_the_rotation():
    for kind in ("JPEG", "PNG", "WEBP"):
        data = encoded(Image.new("RGB", (40, 20)), kind, exif=b"Exif\0\0garbage that is no TIFF")
        assert read_picture(data).size == (40, 20)


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(["PNG", "JPEG", "WEBP"]), data=st.data())
def test_mutated_files_are_read_or_refused_in_words(kind, data):
    exif = Image.Exif()
    exif[0x0112] = 6
    content = bytearray(encoded(render(DEFAULT_SCENE, size=24), kind, exif=exif))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UserError):
        assert read_picture(bytes(content)).mode == "RGB"
