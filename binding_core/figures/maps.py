"""Maps of embeddings as plotly figures; what a point is rides on its form.

Square is an image, circle a text, diamond a scene of tokens; an open form is unseen in training, a
solid one is not. Colour is free for what the reader asks about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from binding_core.geometry.projection import Placement, Projection
from binding_core.geometry.quadruple import Kind, Quadruple
from binding_core.render import COLOUR_RGB

if TYPE_CHECKING:
    import plotly.graph_objects as go

Form = Literal["image", "text", "token"]

SYMBOLS: dict[str, str] = {"image": "square", "text": "circle", "token": "diamond"}
GREY = "#808080"
# Okabe and Ito 2008, whom colour blindness does not hinder; black, unseen on a dark page, is grey.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", GREY,
)  # fmt: skip
OTHER = "other"
LINE = "rgba(128,128,128,0.45)"
GROUND = "rgba(128,128,128,0.10)"  # on which white and black points are seen in both themes
CURRENT = "your scene"
VIEW = "kept"  # while this stays, zoom and turn do, whatever else of the figure changes
HTML_CONFIG = {"displaylogo": False, "showSendToCloud": False}

KIND_COLOURS: dict[Kind, str] = {  # a sum has the colour of what it should be
    "concept": GREY,
    "object": "#0072B2",
    "scene": "#D55E00",
    "sum of concepts": "#0072B2",
    "sum of objects": "#D55E00",
}
NAMED_KINDS = ("concept", "object")  # whose labels stand in the figure; the others' would overlap


@dataclass(frozen=True)
class MapRows:
    """What is known of each of the n scenes of a set, shown or not, in their order."""

    ids: Sequence[int]  # the same in every map of the set
    labels: Sequence[str]  # what colours the points
    forms: Sequence[Form]
    seen: Sequence[str] | None = None  # "seen", "unseen" or "mixed"; None when it is not known
    words: Sequence[str] | None = None  # under the pointer; None for the labels


def map_figure(
    projection: Projection,
    rows: MapRows,
    *,
    links: Iterable[tuple[int, int]] = (),
    link_name: str = "",
    current: Placement | None = None,
    template: str = "plotly_white",
) -> go.Figure:
    """The map with a legend entry a label; ``customdata`` of every point is its scene's id.

    ``links`` are positions in ``rows``; a link to a scene that is not shown is left out.
    """
    import plotly.graph_objects as go

    k = projection.points.shape[1]
    figure = go.Figure()
    ends = _ends(links, projection.rows)
    if ends:
        between = np.full((len(ends), 3, k), np.nan)  # a gap behind every line
        between[:, :2] = projection.points[np.array(ends)]
        figure.add_trace(_lines(between.reshape(-1, k), name=link_name, colour=LINE))
    labels = [rows.labels[i] for i in projection.rows]
    symbols = np.array([_symbol(rows, i) for i in projection.rows])
    words = rows.words or rows.labels
    colours = colour_of(labels)
    grouped = np.array([label if label in colours else OTHER for label in labels])
    for label, colour in colours.items():
        # One trace a symbol: plotly checks a list of symbols one by one, for half a second.
        for i, symbol in enumerate(np.unique(symbols[grouped == label]).tolist()):
            here = np.flatnonzero((grouped == label) & (symbols == symbol))
            trace = _markers(
                projection.points[here],
                name=label,
                marker={"color": colour, "symbol": symbol},
                words=[words[row] for row in projection.rows[here]],
                ids=[rows.ids[row] for row in projection.rows[here]],
            )
            figure.add_trace(trace.update(legendgroup=label, showlegend=i == 0))
    for symbol in np.unique(symbols).tolist() if len(set(symbols)) > 1 else ():
        marker = {"color": GREY, "symbol": symbol}
        figure.add_trace(_markers(np.full((1, k), np.nan), name=_meaning(symbol), marker=marker))
    if current:
        figure.add_trace(_current(current))
    return _laid_out(figure, template=template)


def colour_of(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label, in the legend's order.

    Colours of scenes stand for themselves. Of more than eight other labels the seven most frequent
    have a colour of their own, and the rest share one as "other".
    """
    count = Counter(labels)
    if set(count) <= set(COLOUR_RGB):
        return {name: f"rgb{rgb}" for name, rgb in COLOUR_RGB.items() if name in count}
    if len(count) <= len(PALETTE):
        return dict(zip(sorted(count), PALETTE, strict=False))
    frequent = sorted(count, key=lambda label: (-count[label], label))[: len(PALETTE) - 1]
    return dict(zip([*frequent, OTHER], PALETTE, strict=True))


def link_pairs(links: Sequence[int | None]) -> list[tuple[int, int]]:
    """The links of each scene to another, or None, as pairs, each once."""
    return sorted({(min(i, j), max(i, j)) for i, j in enumerate(links) if j is not None})


def quadruple_figure(quadruple: Quadruple, *, template: str = "plotly_white") -> go.Figure:
    """The quadruple in three dimensions: what was embedded is solid, a sum of it is open."""
    import plotly.graph_objects as go

    positions = np.array([point.position for point in quadruple.points])
    figure = go.Figure()
    for target in ("object", "scene"):
        ends = [pair for pair in quadruple.lines if quadruple.points[pair[1]].kind == target]
        between = np.full((len(ends), 3, 3), np.nan)
        between[:, :2] = positions[np.array(ends)]
        colour = KIND_COLOURS[target]
        figure.add_trace(
            _lines(between.reshape(-1, 3), name=f"from sum to {target}", colour=colour)
        )
    for kind, colour in KIND_COLOURS.items():
        here = [i for i, point in enumerate(quadruple.points) if point.kind == kind]
        words = [quadruple.points[i].label for i in here]
        symbol = SYMBOLS[quadruple.modality] + ("-open" if kind.startswith("sum") else "")
        marker = {"color": colour, "symbol": "x" if kind == "concept" else symbol, "size": 6}
        trace = _markers(positions[here], name=kind, marker=marker, words=words)
        if kind in NAMED_KINDS:
            trace.update(mode="markers+text", text=words, textposition="top center")
        figure.add_trace(trace)
    return _laid_out(figure, template=template)


def figure_html(figure: go.Figure) -> str:
    """A page of its own that needs no network and offers no upload."""
    return figure.to_html(include_plotlyjs=True, config=HTML_CONFIG)


def _ends(links: Iterable[tuple[int, int]], shown: np.ndarray) -> list[tuple[int, int]]:
    """The links between scenes that are shown, as positions among these."""
    at = {row: i for i, row in enumerate(shown.tolist())}
    return [(at[i], at[j]) for i, j in links if i in at and j in at]


def _symbol(rows: MapRows, i: int) -> str:
    unseen = rows.seen is not None and rows.seen[i] == "unseen"
    return SYMBOLS[rows.forms[i]] + ("-open" if unseen else "")


def _meaning(symbol: str) -> str:
    form, _, is_open = symbol.partition("-")
    name = next(name for name, known in SYMBOLS.items() if known == form)
    return f"{name}, unseen" if is_open else name


def _xyz(points: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip("xyz", points.T, strict=False))


def _markers(
    points: np.ndarray,
    *,
    name: str,
    marker: dict[str, Any],
    words: Sequence[str] | None = None,
    ids: Sequence[int] | None = None,
) -> go.Scattergl | go.Scatter3d:
    import plotly.graph_objects as go

    flat = points.shape[1] == 2
    return (go.Scattergl if flat else go.Scatter3d)(
        **_xyz(points),
        mode="markers",
        name=name,
        marker={"size": 7 if flat else 4, "line": {"width": 0.5, "color": GREY}, **marker},
        # Lists: of an array's rows Streamlit hands back something that is no row.
        customdata=None if ids is None else [[int(i)] for i in ids],
        hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>" if words else None,
    )


def _lines(points: np.ndarray, *, name: str, colour: str) -> go.Scattergl | go.Scatter3d:
    import plotly.graph_objects as go

    flat = points.shape[1] == 2
    return (go.Scattergl if flat else go.Scatter3d)(
        **_xyz(points),
        mode="lines",
        name=name,
        line={"color": colour, "width": 1 if flat else 2},
        hoverinfo="skip",
    )


def _current(placement: Placement) -> go.Scattergl | go.Scatter3d:
    name = f"{CURRENT}, approximate" if placement.approximate else CURRENT
    marker = {"color": GREY, "symbol": "cross", "size": 14, "line": {"width": 2, "color": "white"}}
    return _markers(placement.point[None], name=name, marker=marker, words=[name])


def _laid_out(figure: go.Figure, *, template: str) -> go.Figure:
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "title": ""}
    return figure.update_layout(
        template=template,
        uirevision=VIEW,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor=GROUND,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        legend={"itemsizing": "constant"},
        xaxis=bare,
        yaxis={**bare, "scaleanchor": "x"},  # a unit is as long both ways
        scene={
            "aspectmode": "data",
            **{f"{axis}axis": {**bare, "showbackground": False} for axis in "xyz"},
        },
    )
