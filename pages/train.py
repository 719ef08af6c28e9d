"""Train: start a run from scratch and watch binding appear, or not."""

import streamlit as st

from pages._shared.chrome import footer, lead, meaning, through_app
from pages._train.launch import launch
from pages._train.monitor import monitor
from pages._train.runs import run_list
from pages._train.sweep import sweep_section

through_app()
lead(
    "Train",
    "Same network, same steps: combinations that training never met are recognised once it has "
    "met enough of the others, and not before. Watch the dashed lines.",
)
settings, stage = st.columns([4, 8], gap="large")
with settings:
    launch()
with stage:
    monitor()
meaning(
    "Solid lines are scenes of training objects, dashed ones scenes of objects held out of it "
    "altogether. Where both rise, the network has learned how concepts go together; where only "
    "the solid one rises, it has learned its objects by heart. Concepts alone come early in "
    "either case: a bag of concepts has them all.",
    "Move coverage down to .25 and train again: the solid lines still rise. Or take “stuck in the "
    "bag”, where the optimizer alone keeps the network from binding what it has seen.",
)
sweep_section()
run_list()
footer()
