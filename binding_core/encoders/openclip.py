"""Every open_clip model, bundled, downloaded or the user's own, through one piece of code.

A model is a folder in open_clip's ``local-dir`` layout (``open_clip_config.json``,
``open_clip_model.safetensors``, tokenizer files). Nothing heavy happens before the first
embedding: torch is imported and the weights are read then, once, under a lock.
"""

from __future__ import annotations

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

from binding_core.captions import vocabulary
from binding_core.errors import UserError

if TYPE_CHECKING:
    import open_clip
    import torch

CONFIG_NAME = "open_clip_config.json"
WEIGHTS_NAME = "open_clip_model.safetensors"
MERGES_NAME = "bpe.txt.gz"  # a tokenizer of the model's own, in open_clip's bpe_path format
MAX_CONFIG_BYTES = 100_000
CHUNK = 256  # pictures or texts a forward pass


class OpenClipEncoder:
    """One open_clip model in evaluation mode on the CPU; safe to call from several threads.

    ``preprocess`` and ``quick_gelu`` override the folder's config where the registry of public
    checkpoints knows better: a wrong activation or normalisation silently changes every result.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model_id: str,
        preprocess: dict[str, Any] | None = None,
        quick_gelu: bool | None = None,
    ) -> None:
        self.id = model_id
        self._folder = folder
        self._preprocess = preprocess or {}
        self._quick_gelu = quick_gelu
        self._lock = Lock()
        self._config = read_config(folder)
        self._weights = folder / WEIGHTS_NAME
        if not self._weights.is_file():
            raise UserError(f"The model folder “{folder}” has no {WEIGHTS_NAME}.")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over config, overrides, tokenizer and weights."""
        digest = hashlib.sha256()
        settings = [self._config, self._preprocess, self._quick_gelu]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        for path in (self._folder / MERGES_NAME, self._weights):
            if path.exists():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:16]

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory, so that an embedding comes at once."""
        return "_model" in self.__dict__

    @cached_property
    def _model(self) -> tuple[open_clip.CLIP, Any, Any]:
        """(model, picture preprocessing, tokenizer)."""
        import open_clip

        if self._quick_gelu is False and self._config["model_cfg"].get("quick_gelu"):
            raise UserError(
                f"The config of “{self.id}” asks for QuickGELU, but this checkpoint was trained "
                "with GELU; the wrong activation would change every result."
            )
        source = f"local-dir:{self._folder}"
        try:
            model = open_clip.create_model(
                source,
                require_pretrained=True,
                weights_only=True,
                force_quick_gelu=bool(self._quick_gelu),
                force_preprocess_cfg=self._preprocess,
            )
            own_merges = self._folder / MERGES_NAME
            tokenizer = open_clip.get_tokenizer(
                source, **({"bpe_path": str(own_merges)} if own_merges.exists() else {})
            )
        except Exception as error:  # open_clip raises many kinds for a broken checkpoint
            first_line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
            raise UserError(f"The model “{self.id}” cannot be loaded: {first_line}") from error
        model.eval().requires_grad_(False)
        settings = open_clip.transform.PreprocessCfg(**model.visual.preprocess_cfg)
        return model, open_clip.transform.image_transform_v2(settings, is_train=False), tokenizer

    def warm_up(self) -> None:
        """Import torch and read the weights now rather than at the first embedding."""
        with self._lock:
            _ = self._model

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """n pictures of any size -> unit-norm float32 (n, d)."""

        def forward(model: open_clip.CLIP, chunk: Sequence[Image.Image]) -> torch.Tensor:
            import torch

            _, preprocess, _ = self._model
            return model.encode_image(torch.stack([preprocess(i) for i in chunk]), normalize=True)

        return self._embed(images, forward)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """n texts -> unit-norm float32 (n, d); text beyond the context length is cut off."""

        def forward(model: open_clip.CLIP, chunk: Sequence[str]) -> torch.Tensor:
            _, _, tokenizer = self._model
            return model.encode_text(tokenizer(list(chunk)), normalize=True)

        return self._embed(texts, forward)

    def _embed(self, items: Sequence, forward: Any) -> np.ndarray:
        with self._lock:
            model, _, _ = self._model
            import torch

            with torch.inference_mode():
                parts = [
                    forward(model, items[i : i + CHUNK]).float().numpy()
                    for i in range(0, len(items), CHUNK)
                ]
        if not parts:
            width = self._config["model_cfg"]["embed_dim"]
            return np.empty((0, width), dtype=np.float32)
        return np.concatenate(parts)

    def unknown_words(self, text: str) -> list[str]:
        """Words outside the vocabulary of a model that has a closed one; none for the others."""
        if not (self._folder / MERGES_NAME).exists():
            return []
        known = set(vocabulary())
        return [w for w in dict.fromkeys(re.findall(r"[^\W_]+", text.lower())) if w not in known]


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
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from error
    wanted = ("embed_dim", "vision_cfg", "text_cfg")
    model_config = config.get("model_cfg") if isinstance(config, dict) else None
    if not isinstance(model_config, dict) or not all(key in model_config for key in wanted):
        raise UserError(f"{path} lacks “model_cfg” with {', '.join(wanted)}.")
    return config
