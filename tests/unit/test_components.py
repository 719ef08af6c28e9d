"""Components come out as algebra says, and have no number where the scenes do not tell."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binding_core.concepts import ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.components import fit_components
from binding_core.geometry.levels import r2
from binding_core.geometry.scene_table import SceneTable

SPACE = ConceptSpace(types=("colour", "shape"), values=(tuple("abc"), tuple("wxyz")))  # 12 objects
ESTIMATORS = ("avg", "avg+pos", "least squares")
D = 16


def table(objects, embeddings, space=SPACE):
    """A table of scenes given as object positions (n, M)."""
    objects = np.asarray(objects)
    concepts = np.stack(np.unravel_index(objects, space.sizes), axis=-1)
    return SceneTable(
        space=space,
        concepts=concepts,
        embeddings=np.asarray(embeddings, dtype=np.float32),
        modality="text",
        source="raw",
    )


def additive(objects, vectors, space=SPACE, base=0.5):
    """Exactly additive scenes: a base plus the vector of every object."""
    return table(objects, base + vectors[np.asarray(objects)].sum(axis=1), space)


def gauged(vectors, counts):
    """Vectors minus their mean, weighted by how often the scenes hold them."""
    return vectors - counts @ vectors / counts.sum()


def all_pairs(n=SPACE.n_objects):
    return np.array(list(itertools.product(range(n), repeat=2)))


def some_pairs(n=80, seed=0):
    return np.random.default_rng(seed).integers(SPACE.n_objects, size=(n, 2))


VECTORS = np.random.default_rng(5).standard_normal((SPACE.n_objects, D))


# --- exact algebra ----------------------------------------------------------------------------


def test_fitting_and_predicting_leave_the_table_as_it_was():
    scenes = additive(some_pairs(), VECTORS)
    objects, concepts = scenes.objects.copy(), scenes.concept_numbers.copy()
    for level, estimator in itertools.product(("objects", "concepts"), ESTIMATORS):
        fit_components(scenes, level=level, estimator=estimator).predict(scenes)
    assert np.array_equal(scenes.objects, objects)
    assert np.array_equal(scenes.concept_numbers, concepts)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), places=st.integers(1, 3))
def test_least_squares_recovers_additive_components_of_any_full_rank_design(seed, places):
    rng = np.random.default_rng(seed)
    objects = rng.integers(SPACE.n_objects, size=(60, places))
    scenes = additive(objects, VECTORS)
    found = fit_components(scenes, level="objects", estimator="least squares")
    counts = scenes.object_counts
    full = np.linalg.matrix_rank(counts - counts.mean(axis=0)) == SPACE.n_objects - 1
    assert found.determined.all() == full
    if full:
        expected = gauged(VECTORS, counts.sum(axis=0))
        assert np.allclose(found.vectors[0], expected, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), estimator=st.sampled_from(ESTIMATORS))
def test_predictions_do_not_hang_on_the_order_of_scenes(seed, estimator):
    rng = np.random.default_rng(seed)
    scenes = table(some_pairs(40, seed), rng.standard_normal((40, D)))
    order = rng.permutation(40)
    one, other = (
        fit_components(t, level="objects", estimator=estimator)
        for t in (scenes, scenes.rows(order))
    )
    (first, known), (second, known_too) = one.predict(scenes), other.predict(scenes)
    assert np.array_equal(known, known_too)
    assert np.allclose(first[known], second[known], atol=1e-8)


def test_every_estimator_is_exact_on_all_ordered_pairs():
    # With every ordered pair once, the company of an object at a place is the same for all.
    scenes, singles = additive(all_pairs(), VECTORS), additive(np.arange(12)[:, None], VECTORS)
    centred = VECTORS - VECTORS.mean(axis=0)
    for estimator in ("avg+pos", "single", "least squares"):
        found = fit_components(scenes, level="objects", estimator=estimator, singles=singles)
        assert np.allclose(found.vectors, centred, atol=1e-5), estimator
        predicted, known = found.predict(scenes)
        assert known.all()
        assert np.allclose(predicted, scenes.embeddings, atol=1e-5)
    # "avg": 23 scenes hold an object 24 times; the others in them, twice each, sum to −2 of it.
    avg = fit_components(scenes, level="objects", estimator="avg")
    assert np.allclose(avg.vectors[0], centred * 22 / 23, atol=1e-5)


def test_concept_components_of_a_bag_are_its_concept_vectors():
    rng = np.random.default_rng(1)
    colours, shapes = rng.standard_normal((3, D)), rng.standard_normal((4, D))
    bag = (colours[:, None] + shapes).reshape(-1, D)
    found = fit_components(additive(all_pairs(), bag), level="concepts", estimator="least squares")
    expected = np.concatenate([colours - colours.mean(0), shapes - shapes.mean(0)])
    assert np.allclose(found.vectors[0], expected, atol=1e-5)
    scenes = additive(some_pairs(), bag)
    assert np.allclose(found.predict(scenes)[0], scenes.embeddings, atol=1e-5)
    parts = found.parts(scenes)
    assert parts.shape == (80, 2, 2, D)
    assert np.allclose(found.mean + parts.sum(axis=(1, 2)), scenes.embeddings, atol=1e-5)


def test_parts_follow_the_place_when_fitted_by_place():
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((2, 12, D))
    pairs = all_pairs()
    scenes = table(pairs, left[pairs[:, 0]] + right[pairs[:, 1]])
    found = fit_components(scenes, level="objects", estimator="avg+pos")
    assert np.allclose(found.vectors[0], left - left.mean(axis=0), atol=1e-5)
    assert np.allclose(found.vectors[1], right - right.mean(axis=0), atol=1e-5)
    assert np.allclose(found.parts(pairs)[:, 1], found.vectors[1, pairs[:, 1]])
    with pytest.raises(UserError, match="2 places"):
        found.predict(additive(np.zeros((3, 1), dtype=int), VECTORS))


def test_a_global_product_is_not_additive_and_its_r2_is_as_derived():
    # x_p x_q = m² + m(δp + δq) + δp δq: the last term, of variance s⁴, is no sum over objects.
    pairs = all_pairs()
    scenes = table(pairs, VECTORS[pairs].prod(axis=1))
    found = fit_components(scenes, level="objects", estimator="least squares")
    mean, variance = VECTORS.mean(axis=0), VECTORS.var(axis=0)
    sums = (2 * mean**2 * variance).sum()
    predicted, _ = found.predict(scenes)
    assert r2(scenes.embeddings, predicted) == pytest.approx(
        sums / (sums + (variance**2).sum()), abs=1e-5
    )


def test_avg_is_biased_in_an_unbalanced_design_and_least_squares_is_not():
    # As in PUG: names and textures of the two objects always differ; and some pairs come often.
    rng = np.random.default_rng(3)
    names, textures = np.divmod(all_pairs(), 4)
    differ = (names[:, 0] != names[:, 1]) & (textures[:, 0] != textures[:, 1])
    pairs = all_pairs()[differ]
    often = pairs[rng.choice(len(pairs), size=400, p=rng.dirichlet(np.full(len(pairs), 0.3)))]
    scenes = additive(np.concatenate([pairs, often]), VECTORS)
    truth = gauged(VECTORS, scenes.object_counts.sum(axis=0))
    error = {
        estimator: float(
            ((fit_components(scenes, level="objects", estimator=estimator).vectors - truth) ** 2)
            .mean(axis=0).sum() / (truth**2).sum()
        )
        for estimator in ESTIMATORS
    }  # fmt: skip
    assert error["least squares"] < 1e-9
    assert error["avg"] > 0.05
    assert error["avg+pos"] > 0.05


def test_single_object_scenes_are_weighted_as_the_scenes_are():
    scenes = additive(some_pairs(), VECTORS)
    singles = additive(np.arange(12)[:, None], VECTORS)
    found = fit_components(scenes, level="objects", estimator="single", singles=singles)
    assert np.allclose(found.predict(scenes)[0], scenes.embeddings, atol=1e-5)


# --- not determined ---------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_object_in_no_scene_has_no_number(estimator):
    pairs = all_pairs(11)
    found = fit_components(additive(pairs, VECTORS), level="objects", estimator=estimator)
    assert found.determined[:, :11].all()
    assert not found.determined[:, 11].any()
    assert not found.vectors[:, 11].any()
    assert found.predict(additive([[0, 1], [0, 11]], VECTORS))[1].tolist() == [True, False]


@pytest.mark.parametrize("estimator", ["avg", "least squares"])
def test_two_objects_that_only_occur_together_are_known_together_only(estimator):
    pairs = np.concatenate([all_pairs(10), np.tile([10, 11], (5, 1))])
    found = fit_components(additive(pairs, VECTORS), level="objects", estimator=estimator)
    assert found.determined[0].tolist() == [True] * 10 + [False] * 2
    predicted, known = found.predict(additive([[10, 11], [0, 10]], VECTORS))
    assert known.tolist() == [True, False]
    if estimator == "least squares":
        expected = additive([[10, 11]], VECTORS).embeddings
        assert np.allclose(predicted[:1], expected, atol=1e-5)


@pytest.mark.parametrize("estimator", ["avg", "least squares"])
def test_one_scene_too_few(estimator):
    # A triangle tells three objects apart, each other object needs one scene: 12 for 12.
    pairs = np.array([[0, 1], [1, 2], [0, 2]] + [[0, i] for i in range(3, 12)])
    enough = fit_components(additive(pairs, VECTORS), level="objects", estimator=estimator)
    assert enough.determined.all()
    few = fit_components(additive(pairs[1:], VECTORS), level="objects", estimator=estimator)
    assert not few.determined.any()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("level", ["objects", "concepts"])
def test_one_scene_or_equal_scenes_determine_nothing(level, estimator):
    for n in (1, 4):
        scenes = additive(np.tile([3, 3], (n, 1)), VECTORS)
        found = fit_components(scenes, level=level, estimator=estimator)
        assert not found.determined.any()
        assert not found.vectors.any()
        predicted, known = found.predict(scenes)
        assert known.all()  # the mean itself
        assert r2(scenes.embeddings, predicted) is None


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_only_value_of_a_type_is_in_the_mean_and_has_no_number(estimator):
    pairs = all_pairs(4)  # colour a throughout
    scenes = additive(pairs, VECTORS)
    found = fit_components(scenes, level="concepts", estimator=estimator)
    assert not found.determined[:, :3].any()
    assert found.determined[:, 3:].all()
    assert found.predict(scenes)[1].all()
    assert not found.predict(additive([[0, 5]], VECTORS))[1].any()


def test_places_with_objects_of_their_own_leave_one_vector_open_between_them():
    pairs = np.array(list(itertools.product(range(6), range(6, 12))))
    found = fit_components(additive(pairs, VECTORS), level="objects", estimator="least squares")
    assert not found.determined.any()
    fresh = additive([[0, 7], [0, 1]], VECTORS)
    predicted, known = found.predict(fresh)
    assert known.tolist() == [True, False]
    assert np.allclose(predicted[0], fresh.embeddings[0], atol=1e-5)


def test_what_cannot_be_fitted_is_said_in_words():
    scenes = additive(some_pairs(), VECTORS)
    with pytest.raises(UserError, match="at least one scene"):
        fit_components(scenes.rows(np.zeros(80, bool)), level="objects", estimator="avg")
    with pytest.raises(UserError, match="single object"):
        fit_components(scenes, level="objects", estimator="single")
    with pytest.raises(UserError, match="share no objects"):
        fit_components(
            additive(all_pairs(6), VECTORS),
            level="objects",
            estimator="single",
            singles=additive(np.arange(6, 12)[:, None], VECTORS),
        )
