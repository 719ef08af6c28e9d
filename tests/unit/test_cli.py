import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from binding_core.__main__ import main
from binding_core.alignment.report import agreement_json, find_agreement
from binding_core.complexity.sweep import find_rows, rows_json
from binding_core.encoders import load
from binding_core.presets import DEFAULT_SCENE
from binding_core.render import render
from tests.conftest import own_files

ROOT = Path(__file__).parents[2]


def test_models_lists_cards_as_json(capsys):
    assert main(["models", "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)
    assert {"web-captions", "low-coverage", "high-coverage", "control-bag"} <= {
        c["id"] for c in cards
    }
    assert all({"id", "kind", "path", "train_objects", "heldout_objects"} <= set(c) for c in cards)
    assert main(["models"]) == 0
    assert "high-coverage" in capsys.readouterr().out


def test_swap_prints_the_agreed_keys(capsys):
    arguments = ["swap", "--model", "control-memoriser", "--scenes", "30", "--seed", "1"]
    assert main([*arguments, "--split", "all", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["swap_accuracy"] == 1.0
    assert found["n"] == 30
    low, high = found["ci95"]
    assert 0.85 < low < high <= 1.0
    assert {"object_recognition", "concept_recognition"} <= set(found)
    assert main(arguments) == 0
    assert "n = 30" in capsys.readouterr().out


@pytest.mark.parametrize("split", ["seen", "unseen"])
def test_swap_measures_a_bundled_model_on_its_own_split(capsys, split):
    arguments = ["swap", "--model", "high-coverage", "--split", split, "--scenes", "40", "--json"]
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["swap_accuracy"] > 0.8


def test_render_writes_the_renderers_pixels(tmp_path):
    (tmp_path / "s.json").write_text(DEFAULT_SCENE.model_dump_json())
    output = tmp_path / "x.png"
    assert main(["render", str(tmp_path / "s.json"), "-o", str(output), "--size", "100"]) == 0
    assert np.array_equal(
        np.asarray(Image.open(output)), np.asarray(render(DEFAULT_SCENE, size=100))
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["swap", "--model", "nothing"], "There is no model"),
        (["swap", "--model", "vit-b-32-openai"], "not on this machine"),
        (["swap", "--model", "control-bag", "--split", "seen"], "not known which objects"),
        (["swap", "--model", "control-bag", "--scenes", "0"], "a whole number from 1 on"),
        (["swap", "--model", "control-bag", "--seed", "-1"], "a whole number from 0 on"),
        (["swap", "--model", "control-bag", "--split", "some"], "invalid choice"),
        (["swap", "--model", "control-bag", "--objects", "9"], "1 to 6 objects"),
        (["swap", "--model", "control-bag", "--objects", "1"], "a whole number from 2 on"),
        (["swap"], "--model"),
        ([], "command"),
        (["nothing"], "invalid choice"),
        (["render", "absent.json", "-o", "x.png"], "No such file"),
        (["bundle", "--only", "nothing"], "not a bundled model"),
        (["bundle", "--steps", "0"], "a whole number from 1 on"),
        (["bundle", "--workers", "0"], "a whole number from 1 on"),
        (["agreement", "--models", "nothing"], "There is no model"),
        (["agreement", "--models", " , "], "names no model"),
        (["agreement", "--models", "control-bag", "--scenes", "39"], "a whole number from 40 on"),
        (["report", "--models", "control-bag"], "-o"),
        (["report", "--models", "low-coverage", "-o", "README.md/r.html"], "can't be written"),
        (["complexity", "--model", "nothing"], "There is no model"),
        (["complexity", "--model", "control-bag", "--modality", "smell"], "invalid choice"),
        (["complexity", "--model", "control-bag", "--coverages", "1.5"], "between 0 and 1"),
        (["complexity", "--model", "control-bag", "--coverages", "many"], "many"),
        (["complexity", "--model", "control-bag", "--seeds", "0.5"], "whole numbers"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_status_2(capsys, arguments, reason):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert reason in said.err
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(("name", "size"), [("x.txt", "64"), ("x.png", "9999"), ("no/x.png", "64")])
def test_render_names_what_is_wrong_with_the_output(tmp_path, capsys, name, size):
    (tmp_path / "s.json").write_text(DEFAULT_SCENE.model_dump_json())
    arguments = ["render", str(tmp_path / "s.json"), "-o", str(tmp_path / name), "--size", size]
    assert main(arguments) == 2
    assert capsys.readouterr().err


def test_it_runs_as_a_module_without_a_traceback():
    done = subprocess.run(
        [sys.executable, "-m", "binding_core", "swap", "--model", "nothing"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("There is no model")


def test_decompose_prints_the_tables_of_a_model(capsys):
    command = ["decompose", "--model", "control-product", "--scenes", "1200", "--modality", "text"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["modality"] == "text"
    assert found["n_scenes"] == 1200
    assert {row["report"]["level"] for row in found["levels"]} == {"objects", "concepts"}
    assert found["removal"][0]["name"] == "original"
    assert found["edits"]["swap colour"]["found"]["n"] > 0


def test_decompose_reads_embeddings_of_ones_own(tmp_path, capsys):
    npz, labels = own_files()
    (tmp_path / "e.npz").write_bytes(npz)
    (tmp_path / "l.csv").write_bytes(labels)
    command = ["decompose", "--embeddings", str(tmp_path / "e.npz")]
    assert main([*command, "--labels", str(tmp_path / "l.csv")]) == 0
    said = capsys.readouterr().out
    assert "200 scenes" in said
    assert "objects by least squares" in said
    assert main(command) == 2
    assert "need --labels" in capsys.readouterr().err
    (tmp_path / "l.csv").write_bytes(labels + b"\nc1,s1,c1,s1")
    assert main([*command, "--labels", str(tmp_path / "l.csv")]) == 2
    assert "201 rows of labels" in capsys.readouterr().err


def test_agreement_prints_the_pages_numbers(capsys):
    assert main(["agreement", "--models", "low-coverage,web-captions", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [report["model"] for report in found] == ["low-coverage", "web-captions"]
    for report in found:
        kept = find_agreement(report["fingerprint"])  # what the page shows
        assert report == json.loads(agreement_json(kept))
    assert main(["agreement", "--models", "web-captions"]) == 0
    assert "within captions: objects" in capsys.readouterr().out


def test_agreement_measures_what_is_not_kept(capsys):
    arguments = ["agreement", "--models", "control-memoriser", "--scenes", "200", "--seed", "3"]
    assert main([*arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["seed"], found["n_scenes"]) == (3, 200)
    assert all(row["accuracy"]["value"] == 1 for row in found["swaps"] if row["accuracy"]["n"])


def test_complexity_prints_the_pages_rows(capsys):
    arguments = ["complexity", "--model", "high-coverage", "--modality", "text", "--kept"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(rows_json(find_rows(load("high-coverage").fingerprint, "text")))
    assert {0.1, 0.3, 0.5, 0.7, 0.9} == {row["coverage"] for row in found}
    assert main(arguments) == 0
    assert "binding rank" in capsys.readouterr().out


def test_report_writes_one_document_that_asks_for_nothing(tmp_path, capsys):
    path = tmp_path / "r.html"
    assert main(["report", "--models", "web-captions,high-coverage", "-o", str(path)]) == 0
    document = path.read_text("utf-8")
    assert all(name in document for name in ("Web captions", "High coverage"))
    assert load("web-captions").fingerprint in document
    assert not re.search(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"'](?!data:)", document)
    assert str(path) in capsys.readouterr().out


def test_a_short_bundle_trains_and_publishes(tmp_path):
    """The whole way on a few steps: train, measure, write, load, and again from the checkpoint."""
    from binding_core.encoders import bundled_cards
    from binding_core.training import bundle

    out = tmp_path / "models"
    config = bundle.TrainConfig(steps=4, batch=8, warmup_steps=2, report_every=1)
    recipe = bundle.RECIPES[0]
    assert bundle.train_recipe(recipe, out=out, config=config, card_scenes=4)
    [card] = bundled_cards(out)
    assert card.id == recipe.id
    assert card.figures["unseen, 2 objects"]["swap_accuracy"]["n"] == 4
    lines = (out / recipe.id / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4]
    before = (out / recipe.id / "open_clip_model.safetensors").read_bytes()
    assert bundle.train_recipe(recipe, out=out, config=config, card_scenes=4)  # from its checkpoint
    assert (out / recipe.id / "open_clip_model.safetensors").read_bytes() == before
    # another configuration is another run: it does not go on from this one's checkpoint
    other = bundle.TrainConfig(steps=4, batch=8, warmup_steps=2, report_every=1, seed=1)
    assert bundle.train_recipe(recipe, out=out, config=other, card_scenes=4)
    assert (out / recipe.id / "open_clip_model.safetensors").read_bytes() != before
