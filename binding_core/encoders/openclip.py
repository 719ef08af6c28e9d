"""Every open_clip model, bundled, downloaded or the user's own, through one piece of code.

A model is a folder in open_clip's ``local-dir`` layout (``open_clip_config.json``,
``open_clip_model.safetensors``, tokenizer files). Nothing heavy happens before the first
embedding: torch is imported and the weights are read then, once, under a lock.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from binding_core.encoders.protocol import Reading
from binding_core.errors import UserError

if TYPE_CHECKING:
    import open_clip
    import torch

CONFIG_NAME = "open_clip_config.json"
WEIGHTS_NAME = "open_clip_model.safetensors"
MERGES_NAME = "bpe.txt.gz"  # a tokenizer of the model's own, in open_clip's bpe_path format
TOKENIZER_FILES = (  # of a Hugging Face tokenizer
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
)
MAX_CONFIG_BYTES = 100_000
# What a config may tell a tokenizer; anything else could make it run code of the folder's own.
TOKENIZER_OPTIONS = {"clean", "strip_sep_token", "reduction_mask", "additional_special_tokens"}
WORD_END = "</w>"  # what a word's last piece ends with in a merges file
CHUNK = 256  # pictures or texts a forward pass


class OpenClipEncoder:
    """One open_clip model in evaluation mode on the CPU; safe to call from several threads.

    ``preprocess`` and ``quick_gelu`` override the folder's config where the registry of public
    checkpoints knows better: a wrong activation or normalisation silently changes every result.
    With a ``random_seed`` the weights are drawn anew and those in the folder are left unread.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model_id: str,
        preprocess: dict[str, Any] | None = None,
        quick_gelu: bool | None = None,
        random_seed: int | None = None,
    ) -> None:
        self.id = model_id
        self._random_seed = random_seed
        self._folder = folder
        self._preprocess = preprocess or {}
        self._quick_gelu = quick_gelu
        self._lock = Lock()
        self._config = read_config(folder)
        self._weights = folder / WEIGHTS_NAME
        if not self._weights.is_file():
            raise UserError(f"The model folder “{folder}” has no {WEIGHTS_NAME}.")

    def random_twin(self, *, seed: int = 0) -> OpenClipEncoder:
        """The same network before any training: what its embeddings hold, nothing has taught."""
        return OpenClipEncoder(
            self._folder,
            model_id=f"{self.id}, random weights",
            preprocess=self._preprocess,
            quick_gelu=self._quick_gelu,
            random_seed=seed,
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over config, overrides, tokenizer and weights, or the seed they are drawn by."""
        digest = hashlib.sha256()
        settings = [self._config, self._preprocess, self._quick_gelu]
        drawn = self._random_seed is not None
        if drawn:
            settings.append(self._random_seed)
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for name in (MERGES_NAME, *TOKENIZER_FILES, *(() if drawn else (WEIGHTS_NAME,))):
            path = self._folder / name
            if path.exists():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:16]

    @property
    def picture_size(self) -> int:
        """Pixels a side that the network takes; larger pictures are made smaller first."""
        size = self._config["model_cfg"]["vision_cfg"].get("image_size", 224)
        return int(min(size) if isinstance(size, list) else size)

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory, so that an embedding comes at once."""
        return "_model" in self.__dict__

    @cached_property
    def _model(self) -> tuple[open_clip.CLIP, Any, Any]:
        """(model, picture preprocessing, tokenizer)."""
        import open_clip
        import torch

        if self._quick_gelu is False and self._config["model_cfg"].get("quick_gelu"):
            raise UserError(
                f"The config of “{self.id}” asks for QuickGELU, but this checkpoint was trained "
                "with GELU; the wrong activation would change every result."
            )
        source = f"local-dir:{self._folder}"
        try:
            # open_clip draws from torch's global generator; what others draw stays as it was.
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self._random_seed or 0)
                model = open_clip.create_model(
                    source,
                    load_weights=self._random_seed is None,
                    require_pretrained=self._random_seed is None,
                    weights_only=True,
                    force_quick_gelu=bool(self._quick_gelu),
                    force_preprocess_cfg=self._preprocess,
                )
            tokenizer = open_clip.get_tokenizer(source, **self._tokenizer_options())
            model.eval().requires_grad_(False)
            # Colours of a pixel side by side: convolutions on processors take half the time.
            model.visual.to(memory_format=torch.channels_last)
            settings = open_clip.transform.PreprocessCfg(**model.visual.preprocess_cfg)
            preprocess = open_clip.transform.image_transform_v2(settings, is_train=False)
        except Exception as error:  # open_clip raises many kinds for a broken checkpoint
            first_line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            raise UserError(f"The model “{self.id}” cannot be loaded: {first_line}") from error
        return model, preprocess, tokenizer

    def _tokenizer_options(self) -> dict[str, Any]:
        if (self._folder / MERGES_NAME).exists():
            return {"bpe_path": str(self._folder / MERGES_NAME)}
        if self._config["model_cfg"]["text_cfg"].get("hf_tokenizer_name"):
            return {"trust_remote_code": False, "local_files_only": True}
        return {}

    def warm_up(self) -> None:
        """Import torch and read the weights now rather than at the first embedding."""
        with self._lock:
            _ = self._model

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """n pictures of any size -> unit-norm float32 (n, d)."""

        def forward(model: open_clip.CLIP, chunk: Sequence[Image.Image]) -> torch.Tensor:
            import torch

            _, preprocess, _ = self._model
            pixels = torch.stack([preprocess(i) for i in chunk])
            pixels = pixels.contiguous(memory_format=torch.channels_last)
            return model.encode_image(pixels, normalize=True)

        return self._embed(images, forward)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """n texts -> unit-norm float32 (n, d); text beyond the context length is cut off."""

        def forward(model: open_clip.CLIP, chunk: Sequence[str]) -> torch.Tensor:
            _, _, tokenizer = self._model
            return _encode_tokens(model, tokenizer(list(chunk)))

        return self._embed(texts, forward)

    def _embed(self, items: Sequence, forward: Any) -> np.ndarray:
        with self._lock:
            model, _, _ = self._model
            import torch

            try:
                with torch.inference_mode():
                    parts = [
                        forward(model, items[i : i + CHUNK]).float().numpy()
                        for i in range(0, len(items), CHUNK)
                    ]
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                raise UserError(
                    f"The model “{self.id}” cannot embed this: its files do not fit together "
                    f"({str(error).splitlines()[0] if str(error) else type(error).__name__})."
                ) from error
        if not parts:
            width = self._config["model_cfg"]["embed_dim"]
            return np.empty((0, width), dtype=np.float32)
        return np.concatenate(parts)

    def reading(self, text: str) -> Reading:
        """Which words a closed vocabulary lacks, and whether the text is too long to be read."""
        with self._lock:
            _, _, tokenizer = self._model
        encode = getattr(tokenizer, "encode", None)  # the tokenizers of other libraries have none
        cut_off = encode is not None and len(encode(text)) + 2 > tokenizer.context_length
        words = dict.fromkeys(re.findall(r"[^\W_]+|[^\w\s,]", text.lower()))
        known = self._vocabulary
        return Reading(
            unknown_words=tuple(w for w in words if w not in known) if known else (),
            cut_off=cut_off,
        )

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        """The words of a model with merges of its own; empty for an open vocabulary."""
        path = self._folder / MERGES_NAME
        if not path.exists():
            return frozenset()
        pairs = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()[1:]
        words = {pair.replace(" ", "").removesuffix(WORD_END) for pair in pairs if WORD_END in pair}
        return frozenset(words | {"a"})  # a single letter needs no merge


def _encode_tokens(model: open_clip.CLIP, tokens: torch.Tensor) -> torch.Tensor:
    """Token numbers (n, context length) -> unit-norm embeddings (n, d).

    Where no token attends to later ones and the end token is read, what comes after it changes
    nothing: captions are short, and without their padding they take a fraction of the time.
    """
    import open_clip
    import torch

    causal = isinstance(model, open_clip.CLIP) and model.attn_mask is not None
    if not causal or model.text_pool_type != "argmax":
        return model.encode_text(tokens, normalize=True)
    length = int(tokens.argmax(dim=1).max()) + 1  # the end token has the highest number
    shorter = {
        "positional_embedding": model.positional_embedding[:length],
        "attn_mask": model.attn_mask[:length, :length],
    }
    encoded = torch.func.functional_call(model, shorter, (None, tokens[:, :length]))
    return encoded["text_features"] if isinstance(encoded, dict) else encoded[1]


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's open_clip_config.json, checked as far as loading needs it."""
    path = folder / CONFIG_NAME
    if not path.is_file():
        raise UserError(
            f"“{folder}” is not a model folder: it needs {CONFIG_NAME} and {WEIGHTS_NAME}."
        )
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise UserError(f"{path} is larger than {MAX_CONFIG_BYTES:,} bytes; it is not a config.")
    try:
        config = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error
    wanted = ("embed_dim", "vision_cfg", "text_cfg")
    model_config = config.get("model_cfg") if isinstance(config, dict) else None
    if not isinstance(model_config, dict) or not all(key in model_config for key in wanted):
        raise UserError(f"{path} lacks “model_cfg” with {', '.join(wanted)}.")
    vision, text = model_config["vision_cfg"], model_config["text_cfg"]
    if not isinstance(vision, dict) or not isinstance(text, dict):
        raise UserError(f"{path}: “vision_cfg” and “text_cfg” must be tables of settings.")
    _refuse_foreign_code(path, vision, text)
    return config


def _refuse_foreign_code(path: Path, vision: dict, text: dict) -> None:
    """UserError for settings that fetch a part from elsewhere or run a folder's own Python code."""
    options = text.get("tokenizer_kwargs") or {}
    if not isinstance(options, dict) or not set(options) <= TOKENIZER_OPTIONS:
        raise UserError(
            f"{path}: of “tokenizer_kwargs” only {', '.join(sorted(TOKENIZER_OPTIONS))} are taken."
        )
    if text.get("hf_model_name"):
        raise UserError(f"{path}: models whose text encoder comes from another hub are not loaded.")
    if not re.fullmatch(r"[A-Za-z0-9_.]*", str(vision.get("timm_model_name") or "")):
        raise UserError(f"{path}: “timm_model_name” must be a plain name, not an address.")
