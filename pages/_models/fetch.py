"""Public checkpoints: fetched once, by a click, with progress and cancel."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import streamlit as st

from binding_core.encoders import ModelCard
from binding_core.encoders.public import by_hand, download, public_checkpoint
from binding_core.errors import UserError
from binding_core.figures.cards import card_block
from binding_core.jobs import Job
from binding_core.settings import (
    offline,
    offline_by_environment,
    read_settings,
    save_settings,
)
from pages._models.compose_link import open_in_compose
from pages._shared.chrome import notice
from pages._shared.encoders import forget_cards


@st.cache_resource
def _downloads() -> dict[str, Job]:
    """The process's downloads by model id; every session sees the same ones."""
    return {}


def offline_switch() -> None:
    """The switch that keeps the app from asking the hub for anything."""
    if text := st.session_state.pop("models_notice", ""):
        notice(text)
    st.toggle(
        "Stay offline",
        value=offline(),
        key="stay_offline",
        disabled=offline_by_environment(),
        help="HF_HUB_OFFLINE=1 in the environment does the same and locks this switch.",
        on_change=_save_offline,
    )


def _save_offline() -> None:
    try:
        save_settings(
            read_settings().model_copy(update={"stay_offline": st.session_state.stay_offline})
        )
    except UserError as error:
        st.session_state.models_notice = str(error)


def public_model(card: ModelCard) -> None:
    """One public checkpoint with what can be done about it."""
    job = _downloads().get(card.id)
    live = job is not None and job.snapshot.state == "running"
    with st.container(border=True, key=f"public_{card.id}"):
        st.html(card_block(card))
        # A fragment of its own polls only while a download lives.
        st.fragment(_state, run_every=1.0 if live else None)(card, live)


def _state(card: ModelCard, was_live: bool) -> None:
    checkpoint = public_checkpoint(card.id)
    job = _downloads().get(card.id)
    snapshot = job.snapshot if job else None
    if snapshot and snapshot.state == "running":
        if not was_live:  # begun since the page was drawn: draw it again, and look every second
            st.rerun()
        mega = f"{snapshot.done / 1e6:,.0f} of {snapshot.total / 1e6:,.0f} MB"
        st.progress(snapshot.share, text=f"Downloading: {mega}")
        st.button("Cancel", key=f"cancel_{card.id}", on_click=job.stop)
        return
    if was_live:  # it has ended since the page was drawn
        forget_cards()
        st.rerun()
    if card.path:
        st.markdown(f":material/check_circle: On this machine, in `{card.path}`.")
        open_in_compose(card)
        return
    if snapshot and snapshot.state == "failed":
        notice(snapshot.message)
    elif snapshot and snapshot.state == "stopped":
        st.info("Cancelled. What was fetched is kept; the next download goes on from there.")
    if offline():
        notice(f"The app stays offline. {by_hand(checkpoint)}")
    st.button(
        f"Download {card.megabytes:,.0f} MB",
        key=f"get_{card.id}",
        icon=":material/download:",
        on_click=_start,
        args=(card.id,),
        disabled=offline(),
    )


def _start(model_id: str) -> None:
    checkpoint = public_checkpoint(model_id)

    def work(stop: Event, report: Callable[[int, int], None]) -> bool:
        return download(checkpoint, stop=stop, report=report) is not None

    running = _downloads().get(model_id)
    if running is None or running.snapshot.state != "running":
        _downloads()[model_id] = Job(work, name=f"download {model_id}")
