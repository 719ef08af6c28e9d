import json
import socket
import time
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from huggingface_hub import constants

from binding_core.encoders import available, forget, load, public
from binding_core.encoders.openclip import OpenClipEncoder
from binding_core.encoders.public import PUBLIC_CHECKPOINTS, cached_folder, card_of, download
from binding_core.errors import UserError
from binding_core.jobs import Job
from binding_core.settings import Settings, offline, read_settings, save_settings
from tests.unit.hub import Hub

TINY = replace(
    PUBLIC_CHECKPOINTS[1],
    id="tiny-public",
    repo="someone/tiny-clip",
    pixels=64,
    mean=(0.5, 0.5, 0.5),
    std=(0.25, 0.25, 0.25),
    resize_mode="squash",
)


@pytest.fixture
def hub(checkpoint_folder, monkeypatch):
    files = {f.name: f.read_bytes() for f in checkpoint_folder.iterdir()}
    server = Hub(TINY.repo, files, chunk_delay=0.1)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        server.url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    yield server
    server.close()


def test_the_registry_names_everything_that_changes_a_result():
    ids = {c.id for c in PUBLIC_CHECKPOINTS}
    assert len(ids) == len(PUBLIC_CHECKPOINTS) >= 6
    by_repo = {c.repo: c for c in PUBLIC_CHECKPOINTS}
    assert by_repo["timm/vit_base_patch32_clip_224.openai"].activation == "QuickGELU"
    for checkpoint in PUBLIC_CHECKPOINTS:
        card = card_of(checkpoint)
        assert card.path is None
        assert checkpoint.activation in card.preprocessing
        assert checkpoint.resize_mode in card.preprocessing


def test_the_registry_agrees_with_open_clip_where_open_clip_knows():
    """open_clip's own table names mean, std, interpolation, resize mode and activation."""
    from open_clip.pretrained import get_pretrained_cfg, list_pretrained

    known = {}
    for name, tag in list_pretrained():
        config = get_pretrained_cfg(name, tag)
        known.setdefault(config.get("hf_hub", "").strip("/"), (name, config))
    checked = 0
    for checkpoint in PUBLIC_CHECKPOINTS:
        if checkpoint.repo not in known:
            continue
        name, config = known[checkpoint.repo]
        assert tuple(config["mean"]) == checkpoint.mean, name
        assert tuple(config["std"]) == checkpoint.std, name
        assert config["interpolation"] == checkpoint.interpolation, name
        assert config["resize_mode"] == checkpoint.resize_mode, name
        assert bool(config.get("quick_gelu")) == (checkpoint.activation == "QuickGELU"), name
        checked += 1
    assert checked == 5  # all but TinyCLIP, which open_clip does not list


def test_a_checkpoint_is_downloaded_with_progress_and_loads(hub, checkpoint_folder, monkeypatch):
    heard = []
    folder = download(TINY, stop=Event(), report=lambda done, total: heard.append((done, total)))
    assert folder == cached_folder(TINY)
    names = ("open_clip_config.json", "open_clip_model.safetensors")
    size = sum((checkpoint_folder / name).stat().st_size for name in names)
    assert heard[-1] == (size, size)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    asked = len(hub.requests)
    # on this machine now: loading asks nobody
    monkeypatch.setattr(public, "PUBLIC_CHECKPOINTS", (TINY,))
    monkeypatch.setattr("binding_core.encoders.PUBLIC_CHECKPOINTS", (TINY,))
    # a public model reads the standard CLIP vocabulary; this one brings merges of its own
    from shutil import copy

    copy(checkpoint_folder / "bpe.txt.gz", folder / "bpe.txt.gz")
    rows = load("tiny-public").embed_texts(["a red square"])
    local = OpenClipEncoder(checkpoint_folder, model_id="x").embed_texts(["a red square"])
    assert np.allclose(rows, local, atol=1e-6)
    assert len(hub.requests) == asked
    forget("tiny-public")


def test_a_cancelled_download_stops_soon_and_goes_on_later(hub):
    started = Event()

    def work(stop, report):
        def heard(done, total):
            report(done, total)
            if any("GET" in r and "safetensors" in r for r in hub.requests):
                started.set()

        return download(TINY, stop=stop, report=heard) is not None

    job = Job(work, name="test")
    assert started.wait(20)
    job.stop()
    assert job.wait(3).state == "stopped"
    assert cached_folder(TINY) is None
    assert Job(work, name="test").wait(60).state == "done"
    assert cached_folder(TINY) is not None


def test_without_network_it_says_so_at_once_and_how_to_do_without(monkeypatch):
    with socket.socket() as free:  # a port that nobody listens on
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    start = time.monotonic()
    with pytest.raises(UserError, match=r"cannot be reached.*hf download someone/tiny-clip"):
        download(TINY, stop=Event(), report=lambda *_: None)
    assert time.monotonic() - start < public.PROBE_TIMEOUT_S + 2


def test_a_hub_that_never_answers_does_not_hang(monkeypatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(public, "PROBE_TIMEOUT_S", 1)
        start = time.monotonic()
        with pytest.raises(UserError, match="cannot be reached"):
            download(TINY, stop=Event(), report=lambda *_: None)
        assert time.monotonic() - start < 5


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_passed_on(hub, status):
    hub.status = status
    with pytest.raises(UserError, match=TINY.repo):
        download(TINY, stop=Event(), report=lambda *_: None)


def test_the_offline_switch_and_the_environment_forbid_every_question(hub, monkeypatch):
    save_settings(Settings(stay_offline=True))
    assert offline()
    with pytest.raises(UserError, match="stay offline"):
        download(TINY, stop=Event(), report=lambda *_: None)
    save_settings(Settings())
    assert not offline()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="stay offline"):
        download(TINY, stop=Event(), report=lambda *_: None)
    assert hub.requests == []


def test_damaged_settings_fall_back_to_the_defaults(tmp_path):
    save_settings(Settings(stay_offline=True))
    [path] = (tmp_path / "data").iterdir()
    path.write_text("{")
    assert read_settings() == Settings()


def test_listing_models_asks_nobody(hub):
    cards = available()
    assert {c.kind for c in cards} >= {"public", "control"}
    json.dumps([c.model_dump() for c in cards])
    assert hub.requests == []


def test_a_model_that_is_not_here_is_named():
    with pytest.raises(UserError, match="not on this machine"):
        load("vit-b-32-openai")
    with pytest.raises(UserError, match=r"There is no model .*control-bag"):
        load("nothing")


# --- jobs ---------------------------------------------------------------------------------------


def test_a_job_reports_ends_and_fails_in_words(caplog):
    seen = Event()

    def counting(stop, report):
        for i in range(1000):
            report(i, 1000)
            seen.set()
            if stop.wait(0.01):
                return False
        return True

    job = Job(counting, name="counting")
    assert seen.wait(5)
    assert job.snapshot.state == "running"
    job.stop()
    assert job.wait(5).state == "stopped"
    assert 0 <= job.snapshot.share < 1

    def refused(stop, report):
        raise UserError("This cannot be done.")

    def broken(stop, report):
        raise ZeroDivisionError

    assert Job(refused, name="refused").wait(5).message == "This cannot be done."
    failed = Job(broken, name="broken").wait(5)
    assert failed.state == "failed"
    assert "log" in failed.message
    assert "ZeroDivisionError" in caplog.text
