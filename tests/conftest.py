import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants

from binding_core.encoders.protocol import Reading
from binding_core.training import model as small_clip


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own cache, data or hub folders."""
    monkeypatch.setenv("CBE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CBE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


class FakeEncoder:
    """Embeddings drawn from the content's hash; counts what it was asked to compute."""

    def __init__(self, name: str = "fake", dimensions: int = 16) -> None:
        self.id = name
        self.fingerprint = f"fingerprint-of-{name}"
        self.dimensions = dimensions
        self.images_computed = 0
        self.texts_computed = 0

    def _row(self, content: bytes) -> np.ndarray:
        seed = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
        row = np.random.default_rng(seed).standard_normal(self.dimensions)
        return (row / np.linalg.norm(row)).astype(np.float32)

    def _rows(self, contents: list[bytes]) -> np.ndarray:
        return np.array([self._row(c) for c in contents], dtype=np.float32).reshape(
            len(contents), self.dimensions
        )

    def embed_images(self, images):
        self.images_computed += len(images)
        return self._rows([i.tobytes() for i in images])

    def embed_texts(self, texts):
        self.texts_computed += len(texts)
        return self._rows([t.encode() for t in texts])

    def reading(self, text):
        return Reading()


@pytest.fixture
def fake_encoder() -> FakeEncoder:
    return FakeEncoder()


@pytest.fixture(scope="session")
def checkpoint_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small open_clip model with random weights, in the local-dir layout, written here."""
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    small_clip.write_architecture(folder)
    model = small_clip.build_model(seed=0)
    save_file(
        {k: t.contiguous().clone() for k, t in model.state_dict().items()},
        folder / "open_clip_model.safetensors",
    )
    return folder


def own_files() -> tuple[bytes, bytes]:
    """200 scenes of 3 x 3 objects: sums of products, as a user's files."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 3, (2, 200, 2))
    tables = rng.standard_normal((2, 3, 24))
    rows = sum(tables[0, side[:, 0]] * tables[1, side[:, 1]] for side in (first, second))
    packed = io.BytesIO()
    np.savez(packed, embeddings=rows + 0.01 * rng.standard_normal(rows.shape))
    lines = ["colour_0,shape_0,colour_1,shape_1"]
    lines += [f"c{a},s{b},c{c},s{d}" for (a, b), (c, d) in zip(first, second, strict=True)]
    return packed.getvalue(), "\n".join(lines).encode()
