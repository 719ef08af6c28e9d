import json
import pickle
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from binding_core.captions import describe, vocabulary
from binding_core.encoders.openclip import OpenClipEncoder, read_config
from binding_core.encoders.own import add_own_model, own_cards, remove_own_model
from binding_core.encoders.protocol import Reading
from binding_core.errors import UserError
from binding_core.files import check_safetensors
from binding_core.presets import PRESETS
from binding_core.render import render

CAPTIONS = ["a red square and a blue circle", "a star", "something pink"]


@pytest.fixture
def folder(checkpoint_folder, tmp_path):
    """A copy of the checkpoint that a test may break."""
    return shutil.copytree(checkpoint_folder, tmp_path / "model")


def pictures(n=5, size=224):
    scenes = list(PRESETS.values())
    return [render(scenes[i % len(scenes)], size=size) for i in range(n)]


def test_embeddings_are_unit_norm_float32(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    assert not encoder.loaded
    for rows in (encoder.embed_images(pictures()), encoder.embed_texts(CAPTIONS)):
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)
    assert encoder.loaded
    assert encoder.embed_images([]).shape == encoder.embed_texts([]).shape == (0, 128)


def test_rows_do_not_depend_on_their_neighbours(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    together = encoder.embed_images(pictures())
    alone = np.concatenate([encoder.embed_images([p]) for p in pictures()])
    assert together == pytest.approx(alone, abs=1e-5)


def test_captions_without_their_padding_give_the_same_rows(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    texts = [*CAPTIONS, "a " * 100]
    for some in ([text] for text in texts):  # each with its own length
        model, _, tokenizer = encoder._model
        with torch.inference_mode():
            padded = model.encode_text(tokenizer(some), normalize=True).numpy()
        assert encoder.embed_texts(some) == pytest.approx(padded, abs=1e-6)


def test_pictures_of_any_size_and_mode_are_taken(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    odd = [Image.new("L", (300, 10)), Image.new("RGBA", (1, 1)), Image.new("P", (64, 64))]
    assert encoder.embed_images(odd).shape == (3, 128)


def test_many_threads_get_the_same_rows(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    found = {}

    def work(i):
        found[i] = (encoder.embed_images(pictures()), encoder.embed_texts(CAPTIONS))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 6
    for images, texts in found.values():
        assert np.array_equal(images, found[0][0])
        assert np.array_equal(texts, found[0][1])


def test_embedding_leaves_torch_as_it_was(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    rows = encoder.embed_texts(CAPTIONS)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    # open_clip draws random weights before it reads the real ones; the rows do not depend on them
    torch.manual_seed(3)
    again = OpenClipEncoder(checkpoint_folder, model_id="tiny").embed_texts(CAPTIONS)
    assert np.array_equal(rows, again)


def test_every_word_is_one_token_and_others_are_named(checkpoint_folder):
    encoder = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    encoder.warm_up()
    tokenizer = encoder._model[2]
    for word in vocabulary():
        assert len(tokenizer.encode(word)) == 1, word
    six = describe([(c, "hourglass") for c in ("red", "blue", "pink", "gray", "cyan", "white")])
    assert len(tokenizer.encode(six)) + 2 <= tokenizer.context_length
    assert encoder.reading("a Red square, a dog and a red dog!").unknown_words == ("dog", "!")
    assert encoder.reading("a red square") == Reading()
    assert not encoder.reading(six).cut_off
    assert encoder.reading(f"{six} and a star").cut_off
    assert encoder._vocabulary == set(vocabulary())


def test_fingerprints_follow_weights_and_preprocessing(folder, checkpoint_folder):
    same = OpenClipEncoder(folder, model_id="a").fingerprint
    assert same == OpenClipEncoder(checkpoint_folder, model_id="b").fingerprint
    resized = OpenClipEncoder(folder, model_id="a", preprocess={"interpolation": "bilinear"})
    assert resized.fingerprint != same
    weights = folder / "open_clip_model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert OpenClipEncoder(folder, model_id="a").fingerprint != same


def test_the_registry_decides_activation_and_preprocessing(folder):
    plain = OpenClipEncoder(folder, model_id="a")
    quick = OpenClipEncoder(folder, model_id="a", quick_gelu=True)
    assert not np.allclose(plain.embed_texts(CAPTIONS), quick.embed_texts(CAPTIONS), atol=1e-4)
    darker = OpenClipEncoder(folder, model_id="a", preprocess={"mean": (0.9, 0.9, 0.9)})
    assert not np.allclose(
        plain.embed_images(pictures(1)), darker.embed_images(pictures(1)), atol=1e-4
    )
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["quick_gelu"] = True
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="QuickGELU"):
        OpenClipEncoder(folder, model_id="a", quick_gelu=False).embed_texts(CAPTIONS)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (None, "not a model folder"),
        ("{", "not valid JSON"),
        ("[]", "lacks"),
        ('{"model_cfg": {"embed_dim": 3}}', "lacks"),
        (" " * 200_000, "larger than"),
    ],
)
def test_broken_configs_are_named(folder, config, reason):
    path = folder / "open_clip_config.json"
    path.unlink()
    if config is not None:
        path.write_text(config)
    with pytest.raises(UserError, match=reason):
        read_config(folder)


def test_missing_cut_and_foreign_weights_are_named(folder):
    weights = folder / "open_clip_model.safetensors"
    content = weights.read_bytes()
    for broken in (content[: len(content) // 2], content[:5], b"", pickle.dumps({"a": 1})):
        weights.write_bytes(broken)
        with pytest.raises(UserError, match=r"safetensors|cut short"):
            check_safetensors(weights)
        with pytest.raises(UserError, match="cannot be loaded"):
            OpenClipEncoder(folder, model_id="a").embed_texts(["a"])
    weights.unlink()
    with pytest.raises(UserError, match="has no"):
        OpenClipEncoder(folder, model_id="a")


def test_weights_of_another_architecture_are_refused(folder):
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["layers"] = 3
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="cannot be loaded"):
        OpenClipEncoder(folder, model_id="a").embed_texts(["a"])


# --- a user's own models ------------------------------------------------------------------------


def test_a_folder_becomes_an_own_model_and_goes_again(checkpoint_folder):
    from binding_core.encoders import card, forget, load

    added = add_own_model(checkpoint_folder)
    assert added.id == "own:tiny"
    assert [c.id for c in own_cards()] == ["own:tiny"]
    bundled_way = OpenClipEncoder(checkpoint_folder, model_id="x").embed_texts(CAPTIONS)
    assert np.array_equal(load("own:tiny").embed_texts(CAPTIONS), bundled_way)
    assert add_own_model(checkpoint_folder).id == "own:tiny-2"
    remove_own_model("own:tiny")
    assert [c.id for c in own_cards()] == ["own:tiny-2"]
    assert checkpoint_folder.exists()
    with pytest.raises(UserError, match="There is no model"):
        card("own:tiny")
    remove_own_model("own:../../elsewhere")  # no such model: nothing happens
    forget("own:tiny")


def test_a_weights_file_needs_a_known_architecture(checkpoint_folder, tmp_path):
    weights = tmp_path / "w.safetensors"
    shutil.copy(checkpoint_folder / "open_clip_model.safetensors", weights)
    with pytest.raises(UserError, match="name of its open_clip architecture"):
        add_own_model(weights)
    with pytest.raises(UserError, match="knows no architecture"):
        add_own_model(weights, architecture="ViT-Z-99")
    card = add_own_model(weights, architecture="ViT-B-32")
    assert card.id == "own:w"
    with pytest.raises(
        UserError, match="cannot be loaded"
    ):  # its tensors do not fit, and it says so
        OpenClipEncoder(own_models(card), model_id=card.id).embed_texts(["a"])
    assert weights


def own_models(card):
    from pathlib import Path

    return Path(card.path)


@pytest.mark.parametrize("name", ["weights.bin", "weights.pt", "weights.ckpt", "nothing"])
def test_other_formats_are_not_opened(tmp_path, name):
    path = tmp_path / name
    if name != "nothing":

        class Bomb:
            def __reduce__(self):
                return (pytest.fail, ("it was unpickled",))

        path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(UserError, match="not opened"):
        add_own_model(path, architecture="ViT-B-32")
    assert own_cards() == []


def test_only_the_apps_own_copies_are_deleted(checkpoint_folder, tmp_path):
    by_hand = tmp_path / "data" / "models" / "mine"
    shutil.copytree(checkpoint_folder, by_hand)
    assert [c.id for c in own_cards()] == ["own:mine"]
    with pytest.raises(UserError, match="put there by hand"):
        remove_own_model("own:mine")
    assert (by_hand / "open_clip_model.safetensors").exists()
    upper = shutil.copytree(checkpoint_folder, tmp_path / "MINE")
    assert add_own_model(upper).id == "own:MINE-2"  # one name on disks that ignore case
    assert by_hand.exists()


def test_a_copy_that_fails_leaves_nothing_behind(checkpoint_folder, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copy", full)
    with pytest.raises(UserError, match="No space left"):
        add_own_model(checkpoint_folder)
    assert own_cards() == []
    assert list((tmp_path / "data" / "models").iterdir()) == []


@pytest.mark.parametrize("path", ["~nobody-of-that-name/x", "x" * 5000, "/proc/1/root/x"])
def test_impossible_paths_are_named(path):
    with pytest.raises(UserError):
        add_own_model(Path(path))


EVIL = """
raise SystemExit("the folder's own code was run")
"""


@pytest.mark.parametrize(
    ("part", "setting", "reason"),
    [
        ("text_cfg", {"tokenizer_kwargs": {"trust_remote_code": True}}, "tokenizer_kwargs"),
        ("text_cfg", {"hf_model_name": "someone/else"}, "another hub"),
        ("vision_cfg", {"timm_model_name": "hf-hub:someone/else"}, "plain name"),
    ],
)
def test_a_folder_cannot_run_its_own_code_or_fetch_parts(folder, part, setting, reason):
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"][part] |= setting
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=reason):
        add_own_model(folder)


def test_a_tokenizer_of_another_library_runs_no_code_of_the_folder(folder):
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"]["hf_tokenizer_name"] = "x"
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    (folder / "bpe.txt.gz").unlink()
    (folder / "evil.py").write_text(EVIL)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}})
    )
    with pytest.raises(UserError, match="cannot be loaded"):
        OpenClipEncoder(folder, model_id="a").embed_texts(["a red square"])


@pytest.mark.parametrize(
    "setting", [{"resize_mode": "stretch"}, {"mean": ["x", 1, 1]}, {"size": -3}, {"nothing": 1}]
)
def test_impossible_preprocessing_is_named(folder, setting):
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["preprocess_cfg"] |= setting
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    encoder = OpenClipEncoder(folder, model_id="a")
    if setting in ({"size": -3}, {"nothing": 1}):  # open_clip itself passes over these
        assert encoder.embed_images(pictures(1)).shape == (1, 128)
        return
    with pytest.raises(UserError, match=r"cannot be loaded|cannot embed"):
        encoder.embed_images(pictures(1))


def test_a_tokenizer_that_does_not_fit_the_model_is_named(folder):
    (folder / "bpe.txt.gz").unlink()  # then the tokenizer is CLIP's, with 49,408 words
    with pytest.raises(UserError, match="do not fit together"):
        OpenClipEncoder(folder, model_id="a").embed_texts(["a photograph"])


def test_a_tokenizer_of_the_transformers_library_is_read_from_the_folder(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "</s>": 1, "<unk>": 2, "a": 3, "red": 4, "square": 5}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = json.loads((folder / "open_clip_config.json").read_text())
    config["model_cfg"]["text_cfg"] |= {
        "hf_tokenizer_name": "x",
        "tokenizer_kwargs": {"clean": "canonicalize"},
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    (folder / "bpe.txt.gz").unlink()
    encoder = OpenClipEncoder(folder, model_id="a")
    assert encoder.embed_texts(["a red square", "a square"]).shape == (2, 128)
    before = encoder.fingerprint
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + " ")
    assert OpenClipEncoder(folder, model_id="a").fingerprint != before


def test_a_random_twin_is_the_same_network_with_weights_of_a_seed_alone(checkpoint_folder):
    model = OpenClipEncoder(checkpoint_folder, model_id="tiny")
    twin, again, other = (model.random_twin(seed=seed) for seed in (1, 1, 2))
    assert twin.fingerprint == again.fingerprint
    assert len({e.fingerprint for e in (model, twin, other)}) == 3
    texts = ["a red square", "a blue circle"]
    before = torch.random.get_rng_state()
    rows = twin.embed_texts(texts)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(rows, again.embed_texts(texts))
    assert rows.shape == model.embed_texts(texts).shape
    assert not np.allclose(rows, other.embed_texts(texts), atol=0.01)
    assert not np.allclose(rows, model.embed_texts(texts), atol=0.01)
