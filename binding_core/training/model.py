"""The small CLIP that the project trains: open_clip's own class, config and tokenizer."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import open_clip
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from binding_core.captions import vocabulary
from binding_core.encoders.openclip import CONFIG_NAME, MERGES_NAME
from binding_core.files import write_atomically
from binding_core.training.data import PictureBatch
from binding_core.training.loss import soft_contrastive

ARCHITECTURE = "open_clip CLIP: ResNet of 4 blocks, width 16; text transformer 2 x 128"
PREPROCESSING = "GELU, bicubic, squash, mean 0.5, std 0.25"


def merges() -> list[str]:
    """Byte-pair merges that make every word of the captions one token.

    Longer words come first, so that a short word inside a longer one ("an" in "cyan") does not
    take its letters away.
    """
    pairs: dict[str, None] = {}
    for word in sorted(vocabulary(), key=len, reverse=True):
        letters = [*word[:-1], word[-1] + "</w>"]
        for i in range(1, len(letters)):
            pairs["".join(letters[:i]) + " " + letters[i]] = None
    return list(pairs)


def write_tokenizer(folder: Path) -> None:
    """Write the merges file that open_clip's SimpleTokenizer reads as ``bpe_path``."""
    text = "\n".join(["#version: concept captions", *merges()])
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as file:  # mtime=0: same bytes each time
        file.write(text.encode())
    write_atomically(folder / MERGES_NAME, buffer.getvalue())


def model_config(*, pixels: int = 64) -> dict:
    """The contents of open_clip_config.json: architecture and preprocessing (1.9 M parameters).

    The picture side is CLIP's ResNet, one block a stage. After five minutes of training on one
    core it recognised the objects of 46 % of seen scenes; a three-layer ViT of patch 16 and width
    128 those of 1 %.
    """
    return {
        "model_cfg": {
            "embed_dim": 128,
            "vision_cfg": {
                "image_size": pixels,
                "layers": [1, 1, 1, 1],
                "width": 16,
                "head_width": 32,
            },
            "text_cfg": {
                "context_length": 26,  # six objects with colour and shape
                "vocab_size": 256 * 2 + len(merges()) + 2,
                "width": 128,
                "heads": 4,
                "layers": 2,
            },
        },
        "preprocess_cfg": {
            "mean": [0.5, 0.5, 0.5],
            "std": [0.25, 0.25, 0.25],
            "interpolation": "bicubic",
            "resize_mode": "squash",
        },
    }


def build_model(*, pixels: int = 64, seed: int) -> open_clip.CLIP:
    """The model with random weights that depend on ``seed`` alone."""
    # open_clip initialises from torch's global generator; fork_rng leaves the caller's untouched.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = open_clip.CLIP(**model_config(pixels=pixels)["model_cfg"])
    # A training step on one core takes 570 ms so, and 730 ms otherwise.
    model.visual.to(memory_format=torch.channels_last)
    return model


def write_architecture(folder: Path, *, pixels: int = 64) -> None:
    """Write config and tokenizer, so that ``folder`` lacks only the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    config = json.dumps(model_config(pixels=pixels), indent=2) + "\n"
    write_atomically(folder / CONFIG_NAME, config.encode())
    write_tokenizer(folder)


def pixels_to_input(pictures: Tensor, *, config: dict) -> Tensor:
    """uint8 (n, h, w, 3) to the normalised float (n, 3, h, w) the image encoder reads.

    In memory the channels stay last, which convolutions on a CPU are fastest with.
    """
    mean = torch.tensor(config["preprocess_cfg"]["mean"])
    std = torch.tensor(config["preprocess_cfg"]["std"])
    return ((pictures.float() / 255 - mean) / std).permute(0, 3, 1, 2)


def encode_short_texts(model: open_clip.CLIP, tokens: Tensor) -> Tensor:
    """``model.encode_text`` for texts of fewer tokens than the context length.

    The attention is causal and the embedding is read at the end-of-text token, so the padding
    behind it changes nothing; leaving it out makes training about three times faster.
    ``tokens`` (n, length) -> unit-norm (n, d).
    """
    length = tokens.shape[1]
    x = model.token_embedding(tokens) + model.positional_embedding[:length]
    x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
    x = model.ln_final(x)[torch.arange(len(tokens)), tokens.argmax(dim=-1)]
    return F.normalize(x @ model.text_projection, dim=-1)


class CaptionTokens:
    """Tokens of captions, remembered, since batches repeat the same captions."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = open_clip.get_tokenizer(
            f"local-dir:{folder}", bpe_path=str(folder / MERGES_NAME)
        )
        self._ids = lru_cache(maxsize=100_000)(self._encode)

    def _encode(self, text: str) -> tuple[int, ...]:
        t = self._tokenizer
        return (t.sot_token_id, *t.encode(text), t.eot_token_id)

    def __call__(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The token ids of each text, start and end token included."""
        return [self._ids(text) for text in texts]


def encode_captions(model: open_clip.CLIP, ids: Sequence[Sequence[int]]) -> Tensor:
    """Unit-norm embeddings (m, d) of token id sequences, computed length by length."""
    by_length: dict[int, list[int]] = {}
    for i, sequence in enumerate(ids):
        by_length.setdefault(len(sequence), []).append(i)
    parts = [
        encode_short_texts(model, torch.tensor([ids[i] for i in rows]))
        for rows in by_length.values()
    ]
    where = torch.tensor([i for rows in by_length.values() for i in rows])
    return torch.cat(parts)[where.argsort()]


class ClipLoss:
    """The loss of a batch of pictures and captions, and how the two are embedded for it.

    ``folder`` holds what :func:`write_architecture` writes.
    """

    def __init__(self, folder: Path, *, pixels: int) -> None:
        self._tokens = CaptionTokens(folder)
        self._config = model_config(pixels=pixels)

    def embed_pictures(self, model: open_clip.CLIP, pictures: Tensor) -> Tensor:
        """uint8 (n, h, w, 3) -> unit-norm (n, d)."""
        return model.encode_image(pixels_to_input(pictures, config=self._config), normalize=True)

    def embed_captions(self, model: open_clip.CLIP, captions: Sequence[str]) -> Tensor:
        """m captions -> unit-norm (m, d)."""
        return encode_captions(model, self._tokens(captions))

    def __call__(self, model: open_clip.CLIP, batch: PictureBatch) -> Tensor:
        """The loss, a scalar."""
        pictures = self.embed_pictures(model, torch.from_numpy(batch.pictures))
        return soft_contrastive(
            pictures @ self.embed_captions(model, batch.captions).T,
            torch.from_numpy(batch.truth),
            scale=model.logit_scale.exp().clamp(max=100),
            complete=torch.from_numpy(batch.complete),
        )


def hidden_matrices(model: nn.Module) -> list[nn.Parameter]:
    """The weight matrices inside the transformer blocks: what Muon is meant for."""
    return [p for name, p in model.named_parameters() if "resblocks" in name and p.ndim == 2]
