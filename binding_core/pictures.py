"""Pictures that a user gives, made harmless."""

from __future__ import annotations

import io
import warnings

import numpy as np
from PIL import Image, ImageOps

from binding_core.errors import UserError

MAX_BYTES = 10 * 2**20
MAX_PIXELS = 24_000_000
FORMATS = ("PNG", "JPEG", "WEBP")
BACKDROP = (255, 255, 255)  # behind transparent pixels


def read_picture(data: bytes) -> Image.Image:
    """A PNG, JPEG or WebP file as an upright, opaque RGB picture.

    EXIF rotation is applied, transparency laid on white, of an animation the first frame taken.
    UserError when the file is too large, has too many pixels, is cut short or is no picture.
    """
    if len(data) > MAX_BYTES:
        raise UserError(
            f"The file has {len(data) / 2**20:.1f} MB; pictures of up to {MAX_BYTES // 2**20} MB "
            "are read."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data), formats=FORMATS)
            width, height = picture.size
            # The size stands in the header: a bomb is refused before a pixel is decoded.
            if width * height > MAX_PIXELS:
                raise UserError(
                    f"The picture has {width:,} × {height:,} pixels; up to "
                    f"{MAX_PIXELS // 1_000_000} million are read."
                )
            picture.load()
            upright = _upright(picture)
    except Image.DecompressionBombError as error:
        raise UserError(
            f"The picture has more than {MAX_PIXELS // 1_000_000} million pixels and is not opened."
        ) from error
    except Image.UnidentifiedImageError as error:
        raise UserError("The file is not a PNG, JPEG or WebP picture.") from error
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("The picture is damaged or cut short and cannot be read.") from error
    if upright.mode.startswith("I"):  # 16-bit grey, which convert() would clip rather than scale
        grey = np.asarray(upright, dtype=np.uint32) >> 8
        upright = Image.fromarray(grey.astype(np.uint8))
    if upright.has_transparency_data:
        layer = upright.convert("RGBA")
        upright = Image.new("RGB", layer.size, BACKDROP)
        upright.paste(layer, mask=layer.getchannel("A"))
    return upright.convert("RGB")


def _upright(picture: Image.Image) -> Image.Image:
    """The picture as its EXIF entry turns it; as it lies when that entry cannot be read."""
    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # Pillow raises many kinds for broken EXIF, and none matters here
        return picture
