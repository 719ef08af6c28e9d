"""Token scenes, their labels, their measures: against plain Python and known encoders."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.training import token_world
from binding_core.training.settings import TokenLoss, TokenNetwork
from binding_core.training.token_model import TokenModel
from binding_core.training.token_world import (
    measure_tokens,
    panel_objects,
    panel_similarities,
    token_loss,
)
from binding_core.training.tokens import ABSENT, TokenData, draw_scenes, draw_token_batch

SMALL = TokenData(types=2, values=6, objects=2, coverage=0.7)
WIDE = TokenData(types=2, values=15, objects=2, coverage=0.7)
TINY = TokenNetwork(depth=1, width=16, heads=2, output=16)


@settings(max_examples=30)
@given(
    types=st.integers(2, 3),
    values=st.integers(3, 6),
    objects=st.integers(2, 4),
    coverage=st.floats(0.4, 0.9),
    step=st.integers(0, 1000),
)
def test_batches_are_labelled_as_plain_python_would_and_never_meet_heldout_objects(
    types, values, objects, coverage, step
):
    data = TokenData(
        types=types, values=values, objects=objects, coverage=coverage, max_candidates=16
    )
    batch = draw_token_batch(data, size=12, seed=3, step=step)
    trained = {tuple(o) for o in data.concepts(data.train).tolist()}
    candidates = [tuple(c[0]) for c in batch.candidates.tolist()]
    assert len(set(candidates)) == len(candidates)
    assert set(candidates) <= trained
    for i, scene in enumerate(batch.scenes.tolist()):
        held = {tuple(o) for o in scene}
        assert len(held) == objects  # different objects
        assert held <= trained
        assert {c for c, true in zip(candidates, batch.objects[i], strict=True) if true} == held
        named = {(k, o[k]) for o in held for k in range(types)}
        every = itertools.product(range(types), range(values))
        assert {c for c, t in zip(every, batch.concepts[i], strict=True) if t} == named
    again = draw_token_batch(data, size=12, seed=3, step=step)
    assert (again.scenes == batch.scenes).all()
    assert (draw_token_batch(data, size=12, seed=3, step=step + 1).scenes != batch.scenes).any()


def test_training_validation_and_test_objects_are_apart_and_whole():
    parts = [set(p.tolist()) for p in (SMALL.train, SMALL.validation, SMALL.test)]
    assert set.union(*parts) == set(range(36))
    assert sum(map(len, parts)) == 36
    assert set(SMALL.heldout.tolist()) == parts[1] | parts[2]
    assert all(parts)


def test_positions_and_concepts_are_inverse():
    every = np.arange(36)
    assert (SMALL.positions(SMALL.concepts(every)) == every).all()


def test_scenes_of_one_allowed_object_hold_it_twice():
    scenes = draw_scenes(np.array([4]), n=3, objects=2, rng=np.random.default_rng(0))
    assert (scenes == 4).all()


class Known:
    """An encoder pair whose binding function is known: a vector an object, or one a concept."""

    def __init__(self, data: TokenData, kind: str, dim: int = 512) -> None:
        rng = np.random.default_rng(0)
        self.data, self.kind = data, kind
        self.objects = self._unit(rng.normal(size=(data.n_objects, dim)))
        self.concepts = self._unit(rng.normal(size=(data.types, data.values, dim)))

    def _unit(self, x):
        return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)

    def _sum(self, concepts):
        total = 0
        for k in range(self.data.types):
            given = concepts[..., k] != ABSENT
            total = total + given[..., None] * self.concepts[k][concepts[..., k] * given]
        whole = (concepts != ABSENT).all(-1)
        if self.kind == "memoriser":
            own = self.objects[self.data.positions(np.where(whole[..., None], concepts, 0))]
            total = total + whole[..., None] * own
        return total.sum(1)

    def scenes(self, concepts):
        return torch.from_numpy(self._unit(self._sum(concepts.numpy())))

    def queries(self, concepts, *, step):
        return torch.from_numpy(self._unit(self._sum(concepts.numpy())))


@pytest.mark.parametrize("chunk", [7, 4096])
def test_the_measures_tell_a_memoriser_from_a_bag(monkeypatch, chunk):
    monkeypatch.setattr(token_world, "CHUNK", chunk)  # exact however the candidates are cut
    arguments = {"parts": [WIDE.train], "n": 200, "seed": 1, "step": 0}
    [binds] = measure_tokens(Known(WIDE, "memoriser"), WIDE, **arguments)
    assert binds.object_recognition.value == 1
    assert binds.swap_accuracy.value == 1
    assert binds.concept_recognition.value == 1
    [bag] = measure_tokens(Known(WIDE, "bag"), WIDE, **arguments)
    assert bag.concept_recognition.value == 1
    assert bag.object_recognition.value < 0.4  # one value twice, or a tie that rounding breaks
    # A bag's swapped scene scores alike; what rounding makes of a tie is no better than chance.
    assert bag.swap_accuracy.value < 0.65
    assert binds.swap_accuracy.n < 200  # scenes that the swap leaves as they are do not count
    assert binds.object_recognition.chance == pytest.approx(1 / (225 * 224 / 2))


def test_too_few_objects_are_not_available_rather_than_zero():
    parts = [SMALL.test[:1], SMALL.train]
    settings = {"n": 5, "seed": 0, "step": 0}
    found, enough = measure_tokens(Known(SMALL, "bag"), SMALL, parts=parts, **settings)
    assert [enough] == measure_tokens(Known(SMALL, "bag"), SMALL, parts=parts[1:], **settings)
    assert found.object_recognition.value is None
    assert str(found.swap_accuracy) == "not available"


def model(network: TokenNetwork = TINY, seed: int = 0) -> TokenModel:
    return TokenModel(network, types=2, values=6, objects=2, seed=seed)


def test_embeddings_are_unit_vectors_and_do_not_depend_on_absent_words():
    concepts = torch.tensor([[[1, 2], [3, 4]]])
    for reads in ("objects", "words"):
        found = model(TokenNetwork(depth=1, width=16, heads=2, scene_reads=reads))
        assert found.scenes(concepts).norm(dim=-1).item() == pytest.approx(1, abs=1e-5)
    half = torch.tensor([[[1, ABSENT]], [[1, 2]]])
    together = model().queries(half, step=0)
    alone = model().queries(half[:1], step=0)
    assert torch.allclose(together[:1], alone, atol=1e-6)
    assert not torch.allclose(together[0], together[1], atol=1e-2)


def test_the_seed_alone_decides_the_weights_and_the_callers_generator_is_untouched():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, same, other = model(seed=1), model(seed=1), model(seed=2)
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(one.scene.word, same.scene.word)
    assert not torch.equal(one.scene.word, other.scene.word)


def test_encoders_that_begin_as_one_part_at_their_step():
    network = TokenNetwork(
        depth=1, width=16, heads=2, output=16, scene_reads="words", sharing="part", part_after=5
    )
    found = model(network)
    loss = token_loss(found, draw_token_batch(SMALL, size=8, seed=0, step=4), data=SMALL,
                      settings=TokenLoss())  # fmt: skip
    loss.backward()
    assert all(p.grad is None for p in found.query.parameters())
    concepts = torch.tensor([[[1, 2]]])
    assert torch.equal(found.scenes(concepts), found.queries(concepts, step=4))
    assert not torch.equal(found.query.word, found.scene.word)
    token_loss(found, draw_token_batch(SMALL, size=8, seed=0, step=5), data=SMALL,
               settings=TokenLoss()).backward()  # fmt: skip
    assert torch.equal(found.query.word, found.scene.word)
    assert found.query.word.grad is not None


def test_the_loss_falls_when_the_concepts_count_less_and_is_finite():
    batch = draw_token_batch(SMALL, size=8, seed=0, step=0)
    both = token_loss(model(), batch, data=SMALL, settings=TokenLoss(concept_weight=1))
    objects = token_loss(model(), batch, data=SMALL, settings=TokenLoss(concept_weight=0))
    assert 0 < objects.item() < both.item() < 100


def test_the_panel_has_seen_objects_first_and_similarities_within_bounds():
    chosen = panel_objects(SMALL)
    assert set(chosen[:6].tolist()) <= set(SMALL.train.tolist())
    assert set(chosen[6:].tolist()) <= set(SMALL.validation.tolist())
    panel = np.array(panel_similarities(model(), SMALL, step=0))
    assert panel.shape == (len(chosen), len(chosen))
    assert np.abs(panel).max() <= 1.001
