"""Runs: their settings, their folders, and that an interrupted one goes on with the same curve."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from threading import Event

import pytest
from filelock import FileLock
from safetensors.torch import load_file, save_file

from binding_core.__main__ import main
from binding_core.errors import UserError
from binding_core.training.presets import RUN_PRESETS
from binding_core.training.queue import MAX_WAITING, Work, WorkQueue, run_work
from binding_core.training.run_config import TokenRunConfig, parse_config
from binding_core.training.runs import (
    Run,
    create_run,
    delete_run,
    find_run,
    list_runs,
    restore_run,
)
from binding_core.training.settings import TokenNetwork, TrainConfig
from binding_core.training.tokens import TokenData
from binding_core.training.train_run import train_run

TINY = TokenRunConfig(
    name="tiny",
    data=TokenData(values=5, coverage=0.8),
    network=TokenNetwork(depth=1, width=16, heads=2, output=16),
    training=TrainConfig(
        steps=30, batch=16, warmup_steps=2, checkpoint_every=10, report_every=5, measure_every=10
    ),
)
LONG = TINY.changed({"training.steps": 100_000})


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"network.heads": 3}, "3 heads do not divide the width 16"),
        ({"data.coverage": 0.01}, "at least 5 are needed"),
        ({"data.coverage": 0}, "greater than 0"),
        ({"data.coverage": "much"}, "data.coverage"),
        ({"data.values": 300, "data.types": 3}, "at most 125,000"),
        ({"training.steps": 0}, "greater than or equal to 1"),
        ({"training.learning_rate": float("nan")}, "learning_rate"),
        ({"network.sharing": "shared"}, "both read words"),
        (
            {"network.sharing": "part", "network.scene_reads": "words", "network.part_after": 99},
            "part after 99 steps",
        ),
        ({"network.mlp": "cubic"}, "'gated' or 'gelu'"),
        ({"data.colour": 1}, "no setting “data.colour”"),
        ({"colour": 1}, "no setting “colour”"),
    ],
)
def test_what_can_not_be_is_refused_with_the_reason(settings, said):
    with pytest.raises(UserError, match=said):
        TINY.changed(settings)


def test_settings_go_through_json_unchanged_and_unknown_ones_are_refused():
    assert parse_config(json.loads(TINY.model_dump_json())) == TINY
    with pytest.raises(UserError):
        parse_config(TINY.model_dump() | {"evil": 1})
    with pytest.raises(UserError):
        parse_config([])


@pytest.mark.parametrize("name", list(RUN_PRESETS))
def test_every_preset_can_be_and_says_what_will_happen(name):
    preset = RUN_PRESETS[name]
    assert parse_config(preset.config.model_dump()).name == name
    assert preset.expect
    assert preset.why


def test_a_run_leaves_its_settings_curve_weights_and_result():
    run = create_run(TINY)
    assert run.state == "waiting"
    assert train_run(run, stop=Event())
    assert run.state == "done"
    assert run.config == TINY
    assert [line["step"] for line in run.metrics] == [5, 10, 15, 20, 25, 30]
    measured = [line["step"] for line in run.metrics if "measured" in line]
    assert measured == [10, 20, 30]
    for part in ("seen", "unseen"):
        assert run.result[part]["concept_recognition"]["n"] == 1000
    assert load_file(run.folder / "weights.safetensors")
    assert list_runs() == [run]
    assert find_run(run.id) == run
    assert run.summary()["step"] == 30


def without_speed(run: Run) -> list[dict]:
    return [{k: v for k, v in line.items() if k != "steps_per_second"} for line in run.metrics]


def test_a_run_that_was_stopped_goes_on_with_the_same_curve():
    whole = create_run(TINY)
    train_run(whole, stop=Event())
    halted, stop = create_run(TINY), Event()
    report = lambda metrics: stop.set() if metrics.step == 15 else None  # noqa: E731
    assert not train_run(halted, stop=stop, report=report)
    assert halted.state == "waiting"
    assert halted.step == 15
    assert train_run(halted, stop=Event())
    assert without_speed(halted) == without_speed(whole)
    ours, theirs = (load_file(r.folder / "weights.safetensors") for r in (halted, whole))
    assert all((ours[name] == theirs[name]).all() for name in theirs)


def test_encoders_that_part_go_on_after_a_stop_with_the_same_curve():
    config = TINY.changed(
        {"network.scene_reads": "words", "network.sharing": "part", "network.part_after": 15}
    )
    whole = create_run(config)
    train_run(whole, stop=Event())
    halted, stop = create_run(config), Event()
    train_run(halted, stop=stop, report=lambda m: stop.set() if m.step == 20 else None)
    train_run(halted, stop=Event())
    assert without_speed(halted) == without_speed(whole)


def test_a_run_killed_with_9_goes_on_from_its_checkpoint_with_the_same_curve():
    config = TINY.changed({"training.steps": 400})
    whole = create_run(config)
    train_run(whole, stop=Event())
    killed = create_run(config)
    process = subprocess.Popen(
        [sys.executable, "-m", "binding_core", "train", "--resume", str(killed.folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while killed.step < 100 and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert killed.state == "waiting"
    assert train_run(killed, stop=Event())
    assert without_speed(killed) == without_speed(whole)


def test_a_run_can_be_ended_where_it_stands(capsys):
    run, stop = create_run(TINY), Event()
    train_run(run, stop=stop, report=lambda m: stop.set() if m.step == 20 else None)
    assert run.state == "waiting"
    weights = run.weights.read_bytes()
    assert main(["train", "--resume", str(run.folder), "--finish"]) == 0
    assert run.state == "done"
    assert run.result["steps"] == run.step == 20
    assert run.result["unseen"]["object_recognition"]["n"] == 1000
    assert run.weights.read_bytes() == weights


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_a_full_or_read_only_disk_stops_with_a_sentence_and_keeps_the_last_checkpoint(
    monkeypatch, capsys, code
):
    run, stop = create_run(TINY), Event()
    train_run(run, stop=stop, report=lambda m: stop.set() if m.step == 10 else None)
    kept = (run.folder / "checkpoint.safetensors").read_bytes()

    def full(path, content):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr("binding_core.training.trainer.write_atomically", full)
    assert main(["train", "--resume", str(run.folder)]) == 2
    said = capsys.readouterr().err
    assert os.strerror(code) in said
    assert "Traceback" not in said
    assert (run.folder / "checkpoint.safetensors").read_bytes() == kept
    monkeypatch.undo()
    assert train_run(Run(run.folder), stop=Event())


def test_a_clock_that_is_set_back_changes_neither_speed_nor_curve(monkeypatch):
    times = iter(range(10**9, 0, -3600))
    monkeypatch.setattr(time, "time", lambda: next(times))
    run = create_run(TINY)
    assert train_run(run, stop=Event())
    assert all(line["steps_per_second"] > 0 for line in run.metrics)


def test_a_run_in_training_is_refused_to_a_second_process():
    run = create_run(TINY)
    with FileLock(run.folder / "lock"), pytest.raises(UserError, match="another process"):
        train_run(run, stop=Event())
    assert run.state == "waiting"


def test_a_run_that_diverges_says_at_which_step_and_what_to_try():
    run, stop = create_run(TINY), Event()
    train_run(run, stop=stop, report=lambda m: stop.set())
    checkpoint = run.folder / "checkpoint.safetensors"
    tensors = load_file(checkpoint)
    tensors["model.scene.word"][:] = float("nan")
    save_file(tensors, checkpoint, metadata={"step": "5"})
    with pytest.raises(UserError, match="diverged"):
        train_run(run, stop=Event())
    assert run.state == "failed"
    assert "step 5" in run.failure
    assert "lower learning rate" in run.failure


def test_a_checkpoint_cut_short_is_named():
    run, stop = create_run(TINY), Event()
    train_run(run, stop=stop, report=lambda m: stop.set())
    path = run.folder / "checkpoint.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(UserError, match=r"cut short|safetensors"):
        train_run(run, stop=Event())
    assert run.state == "failed"


def test_damaged_folders_are_left_out_of_the_list(tmp_path):
    run = create_run(TINY)
    other = create_run(TINY)
    (other.folder / "config.json").write_text("{")
    (run.folder.parent / "stray.txt").write_text("x")
    assert list_runs() == [run]
    with pytest.raises(UserError, match="no longer there"):
        find_run(other.id)


def test_a_deleted_run_can_be_brought_back():
    run = create_run(TINY)
    gone = delete_run(run)
    assert list_runs() == []
    assert restore_run(gone) == run
    assert list_runs() == [run]


def test_a_folder_that_can_not_be_written_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("CBE_DATA_DIR", str(blocked))
    with pytest.raises(UserError, match="Nothing was started"):
        create_run(TINY)


def test_the_command_and_the_function_give_the_same_curve(capsys, tmp_path):
    arguments = ["train", "--preset", "binding appears", "--json", "--out", str(tmp_path / "run")]
    changes = {
        "data.values": 5,
        "data.coverage": 0.8,
        "network.depth": 1,
        "network.width": 16,
        "training.steps": 20,
        "training.batch": 16,
        "training.report_every": 10,
        "training.measure_every": 10,
    }
    assert main([*arguments, "--set", *(f"{k}={v}" for k, v in changes.items())]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    run = create_run(RUN_PRESETS["binding appears"].config.changed(changes))
    train_run(run, stop=Event())
    assert [line.get("loss") for line in lines[:-1]] == [line["loss"] for line in run.metrics]
    assert lines[-1]["result"] == run.result
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == run.id
    assert main(["runs"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--preset", "nothing"], "no preset"),
        (["--preset", "binding appears", "--set", "steps"], "KEY=VALUE"),
        (["--resume", "/nowhere"], "no readable config.json"),
        ([], "required"),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(capsys, arguments, said):
    assert main(["train", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_the_queue_trains_one_after_the_other_and_stops_with_a_checkpoint():
    queue = WorkQueue()
    first, second, third = create_run(LONG), create_run(TINY), create_run(TINY)
    for run in (first, second, third):
        queue.submit(run_work(run), session="a")
    queue.submit(run_work(second), session="a")  # already there
    assert [queue.place(r.id) for r in (first, second, third)] == [0, 1, 2]
    with pytest.raises(UserError, match=f"{MAX_WAITING} trainings"):
        queue.submit(run_work(create_run(TINY)), session="a")
    queue.stop(third.id)
    assert queue.place(third.id) is None
    while first.step < 20:
        time.sleep(0.05)
    assert second.step == 0
    queue.stop(first.id)
    assert queue.wait(60)
    assert first.state == "waiting"
    assert (first.folder / "checkpoint.safetensors").exists()
    assert second.state == "done"
    assert third.step == 0


def test_a_run_that_is_stopped_as_soon_as_it_was_queued_does_stop():
    queue, run = WorkQueue(), create_run(LONG)
    queue.submit(run_work(run), session="a")
    queue.stop(run.id)
    assert queue.wait(60)
    assert run.state == "waiting"


def test_the_queue_says_why_a_process_ended_by_itself():
    queue, refused, killed = WorkQueue(), create_run(TINY), create_run(LONG)
    (refused.folder / "config.json").write_text("{")
    queue.submit(Work("refused", refused.folder, run_work(refused).arguments), session="a")
    queue.submit(run_work(killed), session="a")
    while killed.step < 10:
        time.sleep(0.05)
    assert "no readable config.json" in queue.reason("refused")
    queue._entries[0].process.kill()  # as the system does when memory runs out
    assert queue.wait(60)
    assert "ended by itself" in queue.reason(killed.id)
    assert queue.reason("unknown") == ""


def test_a_guarded_training_ends_with_whoever_began_it():
    run = create_run(LONG)
    process = subprocess.Popen(
        [sys.executable, "-m", "binding_core", "train", "--resume", run.folder, "--guarded"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while run.step < 10:
        time.sleep(0.05)
    process.stdin.close()  # as when the app is killed
    assert process.wait(30) == 130
    assert run.state == "waiting"
    assert (run.folder / "checkpoint.safetensors").exists()
