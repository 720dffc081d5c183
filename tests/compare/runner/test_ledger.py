import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import pytest

from cordwood.compare.runner.ledger import Ledger
from cordwood.exceptions import DataError
from ledger_files import read_predictions

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")

# Claims keys 0, 1, ... and prints those that it has written; records are large, so that a kill can
# interrupt the write.
WRITER = """
import random, sys, zlib
from cordwood.compare.runner.ledger import Ledger
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
for number in range(int(sys.argv[2])):
    claim = ledger.claim(str(number))
    if claim is None:
        continue
    with claim:
        text = random.Random(number).randbytes(random.randrange(int(sys.argv[3]))).hex()
        ledger.write_predictions(str(number), code=number)
        ledger.append({"key": str(number), "text": text, "check": zlib.crc32(text.encode())})
        print(number, flush=True)
"""

HOLDER = """
import sys, time
from cordwood.compare.runner.ledger import Ledger
claim = Ledger(sys.argv[1]).claim("a")
print("held" if claim else "not held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "new" / "results.jsonl")


def start(script, *arguments):
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(process):
    output, _ = process.communicate()
    return output


def keys(ledger):
    return [record["key"] for record in ledger.records()]


def is_free(ledger, key, **options):
    claim = ledger.claim(key, **options)
    if claim is not None:
        claim.release()
    return claim is not None


def test_records_are_read_in_order_by_any_reader(ledger):
    assert ledger.records() == [] and ledger.count("a") == 0
    assert not ledger.path.parent.exists()
    records = [
        {"key": "b", "score": 0.1 + 0.2, "label": "é\u2028\n\ud800", "none": None},
        {"key": "a", "nested": {"x": [1, 2]}},
        {"key": "b", "error": "no"},
    ]
    for record in records:
        ledger.append(record)
    assert ledger.records() == Ledger(os.fspath(ledger.path)).records() == records
    assert ledger.count("a") and not ledger.count("c")
    assert ledger.count("b") == 2
    # One line each, for version control.
    assert list(map(json.loads, ledger.path.read_text().splitlines())) == records


@pytest.mark.parametrize("record", [{}, {"key": 3}, {"scores": {}}])
def test_record_without_key_raises(ledger, record):
    with pytest.raises(ValueError, match="key"):
        ledger.append(record)
    assert not ledger.path.exists()


def test_nan_raises(ledger):
    with pytest.raises(ValueError, match="JSON"):
        ledger.append({"key": "a", "score": float("nan")})
    assert ledger.records() == []


def test_incomplete_last_line_is_ignored_and_overwritten(ledger):
    ledger.append({"key": "a", "x": {"y": 1}})
    kept = ledger.path.read_bytes()
    ledger.append({"key": "b", "x": {"y": "z}"}})
    whole = ledger.path.read_bytes()
    for size in range(len(kept), len(whole) + 1):
        ledger.path.write_bytes(whole[:size])
        # A record that lacks only its line break is complete: an editor may have removed it.
        expected = ["a", "b"] if size >= len(whole) - 1 else ["a"]
        reader, writer = Ledger(ledger.path), Ledger(ledger.path)
        assert keys(reader) == expected
        assert [reader.count("a"), reader.count("b")] == [1, len(expected) - 1]
        writer.append({"key": "c"})
        assert keys(writer) == [*expected, "c"]
        assert [reader.count(key) for key in "abc"] == [1, len(expected) - 1, 1]


@pytest.mark.parametrize("line", [b'{"key": "b", "x', b"", b"<<<<<<< HEAD", b"[1]", b'{"k": 1}'])
def test_error_names_a_damaged_line(ledger, line):
    for key in "abc":
        ledger.append({"key": key})
    lines = ledger.path.read_bytes().split(b"\n")
    ledger.path.write_bytes(b"\n".join([lines[0], line, *lines[2:]]))
    for read in (ledger.records, lambda: ledger.count("a"), lambda: ledger.claim("d")):
        with pytest.raises(DataError, match=r"results\.jsonl, line 2 is not a record"):
            read()
    # A failed claim is released.
    ledger.path.write_bytes(b"\n".join(lines))
    assert is_free(ledger, "d")


def test_line_numbers_are_relative_to_the_start_of_the_file(ledger):
    for key in "abc":
        ledger.append({"key": key})
    assert ledger.count("a")
    with open(ledger.path, "ab") as file:
        file.write(b"junk\n")
    with pytest.raises(DataError, match="line 4 "):
        ledger.count("a")


def test_count_is_incremental_and_detects_truncation(ledger):
    other = Ledger(ledger.path)
    for key in "aab":
        other.append({"key": key})
    assert ledger.count("a") == ledger.count("a") == 2
    other.append({"key": "a"})
    assert ledger.count("a") == 3
    ledger.path.write_text('{"key":"b"}\n')
    assert (ledger.count("a"), ledger.count("b")) == (0, 1)


def test_claim_is_exclusive_until_released(ledger):
    claim = ledger.claim("a")
    assert ledger.claim("a") is None and Ledger(ledger.path).claim("a") is None
    with ledger.claim("b"):
        pass
    claim.release()
    with pytest.raises(ZeroDivisionError), ledger.claim("a"):
        raise ZeroDivisionError
    assert is_free(ledger, "a")


def test_key_with_a_new_record_cannot_be_claimed(ledger):
    with ledger.claim("a"):
        Ledger(ledger.path).append({"key": "a"})
    assert ledger.claim("a") is None
    with ledger.claim("a", n_known=1):
        ledger.append({"key": "a"})
    assert ledger.claim("a", n_known=1) is None
    assert is_free(ledger, "a", n_known=2)


@needs_kill
def test_killed_process_releases_its_claim(ledger):
    ledger.path.parent.mkdir()
    holder = start(HOLDER, ledger.path)
    assert holder.stdout.readline() == "held\n"
    assert ledger.claim("a") is None
    assert is_free(ledger, "b")
    holder.kill()
    finish(holder)
    assert is_free(ledger, "a")


def test_concurrent_threads_never_hold_the_same_claim(ledger):
    n_threads, holders, max_holders = 4, [], []

    def claim_often():
        for _ in range(100):
            claim = ledger.claim("a")
            if claim is not None:
                with claim:
                    holders.append(1)
                    max_holders.append(len(holders))
                    time.sleep(0)
                    holders.pop()

    threads = [threading.Thread(target=claim_often) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(max_holders) == {1} and len(max_holders) > n_threads


@pytest.mark.parametrize(
    "error", [PermissionError("read-only"), OSError(errno.EROFS, "Read-only file system")]
)
def test_ledger_with_a_read_only_lock_file_can_be_read(ledger, monkeypatch, error):
    ledger.append({"key": "a"})

    def deny(*_, **__):
        raise error

    # Not by chmod, which does not restrict root.
    monkeypatch.setattr("cordwood._base.locks.FileLock", deny)
    assert keys(Ledger(ledger.path)) == ["a"]
    with pytest.raises(type(error)):
        ledger.append({"key": "b"})


def test_full_disk_names_the_ledger(ledger, monkeypatch):
    ledger.append({"key": "a"})

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left on device") as caught:
        ledger.append({"key": "b"})
    assert caught.value.filename == str(ledger.path)


def test_predictions_round_trip(ledger):
    arrays = {"labels": np.array(["é", "bb"]), "votes": np.array([[0.1, 0.9]], dtype=np.float32)}
    ledger.write_predictions("a", **arrays)
    ledger.write_predictions("b", labels=[1, 2])
    ledger.write_predictions("b", labels=[3])
    found = read_predictions(ledger, "a")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    assert read_predictions(ledger, "b")["labels"].tolist() == [3]
    folder = ledger.path.parent / "results.predictions"
    assert sorted(path.name for path in folder.iterdir()) == ["a.npz", "b.npz"]


def test_object_arrays_raise(ledger):
    with pytest.raises(TypeError, match="labels must be an array of numbers or strings"):
        ledger.write_predictions("a", labels=np.array(["x", None]))


def test_reading_a_ledger_without_its_folders_writes_nothing(ledger):
    ledger.path.parent.mkdir()
    ledger.path.write_text('{"key":"a"}\r\n{"key":"b"}\r\n')
    assert keys(ledger) == ["a", "b"] and ledger.count("b")
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


@needs_kill
def test_records_survive_repeated_kills(ledger):
    rng = random.Random(0)
    ledger.path.parent.mkdir()
    written = []
    for attempt in range(25):
        writer = start(WRITER, ledger.path, 10**6, 200_000)
        assert writer.stdout.readline() == "ready\n"
        if attempt % 2:  # Some writers finish a record, however slow the computer is.
            written.append(int(writer.stdout.readline()))
        time.sleep(rng.uniform(0, 0.1))
        writer.kill()
        written += map(int, finish(writer).split())
        found = keys(ledger)
        # No duplicates, no gaps, and at most one record that was written but not printed.
        assert found == [str(number) for number in range(len(found))]
        assert set(written) <= set(map(int, found))
    last = len(ledger.records())
    assert last > 10
    finish(start(WRITER, ledger.path, last + 5, 1_000))
    assert keys(ledger) == [str(number) for number in range(last + 5)]
    for record in ledger.records():
        assert zlib.crc32(record["text"].encode()) == record["check"]
        assert read_predictions(ledger, record["key"])["code"] == int(record["key"])
    names = [path.name for path in (ledger.path.parent / "results.predictions").iterdir()]
    assert sorted(names) == sorted(f"{number}.npz" for number in range(last + 5))


def test_concurrent_writers_share_the_work(ledger):
    ledger.path.parent.mkdir()
    writers = [start(WRITER, ledger.path, 150, 20_000) for _ in range(3)]
    written = [finish(writer).split()[1:] for writer in writers]
    assert sorted(map(int, keys(ledger))) == list(range(150))
    assert sorted(map(int, sum(written, []))) == list(range(150))
    for record in ledger.records():
        assert zlib.crc32(record["text"].encode()) == record["check"]
