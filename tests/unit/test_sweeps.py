"""Sweeps: every cell once, whatever stops, dies or breaks on the way."""

import json
import os
import signal
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest
from filelock import FileLock

from binding_core.__main__ import main
from binding_core.errors import UserError
from binding_core.training.executors import dask_executor, local_executor
from binding_core.training.run_config import TokenRunConfig
from binding_core.training.settings import TokenNetwork, TrainConfig
from binding_core.training.sweeps import (
    MAX_LOST_IN_A_ROW,
    RESULTS_NAME,
    Sweep,
    SweepConfig,
    create_sweep,
    list_sweeps,
    parse_sweep,
    run_sweep,
    train_cell,
)
from binding_core.training.tokens import TokenData

TINY = TokenRunConfig(
    name="tiny",
    data=TokenData(values=5, coverage=0.8),
    network=TokenNetwork(depth=1, width=16, heads=2, output=16),
    training=TrainConfig(steps=4, batch=16, warmup_steps=2, report_every=2, measure_every=2),
)
CONFIG = SweepConfig(
    name="tiny sweep",
    base=TINY,
    axes={"data.coverage": (0.4, 0.8), "data.values": (5, 6)},
    seeds=(0, 1),
)
KEYS = {cell.key for cell in CONFIG.cells()}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))


def quick(config):
    """In place of a training: what came in comes out."""
    return {"seen": config.data.coverage, "unseen": config.training.seed}, b"weights"


def test_every_cell_is_run_once_with_its_settings_and_its_seed():
    sweep = create_sweep(CONFIG)
    seen = []
    assert run_sweep(
        sweep,
        executor=ThreadPoolExecutor,
        work=quick,
        stop=Event(),
        report=lambda done, of: seen.append((done, of)),
    )
    assert set(sweep.results) == KEYS
    assert len(KEYS) == 8 == CONFIG.n_runs
    for row in sweep.results.values():
        assert row["seen"] == row["settings"]["data.coverage"]
        assert row["unseen"] == row["seed"]
    assert seen == [(i, 8) for i in range(9)]
    assert all(sweep.weights(cell).read_bytes() == b"weights" for cell in CONFIG.cells())
    assert [s.folder for s in list_sweeps()] == [sweep.folder]


def test_a_seed_is_that_of_weights_data_and_split():
    *_, last = CONFIG.cells()
    config = CONFIG.run_config(last)
    assert (config.training.seed, config.data.split_seed) == (1, 1)
    assert (config.data.coverage, config.data.values) == (0.8, 6)


def test_a_stopped_sweep_goes_on_with_what_is_missing():
    sweep, stop, worked = create_sweep(CONFIG), Event(), []

    def stopping(config):
        if stop.is_set():
            return None
        worked.append(config)
        if len(worked) == 3:
            stop.set()
        return quick(config)

    one_worker = partial(ThreadPoolExecutor, 1)
    assert not run_sweep(sweep, executor=one_worker, work=stopping, stop=stop)
    assert len(sweep.results) == 3
    again = create_sweep(CONFIG, folder=sweep.folder)
    stop.clear()
    worked += [None] * 9  # so that it is not stopped again
    assert run_sweep(again, executor=one_worker, work=stopping, stop=stop)
    assert set(again.results) == KEYS
    assert len(worked) == 9 + 8


def test_a_line_that_was_cut_short_is_run_again():
    sweep = create_sweep(CONFIG)
    run_sweep(sweep, executor=ThreadPoolExecutor, work=quick, stop=Event())
    path = sweep.folder / RESULTS_NAME
    path.write_bytes(path.read_bytes()[:-20])
    assert len(sweep.results) == 7
    assert run_sweep(sweep, executor=ThreadPoolExecutor, work=quick, stop=Event())
    assert set(sweep.results) == KEYS


class Dying(Executor):
    """An executor whose first ``losses`` tasks are lost, with the pool, as by a killed worker."""

    def __init__(self, losses):
        self.losses = losses

    def shutdown(self, wait=True, cancel_futures=False):
        pass

    def submit(self, work, *args):
        future = Future()
        if self.losses:
            self.losses.pop()
            future.set_exception(RuntimeError("a worker died"))
        else:
            future.set_result(work(*args))
        return future


def test_a_broken_pool_is_replaced_and_one_that_breaks_always_is_given_up():
    sweep = create_sweep(CONFIG)
    losses = [1] * MAX_LOST_IN_A_ROW
    assert run_sweep(sweep, executor=lambda: Dying(losses), work=quick, stop=Event())
    assert set(sweep.results) == KEYS
    other = create_sweep(CONFIG)
    with pytest.raises(UserError, match="fail again and again"):
        run_sweep(other, executor=lambda: Dying([1] * 999), work=quick, stop=Event())
    assert "again and again" in other.failure


def die_once(mark: Path, config):
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return quick(config)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_costs_no_result(tmp_path):
    sweep = create_sweep(CONFIG)
    work = partial(die_once, tmp_path / "mark")
    made = []

    def pool():
        made.append(ProcessPoolExecutor(2))
        return made[-1]

    assert run_sweep(sweep, executor=pool, work=work, stop=Event())
    assert set(sweep.results) == KEYS
    assert len(made) == 2


def test_a_killed_dask_worker_costs_no_result_and_doubles_none(tmp_path):
    from distributed import LocalCluster

    sweep = create_sweep(CONFIG)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
    ) as cluster:
        work = partial(die_once, tmp_path / "mark")
        assert run_sweep(
            sweep,
            executor=partial(dask_executor, cluster.scheduler_address),
            work=work,
            stop=Event(),
        )
    assert (tmp_path / "mark").exists()
    assert set(sweep.results) == KEYS
    assert len((sweep.folder / RESULTS_NAME).read_text().splitlines()) == 8


def test_without_a_scheduler_the_address_is_named(monkeypatch):
    monkeypatch.setattr("binding_core.training.executors.DASK_TIMEOUT", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with (
            pytest.raises(UserError, match=f"no Dask scheduler at “{address}”"),
            dask_executor(address),
        ):
            pass


def test_two_processes_do_not_lead_one_sweep():
    sweep = create_sweep(CONFIG)
    with (
        FileLock(sweep.folder / "lock"),
        pytest.raises(UserError, match="run by another process"),
    ):
        run_sweep(sweep, executor=ThreadPoolExecutor, work=quick, stop=Event())


def test_a_run_that_diverges_is_a_result_too():
    outcome, weights = train_cell(
        TINY.changed({"training.learning_rate": 1.0, "training.muon_learning_rate": 1.0}),
    )
    assert outcome.keys() >= {"failed"} or outcome.keys() >= {"seen", "unseen"}
    config = TINY.changed({"training.steps": 4})
    result, weights = train_cell(config)
    assert result["unseen"]["swap_accuracy"]["n"] > 0
    assert weights


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"axes": {}}, "axes"),
        ({"axes": {"data.colour": (1,)}}, "no setting “data.colour”"),
        ({"axes": {"data.coverage": (0.01,)}}, "at least 5 are needed"),
        ({"axes": {"data.coverage": (0.5, 0.5)}}, "named twice"),
        ({"axes": {"data.coverage": ()}}, "at least 1 item"),
        ({"seeds": ()}, "at least 1 item"),
        ({"seeds": tuple(range(10_000))}, "at most 10,000"),
        ({"evil": 1}, "evil"),
        ({"base": {"world": "dreams"}}, "dreams"),
    ],
)
def test_a_sweep_that_can_not_be_is_refused_with_the_reason(change, said):
    with pytest.raises(UserError, match=said):
        parse_sweep(CONFIG.model_dump() | change)


def test_damaged_and_foreign_folders_are_named(tmp_path):
    with pytest.raises(UserError, match="no readable"):
        _ = Sweep(tmp_path).config
    create_sweep(CONFIG, folder=tmp_path / "s")
    other = parse_sweep(CONFIG.model_dump() | {"seeds": (7,)})
    with pytest.raises(UserError, match="another sweep"):
        create_sweep(other, folder=tmp_path / "s")


def test_the_command_runs_a_sweep_in_processes_and_prints_its_results(tmp_path, capfd):
    file = tmp_path / "sweep.json"
    small = CONFIG.model_copy(update={"axes": {"data.coverage": (0.4, 0.8)}, "seeds": (0,)})
    file.write_text(small.model_dump_json())
    command = ["sweep", "--config", str(file), "--out", str(tmp_path / "out"), "--json"]
    assert main([*command, "--workers", "2"]) == 0
    out, err = capfd.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["settings"]["data.coverage"] for row in rows} == {0.4, 0.8}
    assert all(row["unseen"]["object_recognition"]["n"] == 1000 for row in rows)
    assert "2 of 2 runs" in err
    file.write_text("{")
    assert main(["sweep", "--config", str(file)]) == 2
    assert "is not JSON" in capfd.readouterr().err


def test_the_local_pool_has_as_many_processes_as_it_is_told():
    with local_executor(workers=1) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
