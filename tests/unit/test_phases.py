"""A sweep's results cell by cell, and the diagram that is drawn from them."""

import csv
import io

import pytest

from binding_core.errors import UserError
from binding_core.figures.phase import phase_diagram
from binding_core.training.phases import phase_cells, results_csv, runs_of_the_same_kind
from binding_core.training.runs import RESULT_NAME, create_run
from binding_core.training.sweeps import SHIPPED, Sweep, parse_values
from tests.unit.test_sweeps import CONFIG, TINY


def share(value):
    return {"value": value, "ci95": [value - 0.1, value + 0.1], "n": 9, "chance": 0.5}


def row(coverage, values, seed, unseen):
    measures = ("object_recognition", "swap_accuracy", "concept_recognition")
    return {
        "settings": {"data.coverage": coverage, "data.values": values},
        "seed": seed,
        "seen": dict.fromkeys(measures, share(0.9)),
        "unseen": dict.fromkeys(measures, share(unseen)),
    }


ROWS = [
    row(0.4, 5, 0, 0.2),
    row(0.4, 5, 1, 0.4),
    row(0.8, 5, 0, 0.7),
    {"settings": {"data.coverage": 0.8, "data.values": 6}, "seed": 0, "failed": "The loss is nan"},
]
AXES = {"x": "data.coverage", "y": "data.values"}


def test_cells_are_means_over_seeds_with_students_interval():
    cells = phase_cells(ROWS, **AXES, part="unseen", measure="object_recognition")
    assert [(c.x, c.y, c.n) for c in cells] == [(0.4, 5, 2), (0.8, 5, 1)]
    assert cells[0].mean == pytest.approx(0.3)
    # Two values, 0.2 and 0.4: standard error 0.1, and t = 12.71 at one degree of freedom, so the
    # interval reaches past both ends of what a share can be.
    assert cells[0].ci95 == (0.0, 1.0)
    assert cells[1].ci95 is None


def test_the_interval_by_hand():
    rows = [row(0.4, 5, seed, value) for seed, value in enumerate((0.50, 0.52, 0.54))]
    [cell] = phase_cells(rows, **AXES, part="unseen", measure="swap_accuracy")
    half = 4.30265 * 0.02 / 3**0.5  # t(.975, 2 degrees of freedom), standard deviation .02
    assert cell.ci95 == pytest.approx((0.52 - half, 0.52 + half), abs=1e-5)


def test_own_runs_join_when_they_differ_in_axes_and_seed_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path))
    fits = create_run(TINY.changed({"data.coverage": 0.6, "training.seed": 7, "name": "mine"}))
    other = create_run(TINY.changed({"network.depth": 2}))
    unfinished = create_run(TINY)
    for run in (fits, other):
        (run.folder / RESULT_NAME).write_text('{"seen": {}, "unseen": {}}')
    [found] = runs_of_the_same_kind([fits, other, unfinished], CONFIG)
    assert found["settings"] == {"data.coverage": 0.6, "data.values": 5}
    assert found["seed"] == 7


def test_the_diagram_draws_cells_as_squares_and_own_runs_as_circles():
    cells, own = ROWS[:3], [row(0.6, 6, 0, 0.5)]
    drawn = [
        phase_cells(r, **AXES, part="unseen", measure="object_recognition") for r in (cells, own)
    ]
    spec = phase_diagram(
        drawn[0], own=drawn[1], x="Coverage", y="Values of each", measure="unseen"
    ).to_dict()
    marks = [layer["mark"]["type"] for layer in spec["layer"]]
    assert marks == ["rect", "text", "circle"]
    assert [d["mean"] for d in spec["data"]["values"]] == pytest.approx([0.3, 0.7])
    assert spec["layer"][0]["encoding"]["x"]["sort"] == [0.4, 0.6, 0.8]


def test_results_as_csv():
    rows = list(csv.DictReader(io.StringIO(results_csv(ROWS))))
    assert rows[0]["data.coverage"] == "0.4"
    assert rows[1]["unseen object_recognition value"] == "0.4"
    assert rows[3]["failed"] == "The loss is nan"
    assert rows[3]["seen swap_accuracy value"] == ""
    assert results_csv([]) == ""


def test_values_of_an_axis_are_numbers_with_commas_between():
    assert parse_values("0.2, 8,1e-3") == (0.2, 8, 0.001)
    for text in ("", "1,,2", "many"):
        with pytest.raises(UserError, match="is not a number"):
            parse_values(text)


def test_the_shipped_sweep_has_two_hundred_runs_and_its_results_are_its_own():
    sweep = Sweep(SHIPPED)
    assert sweep.config.n_runs >= 200
    assert set(sweep.results) == {cell.key for cell in sweep.config.cells()}
    assert not any("failed" in row for row in sweep.results.values())
    size = sum(path.stat().st_size for path in SHIPPED.iterdir())
    assert size <= 2**20
