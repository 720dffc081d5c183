import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from zlib import crc32

import numpy as np
import pytest

from cordwood.encoders import embedding_cache
from cordwood.encoders.embedding_cache import (
    UNREADABLE,
    EmbeddingCache,
    list_caches,
    text_key,
)
from cordwood.encoders.encoder import EncodedTexts
from cordwood.encoders.object_encoder import ObjectEncoder

N_ELEMENTS = 8


class Model:
    def __init__(self, fingerprint="a"):
        self.fingerprint = fingerprint

    def encode(self, texts):
        return np.ones((len(texts), N_ELEMENTS))


def open_cache(root, fingerprint="a", **options):
    return EmbeddingCache(root, ObjectEncoder(Model(fingerprint)), **options)


def make_vectors(numbers):
    """Return the vectors that the tests expect for texts that are numbers."""
    rows = [np.random.default_rng(number).normal(size=N_ELEMENTS) for number in numbers]
    vectors = np.array(rows).reshape(-1, N_ELEMENTS).astype(np.float16).astype(np.float32)
    return EncodedTexts(vectors, np.array(numbers, int) % 2 == 1)


def make_keys(numbers):
    return [text_key(str(number)) for number in numbers]


def write(cache, numbers):
    cache.write(make_keys(numbers), make_vectors(numbers))


def assert_contains(cache, numbers, *, missing=()):
    positions, encoded = cache.read(make_keys([*missing, *numbers]))
    assert positions.tolist() == [len(missing) + i for i in range(len(numbers))]
    expected = make_vectors(numbers)
    np.testing.assert_array_equal(encoded.vectors, expected.vectors)
    np.testing.assert_array_equal(encoded.truncated, expected.truncated)


def test_tables_of_another_version_are_replaced(tmp_path):
    cache = open_cache(tmp_path)
    cache.path.mkdir()
    with closing(sqlite3.connect(cache.path / "vectors.sqlite")) as database:
        # As many columns, in another order.
        columns = "key INTEGER PRIMARY KEY, truncated, written, vector, checksum"
        database.execute(f"CREATE TABLE vectors ({columns})")
    assert_contains(cache, [], missing=[1, 2])
    write(cache, [1, 2])
    assert_contains(open_cache(tmp_path), [1, 2])


def test_written_vectors_are_read(tmp_path):
    cache = open_cache(tmp_path)
    assert_contains(cache, [], missing=[1, 2])
    write(cache, range(2500))
    assert_contains(open_cache(tmp_path), range(2500), missing=[-1, 9999])


def test_encoders_do_not_share_vectors(tmp_path):
    write(open_cache(tmp_path, "a"), [1, 2])
    assert_contains(open_cache(tmp_path, "b"), [], missing=[1, 2])
    assert_contains(open_cache(tmp_path, "a"), [1, 2])


def test_texts_are_not_stored(tmp_path):
    cache = open_cache(tmp_path)
    cache.write([text_key("confidential")], make_vectors([1]))
    assert b"confidential" not in (cache.path / "vectors.sqlite").read_bytes()


def write_repeatedly(root, first, started=None):
    cache = open_cache(root)
    for number in range(first, first + 200):
        write(cache, [number])
        if started is not None and number > first:
            started.set()


def test_two_processes_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_repeatedly, args=(tmp_path, n)) for n in (0, 200)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert_contains(open_cache(tmp_path), range(400))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_killed_writer_leaves_a_usable_cache(tmp_path):
    context = multiprocessing.get_context("spawn")
    for attempt in range(3):
        started = context.Event()
        first = 1000 * attempt
        writer = context.Process(target=write_repeatedly, args=(tmp_path, first, started))
        writer.start()
        assert started.wait(60)
        time.sleep(0.005 * attempt)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        cache = open_cache(tmp_path)
        write(cache, [first + 500])
        assert_contains(cache, [first, first + 500])
        database = sqlite3.connect(cache.path / "vectors.sqlite")
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()
        # Each vector that is there is complete.
        positions, encoded = cache.read(make_keys(range(first, first + 200)))
        expected = make_vectors(first + positions).vectors
        np.testing.assert_array_equal(encoded.vectors, expected)


def test_file_that_another_process_has_just_created(tmp_path, caplog):
    cache = open_cache(tmp_path)
    cache.path.mkdir()
    (cache.path / "vectors.sqlite").touch()
    assert_contains(cache, [], missing=[1])
    assert not caplog.text
    write(cache, [1])
    assert_contains(cache, [1])


def test_damaged_cache_is_deleted(tmp_path, caplog):
    cache = open_cache(tmp_path)
    write(cache, range(100))
    file = cache.path / "vectors.sqlite"
    file.write_bytes(b"not a database" + file.read_bytes()[14:])
    assert_contains(cache, [], missing=[1])
    assert "is damaged and is deleted" in caplog.text
    write(cache, [1])
    assert_contains(cache, [1], missing=[2])


def test_changed_vectors_are_not_used(tmp_path):
    cache = open_cache(tmp_path)
    write(cache, [1, 2, 3])
    with closing(sqlite3.connect(cache.path / "vectors.sqlite")) as database, database:
        size = 2 * N_ELEMENTS
        database.execute("UPDATE vectors SET vector = zeroblob(?) WHERE id = 1", (size,))
        database.execute("UPDATE vectors SET vector = ? WHERE id = 2", ("a" * size,))
    assert_contains(cache, [3], missing=[1, 2])
    write(cache, [1, 2])
    assert_contains(cache, [1, 2, 3])


def test_cache_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    (tmp_path / "file").write_text("not a directory")
    for _ in range(2):  # as folds of a cross-validation do
        cache = open_cache(tmp_path / "file")
        write(cache, [1])
        write(cache, [2])
        assert_contains(cache, [], missing=[1])
    assert caplog.text.count("cannot be written") == 1


def test_size_is_bounded_by_deleting_the_oldest_vectors(tmp_path):
    cache = open_cache(tmp_path, max_bytes=400_000)
    for first in range(0, 20_000, 500):
        write(cache, range(first, first + 500))
        assert (cache.path / "vectors.sqlite").stat().st_size <= 400_000
    assert_contains(cache, range(19_500, 20_000), missing=range(500))
    assert len(cache.read(make_keys(range(20_000)))[0]) > 2000


def test_size_is_bounded_by_deleting_caches_of_other_encoders(tmp_path):
    for name, age in (("old", 200), ("older", 300), ("recent", 100)):
        cache = open_cache(tmp_path, name)
        write(cache, range(2000))
        used = time.time() - age
        os.utime(cache.path / "vectors.sqlite", (used, used))
    size = (cache.path / "vectors.sqlite").stat().st_size
    write(open_cache(tmp_path, "new", max_bytes=2 * size + 100_000), range(10))
    kept = {info.path for info in list_caches(tmp_path)}
    assert kept == {open_cache(tmp_path, name).path for name in ("old", "recent", "new")}


def test_reading_counts_as_use(tmp_path):
    cache = open_cache(tmp_path)
    write(cache, [1])
    os.utime(cache.path / "vectors.sqlite", (0, 0))
    cache.read(make_keys([1]))
    (info,) = list_caches(tmp_path)
    assert info.used > time.time() - 100


@pytest.mark.parametrize("year", [-300, 100, 9000])
def test_wrong_clock(tmp_path, year):
    cache = open_cache(tmp_path)
    write(cache, [1])
    seconds = (year + 30) * 31_556_952
    try:
        os.utime(cache.path / "vectors.sqlite", (seconds, seconds))
    except OSError:
        pytest.skip("the file system has no such times")
    (info,) = list_caches(tmp_path)
    datetime.fromtimestamp(info.used)
    write(open_cache(tmp_path, "other"), [2])
    assert len(cache.read(make_keys([1]))[0]) == 1


def test_listing(tmp_path):
    write(open_cache(tmp_path), range(5))
    (info,) = list_caches(tmp_path)
    assert (info.name, info.dimension, info.n_vectors) == ("Model", N_ELEMENTS, 5)
    assert info.fingerprint.startswith(info.path.name)
    assert info.n_bytes > 5 * 2 * N_ELEMENTS
    assert list_caches(tmp_path / "missing") == []


def test_vectors_that_are_not_finite_are_not_used(tmp_path):
    cache = open_cache(tmp_path)
    write(cache, [1, 2, 3])
    vector = np.full(N_ELEMENTS, np.nan, "<f2").tobytes()
    with closing(sqlite3.connect(cache.path / "vectors.sqlite")) as database, database:
        database.execute(
            "UPDATE vectors SET vector = ?, checksum = ? WHERE id = 2", (vector, crc32(vector))
        )
    assert_contains(cache, [1, 3], missing=[2])


def test_damaged_cache_is_listed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "vectors.sqlite").write_bytes(b"not a database")
    (info,) = list_caches(tmp_path)
    assert (info.name, info.n_vectors, info.n_bytes) == (UNREADABLE, 0, 14)


def test_locked_cache_is_waited_for_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(embedding_cache, "_TIMEOUT", 0.01)
    cache = open_cache(tmp_path)
    write(cache, range(3))
    file = cache.path / "vectors.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for _ in range(3):
            assert len(cache.read(make_keys(range(3)))[0]) == 0
            write(cache, range(3))
        other.execute("ROLLBACK")
    assert caplog.text.count("database is locked") == 1
    assert_contains(open_cache(tmp_path), range(3))
