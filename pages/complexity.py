"""Complexity: can something simple reproduce a binding function?"""

import streamlit as st

from pages._complexity.model import approximators_section, chosen_side, rows_of
from pages._complexity.runs import runs_section
from pages._shared.choice import chosen_model
from pages._shared.chrome import footer, lead, meaning, through_app

through_app()
lead(
    "Complexity",
    "Each mark is a model trained from scratch. The more alike its two sides are in what concepts "
    "do not explain, the better it recognises objects it has never seen; look whether a product of "
    "concepts explains it as well.",
)
runs_section()
meaning(
    "The paper claims that models bind new combinations when their binding function is simple, a "
    "product of concept vectors. Fits to our 200 runs support half of it. How alike both sides' "
    "binding remainders are goes with unseen recognition. How well products fit held out "
    "does not: what binds least is the most additive, and so the easiest to fit. Only at 20 values "
    "and coverage .9 does a product of rank 64 to 128 gain much.",
    "Choose another explanation above the figure. Below, let a wider network or a higher rank try "
    "to predict the embeddings of objects it was not fitted on: concepts are easy, objects not.",
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    card = chosen_model(key="approximated", width=260)
    modality = chosen_side()
if rows := rows_of(card, modality):
    approximators_section(card, rows, modality)
footer()
