"""The list of runs: figures beside settings, finding some, notes, and what a form is made from."""

import pytest

from binding_core.errors import UserError
from binding_core.training.leaderboard import leaderboard, matching
from binding_core.training.presets import RUN_PRESETS
from binding_core.training.runs import MAX_NOTE, create_run
from binding_core.training.setting_fields import setting_fields
from binding_core.training.settings import PictureSettings, TokenNetwork, TrainConfig
from binding_core.training.speed import steps_per_second
from pages._train.fields import settings_of
from pages._train.wording import CHOICES, LABELS
from tests.unit.test_runs import TINY


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))


def test_rows_say_what_a_run_is_and_where_it_stands():
    first, second = create_run(TINY), create_run(TINY.changed({"name": "other"}))
    second.write_note("grüne Kreise")
    rows = leaderboard([first, second], place={first.id: 0}.get)
    assert [row["state"] for row in rows] == ["in training", "waiting"]
    assert rows[0]["coverage"] == 0.8
    assert rows[0]["unseen"] is None
    assert rows[1]["note"] == second.note == "grüne Kreise"


def test_runs_are_found_by_words_coverage_and_world():
    low = create_run(TINY.changed({"data.coverage": 0.4, "name": "low one"}))
    high = create_run(TINY.changed({"name": "high one"}))
    high.write_note("for the class")
    every = {"words": "", "coverage": (0.0, 1.0), "worlds": ["tokens", "pictures"]}
    runs = [low, high]
    assert matching(runs, **every) == runs
    assert matching(runs, **every | {"words": "CLASS high"}) == [high]
    assert matching(runs, **every | {"coverage": (0.3, 0.5)}) == [low]
    assert matching(runs, **every | {"worlds": ["pictures"]}) == []


def test_a_note_that_is_too_long_is_refused_and_the_old_one_stays():
    run = create_run(TINY)
    run.write_note("short")
    with pytest.raises(UserError, match="at most"):
        run.write_note("x" * (MAX_NOTE + 1))
    assert run.note == "short"


def test_bounds_and_choices_are_read_from_the_types():
    network, training = setting_fields(TokenNetwork), setting_fields(TrainConfig)
    assert network["mlp"].choices == ("gated", "gelu")
    assert (network["heads"].lowest, network["heads"].highest) == (1, 16)
    assert (training["learning_rate"].lowest, training["learning_rate"].highest) == (0, 1)
    assert setting_fields(PictureSettings)["pixels"].multiple_of == 32
    assert setting_fields(PictureSettings)["by_place"].kind is bool


@pytest.mark.parametrize("name", RUN_PRESETS)
def test_every_setting_of_every_preset_has_words(name):
    for setting, (field, _) in settings_of(RUN_PRESETS[name].config).items():
        assert LABELS[setting][0]
        assert set(field.choices) <= set(CHOICES.get(setting, ()))


def test_speed_is_measured_by_training_for_a_moment():
    assert steps_per_second(TINY) > 0
