"""Captions of token scenes: what they leave out, when they are true, and the leak for showing."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.training.run_config import TokenRunConfig
from binding_core.training.settings import TokenLoss, TokenNetwork
from binding_core.training.token_world import TokenWorld, measure_tokens
from binding_core.training.tokens import (
    ABSENT,
    TokenData,
    draw_token_batch,
    swap_first_type,
    tell_truly,
)

SCENE = np.array([[[0, 0], [1, 1]]])  # "red square, blue circle"


@pytest.mark.parametrize(
    ("caption", "true"),
    [
        ([[0, 0], [1, 1]], True),
        ([[1, 1], [0, 0]], True),  # word order says nothing
        ([[0, 1], [1, 0]], False),  # the swap
        ([[0, ABSENT], [ABSENT, 1]], True),
        ([[0, 0], [ABSENT, ABSENT]], True),  # names one object
        ([[2, ABSENT], [1, 1]], False),
    ],
)
def test_a_caption_is_true_when_every_description_fits_an_object(caption, true):
    assert tell_truly(np.array([caption]), SCENE).tolist() == [[true]]


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.3, 1.0]))
def test_truth_is_that_of_plain_python(seed, density):
    data = TokenData(values=4, coverage=0.7, incomplete=0.5, single=0.2, density=density)
    batch = draw_token_batch(data, size=6, seed=seed, step=0, captions=True)
    for scene, row in zip(batch.scenes, batch.told, strict=True):
        for caption, told in zip(batch.captions, row, strict=True):
            fits = [
                any(
                    all(w in (ABSENT, v) for w, v in zip(words, held, strict=True))
                    for held in scene
                )
                for words in caption
            ]
            assert told == all(fits)


def captions_of(**changes) -> tuple[np.ndarray, np.ndarray]:
    data = TokenData(values=8, coverage=0.6, **changes)
    batch = draw_token_batch(data, size=400, seed=1, step=3, captions=True)
    return batch.scenes, batch.captions


def test_complete_captions_are_the_scene_in_either_order_then_swapped_ones():
    scenes, captions = captions_of()
    own, swapped = captions[:400], captions[400:]
    assert (own == scenes).all((1, 2)).mean() == pytest.approx(0.5, abs=0.1)
    assert (np.sort(own, 1) == np.sort(scenes, 1)).all()
    assert len(swapped) > 50
    data = TokenData(values=8, coverage=0.6)
    assert np.isin(data.positions(swapped), data.train).all()  # never a held-out object


def test_swapped_captions_can_be_left_out():
    _, captions = captions_of(swap_negatives=False)
    assert len(captions) == 400


def test_word_order_tied_to_place_is_the_scenes_own():
    scenes, captions = captions_of(by_place=True)
    assert (captions[:400] == scenes).all()


@pytest.mark.parametrize(("loses", "column"), [("colour", 0), ("shape", 1)])
def test_what_is_left_out_is_what_was_asked_for(loses, column):
    _, captions = captions_of(incomplete=0.7, loses=loses, swap_negatives=False)
    gone = captions == ABSENT
    assert gone[..., column].mean() == pytest.approx(0.7, abs=0.06)
    assert not gone[..., 1 - column].any()


def test_some_captions_name_one_object_only():
    _, captions = captions_of(single=0.3, swap_negatives=False)
    assert (captions[:, 1] == ABSENT).all(1).mean() == pytest.approx(0.3, abs=0.08)
    assert not (captions[:, 0] == ABSENT).any()


def test_objects_without_all_attributes_keep_their_last_one_and_their_labels_are_true():
    data = TokenData(values=6, coverage=0.7, density=0.4)
    batch = draw_token_batch(data, size=500, seed=0, step=0)
    bare = batch.scenes[..., 0] == ABSENT
    assert bare.mean() == pytest.approx(0.6, abs=0.06)
    assert not (batch.scenes[..., 1] == ABSENT).any()
    for scene, row in itertools.islice(zip(batch.scenes, batch.objects, strict=True), 50):
        whole = {tuple(held) for held in scene if ABSENT not in held}
        assert {tuple(c[0]) for c in batch.candidates[row]} == whole


def test_swapping_exchanges_the_first_concept_of_the_first_two():
    assert swap_first_type(np.array([[[0, 5], [1, 6], [2, 7]]])).tolist() == [
        [[1, 5], [0, 6], [2, 7]]
    ]


class ByPlace:
    """Embeds scenes and captions by the concepts at each place: place alone decides."""

    def __init__(self, data: TokenData) -> None:
        generator = torch.Generator().manual_seed(0)
        self.table = torch.randn(data.objects, data.types, data.values, 64, generator=generator)

    def scenes(self, concepts):
        total = torch.zeros(len(concepts), 64)
        for place in range(concepts.shape[1]):
            for kind in range(concepts.shape[2]):
                value = concepts[:, place, kind]
                rows = self.table[place, kind, value.clamp(min=0)]
                total = total + rows * (value != ABSENT)[:, None]
        return total / total.norm(dim=1, keepdim=True)

    def queries(self, concepts, *, step):
        return self.scenes(concepts)


def test_both_word_orders_together_see_through_a_model_that_knows_places_only():
    """Words in the order of places let it tell every swap; with both orders it is at chance."""
    data = TokenData(values=8, coverage=0.6, by_place=True)
    [measures] = measure_tokens(
        ByPlace(data), data, parts=[data.test], n=300, seed=0, step=0, captions=True
    )
    assert measures.swap_accuracy_by_place.value > 0.95
    assert measures.swap_accuracy.value < 0.9
    [without] = measure_tokens(
        ByPlace(data),
        data=TokenData(values=8, coverage=0.6),
        parts=[data.test],
        n=300,
        seed=0,
        step=0,
        captions=True,
    )
    assert without.swap_accuracy_by_place is None


def test_a_world_with_captions_draws_them_and_its_loss_is_finite():
    config = TokenRunConfig(
        data=TokenData(values=5, coverage=0.8, incomplete=0.5, single=0.3),
        network=TokenNetwork(depth=1, width=16, heads=2, output=16),
        loss=TokenLoss(object_weight=0, concept_weight=0, caption_weight=1),
    )
    world = TokenWorld(config)
    batch = world.draw(0)
    assert len(batch.captions)
    loss = world.loss(world.model, batch)
    loss.backward()
    assert torch.isfinite(loss)
