"""Which scenes, which projection, which look: all of it in the link."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from pydantic import ValidationError

from binding_core.concepts import BUNDLED_SPACE
from binding_core.errors import UserError
from binding_core.geometry.scene_map import MAX_MAPPED, SceneSet
from pages._shared.chrome import notice

METHODS = {"pca": "PCA", "umap": "UMAP", "mds": "MDS"}
SIDES = {"image": "pictures", "text": "captions", "both": "both"}
COLOURS = {
    "bag": "bag of concepts",
    "object": "object on the left, or named first",
    "colour": "its colour",
    "shape": "its shape",
    "seen": "seen or unseen",
    "modality": "picture or caption",
}
LINES = {"swap": "scene to swap", "caption": "picture to caption", "none": "none"}
LINKED = {"bind": "query-params", "persist_state": "session"}


@dataclass(frozen=True)
class Look:
    """How the map is looked at."""

    sides: str
    method: str
    dimensions: int
    colour_by: str
    lines: str


def chosen_look() -> Look:
    """What is embedded, how it is projected, coloured and joined."""
    sides = _one_of("What it embeds", SIDES, key="map_sides", default="image")
    method = _one_of("Projection", METHODS, key="map_method", default="umap")
    flat = _one_of("Dimensions", {"2": "2-D", "3": "3-D"}, key="map_dimensions", default="2")
    colour_by = st.selectbox(
        "Colour by",
        list(COLOURS),
        format_func=COLOURS.get,
        key="map_colour",
        width=210,
        **LINKED,
    )
    lines = st.selectbox(
        "Lines", list(LINES), format_func=LINES.get, key="map_lines", width=150, **LINKED
    )
    return Look(sides, method, int(flat), colour_by, lines)


def _one_of(label: str, options: dict[str, str], *, key: str, default: str) -> str:
    return st.segmented_control(
        label,
        list(options),
        default=default,
        required=True,
        format_func=options.get,
        key=key,
        **LINKED,
    )


def chosen_set(sides: str) -> SceneSet | None:
    """The scenes of the map; None, with a notice, when they can't be."""
    with st.expander("Scenes", icon=":material/category:"):
        drawn = _one_of(
            "Drawn",
            {"slice": "every scene of a slice", "sample": "a sample of all"},
            key="map_drawn",
            default="slice",
        )
        columns = st.columns(4)
        n_objects = columns[0].number_input("Objects a scene", 1, 3, 2, key="map_objects", **LINKED)
        seed = columns[1].number_input("Seed", 0, 10**9, 0, key="map_seed", **LINKED)
        chosen: dict[str, object] = {"n_objects": n_objects, "seed": seed}
        if drawn == "sample":
            chosen["n"] = columns[2].number_input(
                "Scenes", 10, MAX_MAPPED, 1000, key="map_n", **LINKED
            )
        else:
            chosen["draws"] = columns[2].number_input(
                "Draws of each", 1, 200, 16, key="map_draws", **LINKED
            )
            for field, values, default in zip(
                ("colours", "shapes"),
                BUNDLED_SPACE.values,
                (["red", "blue"], ["square", "circle"]),
                strict=True,
            ):
                chosen[field] = tuple(
                    st.multiselect(
                        field.capitalize(), values, default, key=f"map_{field}", **LINKED
                    )
                )
    try:
        settings = SceneSet(sides=sides, drawn=drawn, **chosen)
        settings.scenes()
    except (UserError, ValidationError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        notice(said)
        return None
    return settings
