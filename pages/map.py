"""Map: scene embeddings as a picture."""

import streamlit as st

from pages._map.choice import chosen_look, chosen_set
from pages._map.own import own_section
from pages._map.points import map_of, stage
from pages._map.quadruple import quadruple_section
from pages._map.views import named_views
from pages._shared.choice import chosen_model
from pages._shared.chrome import footer, lead, meaning, through_app

through_app()
lead(
    "Map",
    "A scene and its swap hold the same concepts and share a colour here, with a line between "
    "them. Where a model binds they lie apart; where it does not, they lie on each other.",
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    card = chosen_model(key="mapped", width=200)
    look = chosen_look()
settings = chosen_set(look.sides)
if settings and (drawn := map_of(card, settings, look)):
    st.fragment(stage)(card, drawn, look)
meaning(
    "Every point is a scene, drawn several times at different places. Points of one colour hold "
    "the same bag of concepts. A projection keeps neighbours only so far: its trustworthiness "
    "says how far, 1 at best, and the same projection of random vectors says what noise would "
    "give.",
    "Choose “Web captions”: the two scenes of one colour fall together. Show pictures and "
    "captions at once, and see the gap between them.",
)
quadruple_section(card)
named_views()
own_section()
footer()
