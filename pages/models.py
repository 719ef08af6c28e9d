"""Models: what is here, what can be fetched, and how well each of them binds."""

import streamlit as st

from binding_core.complexity.sweep import binding_ranks
from binding_core.encoders import bundled_cards, control_cards, own_cards, public_cards
from binding_core.figures.cards import card_block
from pages._models.fetch import offline_switch, public_model
from pages._models.own import add_model, own_model
from pages._shared.chrome import footer, lead, meaning, through_app
from pages._shared.encoders import encoder

through_app()
lead(
    "Models",
    "Read the columns “seen” against “unseen”: three models of one network and one training "
    "length, told apart only by what their captions said and which objects they saw.",
)
for column, card in zip(st.columns(3, gap="medium"), bundled_cards(), strict=False):
    column.html(card_block(card, ranks=binding_ranks(encoder(card.id).fingerprint)))
meaning(
    "Incomplete captions, as on the web, give a bag of concepts even for objects that were seen. "
    "Full captions of few objects give binding that stays with those objects. Full captions of "
    "most objects give binding that carries over to combinations never seen.",
    "Do not take the card's word: “python -m binding_core swap --model high-coverage --split "
    "unseen --scenes 1000 --seed 5” draws fresh scenes and measures again; “python -m binding_core "
    "bundle” trains all three anew.",
)

st.subheader("Public checkpoints", divider="gray")
offline_switch()
for i, card in enumerate(public_cards()):
    if i % 2 == 0:
        pair = st.columns(2, gap="medium")
    with pair[i % 2]:
        public_model(card)

st.subheader("Your own models", divider="gray")
for card in own_cards():
    own_model(card)
add_model()

st.subheader("Controls", divider="gray")
st.markdown(
    "Encoders whose binding function is known by construction. They read the scene itself, not "
    "pixels, and show what each kind of binding looks like through the app's instruments."
)
st.html("".join(card_block(card) for card in control_cards()))
footer()
