"""The paper's quadruple figure: is a scene where the sum of its objects is?"""

from __future__ import annotations

from functools import partial
from threading import Event

import streamlit as st

from binding_core.concepts import BUNDLED_SPACE
from binding_core.encoders.protocol import Encoder, ModelCard
from binding_core.figures.maps import quadruple_figure
from binding_core.geometry.quadruple_store import DEFAULT, draw_quadruple, find_quadruple
from pages._shared.encoders import encoder
from pages._shared.works import Report, progress, works


def quadruple_section(card: ModelCard) -> None:
    """Two colours, two shapes: concepts, objects, scenes, and the sums that should make them."""
    st.subheader("Is a scene where the sum of its objects is?", divider="gray")
    left, right = st.columns([4, 8], gap="large")
    with left:
        chosen = [
            st.multiselect(
                f"Two {name}s", values, default, max_selections=2, key=f"quadruple_{name}"
            )
            for name, values, default in zip(
                BUNDLED_SPACE.types, BUNDLED_SPACE.values, DEFAULT, strict=True
            )
        ]
        modality = st.segmented_control(
            "Of",
            ["image", "text"],
            default="image",
            required=True,
            format_func={"image": "pictures", "text": "captions"}.get,
            key="quadruple_side",
        )
        st.caption(
            "Metric MDS on cosine distance, in three dimensions. Solid: embedded. Open: a sum, "
            "joined to what it should make. After the paper's figure and its published code."
        )
    if any(len(pair) != 2 for pair in chosen):
        right.info("Choose two colours and two shapes.")
        return
    colours, shapes = map(tuple, chosen)
    model = encoder(card.id)
    wanted = {"modality": modality, "colours": colours, "shapes": shapes}
    found = find_quadruple(model.fingerprint, **wanted)
    with right:
        if found is None:
            key = f"quadruple {model.fingerprint} {wanted}"
            if not progress(key):
                st.button(
                    "Draw the figure",
                    on_click=works().begin,
                    args=(key, partial(_draw, model, wanted)),
                    kwargs={"kind": "quadruple"},
                    key="quadruple_draw",
                )
            return
        dark = st.context.theme.type == "dark"
        figure = quadruple_figure(found, template="plotly_dark" if dark else "plotly_white")
        figure.update_layout(height=480, legend={"orientation": "h", "y": -0.02})
        st.plotly_chart(
            figure,
            key="quadruple_chart",
            config={"displaylogo": False},
            alt="Concepts, objects, scenes and their sums in three dimensions",
        )
    scenes = [d for d in found.distances if d.swapped is not None]
    made = sum(d.found for d in found.distances)
    st.markdown(
        f"{made} of {len(found.distances)} sums lie nearest to what they should make; the map's "
        f"stress is {found.stress:.2f} (0 is perfect)."
        + (
            f" A sum of the right objects is {sum(d.distance for d in scenes) / len(scenes):.2f} "
            f"from its scene and {sum(d.swapped for d in scenes) / len(scenes):.2f} from the "
            "swapped one (cosine distance)."
            if scenes
            else ""
        )
    )
    with st.expander("The distances"):
        st.table(
            [
                {
                    "sum": d.sum,
                    "should make": d.target,
                    "cosine distance": f"{d.distance:.2f}",
                    "to the swapped scene": "" if d.swapped is None else f"{d.swapped:.2f}",
                    "nearest": "yes" if d.found else "no",
                }
                for d in found.distances
            ]
        )


def _draw(model: Encoder, wanted: dict, stop: Event, report: Report) -> object | None:
    return draw_quadruple(getattr(model, "encoder", model), stop=stop, report=report, **wanted)
