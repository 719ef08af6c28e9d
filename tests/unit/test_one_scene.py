"""One scene taken apart: its parts sum to it, and what is switched off is gone."""

import numpy as np
import pytest

from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.geometry.one_scene import (
    exchange,
    fit_instruments,
    instruments_bytes,
    look,
    read_instruments,
    summed,
    take_apart,
)
from binding_core.geometry.scene_sets import sampled_scenes
from binding_core.geometry.scene_table import embed_scenes
from binding_core.presets import DEFAULT_SCENE
from binding_core.render import render

OBJECTS = DEFAULT_SCENE.object_words


@pytest.fixture(scope="module", params=["bag", "product", "memoriser"])
def taken(request):
    """A control's instruments and what it makes of the default scene."""
    encoder = ControlEncoder(request.param, dimensions=192)
    scenes = sampled_scenes(n=1600, n_objects=2, seed=0)
    table = embed_scenes(encoder, scenes=scenes, modality="image")
    [embedding] = encoder.embed_images([render(DEFAULT_SCENE)])
    return request.param, fit_instruments(table, seed=0), embedding


@pytest.mark.parametrize("into", ["objects", "concepts"])
def test_the_parts_sum_to_the_embedding(taken, into):
    _, tools, embedding = taken
    parts = take_apart(tools, embedding, objects=OBJECTS, into=into)
    assert summed(parts) == pytest.approx(embedding, abs=1e-6)
    assert parts[0].name == "mean"
    assert parts[-1].name == "rest"
    names = [part.name for part in parts[1:-1]]
    if into == "objects":
        assert names == ["red square", "blue circle"]
    else:
        assert names == [
            "red", "square", "binding of red square", "blue", "circle", "binding of blue circle",
        ]  # fmt: skip


def test_a_bag_has_no_binding_to_switch_off_and_a_product_does(taken):
    kind, tools, embedding = taken
    parts = take_apart(tools, embedding, objects=OBJECTS, into="concepts")
    binding = [i for i, part in enumerate(parts) if part.kind == "binding"]
    length = max(np.linalg.norm(parts[i].vector) for i in binding)
    # Unit norm makes even a bag's sums a little less than additive: 1/|sum| differs by scene.
    assert (length < 0.1) if kind == "bag" else (length > 0.3)
    if kind == "bag":  # which of its four objects the probe names is up to chance
        return
    assert look(tools, summed(parts), objects=OBJECTS).object_recognition
    assert not look(tools, summed(parts, without=binding), objects=OBJECTS).object_recognition


def test_the_mean_alone_says_nothing_of_the_scene(taken):
    _, tools, embedding = taken
    parts = take_apart(tools, embedding, objects=OBJECTS, into="objects")
    left = look(tools, summed(parts, without=range(1, len(parts))), objects=OBJECTS)
    assert not left.object_recognition
    assert not left.concept_recognition


def test_an_exchange_moves_one_scene_to_another(taken):
    kind, tools, embedding = taken
    if kind == "bag":
        return
    new = (("green", "star"), OBJECTS[1])
    scene = DEFAULT_SCENE.model_copy(
        update={
            "objects": (
                DEFAULT_SCENE.objects[0].model_copy(update={"colour": "green", "shape": "star"}),
                DEFAULT_SCENE.objects[1],
            )
        }
    )
    [target] = ControlEncoder(kind, dimensions=192).embed_images([render(scene)])
    parts = take_apart(tools, embedding, objects=OBJECTS, into="objects")
    also = [(DEFAULT_SCENE, embedding), (scene, target)]
    found = {}
    for strength in (0.0, 1.0):
        edited = (*parts, exchange(tools, old=OBJECTS[0], new=new[0], strength=strength))
        found[strength] = look(tools, summed(edited), objects=new, also=also)
    assert found[0.0].found_at > 1
    assert found[1.0].found_at == 1
    assert found[1.0].nearest[0].wanted
    assert found[1.0].object_recognition
    assert set(found[1.0].top_objects) == set(new)
    out = {tuple(sorted(new))}
    assert look(tools, target, objects=new, also=also, without=out).found_at is None


def test_all_parts_off_leaves_nothing_and_says_no(taken):
    _, tools, embedding = taken
    parts = take_apart(tools, embedding, objects=OBJECTS, into="objects")
    nothing = summed(parts, without=range(len(parts)))
    assert not nothing.any()
    looked = look(tools, nothing, objects=OBJECTS)
    assert not looked.object_recognition
    assert np.isfinite([near.similarity for near in looked.nearest]).all()


def test_the_bank_is_drawn_again_from_the_seed(taken):
    _, tools, _ = taken
    assert tools.bank_scenes == sampled_scenes(n=1600, n_objects=2, seed=0)[: len(tools.bank)]


def test_too_few_scenes_determine_no_components():
    encoder = ControlEncoder("product")
    scenes = sampled_scenes(n=40, n_objects=2, seed=0)
    table = embed_scenes(encoder, scenes=scenes, modality="text")
    with pytest.raises(UserError, match="all 144 objects are determined"):
        fit_instruments(table, seed=0)


def test_a_file_keeps_them_but_for_rounding_and_refuses_others(taken):
    _, tools, embedding = taken
    content = instruments_bytes({"image": tools}, fingerprint="abc")
    again = read_instruments(content, fingerprint="abc")["image"]
    assert again.seed == tools.seed
    assert again.objects == pytest.approx(tools.objects, abs=2e-3)
    parts = take_apart(again, embedding, objects=OBJECTS, into="objects")
    assert summed(parts) == pytest.approx(embedding, abs=1e-6)
    assert len(again.object_bias) == BUNDLED_SPACE.n_objects
    with pytest.raises(UserError, match="another model"):
        read_instruments(content, fingerprint="other")
    for broken in (content[:2000], b"no file", b""):
        with pytest.raises(UserError, match="damaged"):
            read_instruments(broken, fingerprint="abc")
