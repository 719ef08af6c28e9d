"""The labels of a batch are those that plain loops over scenes and queries give."""

import numpy as np
import pytest

from binding_core.training.tokens import TokenData, draw_token_batch
from tests.benchmarks.token_reference import reference_labels

ALL = 8192  # more candidates than there are training objects


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("max_candidates", [16, ALL])
@pytest.mark.parametrize("objects", [2, 3, 4])
@pytest.mark.parametrize(("types", "values"), [(2, 9), (3, 5)])
def test_truth_tables_equal_those_of_plain_loops(types, values, objects, max_candidates, seed):
    data = TokenData(
        types=types, values=values, objects=objects, coverage=0.7, max_candidates=max_candidates
    )
    batch = draw_token_batch(data, size=12, seed=seed, step=7 * seed)
    objects_truth, concepts_truth = reference_labels(data, batch.scenes)
    assert np.array_equal(batch.concepts, concepts_truth)

    candidates = data.positions(batch.candidates[:, 0])
    columns = np.searchsorted(data.train, candidates)
    assert np.array_equal(data.train[columns], candidates)  # training objects only
    assert np.array_equal(batch.objects, objects_truth[:, columns])
    left_out = np.delete(objects_truth, columns, axis=1)
    assert not left_out.any()  # what a scene holds is always among the candidates
    assert (left_out.shape[1] == 0) == (max_candidates == ALL)


def test_every_scene_has_as_many_true_objects_as_it_holds_and_a_value_of_each_type():
    data = TokenData(types=3, values=5, objects=3, coverage=0.7)
    batch = draw_token_batch(data, size=24, seed=0, step=0)
    objects_truth, concepts_truth = reference_labels(data, batch.scenes)
    assert (objects_truth.sum(1) == data.objects).all()
    of_types = concepts_truth.reshape(24, data.types, data.values).sum(2)
    assert (of_types >= 1).all()
    assert (of_types <= data.objects).all()
