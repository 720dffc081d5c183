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

from cordwood.compare.runner import lock
from cordwood.compare.runner.ledger import Ledger
from cordwood.exceptions import DataError

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")

# Works through keys 0, 1, ... and says which ones it has written; a record is large, so that a
# kill can come in the middle of it.
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
print("held" if claim else "refused", flush=True)
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


def test_records_come_back_in_order_and_to_any_reader(ledger):
    assert ledger.records() == [] and not ledger.has("a") and ledger.count("a") == 0
    assert not ledger.path.parent.exists()
    records = [
        {"key": "b", "score": 0.1 + 0.2, "label": "é\u2028\n\ud800", "none": None},
        {"key": "a", "nested": {"x": [1, 2]}},
        {"key": "b", "error": "no"},
    ]
    for record in records:
        ledger.append(record)
    assert ledger.records() == Ledger(os.fspath(ledger.path)).records() == records
    assert ledger.has("a") and not ledger.has("c")
    assert ledger.count("b") == 2
    # One line each, for version control.
    assert list(map(json.loads, ledger.path.read_text().splitlines())) == records


@pytest.mark.parametrize("record", [{}, {"key": 3}, {"scores": {}}])
def test_a_record_without_key_is_refused(ledger, record):
    with pytest.raises(ValueError, match="key"):
        ledger.append(record)
    assert not ledger.path.exists()


def test_what_json_cannot_say_is_refused(ledger):
    with pytest.raises(ValueError, match="JSON"):
        ledger.append({"key": "a", "score": float("nan")})
    assert ledger.records() == []


def test_a_line_torn_anywhere_is_no_record_and_harms_none(ledger):
    ledger.append({"key": "a", "x": {"y": 1}})
    kept = ledger.path.read_bytes()
    ledger.append({"key": "b", "x": {"y": "z}"}})
    whole = ledger.path.read_bytes()
    for cut in range(len(kept), len(whole) + 1):
        ledger.path.write_bytes(whole[:cut])
        # Without its end of line alone, a record is complete: an editor may have taken that away.
        expected = ["a", "b"] if cut >= len(whole) - 1 else ["a"]
        reader, writer = Ledger(ledger.path), Ledger(ledger.path)
        assert keys(reader) == expected
        assert [reader.count("a"), reader.count("b")] == [1, len(expected) - 1]
        writer.append({"key": "c"})
        assert keys(writer) == [*expected, "c"]
        assert [reader.count(key) for key in "abc"] == [1, len(expected) - 1, 1]


@pytest.mark.parametrize("line", [b'{"key": "b", "x', b"", b"<<<<<<< HEAD", b"[1]", b'{"k": 1}'])
def test_a_damaged_line_is_named(ledger, line):
    for key in "abc":
        ledger.append({"key": key})
    lines = ledger.path.read_bytes().split(b"\n")
    ledger.path.write_bytes(b"\n".join([lines[0], line, *lines[2:]]))
    for read in (ledger.records, lambda: ledger.has("a"), lambda: ledger.claim("d")):
        with pytest.raises(DataError, match=r"results\.jsonl, line 2 is not a record"):
            read()
    # A claim that failed holds nothing.
    ledger.path.write_bytes(b"\n".join(lines))
    assert is_free(ledger, "d")


def test_line_numbers_count_from_the_start_of_the_file(ledger):
    for key in "abc":
        ledger.append({"key": key})
    assert ledger.has("a")
    with open(ledger.path, "ab") as file:
        file.write(b"junk\n")
    with pytest.raises(DataError, match="line 4 "):
        ledger.has("a")


def test_counting_goes_on_from_what_is_known_and_notices_a_shorter_file(ledger):
    other = Ledger(ledger.path)
    for key in "aab":
        other.append({"key": key})
    assert ledger.count("a") == ledger.count("a") == 2
    other.append({"key": "a"})
    assert ledger.count("a") == 3
    ledger.path.write_text('{"key":"b"}\n')
    assert (ledger.count("a"), ledger.count("b")) == (0, 1)


def test_a_claim_is_exclusive_until_it_ends(ledger):
    claim = ledger.claim("a")
    assert ledger.claim("a") is None and Ledger(ledger.path).claim("a") is None
    with ledger.claim("b"):
        pass
    claim.release()
    with pytest.raises(ZeroDivisionError), ledger.claim("a"):
        raise ZeroDivisionError
    assert is_free(ledger, "a")


def test_a_claim_is_refused_once_there_is_a_record(ledger):
    with ledger.claim("a"):
        Ledger(ledger.path).append({"key": "a"})
    assert ledger.claim("a") is None
    with ledger.claim("a", known=1):
        ledger.append({"key": "a"})
    assert ledger.claim("a", known=1) is None
    assert is_free(ledger, "a", known=2)


@needs_kill
def test_a_killed_holder_holds_no_longer(ledger):
    ledger.path.parent.mkdir()
    holder = start(HOLDER, ledger.path)
    assert holder.stdout.readline() == "held\n"
    assert ledger.claim("a") is None
    assert is_free(ledger, "b")
    holder.kill()
    finish(holder)
    assert is_free(ledger, "a")


def test_removed_lock_files_let_nobody_in_twice(tmp_path):
    inside, most, entries = [], [], []

    def enter_often():
        for _ in range(300):
            held = lock.attempt(tmp_path / "door")
            if held is not None:
                with held:
                    inside.append(1)
                    most.append(len(inside))
                    time.sleep(0)
                    inside.pop()
                    entries.append(1)

    threads = [threading.Thread(target=enter_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1} and len(entries) > 4
    if os.name != "nt":
        assert list(tmp_path.iterdir()) == []


def test_predictions_come_back_as_they_were(ledger):
    arrays = {"labels": np.array(["é", "bb"]), "votes": np.array([[0.1, 0.9]], dtype=np.float32)}
    ledger.write_predictions("a", **arrays)
    ledger.write_predictions("b", labels=[1, 2])
    ledger.write_predictions("b", labels=[3])
    found = ledger.read_predictions("a")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    assert ledger.read_predictions("b")["labels"].tolist() == [3]
    folder = ledger.path.parent / "results.predictions"
    assert sorted(path.name for path in folder.iterdir()) == ["a.npz", "b.npz"]


def test_objects_are_refused_and_missing_predictions_named(ledger):
    with pytest.raises(TypeError, match="labels is an array of objects"):
        ledger.write_predictions("a", labels=np.array(["x", None]))
    with pytest.raises(DataError, match=r"a\.npz.*results\.predictions"):
        ledger.read_predictions("a")


def test_a_ledger_without_its_folders_is_read_and_nothing_is_written(ledger):
    ledger.path.parent.mkdir()
    ledger.path.write_text('{"key":"a"}\r\n{"key":"b"}\r\n')
    assert keys(ledger) == ["a", "b"] and ledger.has("b")
    assert list(ledger.path.parent.iterdir()) == [ledger.path]


@needs_kill
def test_a_writer_killed_again_and_again_loses_nothing_that_it_finished(ledger):
    rng = random.Random(0)
    ledger.path.parent.mkdir()
    written = []
    for _ in range(25):
        writer = start(WRITER, ledger.path, 10**6, 200_000)
        assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.1))
        writer.kill()
        written += map(int, finish(writer).split())
        found = keys(ledger)
        # Nothing twice, nothing left out, and at most one record that could not be announced.
        assert found == [str(number) for number in range(len(found))]
        assert set(written) <= set(map(int, found))
    last = len(ledger.records())
    assert last > 10
    finish(start(WRITER, ledger.path, last + 5, 1_000))
    assert keys(ledger) == [str(number) for number in range(last + 5)]
    for record in ledger.records():
        assert zlib.crc32(record["text"].encode()) == record["check"]
        assert ledger.read_predictions(record["key"])["code"] == int(record["key"])
    names = [path.name for path in (ledger.path.parent / "results.predictions").iterdir()]
    assert sorted(names) == sorted(f"{number}.npz" for number in range(last + 5))


def test_writers_at_the_same_time_share_the_work(ledger):
    ledger.path.parent.mkdir()
    writers = [start(WRITER, ledger.path, 150, 20_000) for _ in range(3)]
    shares = [finish(writer).split()[1:] for writer in writers]
    assert sorted(map(int, keys(ledger))) == list(range(150))
    assert sorted(map(int, sum(shares, []))) == list(range(150))
    for record in ledger.records():
        assert zlib.crc32(record["text"].encode()) == record["check"]
