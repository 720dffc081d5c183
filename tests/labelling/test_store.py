"""Labels that were confirmed are on the disk, whatever happens to the process."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from cordwood.exceptions import CordwoodError
from cordwood.labelling.store import Store, name_store

WRITER = """
import sys
from pathlib import Path
from cordwood.labelling.store import Store
store = Store(Path(sys.argv[1]))
for i in range(int(sys.argv[3])):
    print(store.append(sys.argv[2], "label", f"text {i}", ("a",), seconds=1.5), i, flush=True)
"""


def start_writer(path, annotator, n):
    command = [sys.executable, "-c", WRITER, str(path), annotator, str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_events_are_read_as_they_were_written(tmp_path):
    path = name_store(tmp_path / "out.csv")
    store = Store(path)
    first = store.append("ann", "label", "x", ("a", "ü"), seconds=2.0)
    other = Store(path)  # another process
    second = other.append("bob", "skip", "y")
    assert second > first
    found = store.read(0)
    assert [each.id for each in found] == [first, second]
    assert found[0].labels == ("a", "ü") and found[0].details == {"seconds": 2.0}
    assert store.read(first) == found[1:]
    other.close()
    store.close()
    assert os.listdir(tmp_path) == ["out.csv.events.sqlite"]  # the log is merged


def test_events_cannot_be_changed(tmp_path):
    path = tmp_path / "s.sqlite"
    store = Store(path)
    store.append("ann", "label", "x", ("a",))
    store.close()
    connection = sqlite3.connect(path)  # a standard tool
    assert connection.execute("SELECT annotator, labels FROM events").fetchall() == [
        ("ann", '["a"]')
    ]
    for statement in ("DELETE FROM events", "UPDATE events SET labels = '[]'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def test_other_files_are_not_overwritten(tmp_path):
    path = tmp_path / "s.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(CordwoodError, match="was not written by this version"):
        Store(path)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(CordwoodError, match=r"cannot use .*s\.sqlite for the labels"):
        Store(path)


def test_write_after_the_file_is_gone_is_an_error(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store.close()
    with pytest.raises(CordwoodError, match="the label was not stored"):
        store.append("ann", "label", "x", ("a",))


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_confirmed_labels_survive_a_kill(tmp_path):
    path = tmp_path / "s.sqlite"
    confirmed = []
    for n_read in range(1, 13):
        with start_writer(path, "ann", 10**6) as writer:
            lines = [writer.stdout.readline() for _ in range(3 * n_read)]
            os.kill(writer.pid, signal.SIGKILL)  # in the middle of the next ones
            lines += writer.stdout.readlines()
        confirmed += [int(line.split()[0]) for line in lines if line.endswith("\n")]
    store = Store(path)
    found = [each.id for each in store.read(0)]
    store.close()
    assert set(confirmed) <= set(found)
    assert len(confirmed) >= 3 * sum(range(1, 13))
    # Events after the last confirmed one may exist, at most one per process.
    assert len(found) <= len(confirmed) + 12


def test_two_processes_write_at_the_same_time(tmp_path):
    path = tmp_path / "s.sqlite"
    writers = [start_writer(path, name, 150) for name in ("ann", "bob")]
    ids = []
    for writer in writers:
        output, _ = writer.communicate(timeout=120)
        assert writer.returncode == 0
        ids += [int(line.split()[0]) for line in output.splitlines()]
    store = Store(path)
    found = store.read(0)
    store.close()
    assert sorted(ids) == [each.id for each in found] and len(ids) == 300
    for name in ("ann", "bob"):
        own = [each.sample for each in found if each.annotator == name]
        assert own == [f"text {i}" for i in range(150)]
