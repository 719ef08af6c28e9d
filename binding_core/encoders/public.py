"""The registry of public checkpoints, and how one gets onto this machine.

Each entry names activation and preprocessing explicitly, since a wrong one changes every result
without an error. Files come from the Hugging Face hub into its ordinary cache, so that a model
another program has downloaded is found, and are loaded as a ``local-dir`` folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event
from typing import Any, Literal

from binding_core.encoders.openclip import CONFIG_NAME, WEIGHTS_NAME
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.settings import offline

OPENAI_MEAN, OPENAI_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
HALF = (0.5, 0.5, 0.5)
HUB_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
PROBE_TIMEOUT_S = 4  # a hub that does not answer by then counts as not reachable
REQUEST_TIMEOUT_S = 10  # for each further question
POLL_S = 0.25  # between two looks at a download
FETCH = """
import sys
from huggingface_hub import hf_hub_download
for name in sys.argv[2:]:
    hf_hub_download(sys.argv[1], name)
"""


@dataclass(frozen=True, kw_only=True)
class PublicCheckpoint:
    """A checkpoint on the Hugging Face hub in open_clip's layout."""

    id: str
    name: str
    repo: str  # on the hub
    architecture: str  # open_clip's name
    activation: Literal["QuickGELU", "GELU"]
    pixels: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Literal["bicubic", "bilinear"]
    resize_mode: Literal["shortest", "squash"]
    megabytes: int  # of the weights file, about
    licence: str
    trained_on: str
    own_tokenizer: bool = False  # reads HUB_TOKENIZER_FILES from the repository

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the repository that loading needs."""
        return (CONFIG_NAME, WEIGHTS_NAME, *(HUB_TOKENIZER_FILES if self.own_tokenizer else ()))

    @property
    def preprocess(self) -> dict[str, Any]:
        """open_clip's preprocess_cfg."""
        return {
            "size": self.pixels,
            "mean": self.mean,
            "std": self.std,
            "interpolation": self.interpolation,
            "resize_mode": self.resize_mode,
        }


PUBLIC_CHECKPOINTS = (
    PublicCheckpoint(
        id="vit-b-32-openai",
        name="CLIP ViT-B/32 (OpenAI)",
        repo="timm/vit_base_patch32_clip_224.openai",
        architecture="ViT-B-32-quickgelu",
        activation="QuickGELU",
        pixels=224,
        mean=OPENAI_MEAN,
        std=OPENAI_STD,
        interpolation="bicubic",
        resize_mode="shortest",
        megabytes=605,
        licence="MIT",
        trained_on="400 M image-text pairs (WIT, not public)",
    ),
    PublicCheckpoint(
        id="vit-b-32-laion2b",
        name="CLIP ViT-B/32 (LAION-2B)",
        repo="laion/CLIP-ViT-B-32-laion2B-s34B-b79K",
        architecture="ViT-B-32",
        activation="GELU",
        pixels=224,
        mean=OPENAI_MEAN,
        std=OPENAI_STD,
        interpolation="bicubic",
        resize_mode="shortest",
        megabytes=605,
        licence="MIT",
        trained_on="LAION-2B English, 34 billion samples seen",
    ),
    PublicCheckpoint(
        id="vit-b-16-datacomp-xl",
        name="CLIP ViT-B/16 (DataComp-XL)",
        repo="laion/CLIP-ViT-B-16-DataComp.XL-s13B-b90K",
        architecture="ViT-B-16",
        activation="GELU",
        pixels=224,
        mean=OPENAI_MEAN,
        std=OPENAI_STD,
        interpolation="bicubic",
        resize_mode="shortest",
        megabytes=599,
        licence="MIT",
        trained_on="DataComp-1B, 13 billion samples seen",
    ),
    PublicCheckpoint(
        id="mobileclip2-s0",
        name="MobileCLIP2-S0",
        repo="timm/MobileCLIP2-S0-OpenCLIP",
        architecture="MobileCLIP2-S0",
        activation="GELU",
        pixels=256,
        mean=(0.0, 0.0, 0.0),
        std=(1.0, 1.0, 1.0),
        interpolation="bilinear",
        resize_mode="shortest",
        megabytes=297,
        licence="Apple AMLR",
        trained_on="DFNDR-2B",
    ),
    PublicCheckpoint(
        id="tinyclip-vit-m-16",
        name="TinyCLIP ViT-M/16 (YFCC-15M)",
        repo="timm/vit_medium_patch16_clip_224.tinyclip_yfcc15m",
        architecture="ViT-M-16 with a 6-layer text encoder",
        activation="GELU",
        pixels=224,
        mean=OPENAI_MEAN,
        std=OPENAI_STD,
        interpolation="bicubic",
        resize_mode="shortest",
        megabytes=166,
        licence="MIT",
        trained_on="YFCC-15M, distilled from a larger CLIP",
    ),
    PublicCheckpoint(
        id="siglip2-b-32-256",
        name="SigLIP 2 B/32, 256 px",
        repo="timm/ViT-B-32-SigLIP2-256",
        architecture="ViT-B-32-SigLIP2-256",
        activation="GELU",
        pixels=256,
        mean=HALF,
        std=HALF,
        interpolation="bicubic",
        resize_mode="squash",
        megabytes=1507,
        licence="Apache 2.0",
        trained_on="WebLI, with a sigmoid loss",
        own_tokenizer=True,
    ),
)


def public_checkpoint(model_id: str) -> PublicCheckpoint | None:
    """The registry's entry of that id, if there is one."""
    return next((c for c in PUBLIC_CHECKPOINTS if c.id == model_id), None)


def cached_folder(checkpoint: PublicCheckpoint) -> Path | None:
    """Where a checkpoint lies in the local hub cache; None when a file of it is missing."""
    from huggingface_hub import try_to_load_from_cache

    paths = [try_to_load_from_cache(checkpoint.repo, name) for name in checkpoint.files]
    if not all(isinstance(path, str) for path in paths):
        return None
    return Path(str(paths[0])).parent


def card_of(checkpoint: PublicCheckpoint) -> ModelCard:
    """What is known of a checkpoint, and where it lies when it is on this machine."""
    folder = cached_folder(checkpoint)
    return ModelCard(
        id=checkpoint.id,
        name=checkpoint.name,
        kind="public",
        summary=f"A public model; {checkpoint.megabytes} MB to download once.",
        architecture=checkpoint.architecture,
        licence=checkpoint.licence,
        trained_on=checkpoint.trained_on,
        path=str(folder) if folder else None,
        megabytes=checkpoint.megabytes,
        preprocessing=(
            f"{checkpoint.pixels} px, {checkpoint.activation}, {checkpoint.interpolation}, "
            f"{checkpoint.resize_mode}, mean {_short(checkpoint.mean)}, "
            f"std {_short(checkpoint.std)}"
        ),
        source=f"https://huggingface.co/{checkpoint.repo}",
    )


def _short(values: tuple[float, ...]) -> str:
    return "/".join(f"{value:.3g}" for value in values)


def by_hand(checkpoint: PublicCheckpoint) -> str:
    """What to download, and where to put it, on a machine without network."""
    from huggingface_hub import constants

    return (
        f"On a machine with network run “hf download {checkpoint.repo} "
        f"{' '.join(checkpoint.files)}”, then copy the folder "
        f"models--{checkpoint.repo.replace('/', '--')} of its hub cache into "
        f"{constants.HF_HUB_CACHE} here."
    )


def download(
    checkpoint: PublicCheckpoint,
    *,
    stop: Event,
    report: Callable[[int, int], None],
) -> Path | None:
    """Fetch a checkpoint's missing files into the hub cache; its folder, or None when stopped.

    ``report`` hears (bytes done, bytes in all) several times a second. UserError when the hub
    cannot be reached, forbids the download, or the disk is full.
    """
    if offline():
        raise UserError(
            f"The app is set to stay offline, so {checkpoint.name} is not downloaded. "
            + by_hand(checkpoint)
        )
    total = _size_on_hub(checkpoint)
    before = _bytes_here(checkpoint)  # of other revisions and formats, perhaps
    # In a process of its own: ending it is the one cancel that works at once whatever way the
    # library fetches, and what was fetched so far is kept.
    command = [sys.executable, "-c", FETCH, checkpoint.repo, *checkpoint.files]
    with TemporaryFile("w+") as messages:
        process = subprocess.Popen(  # noqa: S603 - our interpreter, a repository of the registry
            command,
            stdout=messages,
            stderr=messages,
            env={**os.environ, "HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        )
        while process.poll() is None:
            report(max(0, min(_bytes_here(checkpoint) - before, total)), total)
            if stop.wait(POLL_S):
                process.terminate()
                process.wait()
                return None
        messages.seek(0)
        said = messages.read().strip().splitlines()
    folder = cached_folder(checkpoint)
    if process.returncode != 0 or folder is None:
        reason = said[-1].split(": ", 1)[-1] if said else "the download ended early."
        raise UserError(f"{checkpoint.name} was not downloaded: {reason}")
    report(total, total)
    return folder


def _size_on_hub(checkpoint: PublicCheckpoint) -> int:
    """Bytes of all files, as the hub tells them; the first question, and so the one that fails."""
    from huggingface_hub import constants, get_hf_file_metadata, get_session, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    try:
        # The library itself would ask an unreachable hub again and again for minutes.
        get_session().head(constants.ENDPOINT, timeout=PROBE_TIMEOUT_S)
        urls = [hf_hub_url(checkpoint.repo, name) for name in checkpoint.files]
        return sum(get_hf_file_metadata(u, timeout=REQUEST_TIMEOUT_S).size or 0 for u in urls)
    except HfHubHTTPError as error:
        raise UserError(
            f"The hub answered with status {error.response.status_code} for {checkpoint.repo}; "
            "nothing was downloaded."
        ) from error
    except Exception as error:  # each HTTP library has its own kind for "no connection"
        raise UserError(
            f"{checkpoint.name} was not downloaded: the hub cannot be reached from this machine. "
            + by_hand(checkpoint)
        ) from error


def _bytes_here(checkpoint: PublicCheckpoint) -> int:
    """Bytes of the repository in the local hub cache, unfinished files included."""
    from huggingface_hub import constants

    repo = Path(constants.HF_HUB_CACHE) / f"models--{checkpoint.repo.replace('/', '--')}"
    try:
        return sum(f.stat().st_size for f in (repo / "blobs").iterdir())
    except OSError:  # not there yet, or a file was renamed between listing and looking
        return 0
