"""Which models are compared, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event

import streamlit as st

from binding_core.alignment.report import (
    N_SCENES,
    AgreementReport,
    agreement_of,
    find_agreement,
)
from binding_core.encoders import BUNDLED_IDS
from binding_core.encoders.protocol import Encoder, ModelCard
from pages._shared.encoders import encoder, usable_cards
from pages._shared.works import Report, progress, works

MOST = 4


def chosen_models() -> list[ModelCard]:
    """Up to four models, in the link and kept for the session."""
    cards = usable_cards()
    chosen = st.multiselect(
        "Models side by side",
        list(cards),
        default=[i for i in BUNDLED_IDS if i in cards],
        format_func=lambda i: cards[i].name,
        max_selections=MOST,
        key="agreeing",
        bind="query-params",
        persist_state="session",
        placeholder="Choose up to four models",
    )
    return [cards[i] for i in chosen]


def reports_of(cards: Sequence[ModelCard]) -> list[AgreementReport]:
    """What is known of each; for the others, what it takes to find out is drawn."""
    if not cards:
        st.info("Choose a model to see whether its pictures and captions agree.")
    found = []
    for card in cards:
        model = encoder(card.id)
        if known := find_agreement(model.fingerprint):
            found.append(known)
            continue
        key = f"agreement of {card.id}"
        if progress(key):
            continue
        st.info(
            f"{card.name} has not been measured on this machine yet: {N_SCENES:,} scenes as "
            "pictures and as captions, some seconds for a model of the size of the bundled ones."
        )
        st.button(
            f"Measure {card.name}",
            icon=":material/compare_arrows:",
            on_click=works().begin,
            args=(key, partial(_measure, model, card)),
            kwargs={"kind": "agreement"},
            key=f"measure {card.id}",
        )
    return found


def _measure(
    model: Encoder, card: ModelCard, stop: Event, report: Report
) -> AgreementReport | None:
    return agreement_of(model, card=card, report=report, stop=stop)
