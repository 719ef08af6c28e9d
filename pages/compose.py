"""Compose: build a scene, swap two attributes, and see who can tell the difference."""

import streamlit as st

from pages._compose import composer
from pages._compose.exchange import link_export_import
from pages._compose.own import own_captions_and_picture
from pages._compose.stage import stage, start_from
from pages._compose.verdicts import swap_controls, verdicts_of
from pages._shared.chrome import footer, lead, meaning, through_app

through_app()
composer.start()

lead(
    "Compose",
    "Swap the colours of two objects. Nothing is added and nothing is lost, only which colour "
    "belongs to which shape: does a model notice?",
)
with st.container(key="bench"):
    left, right = st.columns([5, 7], gap="large")
with left:
    stage()
    start_from()
with right:
    swap_controls(composer.view())
    verdicts = verdicts_of(composer.view())

meaning(
    "A model that binds gives each picture its own caption: both framed cells lie on the diagonal. "
    "A bag of concepts scores both captions alike, since red, blue, square and circle are there "
    "either way; its objects are not recognised, although its concepts are. "
    "The three models share one network and one training length. Only their captions and the "
    "objects they saw differ.",
    "Start from “Objects none has seen”: they were held out of every bundled model's "
    "training, and low coverage loses what high coverage keeps. Or let two objects overlap, give "
    "both one colour, or switch on a control, whose binding function is known by construction.",
)
own_captions_and_picture(composer.view())
link_export_import(composer.view(), verdicts)
footer(verdicts)
