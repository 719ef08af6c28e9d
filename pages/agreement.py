"""Agreement: do pictures and captions of the same scene agree?"""

import streamlit as st

from pages._agreement.choice import chosen_models, reports_of
from pages._agreement.files import exports
from pages._agreement.mending import mending_section
from pages._agreement.own_scene import scene_section
from pages._agreement.stage import stage
from pages._agreement.tables import tables_section
from pages._shared.chrome import footer, lead, meaning, through_app

through_app()
lead(
    "Agreement",
    "Each frame of the map holds scenes of the same concepts, bound in other ways. A model that "
    "binds lights up the diagonal inside each frame; a bag of concepts lights up the whole frame.",
)
cards = chosen_models()
reports = reports_of(cards)
names = {card.id: card.name for card in cards}
if reports:
    st.fragment(stage)(reports, names)
meaning(
    "Probes read objects out of pictures alone, and out of captions alone. That says nothing of "
    "whether the two agree: swap accuracy and retrieval ask a picture to choose between its "
    "caption and the swapped one. “Web captions” can be read on its pictures' side alone, “Low "
    "coverage” on its captions' side alone; across, both fail on what they have not seen.",
    "Choose “Web captions”: its captions were incomplete, and the frames fill up. Then try to mend "
    "it with one linear map below, and look at the scenes that the map was not trained on.",
)
if reports:
    tables_section(reports, names)
    scene_section(cards)
mending_section(cards)
if reports:
    exports(reports, names)
footer()
