"""Embeddings are computed once: a cache in memory and on disk, keyed by encoder and content."""

from __future__ import annotations

import hashlib
import sqlite3
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

import numpy as np
from filelock import FileLock
from PIL import Image

from binding_core.encoders.protocol import Encoder, Reading
from binding_core.files import ASSETS, cache_folder

PRECOMPUTED = ASSETS / "precomputed.sqlite"  # embeddings of the presets by the bundled models
MEMORY_ROWS = 20_000  # about 10 MB at 128 dimensions
DISK_ROWS = 200_000
BUSY_TIMEOUT_S = 2
NORM_TOLERANCE = 1e-3

Key = tuple[str, str]  # (encoder fingerprint, content hash)


class EmbeddingStore:
    """Embedding rows in one SQLite file, whose transactions make each write all or nothing.

    A file that is not a readable store is deleted and made again, with a warning: everything in it
    can be computed anew. When the disk cannot be written, the store goes on without it.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._lock = Lock()
        self._database: sqlite3.Connection | None = None
        self._count = 0
        try:
            self._open()
        except (sqlite3.DatabaseError, OSError) as error:
            self._recover(error)

    def _open(self) -> None:
        if self._read_only:
            if not self.path.exists():
                return
            uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Two that turn a new file's journal to WAL at once don't wait for each other: SQLite
            # says "database is locked" at once, whatever the timeout.
            with FileLock(f"{self.path}.lock", timeout=BUSY_TIMEOUT_S):
                self._database = sqlite3.connect(
                    self.path, timeout=BUSY_TIMEOUT_S, check_same_thread=False
                )
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=NORMAL")
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS embeddings (fingerprint TEXT, content TEXT, "
                    "row BLOB, PRIMARY KEY (fingerprint, content)) WITHOUT ROWID"
                )
        columns = [row[1] for row in self._database.execute("PRAGMA table_info(embeddings)")]
        if columns != ["fingerprint", "content", "row"]:
            raise sqlite3.DatabaseError("it holds something else")
        self._count = self._database.execute("SELECT COUNT(*) FROM embeddings").fetchone()[0]

    def _recover(self, error: Exception) -> None:
        self._close()
        # An operational error is the surroundings' fault: no permission, no space, a lock.
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        )
        if self._read_only or not damaged:
            warnings.warn(f"{self.path} is not used: {error}.", stacklevel=3)
            return
        warnings.warn(f"{self.path} is damaged ({error}) and is made again.", stacklevel=3)
        try:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self._open()
        except (sqlite3.DatabaseError, OSError) as second:
            self._close()
            warnings.warn(f"{self.path} is not used: {second}.", stacklevel=3)

    def _close(self) -> None:
        if self._database:
            self._database.close()
            self._database = None

    def get(self, keys: Sequence[Key]) -> dict[Key, np.ndarray]:
        """The rows that are there, float32 (d,) each; a row that is no embedding is left out."""
        found: dict[Key, np.ndarray] = {}
        with self._lock:
            try:
                for key in keys:
                    if self._database is None:
                        break
                    blob = self._database.execute(
                        "SELECT row FROM embeddings WHERE fingerprint = ? AND content = ?", key
                    ).fetchone()
                    if blob and (row := _embedding(blob[0])) is not None:
                        found[key] = row
            except sqlite3.DatabaseError as error:
                self._recover(error)
        return found

    def put(self, rows: dict[Key, np.ndarray]) -> None:
        """Keep rows; the store forgets everything when it outgrows DISK_ROWS."""
        with self._lock:
            if self._database is None or self._read_only:
                return
            try:
                with self._database as database:
                    if self._count + len(rows) > DISK_ROWS:
                        database.execute("DELETE FROM embeddings")
                        self._count = 0
                    database.executemany(
                        "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)",
                        [(*key, np.float32(row).tobytes()) for key, row in rows.items()],
                    )
                    self._count += len(rows)
            except sqlite3.OperationalError as error:  # disk full, read-only, locked for too long
                warnings.warn(f"Embeddings are not kept on disk: {error}.", stacklevel=2)
            except sqlite3.DatabaseError as error:
                self._recover(error)

    def close(self) -> None:
        """Leave one whole file behind, without SQLite's write-ahead log beside it."""
        with self._lock:
            self._close()


def _embedding(blob: object) -> np.ndarray | None:
    """The row in a blob, or None, with a warning, when it cannot be a unit-norm embedding."""
    if isinstance(blob, bytes) and blob and len(blob) % 4 == 0:
        row = np.frombuffer(blob, dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            if abs(float(row @ row) - 1) < NORM_TOLERANCE:
                return row
    warnings.warn("A damaged embedding in the cache is computed again.", stacklevel=3)
    return None


class EmbeddingCache:
    """Rows in memory first, then in the stores in turn; new rows go to memory and the first store.

    One cache serves every encoder and session.
    """

    def __init__(self, *, stores: Sequence[EmbeddingStore], memory_rows: int = MEMORY_ROWS) -> None:
        self._stores = list(stores)
        self._memory_rows = memory_rows
        self._memory: OrderedDict[Key, np.ndarray] = OrderedDict()
        self._lock = Lock()

    def rows(
        self, keys: Sequence[Key], compute: Callable[[list[int]], np.ndarray]
    ) -> np.ndarray | None:
        """The rows of ``keys`` as (n, d); ``compute(positions)`` gives those that are nowhere.

        Each missing key is computed once, however often it occurs. None for no keys.
        """
        known: dict[Key, np.ndarray] = {}
        with self._lock:
            for key in keys:
                if key in self._memory:
                    self._memory.move_to_end(key)
                    known[key] = self._memory[key]
        fresh: dict[Key, np.ndarray] = {}
        for store in self._stores:
            wanted = [k for k in dict.fromkeys(keys) if k not in known and k not in fresh]
            if wanted:
                fresh |= store.get(wanted)
        missing: dict[Key, int] = {}
        for i, key in enumerate(keys):
            if key not in known and key not in fresh:
                missing.setdefault(key, i)
        if missing:
            computed = compute(list(missing.values()))
            new = dict(zip(missing, computed, strict=True))
            fresh |= new
            if self._stores:
                self._stores[0].put(new)
        with self._lock:
            self._memory |= fresh
            while len(self._memory) > self._memory_rows:
                self._memory.popitem(last=False)
        known |= fresh
        return np.stack([known[key] for key in keys]) if len(keys) else None


class CachedEncoder:
    """An encoder whose embeddings are looked up before they are computed."""

    def __init__(self, encoder: Encoder, cache: EmbeddingCache) -> None:
        self.encoder = encoder
        self._cache = cache

    @property
    def id(self) -> str:
        """The id of the encoder behind it."""
        return self.encoder.id

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder behind it."""
        return self.encoder.fingerprint

    def reading(self, text: str) -> Reading:
        """How the encoder behind it reads a text."""
        return self.encoder.reading(text)

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray:
        """n pictures -> unit-norm float32 (n, d)."""
        keys = [(self.fingerprint, picture_key(image)) for image in images]
        rows = self._cache.rows(
            keys, lambda missing: self.encoder.embed_images([images[i] for i in missing])
        )
        return self.encoder.embed_images([]) if rows is None else rows

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """n texts -> unit-norm float32 (n, d)."""
        keys = [(self.fingerprint, text_key(text)) for text in texts]
        rows = self._cache.rows(
            keys, lambda missing: self.encoder.embed_texts([texts[i] for i in missing])
        )
        return self.encoder.embed_texts([]) if rows is None else rows


def picture_key(image: Image.Image) -> str:
    """Hash of a picture's size, mode and pixels."""
    digest = hashlib.sha256(f"{image.mode} {image.size} ".encode())
    digest.update(image.tobytes())
    return "picture " + digest.hexdigest()


def text_key(text: str) -> str:
    """Hash of a text."""
    return "text " + hashlib.sha256(text.encode()).hexdigest()


def default_cache() -> EmbeddingCache:
    """The user's store on disk, then the embeddings that the app ships."""
    return EmbeddingCache(
        stores=[
            EmbeddingStore(cache_folder() / "embeddings.sqlite"),
            EmbeddingStore(PRECOMPUTED, read_only=True),
        ]
    )
