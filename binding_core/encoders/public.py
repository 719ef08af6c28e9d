"""The registry of public checkpoints, and how one gets onto this machine.

Each entry names activation and preprocessing explicitly, since a wrong one changes every result
without an error. Files come from the Hugging Face hub into its ordinary cache, so that a model
another program has downloaded is found, and are loaded as a ``local-dir`` folder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal

from binding_core.encoders.openclip import CONFIG_NAME, WEIGHTS_NAME
from binding_core.encoders.protocol import ModelCard
from binding_core.errors import UserError
from binding_core.settings import offline

OPENAI_MEAN, OPENAI_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
HALF = (0.5, 0.5, 0.5)
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
PROBE_TIMEOUT_S = 4  # a hub that does not answer by then counts as not reachable
REQUEST_TIMEOUT_S = 10  # for each of the download's own questions


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
    own_tokenizer: bool = False  # reads TOKENIZER_FILES from the repository

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the repository that loading needs."""
        return (CONFIG_NAME, WEIGHTS_NAME, *(TOKENIZER_FILES if self.own_tokenizer else ()))

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

    ``report`` hears (bytes done, bytes in all) of the file under way. UserError when the hub
    cannot be reached, forbids the download, or the disk is full.
    """
    if offline():
        raise UserError(
            f"The app is set to stay offline, so {checkpoint.name} is not downloaded. "
            + by_hand(checkpoint)
        )
    from huggingface_hub import constants, get_session, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError
    from tqdm.auto import tqdm

    class Stopped(Exception):
        """Carries a cancel out of the library's download loop."""

    class Progress(tqdm):
        """Hands the library's progress on, and ends the download when it is cancelled."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **{**kwargs, "disable": True})
            self.total_bytes = int(kwargs.get("total") or 0)
            self.done_bytes = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> None:
            self.done_bytes += int(n or 0)
            report(self.done_bytes, self.total_bytes)
            if stop.is_set():
                raise Stopped

    try:
        # One quick question first: the library itself would ask again and again for minutes.
        get_session().head(constants.ENDPOINT, timeout=PROBE_TIMEOUT_S)
    except Exception as error:
        raise UserError(
            f"{checkpoint.name} was not downloaded: the hub cannot be reached from this machine. "
            + by_hand(checkpoint)
        ) from error
    try:
        for name in checkpoint.files:
            if stop.is_set():
                return None
            hf_hub_download(
                checkpoint.repo, name, tqdm_class=Progress, etag_timeout=REQUEST_TIMEOUT_S
            )
    except Stopped:
        return None
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else "no"
        raise UserError(
            f"The hub answered with status {status} for {checkpoint.repo}. Nothing was changed."
        ) from error
    except OSError as error:
        raise UserError(
            f"{checkpoint.name} was not downloaded: {_reason(error)} {by_hand(checkpoint)}"
        ) from error
    return cached_folder(checkpoint)


def _reason(error: OSError) -> str:
    if error.errno == 28:
        return "the disk is full."
    return f"{error.strerror or error}."
