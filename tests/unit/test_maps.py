"""Maps show what they are given: every scene once, under its id, in its form and colour."""

import json
import re
from collections import Counter

import numpy as np
import pytest

from binding_core.figures.maps import (
    GREY,
    OTHER,
    PALETTE,
    MapRows,
    colour_of,
    figure_html,
    link_pairs,
    map_figure,
    quadruple_figure,
)
from binding_core.geometry.projection import Placement, Projection
from binding_core.geometry.quadruple import Quadruple, QuadruplePoint, SumDistance
from binding_core.render import COLOUR_RGB

POINTS = np.arange(12, dtype=np.float32).reshape(6, 2)
ROWS = MapRows(
    ids=[50, 51, 52, 53, 54, 55],
    labels=["red", "blue", "red", "blue", "red", "white"],
    forms=["image", "image", "image", "text", "text", "token"],
    seen=["seen", "unseen", "mixed", "seen", "unseen", "seen"],
)


def projection(points: np.ndarray = POINTS, rows: object = None) -> Projection:
    return Projection(points, np.arange(len(points)) if rows is None else rows, "mds", seed=0)


def points_of(figure) -> dict[int, tuple]:
    """Each id's (x, y), colour, symbol and words."""
    return {
        trace.customdata[i][0]: (
            (trace.x[i], trace.y[i]),
            trace.marker.color,
            trace.marker.symbol,
            trace.hovertext[i],
        )
        for trace in figure.data
        if trace.customdata is not None
        for i in range(len(trace.x))
    }


# --- the map --------------------------------------------------------------------------------------


def test_every_scene_is_shown_once_where_it_lies_in_its_own_colour_and_form():
    found = points_of(map_figure(projection(), ROWS))
    assert sorted(found) == ROWS.ids
    assert [found[i][0] for i in ROWS.ids] == [tuple(p) for p in POINTS.tolist()]
    assert [found[i][1] for i in (50, 51, 55)] == [
        f"rgb{COLOUR_RGB[c]}" for c in ("red", "blue", "white")
    ]
    assert [found[i][2] for i in ROWS.ids] == [
        "square", "square-open", "square", "circle", "circle-open", "diamond",
    ]  # fmt: skip
    assert found[51][3] == "blue"


def test_forms_are_explained_where_they_differ():
    listed = [t.name for t in map_figure(projection(), ROWS).data if t.showlegend is not False]
    assert listed[:3] == [name for name in COLOUR_RGB if name in ("red", "blue", "white")]
    assert set(listed[3:]) == {"image", "image, unseen", "text", "text, unseen", "token"}
    assert len(listed) == 8
    alike = MapRows(ids=ROWS.ids, labels=ROWS.labels, forms=["image"] * 6)
    assert len(map_figure(projection(), alike).data) == 3


def test_a_part_of_the_scenes_keeps_its_ids_words_and_links():
    words = [f"scene {i}" for i in range(6)]
    rows = MapRows(ids=ROWS.ids, labels=ROWS.labels, forms=ROWS.forms, words=words)
    part = projection(POINTS[:3], rows=np.array([1, 3, 5]))
    figure = map_figure(part, rows, links=[(1, 5), (0, 1), (3, 0)], link_name="swap")
    found = points_of(figure)
    assert {i: (p[0], p[3]) for i, p in found.items()} == {
        51: ((0, 1), "scene 1"),
        53: ((2, 3), "scene 3"),
        55: ((4, 5), "scene 5"),
    }
    assert figure.data[0].name == "swap"
    assert figure.data[0].x == pytest.approx([0, 4, np.nan], nan_ok=True)  # the other is not shown


def test_three_dimensions_and_the_users_own_scene():
    points = np.arange(18, dtype=np.float32).reshape(6, 3)
    placed = Placement(np.float32([1, 2, 3]), approximate=True)
    figure = map_figure(projection(points), ROWS, links=[(0, 1)], current=placed)
    assert {trace.type for trace in figure.data} == {"scatter3d"}
    assert figure.data[-1].name == "your scene, approximate"
    assert (figure.data[-1].x[0], figure.data[-1].z[0]) == (1, 3)
    exact = Placement(np.float32([1, 2]), approximate=False)
    flat = map_figure(projection(), ROWS, current=exact)
    assert flat.data[-1].name == "your scene"
    assert {trace.type for trace in flat.data} == {"scattergl"}


def test_the_view_stays_and_both_themes_are_served():
    light = map_figure(projection(), ROWS)
    dark = map_figure(projection(), ROWS, links=[(0, 1)], template="plotly_dark")
    assert light.layout.uirevision == dark.layout.uirevision is not None
    assert light.layout.template != dark.layout.template
    assert light.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert light.layout.yaxis.scaleanchor == "x"


# --- colours --------------------------------------------------------------------------------------


def test_few_labels_have_a_colour_each_and_many_share_one():
    assert colour_of(["text", "image"]) == {"image": PALETTE[0], "text": PALETTE[1]}
    eight = [f"label {i}" for i in range(8)]
    assert list(colour_of(eight)) == eight
    assert len(set(colour_of(eight).values())) == 8
    many = [f"label {i:02}" for i in range(20) for _ in range(i + 1)]
    assert list(colour_of(many)) == [*(f"label {i}" for i in range(19, 12, -1)), OTHER]
    assert colour_of(many)[OTHER] == GREY


def test_scenes_of_shared_labels_are_all_shown():
    labels = [f"label {i}" for i in range(6)] * 2
    rows = MapRows(ids=range(12), labels=[f"{a} {i}" for i, a in enumerate(labels)],
                   forms=["text"] * 12)  # fmt: skip
    figure = map_figure(projection(np.zeros((12, 2), dtype=np.float32)), rows)
    count = Counter(trace.name for trace in figure.data for _ in trace.customdata)
    assert count[OTHER] == 5
    assert sum(count.values()) == 12


def test_links_become_pairs_once():
    assert link_pairs([2, None, 0, 0]) == [(0, 2), (0, 3)]


# --- the quadruple --------------------------------------------------------------------------------


def quadruple() -> Quadruple:
    kinds = {
        "red": "concept",
        "red square": "object",
        "red square, red square": "scene",
        "red + square": "sum of concepts",
        "red square + red square": "sum of objects",
    }
    points = tuple(
        QuadruplePoint(label, kind, (float(i), float(i), 2.0 * i))
        for i, (label, kind) in enumerate(kinds.items())
    )
    distances = (
        SumDistance("red + square", "red square", 0.1, None, True),
        SumDistance("red square + red square", "red square, red square", 0.2, None, True),
    )
    return Quadruple(points, ((3, 1), (4, 2)), distances, 0.1, "text", "by hand", 0)


def test_the_quadruple_joins_each_sum_to_its_target():
    figure = quadruple_figure(quadruple())
    traces = {trace.name: trace for trace in figure.data}
    assert traces["from sum to object"].z == pytest.approx([6, 2, np.nan], nan_ok=True)
    assert traces["from sum to scene"].x == pytest.approx([4, 2, np.nan], nan_ok=True)
    assert traces["object"].marker.symbol == "circle"
    assert traces["sum of concepts"].marker.symbol == "circle-open"
    assert traces["sum of concepts"].marker.color == traces["object"].marker.color
    assert traces["concept"].text == ("red",)
    assert traces["scene"].text is None
    assert traces["scene"].hovertext == ("red square, red square",)


# --- the file -------------------------------------------------------------------------------------


def test_the_html_file_stands_alone_and_offers_no_upload():
    rows = MapRows(ids=[0], labels=["</script><b>"], forms=["text"])
    html = figure_html(map_figure(projection(POINTS[:1]), rows))
    assert not re.search(r"<(script|link)[^>]+(src|href)=", html)
    assert "</script><b>" not in html
    config = json.loads(re.search(r'\{"displaylogo"[^}]*\}', html)[0])
    assert config["showSendToCloud"] is False
    assert config["displaylogo"] is False
