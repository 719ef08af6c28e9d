"""One scene taken apart: bars to switch off and exchange, and what is left to be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from binding_core.agreement.swap_test import PICTURE_SIZE
from binding_core.captions import caption
from binding_core.concepts import BUNDLED_SPACE, Words
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.figures.components import looked_block, parts_chart
from binding_core.figures.verdict import picture_tag
from binding_core.geometry.one_scene import Instruments, Part, exchange, look, summed, take_apart
from binding_core.render import render
from binding_core.scenes import Scene
from pages._components.model import instruments_of
from pages._shared.chrome import notice
from pages._shared.encoders import encoder

BANKS = {
    "all": "with both",
    "old": "without the old scene",
    "new": "without the new scene",
}


def scene_section(card: ModelCard, modality: str, scene: Scene) -> None:
    """The stage: parts on the left, what is read of their sum on the right."""
    instruments = instruments_of(card)
    if instruments is None:
        notice("The components of this model are not on this machine any more; take it apart anew.")
        return
    try:
        embedding = _embedding(card, modality, scene)
    except UserError as error:
        notice(str(error))
        return
    st.fragment(_stage)(card, instruments[modality], scene, embedding)


def _embedding(card: ModelCard, modality: str, scene: Scene) -> np.ndarray:
    model = encoder(card.id)
    if modality == "image":
        return model.embed_images([render(scene, size=PICTURE_SIZE)])[0]
    return model.embed_texts([caption(scene)])[0]


def _stage(card: ModelCard, instruments: Instruments, scene: Scene, embedding: np.ndarray) -> None:
    left, right = st.columns([6, 6], gap="large")
    objects = scene.object_words
    with left:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(
                f'<div class="taken">{picture_tag(render(scene, size=96), alt=caption(scene))}'
                f"<span>{caption(scene)}</span></div>"
            )
            into = st.segmented_control(
                "Taken apart into",
                ["concepts", "objects"],
                default="concepts",
                required=True,
                key="taken_into",
                bind="query-params",
                persist_state="session",
            )
        parts = take_apart(instruments, embedding, objects=objects, into=into)
        new, strength = _exchange(objects)
        parts += tuple(
            exchange(instruments, old=old, new=other, strength=strength)
            for old, other in zip(objects, new, strict=True)
            if old != other
        )
        off = _bars(parts, embedding, key=f"{card.id} {into} {objects}")
    with right:
        also = [(scene, embedding)]
        without = set()
        if new != objects:
            target = _with_objects(scene, new)
            also.append((target, _embedding(card, instruments.modality, target)))
            bank = st.segmented_control(
                "Scenes to find it among",
                list(BANKS),
                default="all",
                required=True,
                format_func=BANKS.get,
                key="edit_bank",
            )
            without = {"all": set(), "old": {tuple(sorted(objects))}}.get(
                bank, {tuple(sorted(new))}
            )
        looked = look(
            instruments,
            summed(parts, without=off),
            objects=new,
            also=also,
            without=without,
        )
        st.html(looked_block(looked))
        if new != objects and looked.found_at:
            what = f"“{' and '.join(' '.join(words) for words in new)}”"
            st.markdown(f"The scene of {what} is number **{looked.found_at}** of {looked.n_bank}.")


def _bars(parts: Sequence[Part], embedding: np.ndarray, *, key: str) -> set[int]:
    """A switch and a bar for each part; the positions of those that are off."""
    switches, bars = st.columns([5, 7], gap="small")
    with switches, st.container(key="switches", gap=None):
        off = {
            i
            for i, part in enumerate(parts)
            if not st.checkbox(part.name, value=True, key=f"part {i} {part.name} {key}")
        }
    with bars:
        st.altair_chart(parts_chart(parts, embedding, off=off), key="parts", width="stretch")
    st.caption(
        "Each part's share of the embedding: how far it goes along it. They sum to 1. “Rest” is "
        "what place, size, background and all else add."
    )
    return off


def _exchange(objects: Sequence[Words]) -> tuple[tuple[Words, ...], float]:
    """Which objects are put in the place of the scene's, and how strongly."""
    everything = list(BUNDLED_SPACE.objects)
    keys = [f"instead {i} {' '.join(words)}" for i, words in enumerate(objects)]

    def swap(concept: int) -> None:
        first, second = ([*objects[0]], [*objects[1]])
        first[concept], second[concept] = second[concept], first[concept]
        for key, words in zip(keys, (first, second), strict=True):
            st.session_state[key] = tuple(words)

    with st.expander("Exchange its objects", icon=":material/swap_horiz:"):
        columns = st.columns(2)
        new = tuple(
            columns[i].selectbox(
                f"In place of {' '.join(words)}",
                everything,
                index=everything.index(words),
                format_func=" ".join,
                key=key,
            )
            for i, (words, key) in enumerate(zip(objects, keys, strict=True))
        )
        with st.container(horizontal=True):
            for i, concept in enumerate(BUNDLED_SPACE.types):
                st.button(f"Swap {concept}s", on_click=swap, args=(i,), key=f"swap parts {concept}")
        strength = st.slider("Strength", 0.0, 1.5, 1.0, 0.05, key="edit_strength")
    return new, strength


def _with_objects(scene: Scene, objects: Sequence[Words]) -> Scene:
    """The scene with other objects at the same places."""
    placed = [
        old.model_copy(update={"colour": colour, "shape": shape})
        for old, (colour, shape) in zip(scene.objects, objects, strict=True)
    ]
    return scene.model_copy(update={"objects": tuple(placed)})
