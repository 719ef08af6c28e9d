"""Components: what a scene's embedding is made of."""

import streamlit as st

from pages._components.choice import chosen_scene, chosen_side
from pages._components.model import report_of
from pages._components.own import own_section
from pages._components.scene import scene_section
from pages._components.tables import remainder_section, tables_section
from pages._shared.choice import chosen_model
from pages._shared.chrome import footer, lead, meaning, through_app

through_app()
lead(
    "Components",
    "A scene's embedding is nearly a sum: a mean and one part an object. Switch a part off, or "
    "put another object's in its place, and see what can still be read and which scenes are near.",
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    card = chosen_model(key="taken_apart", width=320)
    modality = chosen_side()
    scene = chosen_scene()
report = report_of(card)
if report:
    scene_section(card, modality, scene)
meaning(
    "The objects' parts alone rebuild a new scene well enough to find it among all others: a scene "
    "is where the sum of its objects is. An object's part is not the sum of its concepts' parts, "
    "though. What is left over, the binding, tells a red square and a blue circle from their swap. "
    "Take the objects' parts out and nothing can be read; take the concepts' out and the objects "
    "are still there.",
    "Switch both bindings off: the concepts are still read, the objects no longer. Choose “Web "
    "captions”, whose embeddings are a bag of concepts, or a control, whose components are known "
    "by construction.",
)
if report:
    tables_section(report, modality)
remainder_section(report)
own_section()
footer()
