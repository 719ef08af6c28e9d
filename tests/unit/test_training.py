import json
from threading import Event

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from binding_core.captions import is_true, read
from binding_core.concepts import BUNDLED_SPACE, split_objects
from binding_core.training import model as small_clip
from binding_core.training.data import PictureData, draw_batch, truth_table
from binding_core.training.loss import COMPLETE_MARGIN, soft_contrastive
from binding_core.training.trainer import (
    CHECKPOINT_NAME,
    METRICS_NAME,
    Diverged,
    TrainConfig,
    learning_rate_factor,
    train,
)

SPLIT = split_objects(BUNDLED_SPACE, coverage=0.25, seed=0)
FULL = PictureData(train_objects=SPLIT.train, captions="full")
WEB = PictureData(train_objects=SPLIT.train, captions="web", incomplete=0.7, single=0.5)

objects = st.sampled_from(BUNDLED_SPACE.objects[:30])
partial = st.tuples(
    st.sampled_from([None, "red", "orange"]), st.sampled_from([None, "circle", "square", "star"])
).filter(any)


# --- data ---------------------------------------------------------------------------------------


@given(
    scenes=st.lists(st.lists(objects, min_size=1, max_size=3), min_size=1, max_size=4),
    captions=st.lists(st.lists(partial, min_size=1, max_size=3), min_size=1, max_size=5),
)
def test_truth_table_is_truth(scenes, captions):
    expected = [[is_true(caption, scene) for caption in captions] for scene in scenes]
    assert truth_table(scenes, captions).tolist() == expected


@pytest.mark.parametrize("data", [FULL, WEB])
def test_heldout_objects_are_never_met_in_training(data):
    heldout = set(SPLIT.heldout)
    described = set()
    for step in range(20):
        for caption in draw_batch(data, size=32, seed=0, step=step).captions:
            described |= set(read(caption))
    whole = {d for d in described if None not in d}
    assert whole
    assert not whole & heldout
    assert whole <= set(SPLIT.train)


def test_full_data_bring_both_orders_queries_and_swapped_negatives():
    high = split_objects(BUNDLED_SPACE, coverage=0.9, seed=0)
    data = PictureData(train_objects=high.train, captions="full")
    batch = draw_batch(data, size=64, seed=0, step=0)
    parsed = [tuple(read(c)) for c in batch.captions]
    true_of_some = batch.truth.any(0)
    for step in range(20):
        alone = draw_batch(data, size=1, seed=1, step=step)
        true = {tuple(read(c)) for c, t in zip(alone.captions, alone.truth[0], strict=True) if t}
        assert {d[::-1] for d in true} == true
    assert {len(d) for d in parsed} == {1, 2, 3}
    negatives = [d for d, t in zip(parsed, true_of_some, strict=True) if not t]
    assert len(negatives) > 20
    assert all(None not in words for d in negatives for words in d)
    assert all(true_of_some[i] for i, d in enumerate(parsed) if len(d) == 1)


def test_web_data_bring_no_negatives_and_mostly_incomplete_captions():
    batch = draw_batch(WEB, size=128, seed=0, step=0)
    assert batch.truth.any(0).all()
    assert 0 < batch.complete.mean() < 0.6
    descriptions = [d for c in batch.captions for d in read(c)]
    whole = np.mean([None not in d for d in descriptions])
    assert 0.1 < whole < 0.6  # distinct captions: whole ones repeat less often
    complete = PictureData(train_objects=SPLIT.train, captions="web", incomplete=1.0, single=1.0)
    for caption in draw_batch(complete, size=32, seed=0, step=0).captions:
        [description] = read(caption)
        assert None in description
    assert not draw_batch(complete, size=32, seed=0, step=0).complete.any()


def test_a_batch_is_a_function_of_seed_and_step():
    one, same = (draw_batch(FULL, size=8, seed=3, step=5) for _ in range(2))
    assert np.array_equal(one.pictures, same.pictures)
    assert one.captions == same.captions
    assert not np.array_equal(one.pictures, draw_batch(FULL, size=8, seed=3, step=6).pictures)
    assert not np.array_equal(one.pictures, draw_batch(FULL, size=8, seed=4, step=5).pictures)


def test_caption_order_is_independent_of_place():
    from binding_core.scenes import random_scene
    from binding_core.training import data as module

    first_is_left = []
    rng = np.random.default_rng(0)
    for seed in range(1500):
        scene = random_scene(space=None, n_objects=2, seed=seed, allowed=SPLIT.train)
        left = min(scene.objects, key=lambda o: o.x).words
        caption = module._full_captions(scene, data=FULL, trained=frozenset(SPLIT.train), rng=rng)[
            0
        ]
        if caption[0] != caption[1]:
            first_is_left.append(caption[0] == left)
    assert abs(np.mean(first_is_left) - 0.5) < 0.045


# --- loss ---------------------------------------------------------------------------------------


def test_with_one_true_caption_each_the_loss_is_clips():
    logits = torch.randn(6, 6, generator=torch.Generator().manual_seed(0))
    target = torch.arange(6)
    clip = (
        nn.functional.cross_entropy(logits, target) + nn.functional.cross_entropy(logits.T, target)
    ) / 2
    assert soft_contrastive(
        logits, torch.eye(6, dtype=torch.bool), scale=1.0
    ).item() == pytest.approx(clip.item(), rel=1e-5)


def test_the_loss_by_hand_with_two_true_captions_and_a_negative():
    logits = torch.tensor([[2.0, 1.0, 0.0]])
    truth = torch.tensor([[True, True, False]])
    # picture to caption: each true one against the false one alone; caption to picture: certain
    by_hand = (np.log(1 + np.exp(0 - 2)) + np.log(1 + np.exp(0 - 1))) / 2 / 2
    assert soft_contrastive(logits, truth, scale=1.0).item() == pytest.approx(by_hand, rel=1e-5)
    # the first caption is complete: its similarity counts COMPLETE_MARGIN less
    complete = torch.tensor([True, False, True])
    with_margin = (np.log(1 + np.exp(-2 + COMPLETE_MARGIN)) + np.log(1 + np.exp(-1))) / 2 / 2
    found = soft_contrastive(logits, truth, scale=1.0, complete=complete)
    assert found.item() == pytest.approx(with_margin, rel=1e-5)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000))
def test_the_loss_is_finite_and_falls_when_true_captions_rise(seed):
    generator = torch.Generator().manual_seed(seed)
    truth = torch.rand(5, 9, generator=generator) < 0.3
    truth[:, 0] = True
    logits = torch.randn(5, 9, generator=generator)
    before = soft_contrastive(logits, truth, scale=1.0)
    assert torch.isfinite(before)
    assert soft_contrastive(logits + truth.float(), truth, scale=1.0) < before


# --- model --------------------------------------------------------------------------------------


def test_short_texts_are_encoded_as_open_clip_encodes_them(checkpoint_folder):
    model = small_clip.build_model(seed=0).eval()
    tokens = small_clip.CaptionTokens(checkpoint_folder)
    texts = ["a red square", "something blue", "a red square, a star and a pink heart", "a star"]
    padded = torch.zeros(len(texts), model.context_length, dtype=torch.long)
    for row, ids in zip(padded, tokens(texts), strict=True):
        row[: len(ids)] = torch.tensor(ids)
    with torch.no_grad():
        expected = model.encode_text(padded, normalize=True)
        found = small_clip.encode_captions(model, tokens(texts))
    assert torch.allclose(found, expected, atol=1e-5)


def test_training_pictures_and_the_encoders_preprocessing_are_the_same(checkpoint_folder):
    import open_clip

    from binding_core.presets import DEFAULT_SCENE
    from binding_core.render import render, render_batch

    config = small_clip.model_config()
    from_batch = small_clip.pixels_to_input(
        torch.from_numpy(render_batch([DEFAULT_SCENE], size=64)), config=config
    )
    settings_of = open_clip.transform.PreprocessCfg(size=64, **config["preprocess_cfg"])
    preprocess = open_clip.transform.image_transform_v2(settings_of, is_train=False)
    from_picture = preprocess(render(DEFAULT_SCENE, size=64))[None]
    assert torch.allclose(from_batch, from_picture, atol=1e-5)


def test_weights_depend_on_the_seed_alone():
    torch.manual_seed(7)
    one = small_clip.build_model(seed=1).state_dict()
    torch.manual_seed(8)
    before = torch.get_rng_state()
    other = small_clip.build_model(seed=1).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[k], other[k]) for k in one)
    different = small_clip.build_model(seed=2).state_dict()
    assert not torch.equal(one["visual.conv1.weight"], different["visual.conv1.weight"])


# --- trainer ------------------------------------------------------------------------------------


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.hidden = nn.Linear(4, 16)
            self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def numbers(step):
    x = torch.randn(32, 4, generator=torch.Generator().manual_seed(step))
    return x, x[:, :1] * x[:, 1:2]


def squared(model, batch):
    x, y = batch
    return ((model(x) - y) ** 2).mean()


CONFIG = TrainConfig(steps=60, warmup_steps=5, checkpoint_every=10, report_every=5)


def run(folder, *, stop=None, stream=numbers, config=CONFIG, report=lambda m: None):
    model = Regression()
    finished = train(
        model=model,
        matrices=[model.hidden.weight],
        stream=stream,
        loss=squared,
        config=config,
        folder=folder,
        stop=stop or Event(),
        report=report,
    )
    return model, finished


def lines(folder):
    return [json.loads(line) for line in (folder / METRICS_NAME).read_text().splitlines()]


def without_speed(metrics):
    return [(m["step"], m["loss"]) for m in metrics]


def test_training_learns_and_streams_its_metrics(tmp_path):
    heard = []
    _, finished = run(tmp_path, report=heard.append)
    assert finished
    metrics = lines(tmp_path)
    assert [m["step"] for m in metrics] == list(range(5, 61, 5)) == [m.step for m in heard]
    assert metrics[-1]["loss"] < metrics[0]["loss"]


class Killed(BaseException):
    """What kill -9 looks like from inside: no clean-up runs."""


@pytest.mark.parametrize("killed_at", [7, 10, 33])
def test_a_killed_run_goes_on_bit_for_bit(tmp_path, killed_at):
    whole, _ = run(tmp_path / "whole")

    def deadly(step):
        if step == killed_at:
            raise Killed
        return numbers(step)

    with pytest.raises(Killed):
        run(tmp_path / "killed", stream=deadly)
    resumed, finished = run(tmp_path / "killed")
    assert finished
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name
    # means over report intervals that a checkpoint cuts in two differ; all others are equal
    assert without_speed(lines(tmp_path / "killed")) == without_speed(lines(tmp_path / "whole"))


def test_a_stopped_run_keeps_its_place(tmp_path):
    whole, _ = run(tmp_path / "whole")
    stop = Event()

    def stopping(step):
        if step == 22:
            stop.set()
        return numbers(step)

    _, finished = run(tmp_path / "stopped", stop=stop, stream=stopping)
    assert not finished
    resumed, finished = run(tmp_path / "stopped")
    assert finished
    assert all(torch.equal(t, resumed.state_dict()[n]) for n, t in whole.state_dict().items())


def test_a_finished_run_is_not_trained_again(tmp_path):
    whole, _ = run(tmp_path)

    def forbidden(step):
        raise AssertionError("no batch is needed")

    again, finished = run(tmp_path, stream=forbidden)
    assert finished
    assert all(torch.equal(t, again.state_dict()[n]) for n, t in whole.state_dict().items())


def test_divergence_is_named_with_its_step_and_keeps_the_checkpoint(tmp_path):
    def poisoned(step):
        x, y = numbers(step)
        return (x, y * float("nan")) if step == 25 else (x, y)

    with pytest.raises(Diverged, match=r"step 25.*learning rate"):
        run(tmp_path, stream=poisoned)
    assert (tmp_path / CHECKPOINT_NAME).exists()
    assert [m["step"] for m in lines(tmp_path)][-1] == 25


def test_a_checkpoint_cut_short_is_named(tmp_path):
    from binding_core.errors import UserError

    run(tmp_path)
    path = tmp_path / CHECKPOINT_NAME
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match="cut short"):
        run(tmp_path)


def test_a_metrics_line_cut_short_does_not_keep_a_run_from_going_on(tmp_path):
    stop = Event()

    def stopping(step):
        if step == 22:
            stop.set()
        return numbers(step)

    run(tmp_path, stop=stop, stream=stopping)
    with (tmp_path / METRICS_NAME).open("a") as file:
        file.write('{"step": 25, "lo')
    _, finished = run(tmp_path)
    assert finished
    assert lines(tmp_path)[-1]["step"] == 60


def test_the_learning_rate_rises_holds_and_falls_to_nothing():
    config = TrainConfig(steps=100, warmup_steps=10, hold=0.5)
    factors = [learning_rate_factor(step, config) for step in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[9:50] == pytest.approx([1.0] * 41)
    assert factors[75] == pytest.approx(0.5)
    assert 0 < factors[-1] <= 0.02


def test_the_small_clip_learns_to_tell_its_captions_apart(tmp_path):
    """A few steps on four objects: the loss of the real model and data falls."""
    data = PictureData(train_objects=SPLIT.train[:4], captions="full", pixels=64)
    small_clip.write_architecture(tmp_path)
    tokens = small_clip.CaptionTokens(tmp_path)
    config = small_clip.model_config()
    model = small_clip.build_model(seed=0)
    heard = []

    def loss(clip, batch):
        pictures = small_clip.pixels_to_input(torch.from_numpy(batch.pictures), config=config)
        text = small_clip.encode_captions(clip, tokens(batch.captions))
        return soft_contrastive(
            clip.encode_image(pictures, normalize=True) @ text.T,
            torch.from_numpy(batch.truth),
            scale=clip.logit_scale.exp(),
            complete=torch.from_numpy(batch.complete),
        )

    train(
        model=model,
        matrices=small_clip.hidden_matrices(model),
        stream=lambda step: draw_batch(data, size=16, seed=0, step=step),
        loss=loss,
        config=TrainConfig(steps=24, warmup_steps=4, report_every=6),
        folder=tmp_path,
        stop=Event(),
        report=heard.append,
    )
    assert heard[-1].loss < 0.75 * heard[0].loss
