"""The map itself, what is chosen on it, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import streamlit as st

from binding_core.captions import caption
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.errors import UserError
from binding_core.figures.maps import MapRows, figure_html, map_figure
from binding_core.figures.thumbnails import thumbnail_row
from binding_core.geometry.map_export import map_csv, map_npz
from binding_core.geometry.projection import Placement, nearest, place
from binding_core.geometry.scene_map import SceneMap, SceneSet, draw_map, find_map
from binding_core.geometry.scene_table import embed_scenes
from binding_core.links import encode_scene
from binding_core.scenes import Scene
from pages._map.choice import COLOURS, METHODS, Look
from pages._map.trust import trust
from pages._shared.chrome import notice
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works

if TYPE_CHECKING:
    import plotly.graph_objects as go

SHOWN = 8  # chosen scenes with a thumbnail
NEIGHBOURS = 4
HEIGHT = 560  # pixels
OPEN_UP_TO = 1000  # points that are listed one by one for the keyboard


def map_of(card: ModelCard, settings: SceneSet, look: Look) -> SceneMap | None:
    """The map if it is there; else it is drawn behind the page, and how far it is, is shown."""
    model = encoder(card.id)
    how = (model.fingerprint, look.method, look.dimensions)
    if found := _kept(settings.model_dump_json(), *how, _settings=settings):
        return found
    key = f"map {how} {settings}"
    if progress(key):
        return None
    begin = partial(works().begin, key, partial(_draw, model, settings, look))
    kind = f"map by {look.method}"  # a long UMAP keeps nobody's PCA waiting
    if not works().tried(key):
        begin(kind=kind)
        st.rerun()
    st.button("Draw it", type="primary", on_click=begin, kwargs={"kind": kind}, key="map_draw")
    return None


def _draw(
    model: Encoder, settings: SceneSet, look: Look, stop: Event, report: Report
) -> bool | None:
    behind = getattr(model, "encoder", model)  # ten thousand rows would flush the cache
    way = {"method": look.method, "dimensions": look.dimensions}
    return bool(draw_map(behind, settings=settings, stop=stop, report=report, **way)) or None


@st.cache_resource(max_entries=12, show_spinner=False, validate=lambda found: found is not None)
def _kept(
    settings: str, fingerprint: str, method: str, dimensions: int, *, _settings: SceneSet
) -> SceneMap | None:
    found = find_map(_settings, fingerprint)
    return found if found and (method, dimensions) in found.projections else None


@st.cache_resource(max_entries=24, show_spinner=False)
def _links(settings: str, fingerprint: str, lines: str, *, _drawn: SceneMap) -> list:
    return {"swap": _drawn.swaps, "caption": _drawn.captions}.get(lines, list)()


@st.cache_resource(max_entries=24, show_spinner=False)
def _labels(
    settings: str, fingerprint: str, by: str, *, _drawn: SceneMap, _card: ModelCard
) -> list:
    return _drawn.labels(by, train_objects=_card.train_objects)


@st.cache_resource(max_entries=12, show_spinner=False)
def _words(settings: str, *, _drawn: SceneMap) -> list[str]:
    told = [caption(scene) for scene in _drawn.scenes]
    return told * len(_drawn.tables)


def _figure(
    card: ModelCard, drawn: SceneMap, look: Look, *, own: Placement | None, template: str
) -> go.Figure:
    of = (drawn.settings.model_dump_json(), drawn.fingerprint)
    known = {"_drawn": drawn, "_card": card}
    seen = _labels(*of, "seen", **known) if card.train_objects else None
    figure = map_figure(
        drawn.projections[look.method, look.dimensions],
        MapRows(
            ids=range(len(drawn)),
            labels=_labels(*of, look.colour_by, **known),
            forms=drawn.forms,
            seen=seen,
            words=_words(of[0], _drawn=drawn),
        ),
        links=_links(*of, look.lines, _drawn=drawn),
        link_name={"swap": "to the swap", "caption": "to the caption"}.get(look.lines, ""),
        current=own,
        template=template,
    )
    return figure.update_layout(height=HEIGHT, legend={"orientation": "h", "y": -0.02})


@st.cache_resource(max_entries=16, show_spinner=False)
def _kept_figure(of: tuple, *, _make: Callable[[], go.Figure]) -> go.Figure:
    # A click asks for the very same figure again, and one of 10,000 points takes half a second.
    return _make()


def stage(card: ModelCard, drawn: SceneMap, look: Look) -> None:
    """The map on the left, what is chosen on it on the right; a click redraws no more."""
    left, right = st.columns([7, 5], gap="large")
    text, shown = drawn.settings.model_dump_json(), drawn.projections[look.method, look.dimensions]
    words = _words(text, _drawn=drawn)
    with left:
        own = _placed(card, drawn, look)
        template = "plotly_dark" if st.context.theme.type == "dark" else "plotly_white"
        make = partial(_figure, card, drawn, look, own=own, template=template)
        of = (text, drawn.fingerprint, *vars(look).values(), template)
        figure = make() if own else _kept_figure(of, _make=make)
        chosen = st.plotly_chart(
            figure,
            key="map_chart",
            on_select="rerun",
            selection_mode=("points", "box", "lasso"),
            config={"displaylogo": False, "scrollZoom": True},
            alt=f"{METHODS[look.method]} of {len(shown.rows)} scenes of {card.name}, coloured by "
            f"{COLOURS[look.colour_by]}",
        )
        trust(shown)
        _gap(drawn)
    with right:
        points = [
            int(point["customdata"][0])
            for point in chosen.selection.points
            if "customdata" in point
        ]
        _chosen(drawn, points, words)
    _exports(drawn, look, figure)


def _placed(card: ModelCard, drawn: SceneMap, look: Look) -> Placement | None:
    """The scene of the page Compose on this map, which stays as it is."""
    composition = st.session_state.get("composition")
    if composition is None or not st.toggle("Show the scene on Compose", key="map_own"):
        return None
    try:
        side = drawn.settings.modalities[0]
        own = embed_scenes(encoder(card.id), scenes=[composition.scene], modality=side)
    except UserError as error:
        notice(str(error))
        return None
    shown = drawn.projections[look.method, look.dimensions]
    placed = place(shown, drawn.embeddings, own.embeddings[0])
    if placed.approximate:
        st.caption("Its place is a mean over its neighbours', hence approximate.")
    return placed


def _gap(drawn: SceneMap) -> None:
    if gap := drawn.gap():
        others = gap.unpaired_cosine
        st.caption(
            f"The modality gap is **{gap.length:.2f}** long. A picture's cosine with its own "
            f"caption is {gap.paired_cosine:.2f} on average"
            + ("." if others is None else f", with others {others:.2f}; n = {gap.n}.")
        )


def _chosen(drawn: SceneMap, points: Sequence[int], words: Sequence[str]) -> None:
    if not points and len(drawn) <= OPEN_UP_TO:
        one = st.selectbox(
            "Choose points by click, box or lasso, or one here",
            range(len(drawn)),
            index=None,
            format_func=lambda i: f"{i}: {words[i]}",
            key="map_point",
            placeholder="a scene",
        )
        points = [] if one is None else [one]
    if not points:
        st.caption("Chosen scenes stand here, with what lies near them in the full space.")
        return
    st.markdown(f"**{len(points)} chosen**" + ("" if len(points) <= SHOWN else f", {SHOWN} shown"))
    st.html(thumbnail_row([(drawn.scene(point), None) for point in points[:SHOWN]]))
    first = points[0]
    near, similarity = nearest(drawn.embeddings, drawn.embeddings[first], k=NEIGHBOURS + 1)
    others = [(i, s) for i, s in zip(near.tolist(), similarity.tolist(), strict=True) if i != first]
    st.markdown(f"Nearest to “{words[first]}” in the full space")
    st.html(thumbnail_row([(drawn.scene(i), s) for i, s in others[:NEIGHBOURS]]))
    if st.button("Open in Compose", icon=":material/dashboard:", key="map_open"):
        _open(drawn.scene(first))


def _open(scene: Scene) -> None:
    st.switch_page("pages/compose.py", query_params={"s": encode_scene(scene)})


def _exports(drawn: SceneMap, look: Look, figure: object) -> None:
    way = {"method": look.method, "dimensions": look.dimensions}
    with st.container(horizontal=True):
        for label, name, kind, content in (
            ("Points (CSV)", "map.csv", "text/csv", lambda: map_csv(drawn, **way)),
            ("Embeddings (npz)", "map.npz", "application/zip", lambda: map_npz(drawn, **way)),
            ("Figure (HTML)", "map.html", "text/html", lambda: figure_html(figure)),
        ):
            st.download_button(label, content, name, kind, on_click="ignore", key=name)
