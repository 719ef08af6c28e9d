"""A run's charts say what its metrics say, with chance beside them."""

from binding_core.figures.curves import MEASURES, curves, loss_curve, measured_lines, panel_chart


def share(value: float | None, chance: float = 0.5) -> dict:
    return {"value": value, "chance": chance, "ci95": None, "n": 300}


def line(step: int, seen: float | None, unseen: float | None) -> dict:
    measured = {"seen": dict.fromkeys(MEASURES, share(seen)),
                "unseen": dict.fromkeys(MEASURES, share(unseen)), "panel": [[1.0]]}  # fmt: skip
    return {"step": step, "loss": 0.0, "measured": measured}


def test_points_are_those_of_the_metrics_and_what_is_not_available_is_left_out():
    metrics = [line(50, 0.4, 0.1), {"step": 75, "loss": 1.0}, line(100, 0.9, None)]
    lines = measured_lines(metrics)
    assert [(r["step"], r["part"], r["object_recognition"]) for r in lines] == [
        (50, "seen", 0.4),
        (50, "unseen", 0.1),
        (100, "seen", 0.9),
    ]


def test_every_measure_has_a_chart_with_both_parts_and_its_chance():
    charts = curves(measured_lines([line(50, 0.4, 0.1)]), steps=200)
    assert list(charts) == list(MEASURES)
    for chart in charts.values():
        spec = str(chart.to_dict())
        assert "'domain': ['seen', 'unseen']" in spec
        assert "chance 0.50" in spec
        assert "'domain': [0, 200]" in spec


def test_the_spec_without_its_data_stays_the_same_while_a_run_grows():
    """Otherwise the chart would be mounted anew each second, and lose its zoom."""

    def skeleton(metrics):
        spec = curves(measured_lines(metrics), steps=200)["swap_accuracy"].to_dict()
        for layer in spec["layer"]:
            layer.pop("data", None)
        return spec

    first = [line(50, 0.4, 0.1)]
    assert skeleton(first) == skeleton([*first, line(100, 0.5, 0.2)])


def test_a_loss_of_zero_still_has_a_place_on_the_logarithmic_axis():
    assert loss_curve([line(50, 1, 1)], steps=100).to_dict()["data"]["values"][0]["loss"] > 0


def test_the_panel_names_seen_objects_before_unseen_ones():
    values = panel_chart([[1.0, 0.1], [0.2, 0.9]]).to_dict()["data"]["values"]
    assert [(v["scene"], v["query"], v["similarity"]) for v in values] == [
        ("seen 1", "seen 1", 1.0),
        ("seen 1", "unseen 1", 0.1),
        ("unseen 1", "seen 1", 0.2),
        ("unseen 1", "unseen 1", 0.9),
    ]
