import io

import numpy as np
import pytest
from PIL import Image

from binding_core.concepts import COLOURS, SHAPES
from binding_core.errors import UserError
from binding_core.export import scene_png
from binding_core.render import (
    BACKGROUND_RGB,
    COLOUR_RGB,
    SHAPE_POINTS,
    render,
    render_batch,
    scene_of,
)
from binding_core.scenes import BACKGROUNDS, PlacedObject, Scene, random_scene


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB (D65) of sRGB in 0..255."""
    c = np.asarray(rgb, dtype=float) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear_to_lab(linear)


def linear_to_lab(linear: np.ndarray) -> np.ndarray:
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = np.clip(linear, 0, 1) @ to_xyz.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1
    )


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def closest(labs: np.ndarray) -> float:
    distances = np.linalg.norm(labs[:, None] - labs[None], axis=-1)
    return distances[~np.eye(len(labs), dtype=bool)].min()


def test_all_words_have_a_colour_a_shape_a_background():
    assert set(COLOUR_RGB) == set(COLOURS)
    assert set(SHAPE_POINTS) == set(SHAPES)
    assert set(BACKGROUND_RGB) == set(BACKGROUNDS)


def test_colours_stay_apart_in_grey_print():
    lightness = np.sort(lab(np.array([COLOUR_RGB[c] for c in COLOURS]))[:, 0])
    assert np.diff(lightness).min() > 5


@pytest.mark.parametrize("kind", BLINDNESS)
def test_colours_stay_apart_for_the_colour_blind(kind):
    c = np.array([COLOUR_RGB[c] for c in COLOURS]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    assert closest(linear_to_lab(linear @ np.array(BLINDNESS[kind]).T)) > 8


def test_every_colour_shows_on_every_background():
    colours = lab(np.array(list(COLOUR_RGB.values())))
    grounds = lab(np.array(list(BACKGROUND_RGB.values())))
    assert np.linalg.norm(colours[:, None] - grounds[None], axis=-1).min() > 12


def mask(shape: str, size: int = 64) -> np.ndarray:
    """Coverage in 0..1 of one shape of typical size in the middle of a picture."""
    scene = Scene(objects=(PlacedObject(colour="black", shape=shape, x=0.5, y=0.5, size=0.36),))
    picture = np.asarray(render(scene, size=size), dtype=float)[..., 0]
    ground, ink = BACKGROUND_RGB["mist"][0], COLOUR_RGB["black"][0]
    return (ground - picture) / (ground - ink)


def test_shapes_stay_distinct_at_64_pixels():
    masks = {shape: mask(shape) for shape in SHAPES}
    for i, a in enumerate(SHAPES):
        for b in SHAPES[:i]:
            overlap = np.minimum(masks[a], masks[b]).sum() / np.maximum(masks[a], masks[b]).sum()
            # A disc and a square of equal area share 0.83 of what they cover; no pair is closer.
            assert overlap < 0.84, (a, b)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_fill_their_box_and_are_anti_aliased(shape):
    points = np.array(SHAPE_POINTS[shape])
    assert np.abs(points).max() <= 0.6
    assert 0.7 < np.ptp(points, axis=0).max() <= 1.1
    m = mask(shape)
    assert 0.15 < m.sum() / (0.36 * 64) ** 2 < 0.85
    assert ((m > 0.1) & (m < 0.9)).any()


def test_the_ring_has_a_hole_and_no_seam():
    m = mask("ring", size=256)
    assert m[128, 128] == 0
    x = 128 + int(0.36 * 256 * 0.38)  # inside the band, where outer and inner edge are joined
    assert m[126:131, x].min() == 1


def test_batch_and_single_path_give_the_same_pixels():
    scenes = [random_scene(space=None, n_objects=1 + s % 6, seed=s) for s in range(30)]
    for size in (64, 224):
        batch = render_batch(scenes, size=size)
        assert batch.shape == (30, size, size, 3)
        for picture, scene in zip(batch, scenes, strict=True):
            assert np.array_equal(picture, np.asarray(render(scene, size=size)))


def test_later_objects_lie_in_front():
    below = PlacedObject(colour="red", shape="square", x=0.5, y=0.5, size=0.4)
    above = PlacedObject(colour="blue", shape="circle", x=0.5, y=0.5, size=0.4)
    middle = (32, 32)
    assert render(Scene(objects=(below, above)), size=64).getpixel(middle) == COLOUR_RGB["blue"]
    assert render(Scene(objects=(above, below)), size=64).getpixel(middle) == COLOUR_RGB["red"]


def test_a_picture_lies_where_the_scene_says():
    scene = Scene(objects=(PlacedObject(colour="black", shape="circle", x=0.25, y=0.7, size=0.3),))
    dark = np.asarray(render(scene, size=200))[..., 0] < 100
    ys, xs = np.nonzero(dark)
    assert abs(xs.mean() / 200 - 0.25) < 0.006
    assert abs(ys.mean() / 200 - 0.7) < 0.006
    assert abs(np.ptp(xs) / 200 - 0.3) < 0.015


@pytest.mark.parametrize("size", [0, 15, 1025, 10**6])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(UserError, match="16 to 1024"):
        render(random_scene(space=None, n_objects=1, seed=0), size=size)


def test_an_exported_picture_carries_its_scene():
    scene = random_scene(space=None, n_objects=3, seed=0)
    picture = Image.open(io.BytesIO(scene_png(scene, size=128)))
    assert picture.size == (128, 128)
    assert scene_of(picture) == scene
    assert scene_of(Image.new("RGB", (8, 8))) is None
