import pytest
from hypothesis import given
from hypothesis import strategies as st

from binding_core.concepts import BUNDLED_SPACE, ConceptSpace, split_objects
from binding_core.errors import UserError


def test_bundled_space_has_144_objects_and_24_concepts():
    assert BUNDLED_SPACE.n_objects == len(BUNDLED_SPACE.objects) == 144
    assert len(BUNDLED_SPACE.concepts) == 24
    assert BUNDLED_SPACE.object_index(("red", "square")) == 1  # second shape of the first colour
    assert BUNDLED_SPACE.concept_indices(("red", "square")) == (0, 13)


@given(
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=3),
    coverage=st.floats(0.05, 1.0),
    seed=st.integers(0, 50),
)
def test_every_split_covers_every_value_and_partitions_the_objects(sizes, coverage, seed):
    space = ConceptSpace(
        types=tuple(f"t{i}" for i in range(len(sizes))),
        values=tuple(tuple(f"v{i}-{j}" for j in range(n)) for i, n in enumerate(sizes)),
    )
    if round(coverage * space.n_objects) < max(sizes):
        with pytest.raises(UserError, match="at least"):
            split_objects(space, coverage=coverage, seed=seed)
        return
    split = split_objects(space, coverage=coverage, seed=seed)
    assert len(split.train) == round(coverage * space.n_objects)
    assert sorted(split.train + split.heldout) == sorted(space.objects)
    for i, values in enumerate(space.values):
        counts = [sum(words[i] == value for words in split.train) for value in values]
        assert min(counts) >= 1
        assert max(counts) - min(counts) <= 1  # balanced
    assert split == split_objects(space, coverage=coverage, seed=seed)


def test_seeds_give_different_splits():
    splits = {split_objects(BUNDLED_SPACE, coverage=0.5, seed=s).train for s in range(5)}
    assert len(splits) == 5


@pytest.mark.parametrize("coverage", [0, -0.1, 1.2])
def test_impossible_coverage_is_refused(coverage):
    with pytest.raises(UserError, match="Coverage must be"):
        split_objects(BUNDLED_SPACE, coverage=coverage, seed=0)


def test_unknown_objects_and_empty_spaces_are_refused():
    with pytest.raises(UserError, match="not an object"):
        BUNDLED_SPACE.object_index(("mauve", "square"))
    with pytest.raises(UserError, match="one list of values"):
        ConceptSpace(types=(), values=())
    with pytest.raises(UserError, match="distinct"):
        ConceptSpace(types=("colour",), values=(("red", "red"),))
