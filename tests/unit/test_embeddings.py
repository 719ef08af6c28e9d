import sqlite3
import threading
import warnings

import numpy as np
import pytest

from binding_core.embeddings import CachedEncoder, EmbeddingCache, EmbeddingStore
from binding_core.presets import DEFAULT_SCENE
from binding_core.render import render


def cache_at(path, **options):
    return EmbeddingCache(stores=[EmbeddingStore(path)], **options)


def test_nothing_is_computed_twice(tmp_path, fake_encoder):
    encoder = CachedEncoder(fake_encoder, cache_at(tmp_path / "e.sqlite"))
    pictures = [render(DEFAULT_SCENE, size=s) for s in (32, 48, 32)]
    first = encoder.embed_images(pictures)
    assert np.array_equal(first, fake_encoder.embed_images(pictures))
    assert fake_encoder.images_computed == 2 + 3  # two distinct ones, then the direct call
    encoder.embed_images(pictures[::-1])
    assert fake_encoder.images_computed == 5
    texts = encoder.embed_texts(["a", "b", "a"])
    assert fake_encoder.texts_computed == 2
    assert np.array_equal(texts[0], texts[2])
    assert encoder.embed_texts([]).shape == (0, 16)


def test_rows_outlive_the_process_on_disk(tmp_path, fake_encoder):
    path = tmp_path / "sub" / "e.sqlite"
    first = CachedEncoder(fake_encoder, cache_at(path)).embed_texts(["a", "b"])
    again = CachedEncoder(fake_encoder, cache_at(path)).embed_texts(["b", "a"])
    assert fake_encoder.texts_computed == 2
    assert np.array_equal(first, again[::-1])


def test_encoders_do_not_share_rows(tmp_path):
    from tests.conftest import FakeEncoder

    cache = cache_at(tmp_path / "e.sqlite")
    one, two = FakeEncoder("one"), FakeEncoder("two")
    CachedEncoder(one, cache).embed_texts(["a"])
    CachedEncoder(two, cache).embed_texts(["a"])
    assert (one.texts_computed, two.texts_computed) == (1, 1)


@pytest.mark.parametrize(
    "damage", [b"this is no database", b"", b"SQLite format 3\0" + b"\7" * 400]
)
def test_a_corrupt_file_is_made_again_with_a_warning(tmp_path, fake_encoder, damage):
    path = tmp_path / "e.sqlite"
    store = EmbeddingStore(path)
    CachedEncoder(fake_encoder, EmbeddingCache(stores=[store])).embed_texts(["a"])
    store.close()
    path.write_bytes(damage)
    if damage:
        with pytest.warns(UserWarning, match="damaged"):
            cache = cache_at(path)
    else:
        cache = cache_at(path)  # an empty file is an empty database
    rows = CachedEncoder(fake_encoder, cache).embed_texts(["a"])
    assert np.array_equal(rows, fake_encoder.embed_texts(["a"]))
    CachedEncoder(fake_encoder, cache_at(path)).embed_texts(["a"])
    assert fake_encoder.texts_computed == 3  # computed, computed again, asked directly


def test_a_folder_that_cannot_be_written_costs_only_the_disk(tmp_path, fake_encoder):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.warns(UserWarning, match="not used"):
        encoder = CachedEncoder(fake_encoder, cache_at(blocked / "e.sqlite"))
    encoder.embed_texts(["a"])
    encoder.embed_texts(["a"])
    assert fake_encoder.texts_computed == 1  # memory still works


def test_a_full_disk_costs_only_the_disk(tmp_path, fake_encoder):
    path = tmp_path / "e.sqlite"
    store = EmbeddingStore(path)
    store._database.execute("PRAGMA max_page_count = 1")  # SQLite's own "disk is full"
    encoder = CachedEncoder(fake_encoder, EmbeddingCache(stores=[store]))
    texts = [str(i) for i in range(500)]
    with pytest.warns(UserWarning, match="not kept on disk.*full"):
        rows = encoder.embed_texts(texts)
    assert np.array_equal(rows, encoder.embed_texts(texts))
    assert fake_encoder.texts_computed == 500


def test_memory_is_bounded(tmp_path, fake_encoder):
    cache = EmbeddingCache(stores=[], memory_rows=3)
    encoder = CachedEncoder(fake_encoder, cache)
    encoder.embed_texts(["a", "b", "c", "d"])
    encoder.embed_texts(["d", "c", "b"])
    assert fake_encoder.texts_computed == 4
    encoder.embed_texts(["a"])
    assert fake_encoder.texts_computed == 5
    assert len(encoder.embed_texts([str(i) for i in range(50)])) == 50  # more than it holds


def test_several_connections_may_share_a_file(tmp_path):
    from tests.conftest import FakeEncoder

    path = tmp_path / "e.sqlite"
    failures = []

    def work(k):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                encoder = CachedEncoder(FakeEncoder(), cache_at(path))
                for i in range(30):
                    encoder.embed_texts([f"{k % 2} {i}"])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    count = sqlite3.connect(path).execute("SELECT COUNT(*) FROM embeddings").fetchone()[0]
    assert count == 60


def test_shipped_rows_are_read_and_never_written(tmp_path, fake_encoder):
    shipped = tmp_path / "shipped.sqlite"
    store = EmbeddingStore(shipped)
    CachedEncoder(fake_encoder, EmbeddingCache(stores=[store])).embed_texts(["a"])
    store.close()
    content = shipped.read_bytes()
    cache = EmbeddingCache(
        stores=[
            EmbeddingStore(tmp_path / "own.sqlite"),
            EmbeddingStore(shipped, read_only=True),
            EmbeddingStore(tmp_path / "absent.sqlite", read_only=True),
        ]
    )
    CachedEncoder(fake_encoder, cache).embed_texts(["a", "b"])
    assert fake_encoder.texts_computed == 2
    assert shipped.read_bytes() == content


def test_a_damaged_row_is_computed_again(tmp_path, fake_encoder):
    path = tmp_path / "e.sqlite"
    encoder = CachedEncoder(fake_encoder, cache_at(path))
    whole = encoder.embed_texts(["a", "b", "c"])
    database = sqlite3.connect(path)
    contents = [r[0] for r in database.execute("SELECT content FROM embeddings ORDER BY content")]
    for content, blob in zip(
        contents, (b"abc", b"\xff" * 64, np.ones(16, np.float32).tobytes()), strict=True
    ):
        database.execute("UPDATE embeddings SET row = ? WHERE content = ?", (blob, content))
    database.commit()
    with pytest.warns(UserWarning, match="computed again"):
        again = CachedEncoder(fake_encoder, cache_at(path)).embed_texts(["a", "b", "c"])
    assert np.array_equal(whole, again)


def test_a_database_of_something_else_is_made_again(tmp_path, fake_encoder):
    path = tmp_path / "e.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE embeddings (other TEXT)")
    database.close()
    with pytest.warns(UserWarning, match="something else"):
        encoder = CachedEncoder(fake_encoder, cache_at(path))
    encoder.embed_texts(["a"])
    CachedEncoder(fake_encoder, cache_at(path)).embed_texts(["a"])
    assert fake_encoder.texts_computed == 1
