"""The page Train without a browser, with a queue that only notes what it is asked."""

from threading import Event
from types import SimpleNamespace
from typing import ClassVar

import pytest
from streamlit.testing.v1 import AppTest

from binding_core.errors import UserError
from binding_core.jobs import Snapshot
from binding_core.training.archive import export_run
from binding_core.training.presets import RUN_PRESETS
from binding_core.training.runs import create_run, delete_run, list_runs
from binding_core.training.sweeps import list_sweeps
from binding_core.training.train_run import train_run
from tests.unit.test_runs import TINY


class NotingQueue:
    """In the queue's place: trains nothing."""

    def __init__(self, places: dict[str, int] | None = None, full: bool = False) -> None:
        self.places, self.full = places or {}, full
        self.stopped, self.submitted, self.reasons = [], [], {}

    def submit(self, work, *, session):
        if self.full:
            raise UserError("You have 3 trainings in the queue; stop one, or wait for it to end.")
        self.places[work.id] = len(self.places)
        self.submitted.append(work)

    def place(self, run_id):
        return self.places.get(run_id)

    def reason(self, work_id):
        return self.reasons.get(work_id, "")

    def stop(self, run_id):
        self.stopped.append(run_id)
        self.places.pop(run_id, None)


class Measured:
    """In the place of what measures how fast presets are."""

    seconds: ClassVar = {"binding appears": 41.4}
    job = SimpleNamespace(snapshot=Snapshot("done"))


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def page() -> AppTest:
    app = AppTest.from_file("../../pages/train.py", default_timeout=60)
    app.session_state.navigated = True
    app.session_state.work_queue = NotingQueue()
    app.session_state.speeds = Measured()
    return app


def button(page, label):
    [found] = [b for b in page.button if b.label == label]
    return found


def said(page) -> str:
    parts = [*page.markdown, *page.caption, *page.info, *page.warning]
    return " ".join(p.value for p in parts)


def test_a_first_visit_says_what_to_do(page):
    page.run()
    assert not page.exception
    assert "No run yet" in said(page)
    assert RUN_PRESETS["binding appears"].expect in said(page)


def test_one_press_starts_the_preset_and_watches_it(page):
    page.run()
    button(page, "Train").click().run()
    assert not page.exception
    [run] = list_runs()
    assert run.config == RUN_PRESETS["binding appears"].config
    assert page.session_state.work_queue.place(run.id) == 0
    assert dict(page.query_params)["run"] in (run.id, [run.id])
    button(page, "Pause").click().run()
    assert page.session_state.work_queue.stopped == [run.id]
    assert "Stands still at step 0" in said(page)
    button(page, "Go on").click().run()
    assert page.session_state.work_queue.place(run.id) == 0


def test_changed_settings_are_trained_and_named_so(page):
    page.run()
    page.selectbox("preset").select("binding does not").run()
    page.slider("binding does not data.coverage").set_value(0.4)
    page.number_input("binding does not training.seed").set_value(3)
    button(page, "Train").click().run()
    [run] = list_runs()
    assert run.config.data.coverage == 0.4
    assert run.config.training.seed == 3
    assert run.config.name == "binding does not, changed"


def test_settings_that_can_not_be_are_refused_with_the_reason_and_nothing_starts(page):
    page.run()
    page.number_input("binding appears network.heads").set_value(5)
    button(page, "Train").click().run()
    assert "5 heads do not divide the width 64" in said(page).replace("\\", "")
    assert list_runs() == []


def test_a_full_queue_says_so(page):
    page.session_state.work_queue = NotingQueue(full=True)
    page.run()
    button(page, "Train").click().run()
    assert "3 trainings in the queue" in said(page)


def test_a_run_that_waits_shows_its_place_and_can_be_taken_out(page):
    run = create_run(TINY)
    page.session_state.work_queue = NotingQueue({"other": 0, run.id: 1})
    page.run()
    assert "number 1 in the queue" in said(page)
    button(page, "Take it out").click().run()
    assert page.session_state.work_queue.stopped == [run.id]


def test_a_finished_run_shows_its_figures_with_interval_n_and_chance(page):
    run = create_run(TINY)
    train_run(run, stop=Event())
    page.query_params["run"] = run.id
    page.run()
    assert not page.exception
    table = page.table[0].value.to_string()
    assert "n = 1000" in table
    assert "[" in table
    assert "Done after 30 steps" in said(page)
    assert page.dataframe[0].value["state"].tolist() == ["done"]


def test_a_link_to_a_run_that_is_gone_says_so_and_shows_the_newest(page):
    create_run(TINY)
    page.query_params["run"] = "gone"
    page.run()
    assert not page.exception
    assert "no longer there" in said(page)


def test_a_failed_run_says_why_and_can_be_gone_on_with(page):
    run = create_run(TINY)
    (run.folder / "failure.txt").write_text("The loss is nan at step 7: training has diverged.")
    page.run()
    assert "nan at step 7" in said(page)
    assert button(page, "Go on")


def interrupted(config=TINY):
    """A run that was stopped at its first checkpoint."""
    run, stop = create_run(config), Event()
    train_run(run, stop=stop, report=lambda metrics: stop.set() if metrics.step >= 10 else None)
    assert run.state != "done"
    assert run.step >= 10
    return run


def test_an_interrupted_run_can_be_ended_where_it_stands(page):
    run = interrupted()
    page.run()
    button(page, "End it here").click().run()
    assert not page.exception
    [work] = page.session_state.work_queue.submitted
    assert work.arguments == ("train", "--resume", str(run.folder), "--finish")


def test_a_sweep_is_begun_with_its_settings_and_stopped(page):
    page.run()
    page.text_input("sweep_values 0").set_value("0.4, 0.8")
    page.text_input("sweep_values 1").set_value("5, 6")
    page.number_input("sweep_seeds").set_value(2)
    button(page, "Begin the sweep").click().run()
    assert not page.exception
    [sweep] = list_sweeps()
    assert dict(sweep.config.axes) == {"data.coverage": (0.4, 0.8), "data.values": (5, 6)}
    assert sweep.config.n_runs == 8
    assert page.get("progress")[0].proto.text == "0 of 8 runs"
    button(page, "Stop the sweep").click().run()
    assert page.session_state.work_queue.stopped == [sweep.id]
    page.text_input("sweep_dask").set_value("tcp://host:8786")
    button(page, "Go on with the sweep").click().run()
    assert page.session_state.work_queue.submitted[-1].arguments[-2:] == (
        "--dask",
        "tcp://host:8786",
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [("0.4, many", "“many” is not a number"), ("0.4, 7", "coverage"), ("", "is not a number")],
)
def test_a_sweep_that_can_not_be_is_refused_with_the_reason(page, values, reason):
    page.run()
    page.text_input("sweep_values 0").set_value(values)
    button(page, "Begin the sweep").click().run()
    assert not page.exception
    assert reason in said(page).replace("\\", "")
    assert list_sweeps() == []
    assert page.session_state.work_queue.submitted == []


def test_a_run_that_was_exported_is_imported_and_watched(page):
    run = create_run(TINY)
    train_run(run, stop=Event())
    packed, metrics = export_run(run), run.metrics
    delete_run(run)
    page.run()
    page.file_uploader("run_file").set_value((f"{run.id}.zip", packed, "application/zip")).run()
    assert not page.exception
    [again] = list_runs()
    assert again.metrics == metrics
    assert page.session_state.watched == again.id
    assert "Done after 30 steps" in said(page)


def test_a_foreign_file_is_refused_and_nothing_is_lost(page):
    run = create_run(TINY)
    page.run()
    page.file_uploader("run_file").set_value(("run.zip", b"no zip", "application/zip")).run()
    assert not page.exception
    assert "zip" in page.warning[0].value
    assert [r.id for r in list_runs()] == [run.id]


def test_runs_are_found_by_words_and_coverage(page):
    near, far = create_run(TINY), create_run(TINY.changed({"data.coverage": 0.6, "name": "other"}))
    page.run()
    assert len(page.dataframe[0].value) == 2
    page.text_input("find_runs").set_value("tiny").run()
    assert page.dataframe[0].value["run"].tolist() == [near.config.name]
    page.text_input("find_runs").set_value("").run()
    page.slider("runs_coverage").set_value((0.5, 0.7)).run()
    assert page.dataframe[0].value["run"].tolist() == [far.config.name]
