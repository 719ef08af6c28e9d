"""R², its interval and retrieval by hand; the controls have the levels their rules give them."""

from functools import cache

import numpy as np
import pytest

from binding_core.encoders.controls import ControlEncoder
from binding_core.geometry.levels import evaluate_levels, r2, r2_interval, retrieval
from binding_core.geometry.scene_table import embed_scenes
from binding_core.scenes import random_scene
from tests.unit.test_components import VECTORS, additive, table

# --- scores -----------------------------------------------------------------------------------


def test_r2_by_hand():
    actual = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 6.0]])
    predicted = actual + np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    assert r2(actual, predicted) == pytest.approx(1 - 5 / (8 + 24))
    assert r2(actual, np.broadcast_to(actual.mean(axis=0), (3, 2))) == pytest.approx(0)
    assert r2(actual[:1], predicted[:1]) is None
    assert r2(np.ones((4, 2)), np.zeros((4, 2))) is None
    assert r2_interval(actual[:1], predicted[:1], seed=0) is None


def test_the_interval_of_r2_is_that_of_drawing_rows_again():
    rng = np.random.default_rng(0)
    actual = rng.standard_normal((8, 4))  # few, so that the mean of the drawn rows moves
    predicted = actual + 0.5 * rng.standard_normal((8, 4))
    draws = np.random.default_rng(1).multinomial(8, np.full(8, 1 / 8), size=1000)
    rows = [np.repeat(np.arange(8), times) for times in draws]
    one_by_one = np.quantile([r2(actual[i], predicted[i]) for i in rows], (0.025, 0.975))
    assert r2_interval(actual, predicted, seed=1) == pytest.approx(tuple(one_by_one))


def test_retrieval_counts_equal_scenes_as_one_and_a_tie_as_wrong():
    bank = table([[0, 1], [1, 0], [2, 3], [4, 5]], [[1, 0], [1, 0.1], [0, 1], [0, 1]])
    scenes = bank.rows(np.array([0, 2]))
    found = retrieval(np.array([[1, 0.1], [0, 1.0]]), scenes=scenes, bank=bank)
    assert (found.value, found.n) == (0.5, 2)  # the second ties with scene [4, 5]
    assert found.chance == pytest.approx((2 / 4 + 1 / 4) / 2)
    elsewhere = retrieval(np.array([[0, 1.0]]), scenes=scenes.rows([1]), bank=bank.rows([0, 1]))
    assert (elsewhere.value, elsewhere.chance) == (0, 0)
    nothing = scenes.rows(np.zeros(2, bool))
    assert retrieval(np.zeros((0, 2)), scenes=nothing, bank=bank).value is None


def test_a_report_without_determined_scenes_has_no_numbers():
    scenes = additive([[0, 1], [2, 3], [4, 5]], VECTORS)
    report = evaluate_levels(
        scenes, held_out=np.array([False, False, True]), estimator="avg", level="objects"
    )
    assert (report.n_fitted, report.n_heldout, report.n_determined) == (2, 1, 0)
    assert report.r2_heldout is report.r2_heldout_ci95 is report.retrieval.value is None


# --- controls ---------------------------------------------------------------------------------


@cache
def control_scenes():
    return [random_scene(space=None, n_objects=2, seed=[11, i]) for i in range(900)]


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_controls_have_the_levels_that_their_rules_give_them(noise):
    held_out = np.arange(900) % 4 == 0
    r2s = {}
    for kind in ("bag", "product", "global-product", "memoriser"):
        scenes = embed_scenes(
            ControlEncoder(kind, noise=noise), scenes=control_scenes(), modality="text"
        )
        for level in ("objects", "concepts"):
            report = evaluate_levels(
                scenes, held_out=held_out, estimator="least squares", level=level
            )
            assert report.n_determined == 225
            assert 0 <= report.r2_fitted <= 1
            if noise and level == "objects":  # 144 components fit some of the scatter as well
                assert report.r2_fitted > report.r2_heldout
            r2s[kind, level] = report.r2_heldout
    # Noise adds noise² to a unit of signal: at most 1 / 1.09 is left, less what is fitted of it.
    additive_floor = 0.97 if noise == 0 else 0.85
    assert min(r2s[kind, "objects"] for kind in ("bag", "product", "memoriser")) > additive_floor
    assert r2s["bag", "concepts"] > additive_floor
    assert r2s["global-product", "objects"] < 0.3
    # 22 of 143 degrees of freedom, or 2 / (V + 1): both are 2 / 13 = .154 of Level I.
    assert max(r2s[kind, "concepts"] for kind in ("product", "memoriser")) < 2 / 13 + 0.03
