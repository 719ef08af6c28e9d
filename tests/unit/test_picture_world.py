"""Picture runs: trained like token runs, and models like bundled ones."""

from threading import Event

import numpy as np
import pytest

from binding_core.encoders import available, card, load
from binding_core.errors import UserError
from binding_core.render import render
from binding_core.scenes import random_scene
from binding_core.training.run_config import PictureRunConfig, parse_config
from binding_core.training.runs import create_run
from binding_core.training.settings import PictureSettings, TrainConfig
from binding_core.training.train_run import train_run

TINY = PictureRunConfig(
    name="tiny pictures",
    data=PictureSettings(colours=3, shapes=4, coverage=0.7, pixels=32, by_place=True),
    training=TrainConfig(
        steps=4, batch=8, warmup_steps=1, checkpoint_every=2, report_every=2, measure_every=2
    ),
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("binding_core.training.train_run.RESULT_SCENES", 20)
        patch.setattr("binding_core.training.picture_world.PictureWorld.live_scenes", 10)
        run = create_run(TINY, folder=tmp_path_factory.mktemp("runs") / "tiny")
        assert train_run(run, stop=Event())
    return run


def test_a_run_measures_seen_and_unseen_objects_and_the_leak(trained):
    for part in ("seen", "unseen"):
        shares = trained.result[part]
        assert shares["object_recognition"]["n"] == 20
        assert shares["swap_accuracy"]["chance"] == 0.5
        assert shares["swap_accuracy_by_place"]["n"] == 20
    panel = trained.metrics[-1]["measured"]["panel"]
    assert len(panel) == len(panel[0]) >= 8
    assert np.abs(panel).max() <= 1


def test_a_run_is_a_model_from_its_first_checkpoint_on_and_again_when_it_has_learned(tmp_path):
    run = create_run(TINY)
    stop = Event()
    train_run(run, stop=stop, report=lambda metrics: stop.set())
    model_id = f"run:{run.id}"
    assert model_id in [c.id for c in available()]
    known = card(model_id)
    assert set(known.train_objects) | set(known.heldout_objects) == set(TINY.space.objects)
    assert set(known.train_objects) == set(TINY.split.train)
    picture = [render(random_scene(space=TINY.space, n_objects=2, seed=0), size=64)]
    before = load(model_id).embed_images(picture)
    assert load(model_id) is load(model_id)
    train_run(run, stop=Event(), finish=False)
    after = load(model_id).embed_images(picture)
    assert before.shape == after.shape
    assert np.allclose(np.linalg.norm(after, axis=1), 1, atol=1e-5)
    assert not np.allclose(before, after)


def test_the_data_hold_the_first_colours_and_shapes_and_never_a_heldout_object(trained):
    assert TINY.space.sizes == (3, 4)
    assert len(TINY.split.train) == 8
    assert not set(TINY.split.train) & set(TINY.split.heldout)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"coverage": 0.05}, "at least 12 are needed"),
        ({"incomplete": 0.5}, "Full captions leave nothing out"),
        ({"pixels": 48}, "multiple of 32"),
        ({"colours": 13}, "less than or equal to 12"),
    ],
)
def test_what_can_not_be_is_refused_with_the_reason(data, said):
    with pytest.raises(UserError, match=said):
        parse_config({"world": "pictures", "data": data})
