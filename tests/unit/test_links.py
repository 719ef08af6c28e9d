import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binding_core.errors import UserError
from binding_core.links import (
    MAX_LINK_CHARACTERS,
    ComposeView,
    decode_scene,
    decode_view,
    encode_scene,
    encode_view,
)
from binding_core.presets import DEFAULT_SCENE, PRESETS
from binding_core.scenes import random_scene

KNOWN = {"a": True, "b": True, "gone": False}


@given(n=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_links_lose_nothing(n, seed):
    scene = random_scene(space=None, n_objects=n, seed=seed)
    text = encode_scene(scene)
    assert decode_scene(text) == scene
    assert len(text) <= MAX_LINK_CHARACTERS


def test_a_view_comes_back_from_its_link():
    view = ComposeView(PRESETS["Three objects"], ("b", "a"), "shape", (0, 2))
    found, notices = decode_view(encode_view(view), known_models=KNOWN, default_models=("a",))
    assert found == view
    assert notices == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "2~mist~red.square.1.1.300",
        "1~mist",
        "1~mist~red.square",
        "1~mist~red.square.a.b.c",
        "1~mist~red.square.500.500.9999",
        "1~nowhere~red.square.500.500.300",
        "1~mist~<script>alert(1)</script>.square.500.500.300",
        "1~mist~" + "~".join(["red.square.500.500.300"] * 7),
        "x" * 100_000,
        "1~mist~red.square.500.500.300.1",
    ],
)
def test_broken_and_hostile_links_are_refused_in_words(text):
    with pytest.raises(UserError, match="link"):
        decode_scene(text)


@given(st.text())
def test_no_text_breaks_the_reader(text):
    with contextlib.suppress(UserError):
        decode_scene(text)


def test_each_broken_part_is_named_and_the_rest_is_kept():
    parameters = {"s": "broken", "m": "b~gone", "c": "size", "p": "0~x"}
    view, notices = decode_view(parameters, known_models=KNOWN, default_models=("a",))
    assert view == ComposeView(DEFAULT_SCENE, ("b",), "colour", (0, 1))
    assert len(notices) == 4
    view, notices = decode_view({"m": "gone"}, known_models=KNOWN, default_models=("a", "gone"))
    assert (view.models, len(notices)) == ((), 1)
    view, notices = decode_view({"m": ""}, known_models=KNOWN, default_models=("a",))
    assert (view.models, notices) == ((), [])
    view, _ = decode_view({"m": "a~a~b~a"}, known_models=KNOWN, default_models=())
    assert view.models == ("a", "b")
    view, _ = decode_view({}, known_models=KNOWN, default_models=("a", "gone"))
    assert view.models == ("a",)
    view, notices = decode_view({"p": "0~5"}, known_models=KNOWN, default_models=("a",))
    assert view.pair == (0, 1)
