"""The process's encoders: one of each, cached, and warmed up behind the first page."""

from __future__ import annotations

import gc
import sys
from threading import Thread

import streamlit as st

from binding_core.embeddings import CachedEncoder, EmbeddingCache, default_cache
from binding_core.encoders import (
    BUNDLED_IDS,
    bundled_cards,
    control_cards,
    load,
    own_cards,
    public_cards,
    ready,
    run_cards,
    warm_up,
)
from binding_core.encoders.controls import ControlEncoder
from binding_core.encoders.protocol import Encoder, ModelCard


@st.cache_resource
def embedding_cache() -> EmbeddingCache:
    """The one cache of all sessions."""
    return default_cache()


def encoder(model_id: str) -> Encoder:
    """The encoder of that id: the process's shared one, unless the session brings its own source.

    ``st.session_state.encoder_source`` is where a test puts its fake.
    """
    source = st.session_state.get("encoder_source", _shared_encoder)
    return source(model_id)


def _shared_encoder(model_id: str) -> Encoder:
    found = load(model_id)
    # A control reads the scene, which two pictures of equal pixels need not share, and is cheap.
    return found if isinstance(found, ControlEncoder) else CachedEncoder(found, embedding_cache())


def is_waiting(model_id: str) -> bool:
    """Whether the model's weights have yet to be read."""
    return "encoder_source" not in st.session_state and not ready(model_id)


@st.cache_resource(ttl=60)
def _cards(with_public: bool) -> dict[str, ModelCard]:
    public = public_cards() if with_public else []
    cards = [*bundled_cards(), *own_cards(), *public, *control_cards()]
    return {card.id: card for card in cards if card.path or card.kind == "control"}


def usable_cards(*, with_public: bool = False) -> dict[str, ModelCard]:
    """The models that can be used now, by id."""
    # The hub's library takes a while to import; the first page goes without it unless its link
    # names a public model, and the warm-up brings it in.
    lasting = _cards(with_public or "huggingface_hub" in sys.modules)
    return lasting | {card.id: card for card in run_cards()}  # runs come and go


def forget_cards() -> None:
    """Look again which models there are."""
    _cards.clear()


@st.cache_resource
def start_warm_up() -> Thread:
    """Once a process: read the bundled models in the background, after the page was drawn."""
    thread = Thread(target=_warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    import huggingface_hub  # noqa: F401

    warm_up([card.id for card in bundled_cards() if card.id in BUNDLED_IDS])
    # Streamlit collects garbage after every run, before the last of the page is sent. With torch's
    # hundreds of thousands of lasting objects that took 220 ms; frozen, they are passed over.
    gc.freeze()
