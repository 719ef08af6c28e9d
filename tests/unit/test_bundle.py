"""The bundled models: what their cards say, and that fresh scenes say so too."""

import numpy as np
import pytest

from binding_core.agreement.swap_test import SwapReport, swap_scenes, swap_test
from binding_core.agreement.verdict import judge
from binding_core.concepts import BUNDLED_SPACE, split_objects
from binding_core.embeddings import PRECOMPUTED, CachedEncoder, EmbeddingCache, EmbeddingStore
from binding_core.encoders import BUNDLED_IDS, MODELS, bundled_cards, load
from binding_core.presets import PRESETS
from binding_core.scenes import random_scene, swap
from binding_core.training.bundle import RECIPES, SPLIT_SEED

CARDS = {card.id: card for card in bundled_cards()}
SCENES = 400
SEED = 2026  # not the cards' seed


def test_three_models_are_bundled_each_small_and_loadable():
    assert tuple(CARDS) == BUNDLED_IDS == tuple(r.id for r in RECIPES)
    for card in CARDS.values():
        files = list((MODELS / card.id).iterdir())
        assert sum(f.stat().st_size for f in files) <= 8 * 2**20
        assert load(card.id).embed_texts(["a red square"]).shape == (1, 128)


def test_only_the_data_differs():
    recipes = [card.recipe for card in CARDS.values()]
    assert len({str(r["training"]) for r in recipes}) == 1
    assert len({(MODELS / m / "open_clip_config.json").read_text() for m in BUNDLED_IDS}) == 1
    assert {r["captions"] for r in recipes} == {"web", "full"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r.id)
def test_the_card_holds_the_split_that_training_used(recipe):
    card = CARDS[recipe.id]
    split = split_objects(BUNDLED_SPACE, coverage=recipe.coverage, seed=SPLIT_SEED)
    assert card.train_objects == split.train == recipe.data.train_objects
    assert card.heldout_objects == split.heldout
    for i, values in enumerate(BUNDLED_SPACE.values):
        assert {words[i] for words in split.train} == set(values)


def test_presets_are_as_seen_and_unseen_as_they_say():
    for card in CARDS.values():
        assert set(PRESETS["Objects all have seen"].object_words) <= set(card.train_objects)
        assert set(PRESETS["Objects none has seen"].object_words) <= set(card.heldout_objects)
        swapped = swap(PRESETS["Objects all have seen"])
        assert set(swapped.object_words) <= set(card.train_objects)


def measure(model: str, part: str) -> SwapReport:
    card = CARDS[model]
    allowed = {"seen": card.train_objects, "unseen": card.heldout_objects}[part]
    scenes = list(swap_scenes(n=SCENES, seed=SEED, allowed=allowed))
    return swap_test(load(model), scenes=scenes, seed=SEED)


# (swap accuracy, object recognition, concept recognition): bounds on seen and on unseen objects.
FLOORS = {
    ("web-captions", "seen"): ((0.45, 0.58), (0, 0.30), (0, 1)),
    ("web-captions", "unseen"): ((0.42, 0.58), (0, 0.30), (0.75, 1)),
    ("low-coverage", "seen"): ((0.97, 1), (0.85, 1), (0, 1)),
    ("low-coverage", "unseen"): ((0, 0.80), (0, 0.10), (0, 1)),
    ("high-coverage", "seen"): ((0.99, 1), (0.97, 1), (0, 1)),
    ("high-coverage", "unseen"): ((0.98, 1), (0.92, 1), (0.95, 1)),
}
MEASURES = ("swap_accuracy", "object_recognition", "concept_recognition")


def bounds(model: str, part: str) -> dict[str, tuple[float, float]]:
    return dict(zip(MEASURES, FLOORS[model, part], strict=True))


@pytest.mark.parametrize(("model", "part"), FLOORS)
def test_fresh_scenes_meet_the_floors(model, part):
    """The interval, not the point, must reach into the bounds: 400 scenes are a sample."""
    report = measure(model, part)
    for name, (low, high) in bounds(model, part).items():
        assert getattr(report, name).ci95[1] >= low, (name, report)
        assert getattr(report, name).ci95[0] <= high, (name, report)
    # and the card's own figures, on other scenes, say the same
    [carded] = [
        SwapReport.model_validate(raw)
        for split, raw in CARDS[model].figures.items()
        if split == f"{part}, 2 objects"
    ]
    for name in MEASURES:
        here, there = getattr(report, name), getattr(carded, name)
        assert here.ci95[0] <= there.ci95[1]
        assert there.ci95[0] <= here.ci95[1]


@pytest.mark.parametrize(("model", "part"), FLOORS)
def test_the_cards_own_figures_meet_the_floors(model, part):
    """On the card's 1,000 scenes the point itself must lie within the bounds."""
    report = SwapReport.model_validate(CARDS[model].figures[f"{part}, 2 objects"])
    assert report.fingerprint == load(model).fingerprint
    for name, (low, high) in bounds(model, part).items():
        share = getattr(report, name)
        assert share.n == 1000
        assert low <= share.value <= high, (name, report)


@pytest.mark.parametrize("model", BUNDLED_IDS)
def test_one_and_three_objects_do_not_break_a_model(model):
    card = CARDS[model]
    single = [
        random_scene(space=None, n_objects=1, seed=[SEED, i], allowed=card.train_objects)
        for i in range(200)
    ]
    assert swap_test(load(model), scenes=single, seed=SEED).concept_recognition.value > 0.9
    if model != "web-captions":
        triples = list(swap_scenes(n=200, seed=SEED, n_objects=3, allowed=card.train_objects))
        assert swap_test(load(model), scenes=triples, seed=SEED).swap_accuracy.value > 0.9


def test_the_shipped_embeddings_are_the_models_own():
    """Judging a preset from the shipped rows alone gives what the model gives."""

    class Refuses:
        def __init__(self, encoder):
            self.id, self.fingerprint = encoder.id, encoder.fingerprint

        def embed_images(self, images):
            raise AssertionError("not among the shipped rows")

        embed_texts = embed_images

    store = EmbeddingStore(PRECOMPUTED, read_only=True)
    for model in BUNDLED_IDS:
        shipped = CachedEncoder(Refuses(load(model)), EmbeddingCache(stores=[store]))
        for scene in PRESETS.values():
            swapped = swap(scene)
            here = judge(shipped, scene=scene, swapped=swapped)
            fresh = judge(load(model), scene=scene, swapped=swapped)
            assert np.allclose(here.similarities, fresh.similarities, atol=1e-4)
            assert here.finding == fresh.finding
