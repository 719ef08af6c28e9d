"""The binding remainder: its size by algebra, its likeness beside a chance that is chance."""

from dataclasses import astuple

import numpy as np
import pytest
from scipy.spatial import procrustes

from binding_core.concepts import BUNDLED_SPACE, ConceptSpace
from binding_core.encoders.controls import ControlEncoder
from binding_core.errors import UserError
from binding_core.geometry.components import fit_components
from binding_core.geometry.level_two import level_two
from binding_core.geometry.likeness import linear_cka, procrustes_r2, random_rotation, rsa
from binding_core.geometry.remainder import binding_remainder, share_of_variance
from binding_core.geometry.scene_table import embed_scenes
from binding_core.scenes import random_scene
from tests.unit.test_components import additive, all_pairs, table

V, D = 6, 32
SPACE = ConceptSpace(types=("colour", "shape"), values=(tuple("abcdef"), tuple("uvwxyz")))
K = SPACE.n_objects


def bag(rng, sizes=(V, V), d=D):
    parts = rng.standard_normal((sizes[0], 1, d)) + rng.standard_normal((1, sizes[1], d))
    return parts.reshape(-1, d)


def levels_of(vectors, space=SPACE, **settings):
    scenes = additive(all_pairs(space.n_objects), vectors, space)
    return level_two(
        fit_components(scenes, level="objects", estimator="least squares"), space, **settings
    )


def noisy(vectors, pairs, noise, rng):
    scatter = noise * rng.standard_normal((len(pairs), vectors.shape[1]))
    return table(pairs, vectors[pairs].sum(axis=1) + scatter, SPACE)


def pairs(n, seed):
    return np.random.default_rng(seed).integers(K, size=(n, 2))


# --- Level II and shares of variance ----------------------------------------------------------


def test_a_bag_is_all_concepts_and_its_remainder_nothing():
    levels = levels_of(bag(np.random.default_rng(0)))
    shares = share_of_variance(levels)
    assert shares.concepts == pytest.approx(1, abs=1e-9)
    assert shares.remainder < 1e-9


def test_parts_and_remainder_sum_to_the_component_and_are_orthogonal():
    vectors = np.random.default_rng(1).standard_normal((K, D))
    levels = levels_of(vectors)
    grid = levels.remainder[0].reshape(V, V, D)
    assert np.allclose(grid.sum(axis=0), 0, atol=1e-6)
    assert np.allclose(grid.sum(axis=1), 0, atol=1e-6)
    centred = vectors - vectors.mean(axis=0)
    assert np.allclose((levels.explained + levels.remainder)[0], centred, atol=1e-5)
    colour, shape = np.divmod(np.arange(K), V)
    own = levels.concepts.vectors[0]
    assert np.allclose(own[colour] + own[V + shape], levels.explained[0], atol=1e-8)


def test_a_memoriser_has_what_counting_gives_and_a_product_what_its_tables_give():
    sizes, d = BUNDLED_SPACE.sizes, 64
    rng = np.random.default_rng(2)
    memoriser = share_of_variance(levels_of(rng.standard_normal((144, d)), BUNDLED_SPACE))
    # 11 + 11 of 143 degrees of freedom in each of d dimensions: a beta distribution.
    expected = 22 / 143
    spread = np.sqrt(expected * (1 - expected) / (143 * d / 2 + 1))
    assert memoriser.concepts == pytest.approx(expected, abs=4 * spread)
    assert memoriser.by_counting == pytest.approx(121 / 143)
    a, b = rng.standard_normal((sizes[0], d)), rng.standard_normal((sizes[1], d))
    product = share_of_variance(levels_of((a[:, None] * b).reshape(-1, d), BUNDLED_SPACE))
    # Main effects of a ∘ b: mean(b) (a − mean(a)) and the other way round.
    main = a.mean(0) ** 2 * b.var(0) + b.mean(0) ** 2 * a.var(0)
    assert product.concepts == pytest.approx(
        main.sum() / (main + a.var(0) * b.var(0)).sum(), abs=1e-6
    )


def test_the_only_object_of_a_colour_is_fitted_by_force():
    among = np.ones(K, dtype=bool)
    among[1:V] = False  # of the first colour, one object is left
    levels = levels_of(np.random.default_rng(3).standard_normal((K, D)), among=among)
    assert not levels.determined[0, :V].any()
    assert levels.determined[0, V:].all()
    assert np.allclose(levels.remainder[0, 0], 0, atol=1e-8)


def test_without_freedom_or_variance_there_is_no_share():
    vectors = np.random.default_rng(4).standard_normal((K, D))
    row = np.arange(K) < V  # one colour: every object is its shape
    for among in (row, np.zeros(K, dtype=bool)):
        assert astuple(share_of_variance(levels_of(vectors, among=among)))[:3] == (None,) * 3
    equal = levels_of(np.zeros((K, D)))
    assert share_of_variance(equal).concepts is None


def test_without_a_fitted_object_no_scene_is_determined():
    vectors = np.random.default_rng(4).standard_normal((K, D))
    levels = levels_of(vectors, among=np.zeros(K, dtype=bool))
    assert not levels.concepts.determined.any()
    assert not levels.concepts.predict(additive(all_pairs(K), vectors, SPACE))[1].any()


def test_by_place_each_place_has_levels_of_its_own():
    rng = np.random.default_rng(5)
    left, right = bag(rng), rng.standard_normal((K, D))
    held = all_pairs(K)
    scenes = table(held, left[held[:, 0]] + right[held[:, 1]], SPACE)
    levels = level_two(fit_components(scenes, level="objects", estimator="avg+pos"), SPACE)
    assert np.abs(levels.remainder[0]).max() < 1e-5
    assert np.abs(levels.remainder[1]).max() > 0.5
    predicted, known = levels.concepts.predict(scenes)
    assert known.all()
    explained = levels.explained[0, held[:, 0]] + levels.explained[1, held[:, 1]]
    assert np.allclose(predicted, levels.concepts.mean + explained, atol=1e-6)
    some = level_two(
        fit_components(scenes, level="objects", estimator="avg+pos"), SPACE, among=np.arange(K) >= V
    )
    _, known = some.concepts.predict(scenes)
    assert np.array_equal(known, (held >= V).all(axis=1))  # the first colour was left out


# --- likeness ---------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [linear_cka, rsa, procrustes_r2])
def test_likeness_is_1_up_to_rotation_scale_shift_and_padding(measure):
    rng = np.random.default_rng(6)
    a = rng.standard_normal((20, 5))
    turned = 3 * np.pad(a, ((0, 0), (0, 4))) @ random_rotation(9, rng) + 7
    assert measure(a, turned) == pytest.approx(1)
    b = rng.standard_normal((20, 9))
    assert measure(a, b) == pytest.approx(measure(b, a))
    assert measure(a, b) < 0.8


def test_procrustes_is_scipys():
    a, b = np.random.default_rng(7).standard_normal((2, 15, 4))
    assert procrustes_r2(a, b) == pytest.approx(1 - procrustes(a, b)[2])


def test_cka_by_hand():
    a = np.array([[1.0], [-1.0], [0.0], [0.0]])
    b = np.array([[1.0], [0.0], [-1.0], [0.0]])
    assert linear_cka(a, b) == pytest.approx(1 / 4)  # the squared correlation, (1 / 2)²


def test_a_random_rotation_keeps_lengths():
    q = random_rotation(5, np.random.default_rng(0))
    assert np.allclose(q @ q.T, np.eye(5))


def test_a_shared_remainder_is_found_with_unrelated_concept_parts():
    rng = np.random.default_rng(8)
    own = rng.standard_normal((K, D))
    scenes = pairs(500, 8)
    report = binding_remainder(
        *(noisy(bag(rng) + own, scenes, 0.3, rng) for _ in range(2)), rotations=99
    )
    for found in report.remainder:
        assert found.p_value == 0.01
        assert found.value > found.chance95[1]
    assert min(found.p_value for found in report.concepts) > 0.02
    assert report.n_compared == found.n == K


def rejected(*, own, noise, part, objects=None, runs=10):
    """Share of tests at .05 that reject, of two unrelated tables of the same scenes."""
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng([9, seed])
        sides = [
            noisy(bag(rng) + own * rng.standard_normal((K, D)), pairs(300, [3, seed]), noise, rng)
            for _ in range(2)
        ]
        report = binding_remainder(*sides, objects=objects, rotations=39, seed=seed)
        p_values += [found.p_value for found in getattr(report, part)]
    return np.mean(np.array(p_values) <= 0.05)


@pytest.mark.parametrize("part", ["remainder", "concepts"])
def test_unrelated_tables_are_not_called_alike(part):
    # Permuting objects and taking concepts out again rejects .07 to 1 of these.
    assert rejected(own=1, noise=0, part=part) < 0.16


def test_equal_scatter_of_rare_objects_is_not_called_likeness():
    # With both sides estimated on the same scenes, .86 to 1 of these are rejected.
    assert rejected(own=0, noise=1, part="remainder") < 0.16


def test_there_is_nothing_to_compare_in_a_bag_or_in_three_objects():
    rng = np.random.default_rng(10)
    scenes = pairs(400, 10)
    bags = [noisy(bag(rng), scenes, 0, rng) for _ in range(2)]
    report = binding_remainder(*bags, rotations=9)
    assert report.image.remainder < 1e-9
    assert report.remainder is None
    assert report.concepts is not None
    own = [noisy(rng.standard_normal((K, D)), scenes, 0, rng) for _ in range(2)]
    assert binding_remainder(*own, objects=np.arange(K) < 3, rotations=9).remainder is None
    few = [side.rows(np.arange(400) < 8) for side in own]
    report = binding_remainder(*few, rotations=9)
    assert (report.n_fitted, report.image.concepts, report.remainder) == (0, None, None)


def test_two_by_two_objects_have_one_pattern_only_and_prove_nothing():
    # Their remainder is ±(1, −1, −1, 1): alike by necessity, so p is 1.
    space = ConceptSpace(types=("colour", "shape"), values=(("a", "b"), ("x", "y")))
    rng = np.random.default_rng(11)
    held = np.random.default_rng(0).integers(4, size=(60, 2))
    sides = [additive(held, rng.standard_normal((4, D)), space) for _ in range(2)]
    for found in binding_remainder(*sides, rotations=19).remainder:
        assert found.value == pytest.approx(1)
        assert found.p_value == 1


def test_spaces_must_agree():
    other = ConceptSpace(types=("colour", "shape"), values=(tuple("abc"), tuple("wxyz")))
    rng = np.random.default_rng(12)
    one = noisy(bag(rng), pairs(50, 0), 0, rng)
    two = additive(all_pairs(12), rng.standard_normal((12, D)), other)
    with pytest.raises(UserError, match="one concept space"):
        binding_remainder(one, two)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_controls_are_told_apart(noise):
    scenes = [random_scene(space=None, n_objects=2, seed=[12, i]) for i in range(900)]
    left = {}
    for kind in ("bag", "product", "memoriser"):
        text = embed_scenes(ControlEncoder(kind, noise=noise), scenes=scenes, modality="text")
        components = fit_components(text, level="objects", estimator="least squares")
        left[kind] = share_of_variance(level_two(components, BUNDLED_SPACE)).remainder
    assert left["bag"] < 0.05
    assert left["product"] == pytest.approx(11 / 13, abs=0.02)
    assert left["memoriser"] == pytest.approx(121 / 143, abs=0.02)
