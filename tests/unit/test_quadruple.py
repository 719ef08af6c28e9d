"""The quadruple figure: what the algebra of the controls says of sums and scenes."""

from functools import cache

import numpy as np
import pytest

from binding_core.concepts import ConceptSpace
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.geometry.quadruple import Quadruple, quadruple, quadruple_scenes
from binding_core.geometry.scene_table import SceneTable, embed_scenes

CHOICE = {"colours": ("red", "blue"), "shapes": ("square", "circle")}
BOUND, SWAPPED = "red square, blue circle", "red circle, blue square"


@cache
def tables(kind: str, modality: str = "text") -> tuple[SceneTable, SceneTable]:
    draws = 1 if modality == "text" else 2
    return tuple(
        embed_scenes(ControlEncoder(kind), scenes=scenes, modality=modality)
        for scenes in quadruple_scenes(**CHOICE, draws=draws)
    )


@cache
def figure(kind: str, modality: str = "text") -> Quadruple:
    return quadruple(*tables(kind, modality), **CHOICE)


def rows(kind: str) -> dict[str, object]:
    return {row.sum: row for row in figure(kind).distances}


def test_it_holds_what_the_paper_shows():
    shown = figure("product")
    count = {kind: sum(p.kind == kind for p in shown.points) for kind in
             ("concept", "object", "scene", "sum of concepts", "sum of objects")}  # fmt: skip
    assert list(count.values()) == [4, 4, 10, 4, 10]
    assert {p.label for p in shown.points if p.kind == "concept"} == {
        "red", "blue", "square", "circle",
    }  # fmt: skip
    assert len({p.label for p in shown.points}) == 32
    joined = {(shown.points[a].label, shown.points[b].label) for a, b in shown.lines}
    assert ("red + square", "red square") in joined
    assert ("red square + blue circle", BOUND) in joined
    assert ("red square + red square", "red square, red square") in joined
    assert len(joined) == len(shown.distances) == 14
    assert (shown.modality, shown.source[:15]) == ("text", "control-product")


@pytest.mark.parametrize("kind", ["product", "memoriser"])
def test_where_objects_add_up_a_scene_is_where_their_sum_is(kind):
    of_objects = [row for row in figure(kind).distances if "," in row.target]
    assert all(row.found for row in of_objects)
    twins = rows(kind)["red square + red square"]
    assert twins.swapped is None
    row = rows(kind)["red square + blue circle"]
    assert row.distance < 0.05 < 0.5 < row.swapped


def test_a_bag_puts_a_scene_where_its_swap_is():
    row = rows("bag")["red square + blue circle"]
    assert row.swapped == pytest.approx(row.distance, abs=1e-9)
    assert not row.found  # a tie is none
    assert rows("bag")["red + square"].found
    assert rows("bag")["red + square"].distance < 0.05


@pytest.mark.parametrize("kind", ["product", "memoriser"])
def test_concepts_do_not_add_up_to_an_object_that_is_more_than_their_sum(kind):
    assert rows(kind)["red + square"].distance > 0.4 > 8 * rows("bag")["red + square"].distance


def test_the_sums_by_hand():
    """Four objects of a space with two colours and two shapes, one axis each."""
    small = ConceptSpace(types=("colour", "shape"), values=tuple(CHOICE.values()))
    concepts = np.array([[[i, j]] for i in range(2) for j in range(2)])
    four = SceneTable(small, concepts, np.eye(4, dtype=np.float32), "text", "by hand")
    couples = np.array([[a, b] for a in range(4) for b in range(a, 4)])
    scenes = SceneTable(
        small,
        np.stack(np.unravel_index(couples, (2, 2)), axis=-1),
        np.eye(4, dtype=np.float32)[couples].sum(axis=1),
        "text",
        "by hand",
    )
    found = {row.sum: row for row in quadruple(four, scenes, **CHOICE).distances}
    # mean(red) = (1 1 0 0)/2, mean(square) = (1 0 1 0)/2, mu = (1 1 1 1)/4: (3 1 1 -1)/4
    assert found["red + square"].distance == pytest.approx(1 - 3 / np.sqrt(12))
    # (1 0 0 1) - mu = (3 -1 -1 3)/4 against (1 0 0 1), and against (0 1 1 0)
    row = found["red square + blue circle"]
    assert row.distance == pytest.approx(1 - 6 / np.sqrt(20 * 2))
    assert row.swapped == pytest.approx(1 + 2 / np.sqrt(20 * 2))
    assert row.found


def test_the_map_shows_the_distances():
    shown = figure("product")
    at = {p.label: np.array(p.position) for p in shown.points}
    row = rows("product")["red square + blue circle"]
    drawn = np.linalg.norm(at[row.sum] - at[BOUND])
    assert drawn < 0.5 * np.linalg.norm(at[row.sum] - at[SWAPPED])
    assert 0 < shown.stress < 0.3
    assert shown == quadruple(*tables("product"), **CHOICE)


def test_pictures_have_the_figure_too_and_a_control_reads_both_alike():
    image, text = figure("product", "image"), figure("product")
    assert image.modality == "image"
    for one, other in zip(image.distances, text.distances, strict=True):
        assert one.distance == pytest.approx(other.distance, abs=1e-5)


def test_what_it_cannot_show_is_said():
    singles, pairs = tables("product")
    with pytest.raises(UserError, match="Choose two different ones of red, orange"):
        quadruple(singles, pairs, colours=("red", "red"), shapes=("square", "circle"))
    with pytest.raises(UserError, match="Choose two different ones of circle, square"):
        quadruple(singles, pairs, colours=("red", "blue"), shapes=("square", "cube"))
    with pytest.raises(UserError, match="needs a scene of red square, red star, and there is none"):
        quadruple(singles, pairs, colours=("red", "blue"), shapes=("square", "star"))
    with pytest.raises(UserError, match="Scenes of 1 objects are needed, not of 2"):
        quadruple(pairs, pairs, **CHOICE)
