"""Limits of the readers: hostile files cost a bounded multiple of their size."""

import gzip
import io
import json
import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cordwood.datasets.readers import read_dataset, stream_dataset
from cordwood.datasets.registry import load_dataset
from cordwood.exceptions import CordwoodError, DataError

MIB = 1 << 20


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    content = content.encode() if isinstance(content, str) else content
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return name


def error_message(source, read=read_dataset, **options):
    with pytest.raises(CordwoodError) as caught:
        result = read(source, **options)
        if read is stream_dataset:
            list(result)
    return str(caught.value)


# Decompressed size


SPAM = b"spam " * 2000
BOMBS = {
    "bomb.csv.gz": (b"text,label\n", b"%s,a\nham,b\n" % SPAM),
    "bomb.jsonl.gz": (b"", b'{"text": "%s", "label": 1}\n{"text": "ham", "label": 2}\n' % SPAM),
    "bomb.svm.gz": (b"", b"1 1:1 2:1 # %s\n2 1:1 3:1\n" % SPAM),
}


@pytest.mark.parametrize("name", BOMBS)
def test_gzip_bomb_raises_at_the_default_limit(name):
    start, rows = BOMBS[name]
    content = start + rows * (20 * MIB // len(rows))
    write(name, content)
    assert os.path.getsize(name) < MIB
    line = content[: 16 * MIB].count(b"\n") + 1
    message = error_message(name)
    assert message.endswith(
        "the file has more than 16,777,216 bytes after decompression; if it is not malicious, "
        "raise this limit with max_bytes= / --max-bytes, or decompress the file"
    )
    found = int(message.removeprefix(f"{name}, line ").partition(":")[0])
    assert line - 64 * 1024 < found <= line


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("read", [read_dataset, stream_dataset])
def test_max_bytes_is_the_largest_decompressed_size(name, read):
    if name == "bomb.svm.gz" and read is stream_dataset:
        pytest.skip("svmlight files are not streamed")
    start, rows = BOMBS[name]
    content = start + rows * 3
    write(name, content)
    samples = read(name, max_bytes=len(content))
    assert len(samples if read is read_dataset else list(samples)) == 6
    message = error_message(name, read, max_bytes=len(content) - 1)
    assert f"the file has more than {len(content) - 1:,} bytes after decompression" in message
    write(name.removesuffix(".gz"), content)
    assert len(read_dataset(name.removesuffix(".gz"), max_bytes=1)) == 6


def test_limit_is_twenty_times_the_size_of_larger_files():
    noise = np.random.default_rng(0).bytes(MIB).hex().encode()
    rows = b"%s,a\n" % SPAM * (20 * MIB // len(SPAM))
    write("noise.csv.gz", b"text,label\n%s,b\n" % noise + rows)
    assert os.path.getsize("noise.csv.gz") > MIB
    assert sum(1 for _ in stream_dataset("noise.csv.gz")) == 1 + 20 * MIB // len(SPAM)


def test_compressed_files_of_a_folder_share_a_limit():
    for number in range(4):
        write(f"texts/{'ab'[number % 2]}/{number}.txt.gz", "spam " * 1000)
    assert len(read_dataset("texts", max_bytes=20_000)) == 4
    message = error_message("texts", max_bytes=19_999)
    assert "3.txt.gz, line 1: the file has more than 4,999 bytes after decompression" in message


def test_npz_bomb_raises(tmp_path):
    np.savez_compressed("bomb.npz", X=np.zeros((10, MIB)), y=np.array(["a", "b"] * 5))
    with pytest.raises(DataError, match=r"83,8\d\d,\d\d\d bytes, more than 20 times the size"):
        load_dataset("bomb", data_dir=tmp_path)
    np.savez("plain.npz", X=np.zeros((10, MIB)), y=np.array(["a", "b"] * 5))
    assert load_dataset("plain", data_dir=tmp_path).X.shape == (10, MIB)


# Row length


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("rows.csv", 'text,label\na,x\n"b\nb\nbbb",y\n', 3),
        ("rows.csv", "text,label\na,x\nbbbbbbbbbbb,y\n", 3),
        ("rows.csv", 'text,label\na,x\n"b\nb\nb\nb\nb\nb', 3),
        ("rows.csv", "text,label,and,more\na,x,,\n", 1),
        ("rows.jsonl", '{"text":1}\n{"text":"b"}\n', 2),
    ],
)
@pytest.mark.parametrize("on_bad_rows", ["raise", "skip"])
def test_row_that_is_too_long_raises_with_its_line(name, content, line, on_bad_rows):
    options = {"require_labels": False, "on_bad_rows": on_bad_rows}
    assert error_message(write(name, content), max_row_length=11, **options) == (
        f"{name}, line {line}: the row has more than 11 characters; shorten it, or raise this "
        "limit with max_row_length= / --max-row-length"
    )


def test_row_of_the_maximum_length_is_read():
    write("rows.csv", 'text,label\n"b\nb\nb",y\nb,x\n')
    corpus = read_dataset("rows.csv", max_row_length=11)
    assert corpus.texts == ("b\nb\nb", "b")
    assert len(read_dataset("rows.csv", max_row_length=10**30)) == 2


def test_file_of_a_folder_that_is_too_long_is_a_bad_row():
    write("texts/a/1.txt", "spam\nspam\n")
    write("texts/b/2.txt", "ham\n")
    write("texts/a/3.txt", "spam\n")
    assert "1.txt, line 2: the row has more than 9 char" in error_message("texts", max_row_length=9)
    corpus = read_dataset("texts", max_row_length=9, on_bad_rows="skip")
    assert corpus.texts == ("spam\n", "ham\n")


class Endless(io.RawIOBase):
    """A file that starts as given and never ends."""

    def __init__(self, start):
        self.start = start

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.start or b"spam" * 1000
        self.start = b""
        buffer[: len(data)] = data
        return len(data)


@pytest.mark.parametrize(("format", "start"), [("jsonl", b'{"text": "'), ("csv", b'text\n"')])
def test_line_without_an_end_is_not_read_into_memory(format, start, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(Endless(start))))
    options = {"format": format, "require_labels": False, "max_row_length": 4 * MIB}
    tracemalloc.start()
    try:
        message = error_message("-", stream_dataset, **options)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "the row has more than 4,194,304 characters" in message
    assert peak < 20 * MIB


# Feature indices


def test_feature_index_above_32_bits_raises_with_its_line():
    write("rows.svm", "1 1:1\n2 2147483646:1\n")
    assert read_dataset("rows.svm").X.shape == (2, 2**31 - 1)
    assert "line 2: feature 2147483646 is out of range for 9 features" in error_message(
        "rows.svm", n_features=9
    )
    write("rows.svm", "1 1:1\n2 2147483647:1\n")
    assert "line 2: feature 2147483647 is out of range for 2147483647 features" in error_message(
        "rows.svm"
    )


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "9" * 25])
def test_feature_index_of_many_digits_raises(digits):
    message = error_message(write("rows.svm", f"1 1:1\n2 {digits}:1\n"))
    assert message.startswith("rows.svm, line 2: feature ")
    assert len(message) < 300


@pytest.mark.parametrize("line", ["x" * MIB, "1 " + "x" * MIB, "1 1:" + "x" * MIB])
def test_long_values_are_shortened_in_messages(line):
    message = error_message(write("rows.svm", f"1 1:1\n{line}\n"))
    assert "xxx..." in message
    assert len(message) < 300


# Time


def test_many_keys_in_one_line_of_json():
    keys = {f"key{number}": 0 for number in range(50_000)}
    line = json.dumps(keys)[:-1] + ', "key7": 1}'
    message = error_message(write("rows.jsonl", line), require_labels=False)
    assert 'line 1 cannot be read (the key "key7" occurs more than once)' in message
    message = error_message(write("rows.jsonl", json.dumps(keys)), require_labels=False)
    assert 'line 1 has no key "text"; its keys are: key0, key1, ' in message
    assert len(message) < 500


# Options


@pytest.mark.parametrize("option", ["max_bytes", "max_row_length", "n_features"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "many"])
def test_limits_must_be_positive_integers(option, value):
    write("rows.svm", "1 1:1\n2 1:1\n")
    message = error_message("rows.svm", **{option: value})
    assert message == f"{option} must be a positive integer; got {value!r}"


# Encodings


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_missing_byte_order_mark_raises(encoding):
    content = "text,label\na,x\nb,y\n"
    write("rows.csv", content.encode(f"{encoding}-le"))
    message = error_message("rows.csv", encoding=encoding)
    assert message.startswith(f"rows.csv, line 1 is not {encoding} text (")
    assert "with encoding= / --encoding" in message
    assert len(read_dataset("rows.csv", encoding=f"{encoding}-le")) == 2


@pytest.mark.parametrize(
    "encoding", ["idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "rot13"]
)
def test_encodings_that_are_not_for_files_are_rejected(encoding):
    write("rows.csv", "text,label\na,x\nb,y\n")
    assert error_message("rows.csv", encoding=encoding) == (
        f"encoding must be a text encoding, such as 'utf-8', 'cp1252' or 'utf-16'; got '{encoding}'"
    )


def test_lone_surrogates_of_utf_7_make_a_row_invalid():
    write("rows.csv", b"text,label\na,x\n+2AA-,y\nb,y\n")
    message = error_message("rows.csv", encoding="utf-7")
    assert "rows.csv, line 3: character 1 of the line is a lone surrogate" in message
    corpus = read_dataset("rows.csv", encoding="utf-7", on_bad_rows="skip")
    assert corpus.texts == ("a", "b")
