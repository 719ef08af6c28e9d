"""The instruments of complexity on functions whose form is known by construction."""

from dataclasses import replace

import numpy as np
import pytest

from binding_core.agreement.measures import share
from binding_core.complexity.evaluation import (
    ComplexityRow,
    additive_row,
    binding_rank,
    ceiling_row,
    chosen,
    part_for_probes,
    product_rows,
    regressor_row,
    split_table,
)
from binding_core.complexity.forms import choose, fit_form, inner_objects
from binding_core.complexity.product_tables import fit_product_tables
from binding_core.complexity.reference import reference_control
from binding_core.complexity.run_points import (
    EXPLAINS,
    RunPoint,
    correlation,
    points_jsonl,
    run_point,
    shipped_points,
)
from binding_core.complexity.sweep import (
    ComplexitySettings,
    RowStore,
    embed_pairs,
    every_pair,
    find_rows,
    measure_complexity,
    rank_of,
    rows_csv,
)
from binding_core.complexity.token_runs import measure_token_run
from binding_core.concepts import ConceptSpace
from binding_core.errors import UserError
from binding_core.geometry.scene_table import SceneTable
from binding_core.training.run_config import TokenRunConfig
from binding_core.training.runs import create_run
from binding_core.training.settings import TokenNetwork
from binding_core.training.sweeps import SHIPPED, Sweep
from binding_core.training.train_run import train_run

SPACE = ConceptSpace(
    types=("a", "b"), values=tuple(tuple(f"{t}{i}" for i in range(10)) for t in "ab")
)


def table(of_objects, space=SPACE, noise=0.0, seed=0):
    """Every pair of objects, embedded as the sum of their vectors, (|O|, d)."""
    first, second = np.triu_indices(space.n_objects, 1)
    numbers = np.stack([first, second], axis=1)
    concepts = np.stack(np.unravel_index(numbers, space.sizes), axis=-1)
    embeddings = of_objects[numbers].sum(axis=1)
    embeddings += noise * np.random.default_rng(seed).standard_normal(embeddings.shape)
    return SceneTable(space, concepts, embeddings.astype(np.float32), "image", "made up")


def object_vectors(kind, d=3, seed=0, space=SPACE):
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal((size, d)) for size in space.sizes)
    own = rng.standard_normal((*space.sizes, d))
    made = {"bag": a[:, None] + b, "product": a[:, None] * b, "memoriser": own}[kind]
    return made.reshape(space.n_objects, d)


def at(scenes, coverage=0.7, seed=0):
    return split_table(*part_for_probes(scenes, seed=seed), coverage=coverage, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_product_of_rank_r_is_found_from_some_of_its_objects(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, 12, 4))
    vectors = (left[:, None] * right).reshape(144, 4)
    values = np.stack(np.unravel_index(np.arange(144), (12, 12)), axis=-1)
    known, new = np.split(np.random.default_rng(1).permutation(144), [108])
    fitted = fit_product_tables(
        vectors[known], values=values[known], sizes=(12, 12), rank=4, penalty=0.01, seed=seed
    )
    error = ((fitted.predict(values[new]) - vectors[new]) ** 2).sum()
    assert error < 0.01 * (vectors[new] ** 2).sum()


def test_rank_0_is_additive_and_equals_plain_least_squares():
    vectors = object_vectors("memoriser")
    values = np.stack(np.unravel_index(np.arange(100), (10, 10)), axis=-1)
    fitted = fit_product_tables(
        vectors, values=values, sizes=(10, 10), rank=0, penalty=0.1, seed=0
    ).predict(values)
    cube = vectors.reshape(10, 10, -1)
    by_hand = cube.mean(1)[:, None] + cube.mean(0) - cube.mean((0, 1))  # of a full factorial
    assert np.allclose(fitted, by_hand.reshape(100, -1), atol=1e-4)


@pytest.mark.parametrize(
    ("kind", "additive", "product"),
    [("bag", True, True), ("product", False, True), ("memoriser", False, False)],
)
def test_each_function_is_explained_by_its_own_form_alone(kind, additive, product):
    split = at(table(object_vectors(kind)))
    assert (additive_row(split).r2_heldout > 0.95) == additive
    best = chosen(product_rows(split, form="object product", ranks=(1, 2, 4, 8)))
    assert (best.r2_heldout > 0.8) == product


@pytest.mark.parametrize("kind", ["bag", "product", "global-product", "memoriser"])
def test_the_shipped_rows_of_the_controls_come_out_as_constructed(kind):
    rows = find_rows(reference_control(kind).fingerprint, "text")
    by_form = {}
    for row in rows:
        if row.coverage == 0.7 and row.tables in (None, "shared"):
            by_form.setdefault((row.approximator, row.seed), []).append(row)

    def mean(form):
        found = [
            chosen(group) if form != "additive" else group[0]
            for (name, _), group in by_form.items()
            if name == form
        ]
        return np.mean([row.r2_heldout for row in found])

    own = {"bag": "additive", "product": "object product", "global-product": "global product"}
    forms = ("additive", "object product", "global product")
    if kind == "memoriser":
        assert all(mean(form) < 0 for form in forms)
    elif kind == "bag":  # whose rank is 0: products add nothing
        assert mean("additive") > 0.9
        assert mean("object product") < mean("additive") + 0.01
    else:
        assert mean(own[kind]) > 0.7
        assert all(mean(form) < 0.3 for form in forms if form != own[kind])


def test_a_control_measured_here_agrees_with_its_shipped_rows():
    control = reference_control("product")
    scenes = embed_pairs(control, modality="text")
    split = split_table(*part_for_probes(scenes, seed=0), coverage=0.7, seed=0)
    shipped = [
        r
        for r in find_rows(control.fingerprint, "text")
        if (r.approximator, r.tables, r.coverage, r.seed, r.rank)
        == ("object product", "shared", 0.7, 0, 16)
    ]
    here = product_rows(split, form="object product", ranks=(16,))
    assert here[0].r2_heldout == pytest.approx(shipped[0].r2_heldout, abs=0.1)


def test_held_out_objects_touch_neither_fit_nor_choice():
    scenes = table(object_vectors("product"))
    split = at(scenes)
    seen = set(split.fitted.objects.ravel())
    assert not seen & set(split.heldout.objects.ravel())
    spoiled = replace(
        split, heldout=replace(split.heldout, embeddings=split.heldout.embeddings + 9)
    )
    way = {"form": "object product", "ranks": (2, 4)}
    ranks = [
        [(r.rank, r.penalty, r.r2_chosen_by) for r in product_rows(s, **way)]
        for s in (split, spoiled)
    ]
    assert ranks[0] == ranks[1]


def test_what_is_kept_out_inside_leaves_every_value_and_is_judged_alone():
    split = at(table(object_vectors("memoriser")))
    kept_out = inner_objects(split.fitted, seed=0)
    left = split.fitted.object_counts.any(axis=0) & ~kept_out
    values = np.stack(np.unravel_index(np.flatnonzero(left), SPACE.sizes), axis=-1)
    assert all(len(np.unique(column)) == 10 for column in values.T)
    # A function that nothing predicts has no R² above the mean's by more than chance.
    tried = choose(split.fitted, form="object product", ranks=(1, 8))
    assert max(choice.r2 for choice in tried) < 0.1


def test_probes_read_real_embeddings_and_a_network_learns_concepts():
    split = at(table(object_vectors("memoriser", d=64)))
    assert ceiling_row(split).objects.value > 0.9
    network = regressor_row(split, regressor="MLP 64")
    assert network.r2_fitted > 0.5
    assert network.objects.value < 0.5


def row(rank, objects, r2=0.5, seed=0):
    nothing = share([], chance=None)
    found = share([True] * round(objects * 100) + [False] * round(100 - objects * 100), chance=0.01)
    return ComplexityRow(
        approximator="object product" if rank else "additive",
        tables="shared",
        rank=rank,
        penalty=0.1,
        coverage=0.7,
        seed=seed,
        r2_fitted=r2,
        r2_heldout=r2,
        r2_heldout_ci95=None,
        objects=found,
        concepts=nothing,
        n_fitted=100,
        n_heldout=100,
        r2_chosen_by=r2,
    )


def test_the_binding_rank_is_the_smallest_within_the_interval_of_the_best():
    # The best, .80 of 100, has a Wilson interval from .711: .75 is within, .60 is not.
    rows = [row(0, 0.1), row(4, 0.6), row(16, 0.75), row(64, 0.8)]
    assert binding_rank(rows) == 16
    assert rank_of(rows) == {0: 16}
    assert binding_rank([]) is None


def test_of_ranks_that_are_as_good_the_smallest_is_chosen():
    assert chosen([row(4, 0.5, r2=0.4), row(16, 0.5, r2=0.498), row(64, 0.5, r2=0.5)]).rank == 16
    assert chosen([]) is None


def test_every_pair_of_the_bundled_space_comes_once():
    scenes = every_pair(seed=0)
    assert len(scenes) == 144 * 143 // 2
    assert len({frozenset(scene.object_words) for scene in scenes}) == len(scenes)


def test_a_measurement_is_kept_row_by_row_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    from threading import Event

    import binding_core.complexity.sweep as sweep

    settings = ComplexitySettings("text", coverages=(0.7,), seeds=(0,), regressors=False)
    control = reference_control("bag")
    monkeypatch.setattr(sweep, "SHIPPED", tmp_path / "nothing shipped")
    drawn = np.random.default_rng(0).permutation(10_296)[:1500]
    every = every_pair(seed=0)
    scenes = tuple(every[i] for i in drawn)
    monkeypatch.setattr(sweep, "every_pair", lambda seed: scenes)
    monkeypatch.setattr(sweep, "RANKS", (1, 2))
    stop, seen = Event(), []
    steps = len(settings.steps)

    def report(done, of):
        seen.append(done)
        if len(RowStore(tmp_path, control.fingerprint, "text").steps()) == 2:
            stop.set()

    assert (
        measure_complexity(control, settings=settings, folder=tmp_path, report=report, stop=stop)
        is None
    )
    store = RowStore(tmp_path, control.fingerprint, "text")
    kept = store.steps()
    assert 2 <= len(kept) < steps
    with store.path.open("a") as file:
        file.write('{"seed": 0, "cover')  # a crash cut this line short
    asked = []
    real = sweep._step_rows
    monkeypatch.setattr(
        sweep, "_step_rows", lambda split, what: asked.append(what) or real(split, what)
    )
    rows = measure_complexity(control, settings=settings, folder=tmp_path)
    assert len(asked) == steps - len(kept)
    assert store.steps() == set(settings.steps)
    assert {r.approximator for r in rows} >= {"real embeddings", "additive", "object product"}
    assert rows_csv(rows, model="bag", fingerprint="x").count(b"\n") == len(rows) + 1


def test_a_coverage_that_leaves_nothing_to_test_says_so():
    few = table(object_vectors("bag")).rows(np.arange(40))
    with pytest.raises(UserError, match=r"coverage|cover"):
        at(few, coverage=0.95)


def test_forms_say_what_they_do_not_fit():
    rng = np.random.default_rng(0)
    three = SceneTable(
        SPACE, rng.integers(10, size=(30, 3, 2)), rng.standard_normal((30, 4)), "image", ""
    )
    with pytest.raises(UserError, match="two objects"):
        fit_form(three, form="global product", rank=1)


def test_a_token_run_is_measured_and_placed(tmp_path):
    preset = Sweep(SHIPPED).config.base
    config = preset.changed({"data.values": 6, "training.steps": 3, "training.measure_every": 3})
    config = config.model_copy(update={"network": TokenNetwork(depth=1, width=16, output=8)})
    run = create_run(TokenRunConfig.model_validate(config.model_dump()), folder=tmp_path / "run")
    from threading import Event

    assert train_run(run, stop=Event())
    found = measure_token_run(run.config, run.weights)
    assert {r.approximator for r in found.rows} >= {"real embeddings", "additive"}
    point = run_point(found, name="x", settings={"data.values": 6}, seed=0, unseen=0.1)
    assert point.additive_r2 is not None


def test_200_runs_are_shipped_and_belong_to_the_shipped_sweep():
    points = shipped_points()
    results = Sweep(SHIPPED).results
    assert len(points) == 200
    for point in points:
        of_sweep = results[point.name]["unseen"]["object_recognition"]["value"]
        assert point.unseen == pytest.approx(of_sweep, abs=1e-4)


def test_what_the_page_says_of_the_runs_is_so():
    points = shipped_points()
    found = {explains: correlation(points, explains=explains) for explains in EXPLAINS}
    assert found["likeness"].ci95[0] > 0.7
    assert found["object_product_r2"].ci95[1] < 0
    assert found["global_product_r2"].ci95[1] < 0
    low, high = found["gain"].ci95
    assert low < 0 < high
    at_most = [p for p in points if p.settings == {"data.coverage": 0.9, "data.values": 20}]
    assert np.mean([p.gain for p in at_most]) > 0.1
    others = [p.gain for p in points if p not in at_most and p.gain is not None]
    assert np.mean(others) < 0.05


def test_a_rank_correlation_is_spearmans_and_none_of_few_runs():
    def point(x, y):
        return RunPoint("", {}, 0, y, x, None, None, None, None, None, None, None)

    risen = [point(i / 20, (i / 20) ** 3) for i in range(20)]
    found = correlation(risen, explains="additive_r2")
    assert found.value == pytest.approx(1)
    assert found.n == 20
    assert correlation(risen[:5], explains="additive_r2") is None
    assert correlation(risen, explains="rank") is None
    assert points_jsonl(risen).count(b"\n") == 20
