import csv
import gzip
import io
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from cordwood.datasets.file_source import detect_format
from cordwood.datasets.options import OPTION_NAMES, ReadOptions
from cordwood.datasets.readers import read_dataset, stream_dataset
from cordwood.datasets.values import clean_label
from cordwood.exceptions import CordwoodError, DataError

SKIP_ADVICE = "or skip bad rows with on_bad_rows='skip' / --on-bad-rows skip"
GOOD = "id,text,label\n1,a,x\n2,b,y\n"


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def error_message(path, **options):
    with pytest.raises(CordwoodError) as caught:
        read_dataset(path, **options)
    return str(caught.value)


def csv_bytes(rows, **dialect):
    file = io.StringIO(newline="")
    csv.writer(file, **dialect).writerows(rows)
    return file.getvalue().encode()


# Round trips


any_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
any_label = any_text.filter(clean_label)
nasty_text = st.one_of(any_text, st.text('a",;\n\r\t\ufeff\u2028 ', max_size=12))
documents = st.lists(st.tuples(nasty_text, any_label), min_size=1, max_size=8)


def clean(rows):
    return [(text, clean_label(label)) for text, label in rows]


@settings(deadline=None, max_examples=150)
@given(
    rows=documents,
    delimiter=st.sampled_from(",;\t|"),
    # csv.writer of Python 3.11 does not quote a line end of the other kind, which ends a row.
    how=st.sampled_from(
        [
            {"quoting": csv.QUOTE_MINIMAL, "lineterminator": "\r\n"},
            {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"},
            {"quoting": csv.QUOTE_ALL, "lineterminator": "\r"},
        ]
    ),
)
def test_csv_round_trip(rows, delimiter, how):
    write("rows.csv", csv_bytes([("text", "label"), *rows], delimiter=delimiter, **how))
    corpus = read_dataset("rows.csv", label="label", require_labels=False, delimiter=delimiter)
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == clean(rows)


@settings(deadline=None, max_examples=150)
@given(rows=documents, as_ascii=st.booleans())
def test_json_round_trip(rows, as_ascii):
    lines = [json.dumps({"text": t, "label": k}, ensure_ascii=as_ascii) for t, k in rows]
    write("rows.jsonl", "\n".join(lines))
    corpus = read_dataset("rows.jsonl", label="label", require_labels=False)
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == clean(rows)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "gb18030"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_csv_agrees_with_pandas(encoding, delimiter):
    rows = [
        ("id", "text", "label", "group"),
        ("7", 'she said "no"', "x", "g"),
        ("8", "two\r\nlines, and\n\nthree;", "y z", ""),
        ("9", "", '"', "g"),
        ("10", "'single' \\ \t na", "NA", "g,h"),
        ("", " spaces ", "é\u4e2d", "null"),
    ]
    content = csv_bytes(rows, delimiter=delimiter).decode()
    content = content.replace("\r\n7", "\r\n\r\n7").rstrip()
    write("rows.csv", content.encode(encoding))
    ours = read_dataset("rows.csv", encoding=encoding, delimiter=delimiter)
    theirs = pd.read_csv(
        "rows.csv", encoding=encoding, sep=delimiter, dtype=str, keep_default_na=False
    )
    assert list(ours.ids) == theirs["id"].to_list()
    assert list(ours.texts) == theirs["text"].to_list()
    assert list(ours.labels) == theirs["label"].to_list()
    assert list(ours.groups) == theirs["group"].to_list()
    assert list(ours.texts) == [row[1] for row in rows[1:]]


# Columns


def test_named_columns_and_joined_texts():
    write("rows.csv", "no,title,body,topic,fold,user\nr1,T,B,x,train,u1\nr2,,C,y,test,u2\n")
    corpus = read_dataset(
        "rows.csv", text=["body", "title"], label="topic", id="no", split="fold", group="user"
    )
    assert corpus.texts == ("B\nT", "C\n")
    assert corpus.labels == ("x", "y")
    assert corpus.ids == ("r1", "r2")
    assert corpus.split == ("train", "test")
    assert corpus.groups == ("u1", "u2")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_default_columns(suffix):
    frame = pd.DataFrame(
        {
            "id": ["p", "q"],
            "text": ["a", "b"],
            "label": ["x", "y"],
            "split": ["train", "test"],
            "group": ["g", "h"],
            "other": ["1", "2"],
        }
    )
    if suffix == "csv":
        frame.to_csv("rows.csv", index=False)
    else:
        frame.to_json("rows.jsonl", orient="records", lines=True)
    corpus = read_dataset(f"rows.{suffix}")
    assert (corpus.ids, corpus.split, corpus.groups) == (
        ("p", "q"),
        ("train", "test"),
        ("g", "h"),
    )
    assert (corpus.texts, corpus.labels) == (("a", "b"), ("x", "y"))


@pytest.mark.parametrize(
    "content", ["text,label\n,x\n\nb,y\n", '{"text":"","label":"x"}\n\n{"text":"b","label":"y"}']
)
def test_default_ids_and_empty_texts(content):
    suffix = "csv" if content.startswith("text") else "jsonl"
    corpus = read_dataset(write(f"rows.{suffix}", content))
    assert corpus.ids == ("1", "2")
    assert corpus.texts == ("", "b")
    assert corpus.split is None and corpus.groups is None and corpus.skipped == ()


def test_labels_that_are_not_required_are_read_if_named():
    write("rows.csv", "text,label\na,\nb,x\n")
    assert read_dataset("rows.csv", require_labels=False).labels is None
    assert "line 2" in error_message("rows.csv", require_labels=False, label="label")


def test_missing_column_raises():
    write("rows.csv", GOOD)
    for option in ("text", "label", "id", "split", "group"):
        assert error_message("rows.csv", **{option: "nope"}) == (
            'rows.csv has no column "nope"; its columns are: id, text, label; '
            f"name the {option} column with {option}= / --{option}"
        )


def test_missing_column_suggests_a_similar_name():
    write("rows.csv", "ID,Texts,label\n1,a,x\n")
    assert error_message("rows.csv") == (
        'rows.csv has no column "text" (did you mean "Texts"?); its columns are: ID, Texts, label; '
        "name the text column with text= / --text"
    )


def test_long_lists_of_columns_are_shortened():
    names = [f"c{n}" for n in range(50)]
    message = error_message(write("rows.csv", ",".join([*names, "w" * 99]) + "\n"))
    assert "c19 and 31 more;" in message and "c20" not in message


@pytest.mark.parametrize(
    ("delimiter", "name", "advice"),
    [
        (";", "semicolons", "delimiter=';' / --delimiter ';'"),
        ("|", "bars", "delimiter='|' / --delimiter '|'"),
        ("\t", "tabs", "format='tsv' / --format tsv"),
    ],
)
def test_wrong_delimiter_is_detected(delimiter, name, advice):
    message = error_message(write("rows.csv", GOOD.replace(",", delimiter)), delimiter=",")
    assert message.startswith('rows.csv has no column "text"')
    assert message.endswith(f"it seems to be separated by {name}, so read it with {advice}")


@pytest.mark.parametrize("first", ["I liked this film very much indeed,pos", "12,0.5", "spam,spam"])
def test_missing_header_is_detected(first):
    message = error_message(write("rows.csv", f"{first}\nmore,neg\n"))
    assert message.endswith(
        "this looks like data: add a header line with the column names, or read it with "
        "header=False / --no-header and name the columns by their numbers"
    )


def test_duplicate_column_names_raise():
    assert error_message(write("rows.csv", "id,text,label,id\n1,a,x,2\n")) == (
        'rows.csv has more than one column "id" among its columns: id, text, label, id; '
        "rename one of them"
    )
    assert read_dataset(write("rows.csv", ",text,label,\n,a,x,\n,b,y,\n")).texts == ("a", "b")


def test_tsv_by_suffix_and_by_format():
    content = GOOD.replace(",", "\t")
    for name in ("rows.tsv", "rows.tab", "rows.TSV"):
        assert read_dataset(write(name, content)).texts == ("a", "b")
    assert read_dataset(write("rows.txt", content), format="tsv").texts == ("a", "b")


# Bad rows of a CSV file


def test_wrong_number_of_fields_raises():
    message = error_message(write("rows.csv", 'id,text,label\n1,"a\nb",x\n2,b\n'))
    assert message == (
        "rows.csv, line 4 has 2 fields but the header has 3 (id, text, label); quote fields that "
        f"contain the delimiter, {SKIP_ADVICE}"
    )
    assert "rows.csv, line 2 has 4 fields" in error_message(
        write("rows.csv", "text,label\na,b,c,d\n")
    )


@pytest.mark.parametrize("label", ["", "  "])
def test_empty_label_raises(label):
    write("rows.csv", f'text,topic\n"a\r\nb",x\nc,{label}\n')
    assert error_message("rows.csv", label="topic") == (
        'rows.csv, line 4: the label (column "topic") is empty; add a label, ' + SKIP_ADVICE
    )


def test_blank_line_in_a_single_column_raises():
    message = error_message(write("rows.csv", "text\na\n\nb\n"), require_labels=False)
    assert message.startswith("rows.csv, line 3 is blank; write")
    assert read_dataset(write("rows.csv", 'text\na\n""\n'), require_labels=False).texts == ("a", "")


@pytest.mark.parametrize(
    ("content", "opened", "noticed"),
    [
        ('text,label\na,x\n"b,y\nc,z\n', 3, 4),
        ('text,label\n"a\n""b""",x\n"b\n,""c\n', 4, 5),
        ('text,label\n"a\nb","x\nd,y\ne,z', 3, 5),
        ('text,label\n"a\n,b\nc,"y"\n', 2, 4),
        ('text,label\n5" disk,x\n"a"b,y\n', 3, 3),
        ('text,label\r\na,x\r\n"b,y\r\n', 3, 3),
    ],
)
def test_unclosed_quote_raises_with_the_first_line_of_the_field(content, opened, noticed):
    for policy in ("raise", "skip"):
        message = error_message(write("rows.csv", content), on_bad_rows=policy)
        assert message.startswith(f"rows.csv, line {opened}: the quoted field that starts here")
        assert f"(line {noticed}: " in message


def test_quotes_inside_an_unquoted_field():
    assert read_dataset(write("rows.csv", 'text,label\n5" disk,x\na "b" c,y\n')).texts == (
        '5" disk',
        'a "b" c',
    )


def test_huge_field():
    big = "word, " * 400_000
    write("rows.csv", csv_bytes([("text", "label"), (big, "x"), ("b", "y")]))
    assert read_dataset("rows.csv").texts == (big, "b")


@pytest.mark.parametrize(
    "content", ["text,label\na,x\nb\0c,y\n", '{"text":"a","label":"x"}\n\n{"text":"b\0"}']
)
def test_nul_raises(content):
    suffix = "csv" if content.startswith("text") else "jsonl"
    name = f"rows.{suffix}"
    message = error_message(write(name, content))
    assert message.startswith(f"{name}, line 3: character ")
    assert "is a NUL" in message


def test_skipped_rows_are_listed_and_numbered():
    write("rows.csv", b"text,label\na,x\nb\nc,\n\xe9,x\nd\0,y\ne,y\n")
    corpus = read_dataset("rows.csv", on_bad_rows="skip")
    assert corpus.texts == ("a", "e")
    assert corpus.ids == ("1", "6")
    places = [sentence.split(":")[0].split(" has")[0] for sentence in corpus.skipped]
    assert places == [f"rows.csv, line {line}" for line in (3, 4, 5, 6)]
    assert not any("on_bad_rows" in sentence for sentence in corpus.skipped)


def test_no_valid_row_raises():
    write("rows.csv", "text,label\na,\nb,\n")
    assert error_message("rows.csv", on_bad_rows="skip") == (
        "rows.csv has no valid row; the first of its 2 bad rows: "
        'rows.csv, line 2: the label (column "label") is empty'
    )


# Empty files and single classes


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.svm"])
def test_empty_file_raises(name, content):
    assert error_message(write(name, content)).startswith(f"{name} is empty; it must have ")
    packed = f"{name}.gz"
    assert error_message(write(packed, gzip.compress(content))).startswith(f"{packed} is empty")
    assert error_message(write(packed, b"")).startswith(f"{packed} is empty")


def test_header_without_rows_raises():
    assert (
        error_message(write("rows.csv", "text,label\n\n"))
        == "rows.csv has no rows after its header"
    )


@pytest.mark.parametrize(
    ("name", "content", "label"),
    [
        ("rows.csv", "text,label\na,x\nb,x\n", "x"),
        ("rows.svm", "1 1:1\n1.0 1:2\n", "1"),
        (
            "rows.jsonl",
            '{"text":"a","labels":["p","q"]}\n{"text":"b","labels":["p","q"]}',
            ("p", "q"),
        ),
    ],
)
def test_single_class_raises(name, content, label):
    message = error_message(write(name, content))
    assert message.startswith(f"all 2 samples of {name} have the label {label!r}")


def test_single_class_is_allowed_if_labels_are_not_required():
    write("rows.csv", "text,label\na,x\nb,x\n")
    assert read_dataset("rows.csv", label="label", require_labels=False).labels == ("x", "x")


# Encodings


def test_undecodable_byte_raises():
    content = "text,label\nü,x\n" + "ok,y\n" * 30_000
    write("rows.csv", content.encode() + "süß é,x\n".encode() + b"s\xc3\xbc\xdf,x\n")
    assert error_message("rows.csv") == (
        "rows.csv, line 30004: byte 0xdf at position 4 of the line is not utf-8 text; set the "
        "encoding, such as cp1252 or utf-16, with encoding= / --encoding, " + SKIP_ADVICE
    )


def test_a_note_states_how_to_keep_undecodable_rows():
    write("rows.csv", b"text,label\na,x\nb\xfc,x\nc\xe9,y\n,y\nd,y\n")
    corpus = read_dataset("rows.csv", on_bad_rows="skip")
    assert corpus.notes == (
        "rows that cannot be decoded are left out; to keep them, set the encoding, such as cp1252 "
        "or utf-16, with encoding= / --encoding",
    )
    assert len(read_dataset("rows.csv", on_bad_rows="skip", encoding="cp1252").notes) == 0


def test_undecodable_byte_in_json_lines_and_in_the_header():
    write("rows.jsonl", b'{"text": "a", "label": "x"}\n{"text": "\xff", "label": "x"}\n')
    assert "rows.jsonl, line 2: byte 0xff at position 11 " in error_message("rows.jsonl")
    write("rows.csv", b"text,label,\xe9\na,x,\n")
    for policy in ("raise", "skip"):
        message = error_message("rows.csv", on_bad_rows=policy)
        assert message.startswith("rows.csv, line 1: byte 0xe9 at position 12 of the line")
    write("rows.csv", b"\xef\xbb\xbftext,label,\xe9\na,x,\n")
    assert "line 1: byte 0xe9 at position 15 of the line" in error_message("rows.csv")


@pytest.mark.parametrize(
    ("encoding", "order", "mark"),
    [
        ("utf-16", "utf-16-le", "\ufeff"),
        ("utf-16", "utf-16-be", "\ufeff"),
        ("utf-16-be", "utf-16-be", ""),
        ("utf-32-le", "utf-32-le", ""),
    ],
)
def test_undecodable_bytes_in_wide_encodings_raise(encoding, order, mark):
    good = (f"{mark}text,label\n" + "ä\u0a0a,x\n" * 9_000).encode(order)
    write("rows.csv", good + "\ud800a,x\n".encode(order, "surrogatepass"))
    message = error_message("rows.csv", encoding=encoding, on_bad_rows="skip")
    assert message.startswith("rows.csv, line 9002: byte 0x")
    assert f"at position {len(good) + 1} of the file is not {encoding} text" in message


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "shift_jis"])
def test_encodings(encoding):
    text = "日本" if encoding == "shift_jis" else "süß é"
    content = f"text,label\r\n{text},x\r\nb,y\r\n".encode(encoding)
    assert read_dataset(write("rows.csv", content), encoding=encoding).texts == (text, "b")


def test_byte_order_mark_is_removed_at_the_start_only():
    content = "\ufefftext,label\n\ufeffa,x\nb,y\n"
    for encoding in ("utf-8", "utf-16-le"):
        corpus = read_dataset(write("rows.csv", content.encode(encoding)), encoding=encoding)
        assert corpus.texts == ("\ufeffa", "b")


@pytest.mark.parametrize("encoding", ["utf-17", "base64", "a\0b"])
def test_unknown_encoding_raises(encoding):
    message = error_message(write("rows.csv", GOOD), encoding=encoding)
    assert message.startswith("encoding must be a text encoding")
    assert message.endswith(f"got {encoding!r}")


# gzip


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.jsonl.gz", "rows.svm.gz", "ROWS.CSV.GZ"])
def test_gzip_by_suffix(name):
    content = {
        "csv": GOOD,
        "jsonl": '{"text":"a","label":"x"}\n{"text":"b","label":"y"}\n',
        "svm": "1 1:1\n2 1:2\n",
    }[name.lower().split(".")[1]]
    assert len(read_dataset(write(name, gzip.compress(content.encode())))) == 2


def test_corrupt_gzip_raises():
    packed = gzip.compress(GOOD.encode() + random.Random(0).randbytes(5000).hex().encode())
    assert error_message(write("rows.csv.gz", packed[:-3000])) == (
        "rows.csv.gz is truncated: its gzip data has no end; copy the file again"
    )
    flipped = packed[:-6] + bytes([packed[-6] ^ 255]) + packed[-5:]
    for content in (flipped, packed[:100] + b"\xff" * 50 + packed[150:]):
        message = error_message(write("rows.csv.gz", content), on_bad_rows="skip")
        assert message.startswith("rows.csv.gz has corrupt gzip data (")
    assert error_message(write("rows.csv.gz", GOOD)) == (
        "rows.csv.gz is not in gzip format; remove .gz from its name"
    )
    assert error_message(write("rows.csv", packed)).startswith(
        "rows.csv is in gzip format; add .gz"
    )


# JSON Lines


def test_lists_of_labels_are_read_as_tuples():
    write("rows.jsonl", '{"text":"a","labels":["x",2]}\n{"text":"b","labels":[]}\n')
    corpus = read_dataset("rows.jsonl")
    assert corpus.labels == (("x", "2"), ())
    assert corpus.multilabel
    write("rows.jsonl", '{"text":"a","topics":["x"]}\n{"text":"b","topics":["y"]}\n')
    assert read_dataset("rows.jsonl", label="topics").labels == (("x",), ("y",))


def test_numbers_are_converted_to_strings():
    rows = [{"id": 3, "text": 2.5, "label": 1}, {"id": "4", "text": "b", "label": True}]
    corpus = read_dataset(write("rows.jsonl", "\n".join(map(json.dumps, rows))))
    assert corpus.ids == ("3", "4")
    assert corpus.texts == ("2.5", "b")
    assert corpus.labels == ("1", "True")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ('{"text": null, "label": "x"}', ': the text (key "text") is null'),
        ('{"text": NaN, "label": "x"}', ': the text (key "text") is NaN'),
        ('{"text": {"a": 1}, "label": "x"}', ': the text (key "text") is an object'),
        ('{"text": ["a"], "label": "x"}', ': the text (key "text") is a list'),
        ('{"text": "a", "label": " "}', ': the label (key "label") is empty'),
        ('{"text": "a", "label": null}', ': the label (key "label") is null'),
        ('{"text": "a", "label": ["x"]}', "is a list but the rows before it have one label"),
        ('{"text": "a"}', ' has no key "label"; its keys are: text'),
        ('{"Text": "a", "label": "x"}', 'has no key "text" (did you mean "Text"?)'),
        ("{}", ' has no key "text"; it has no keys'),
        ('{"text": "a", "label": "x", "id": 1}', ' has a key "id", which the rows before it'),
        ('{"text": "a", "label": "x", "label": "y"}', 'the key "label" occurs more than once'),
        ('{"text": "\\ud800a", "label": "x"}', "a lone surrogate (\\ud800)"),
        ('{"text": "a", "label": "x"', " is not JSON at character 27 (Expecting ',' delimiter)"),
        ("[1, 2]", " is a list, not an object"),
        ("3", " is a number, not an object"),
        ("[" * 100_000, " cannot be read ("),
    ],
)
def test_invalid_json_row_raises_or_is_skipped(row, problem):
    good = ['{"text": "a", "label": "x"}', "", '{"text": "b", "label": "y"}']
    write("rows.jsonl", "\n".join([*good, row, good[0]]))
    message = error_message("rows.jsonl")
    assert message.startswith("rows.jsonl, line 4") and problem in message
    assert message.endswith(SKIP_ADVICE)
    corpus = read_dataset("rows.jsonl", on_bad_rows="skip")
    assert corpus.ids == ("1", "2", "4")
    assert len(corpus.skipped) == 1 and problem in corpus.skipped[0]


def test_invalid_list_of_labels_raises():
    for entry, problem in [("null", "is null"), ('""', "is empty"), ("[]", "is a list")]:
        write("rows.jsonl", f'{{"text":"a","labels":["x"]}}\n{{"text":"a","labels":["x",{entry}]}}')
        assert f'rows.jsonl, line 2: the label (key "labels") {problem}' in error_message(
            "rows.jsonl"
        )
    write("rows.jsonl", '{"text":"a","labels":["x"]}\n{"text":"a","labels":"x"}')
    assert "is a string but the rows before it have a list of labels" in error_message("rows.jsonl")


def test_first_valid_row_determines_the_keys():
    write("rows.jsonl", '{"id":1}\n{"text":"a","label":"x"}\n{"text":"b","label":"y"}\n')
    corpus = read_dataset("rows.jsonl", on_bad_rows="skip")
    assert corpus.ids == ("2", "3") and len(corpus.skipped) == 1


# Folders


def make_folder(files):
    for name, content in files.items():
        path = Path("docs", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return "docs"


def test_folder_of_class_folders():
    make_folder(
        {
            "b/2.txt": "four\r\n",
            "b/1.txt": "",
            "a/x/deep.txt": "one",
            "a/z.txt.gz": gzip.compress(b"two"),
            "a/.hidden": "no",
            ".git/c": "no",
        }
    )
    corpus = read_dataset("docs")
    assert corpus.ids == ("a/x/deep.txt", "a/z.txt.gz", "b/1.txt", "b/2.txt")
    assert corpus.texts == ("one", "two", "", "four\r\n")
    assert corpus.labels == ("a", "a", "b", "b")
    assert corpus.split is None


def test_folder_with_split():
    make_folder({f"{part}/{kind}/1": part + kind for part in ("train", "test") for kind in "ab"})
    corpus = read_dataset(Path("docs"))
    assert corpus.ids == ("test/a/1", "test/b/1", "train/a/1", "train/b/1")
    assert corpus.labels == ("a", "b", "a", "b")
    assert corpus.split == ("test", "test", "train", "train")


def test_classes_may_be_named_train_and_test():
    make_folder({"train/1": "choo", "test/1": "exam"})
    corpus = read_dataset("docs")
    assert corpus.labels == ("test", "train")
    assert corpus.split is None


def test_file_outside_class_folders_raises_or_is_skipped():
    make_folder({"a/1": "one", "b/1": "two", "readme.txt": "hi"})
    message = error_message("docs")
    assert str(Path("docs", "readme.txt")) in message and "is not in a class folder" in message
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.labels == ("a", "b") and len(corpus.skipped) == 1
    unlabeled = read_dataset("docs", require_labels=False)
    assert unlabeled.ids == ("a/1", "b/1", "readme.txt") and unlabeled.labels is None


def test_undecodable_file_raises_or_is_skipped():
    make_folder({"a/1": b"ok\n\xe9", "a/2": "one", "b/1": "two", "b/2": b"\0"})
    bad = Path("docs", "a", "1")
    assert error_message("docs").startswith(f"{bad}, line 2: byte 0xe9 at position 1 of the line")
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.texts == ("one", "two") and len(corpus.skipped) == 2


def test_cyclic_links_are_skipped():
    make_folder({"a/1": "one", "b/1": "two"})
    try:
        Path("docs", "a", "loop").symlink_to(Path("docs").resolve(), target_is_directory=True)
        Path("docs", "b", "gone").symlink_to("nowhere")
    except OSError:
        pytest.skip("no right to make links here")
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.ids == ("a/1", "b/1")
    assert len(corpus.skipped) == 2
    assert "which is already included" in corpus.skipped[0]


def test_class_folder_may_be_a_link():
    make_folder({"a/1": "one"})
    Path("elsewhere").mkdir()
    Path("elsewhere", "1").write_text("two")
    try:
        Path("docs", "b").symlink_to(Path("elsewhere").resolve(), target_is_directory=True)
    except OSError:
        pytest.skip("no right to make links here")
    assert read_dataset("docs").texts == ("one", "two")


def test_empty_folder_raises():
    Path("docs").mkdir()
    assert error_message("docs").startswith("docs has no files; ")


# svmlight


def test_svmlight_matches_scikit_learn():
    random_state = np.random.default_rng(0)
    X = random_state.random((30, 12)) * (random_state.random((30, 12)) < 0.3)
    y = random_state.integers(-1, 2, 30)
    for zero_based in (True, False):
        dump_svmlight_file(X, y, "rows.svm", zero_based=zero_based)
        matrix = read_dataset("rows.svm")
        theirs, labels = load_svmlight_file("rows.svm", zero_based=True, dtype=np.float32)
        np.testing.assert_array_equal(matrix.X.toarray(), theirs.toarray())
        assert matrix.labels == tuple(str(int(label)) for label in labels)
        assert matrix.ids == tuple(str(n) for n in range(1, 31))
        assert matrix.X.indices.dtype == matrix.X.indptr.dtype == np.int32
        assert matrix.X.dtype == np.float32
        # Feature j is column j, whether indices start at 0 or 1.
        first = 0 if zero_based else 1
        np.testing.assert_allclose(matrix.X.toarray()[:, first : first + 12], X, rtol=1e-6)


def test_svmlight_labels_and_groups():
    write("rows.svm", "+1 qid:7 1:1\n1.0 qid:7\n# note\n-2.5 qid:9 2:3 # qid:4\n")
    matrix = read_dataset("rows.svm")
    assert matrix.labels == ("1", "1", "-2.5")
    assert matrix.groups == ("7", "7", "9")
    assert read_dataset("rows.svm", require_labels=False).labels is None
    assert read_dataset(write("rows.svm", "1,3 1:1\n2 1:1\n1:4\n")).labels == (
        ("1", "3"),
        ("2",),
        (),
    )
    assert error_message(write("rows.svm", "1 qid:1 1:1\n2 1:1\n")) == (
        "rows.svm has a qid in 1 of its 2 rows; add it to all rows or to none"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("spam 1:1", 'the label "spam" is not a number'),
        ("nan 1:1", 'the label "nan" is not a number'),
        ("12345678901234567890 1:1", "is not a number below 2**53"),
        ("1 a:1", '"a:1" is not of the form index:value'),
        ("1 -1:1", '"-1:1" is not of the form index:value'),
        ("1 5", '"5" is not of the form index:value'),
        ("1 3:1 2:1", "feature 2 follows feature 3"),
        ("1 3:1 3:1", "feature 3 follows feature 3"),
        ("1 3:x", 'the value of feature 3 is "x"'),
        ("1 3:nan", 'the value of feature 3 is "nan"'),
        ("1 3:1e39", 'the value of feature 3 is "1e39"'),
        ("1 99999999999:1", "feature 99999999999 is out of range"),
    ],
)
def test_invalid_svmlight_row_raises_or_is_skipped(line, problem):
    write("rows.svm", f"1 1:1\n\n# note\n{line}\n2 2:1\n")
    message = error_message("rows.svm")
    assert message.startswith("rows.svm, line 4: ") and problem in message
    matrix = read_dataset("rows.svm", on_bad_rows="skip")
    assert matrix.ids == ("1", "3") and matrix.labels == ("1", "2")
    assert len(matrix.skipped) == 1 and problem in matrix.skipped[0]


def test_svmlight_number_of_features():
    write("rows.svm", "1 1:1\n2 4:1\n")
    assert read_dataset("rows.svm").X.shape == (2, 5)
    assert read_dataset("rows.svm", n_features=9).X.shape == (2, 9)
    assert "line 2: feature 4 is out of range for 4 features" in error_message(
        "rows.svm", n_features=4
    )


def test_no_valid_svmlight_row_raises():
    message = error_message(write("rows.svm", "x\ny\n"), on_bad_rows="skip")
    assert message.startswith("rows.svm has no valid row; the first of its 2 bad rows: ")


# Formats and options


def test_detect_format():
    assert detect_format(write("rows.libsvm.gz", "")) == "svmlight"
    assert detect_format(write("rows.ndjson", "")) == "jsonl"
    assert detect_format(write("rows.csv", ""), "jsonl") == "jsonl"
    assert detect_format(".") == "folder"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"format": "xml"}, "format must be one of csv, tsv, "),
        ({"format": "folder"}, "rows.csv is a file, not a folder"),
        ({"on_bad_rows": "drop"}, "on_bad_rows must be 'raise' or 'skip'; got 'drop'"),
        ({"delimiter": ""}, "--format tsv); got ''"),
        ({"delimiter": "::"}, "delimiter must be one character"),
        ({"delimiter": '"'}, "delimiter must be one character"),
        ({"text": []}, "text must name at least one column"),
        ({"n_features": 3}, "n_features applies to svmlight files only"),
        ({"format": "jsonl", "delimiter": ";"}, "is in jsonl format, which has no delimiter"),
        ({"format": "svmlight", "label": "y"}, "is in svmlight format, which has no label"),
    ],
)
def test_invalid_options_raise(options, problem):
    assert problem in error_message(write("rows.csv", GOOD), **options)


def test_invalid_paths_raise():
    assert error_message("none.csv").startswith("none.csv does not exist; ")
    assert error_message(write("rows.txt", GOOD)).startswith(
        "the format of rows.txt cannot be determined"
    )
    assert error_message(".", format="csv").startswith(". is a folder, not a file")
    assert error_message("-").startswith("set the format of standard input with format= / --format")


# Dataframes

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table, dict]
COLUMNS = {"text": ["a", "b", ""], "label": ["x", "y", "x"]}


class ArrowOnly:
    """An object with nothing but the Arrow PyCapsule interface."""

    def __init__(self, columns):
        self._table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [*FRAMES, ArrowOnly])
def test_dataframe(make):
    corpus = read_dataset(make(COLUMNS))
    assert (corpus.texts, corpus.labels, corpus.ids) == (
        ("a", "b", ""),
        ("x", "y", "x"),
        ("0", "1", "2"),
    )
    assert (corpus.split, corpus.groups, corpus.skipped) == (None, None, ())
    assert read_dataset(make({"text": ["a"]}), require_labels=False).labels is None


@pytest.mark.parametrize("make", FRAMES)
def test_dataframe_with_named_columns(make):
    frame = make(
        {
            "title": ["A", "B"],
            "body": ["a", "b"],
            "topic": [3, 4],
            "key": [10, 20],
            "fold": ["train", "test"],
            "user": [1, 1],
            "other": [None, 0.5],
        }
    )
    options = {"label": "topic", "id": "key", "split": "fold", "group": "user"}
    corpus = read_dataset(frame, text=["body", "title"], **options)
    assert corpus.texts == ("a\nA", "b\nB")
    assert (corpus.labels, corpus.ids) == (("3", "4"), ("10", "20"))
    assert (corpus.split, corpus.groups) == (("train", "test"), ("1", "1"))


@pytest.mark.parametrize("make", FRAMES)
def test_dataframe_matches_file(make):
    columns = {**COLUMNS, "id": ["p", "q", "r"], "split": ["train"] * 3, "group": ["g", "g", "h"]}
    pd.DataFrame(columns).to_csv("rows.csv", index=False)
    assert read_dataset(make(columns)) == read_dataset("rows.csv")


@pytest.mark.parametrize("make", FRAMES)
def test_dataframe_with_lists_of_labels(make):
    corpus = read_dataset(make({"text": ["a", "b"], "labels": [["x", "y"], []]}))
    assert corpus.multilabel
    assert corpus.labels == (("x", "y"), ())


def test_dataframe_with_categories_and_index():
    frame = pd.DataFrame(COLUMNS, index=[7, 7, 7]).astype({"label": "category", "text": "string"})
    corpus = read_dataset(frame)
    assert (corpus.labels, corpus.ids) == (("x", "y", "x"), ("0", "1", "2"))
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("label").cast(pl.Categorical))
    assert read_dataset(frame).labels == ("x", "y", "x")


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("label", ["x", "y", None], 'row 2: the label (column "label") is missing ('),
        ("text", ["a", None, "c"], 'row 1: the text (column "text") is missing ('),
        ("text", [1, 2, 3], 'row 0: the text (column "text") is of type int, not a string'),
        ("label", ["x", " ", "y"], 'row 1: the label (column "label") is empty'),
        ("group", ["g", None, "h"], 'row 1: the group (column "group") is missing ('),
        ("id", [["i"], ["j"], ["k"]], 'row 0: the id (column "id") is of type '),
        ("label", [["x"], ["y"], None], 'row 2: the label (column "label") is missing ('),
        ("label", [["x"], ["y"], [None]], 'row 2: the label (column "label") is missing ('),
    ],
)
def test_invalid_value_in_dataframe_raises(make, column, values, problem):
    frame = make({**COLUMNS, column: values})
    message = error_message(frame)
    assert message.startswith(f"{type(frame).__name__}, {problem}")
    assert f"; correct or drop the row, {SKIP_ADVICE}" in message


@pytest.mark.parametrize("value", [np.nan, pd.NA, pd.NaT, None])
def test_missing_values_of_pandas_raise(value):
    frame = pd.DataFrame({"text": ["a", "b"], "label": pd.Series(["x", value], dtype=object)})
    assert error_message(frame).startswith(
        'DataFrame, row 1: the label (column "label") is missing ('
    )


def test_mixed_labels_in_dataframe_raise():
    for labels, problem in [
        ([["x"], "y"], "is not a list but the rows before it have a list of labels"),
        (["x", ["y"]], "is a list but the rows before it have one label"),
    ]:
        message = error_message(pd.DataFrame({"text": ["a", "b"], "label": labels}))
        assert message.startswith(f'DataFrame, row 1: the label (column "label") {problem}')


@pytest.mark.parametrize("make", FRAMES)
def test_invalid_rows_of_dataframe_are_skipped(make):
    frame = make({"text": ["a", None, "c", "d"], "label": ["x", "y", "y", ""]})
    corpus = read_dataset(frame, on_bad_rows="skip")
    assert (corpus.texts, corpus.ids) == (("a", "c"), ("0", "2"))
    assert [message.split(":")[0] for message in corpus.skipped] == [
        f"{type(frame).__name__}, row {number}" for number in (1, 3)
    ]
    name = type(frame).__name__
    assert error_message(make({"text": ["a"], "label": [""]}), on_bad_rows="skip") == (
        f"{name} has no valid row; the first of its 1 bad rows: "
        f'{name}, row 0: the label (column "label") is empty'
    )


@pytest.mark.parametrize("make", FRAMES)
def test_missing_column_of_dataframe_raises(make):
    frame = make({"Text": ["a", "b"], "label": ["x", "y"]})
    assert error_message(frame) == (
        f'{type(frame).__name__} has no column "text" (did you mean "Text"?); its columns are: '
        "Text, label; name the text column with text= / --text"
    )
    assert 'no column "topic"' in error_message(frame, text="Text", label="topic")


def test_invalid_dataframes_raise():
    assert error_message(pd.DataFrame({"text": [], "label": []})) == "DataFrame has no rows"
    assert error_message(pd.DataFrame({"text": ["a"] * 3, "label": ["x"] * 3})).startswith(
        "all 3 samples of DataFrame have the label 'x'"
    )
    assert error_message({"text": ["a", "b"], "label": ["x"]}) == (
        'dict: the column "label" has 1 rows, and others have 2'
    )
    twice = pd.DataFrame([["a", "x", "y"]], columns=["text", "label", "label"])
    assert error_message(twice).startswith('DataFrame has more than one column "label"')
    assert error_message(pl.LazyFrame(COLUMNS)) == (
        "LazyFrame has not been computed; pass LazyFrame.collect() instead"
    )
    for source in (7, None, [7, 8]):
        assert error_message(source).startswith("source must be a path or a dataframe; got an ")


@pytest.mark.parametrize(
    "options", [{"format": "csv"}, {"delimiter": ";"}, {"n_features": 3}], ids=str
)
def test_file_options_of_dataframe_raise(options):
    (name,) = options
    assert error_message(pd.DataFrame(COLUMNS), **options) == (
        f"{name} applies to files only; leave it out for a DataFrame"
    )


def test_dataframe_libraries_are_not_required():
    script = (
        "import sys\n"
        "sys.modules.update(pandas=None, polars=None, pyarrow=None)\n"
        "from cordwood.datasets import read_dataset\n"
        "read_dataset({'text': ['a', 'b'], 'label': ['x', 'y']})\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


# Streaming


def test_stream_matches_read():
    write("rows.csv", 'id,text,label,split\nr1,"a\nb",x,train\nr2,,y,test\n')
    rows = list(stream_dataset("rows.csv"))
    corpus = read_dataset("rows.csv")
    assert tuple(row.id for row in rows) == corpus.ids
    assert tuple(row.text for row in rows) == corpus.texts
    assert tuple(row.label for row in rows) == corpus.labels
    assert tuple(row.split for row in rows) == corpus.split
    assert {row.group for row in rows} == {None}


def test_options_are_a_record_or_keywords():
    write("rows.csv", "title;body;topic\nT;B;x\nU;C;y\n")
    options = ReadOptions(text="body", label="topic", delimiter=";")
    expected = read_dataset("rows.csv", text="body", label="topic", delimiter=";")
    assert read_dataset("rows.csv", options) == expected
    assert read_dataset("rows.csv", options, text="title").texts == ("T", "U")
    assert [row.text for row in stream_dataset("rows.csv", options)] == ["B", "C"]


@pytest.mark.parametrize("function", [read_dataset, stream_dataset])
def test_misspelled_option_raises(function):
    write("rows.csv", GOOD)
    with pytest.raises(TypeError, match="argument 'lable'; did you mean 'table' or 'label'"):
        function("rows.csv", lable="topic")
    with pytest.raises(TypeError, match="argument 'xyz'; one of: text, label,"):
        function("rows.csv", xyz=1)


def test_every_option_is_documented():
    documented = re.findall(r"^    (\w+) : ", ReadOptions.__doc__, re.M)
    listed = re.findall(r"`(\w+)`", read_dataset.__doc__.partition("those of `options`: ")[2])
    for names in (documented, listed):
        assert names[: len(OPTION_NAMES)] == list(OPTION_NAMES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": 3}, "text must be a column or a list of columns; got 3"),
        ({"text": ["a", 3]}, "text must be a column or a list of columns; got ['a', 3]"),
        ({"label": 3}, "label must be a string; got 3"),
        ({"label_separator": 3}, "label_separator must be a string such as ';'; got 3"),
        ({"header": "yes"}, "header must be true or false; got 'yes'"),
        ({"delimiter": 3}, "delimiter must be one character other than a quote or a line end"),
        ({"max_bytes": True}, "max_bytes must be a positive integer; got True"),
        ({"encoding": 3}, "encoding must be a text encoding"),
    ],
)
def test_options_of_the_wrong_type_raise(options, message):
    with pytest.raises(CordwoodError) as caught:
        ReadOptions(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_stream_reads_on_demand(suffix):
    words = random.Random(0).randbytes(1 << 20).hex()
    rows = [("text", "label"), *((words[n : n + 200], "x") for n in range(0, len(words), 200))]
    content = csv_bytes(rows)
    write(f"rows.{suffix}", gzip.compress(content) if suffix == "csv.gz" else content)
    calls = []
    rows = stream_dataset(
        f"rows.{suffix}", progress=lambda done, total: calls.append((done, total))
    )
    assert next(rows).id == "1"
    done, total = calls[-1] if calls else (0, 1)
    assert done < total / 4
    rows.close()
    assert next(rows, None) is None


def test_standard_input_is_not_buffered(monkeypatch):
    reading_end, writing_end = os.pipe()
    with open(reading_end) as terminal, open(writing_end, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", terminal)
        writer.write(b"text\nfirst\n")
        rows = stream_dataset("-", format="csv", require_labels=False)
        assert next(rows).text == "first"
        writer.write(b"second\n")
        assert next(rows).text == "second"
        writer.close()
        assert next(rows, None) is None


def test_stream_counts_all_bad_rows_and_stores_1000_messages():
    write("rows.csv", "text,label\na,x\n" + "b,\n" * 1500)
    rows = stream_dataset("rows.csv", on_bad_rows="skip")
    assert [row.text for row in rows] == ["a"]
    assert rows.n_skipped == 1500
    assert len(rows.skipped) == 1000
    assert rows.skipped[-1].startswith("rows.csv, line 1002:")
    corpus = read_dataset("rows.csv", on_bad_rows="skip", label="label", require_labels=False)
    assert len(corpus.skipped) == 1500


def test_stream_raises_at_the_bad_row():
    rows = stream_dataset(write("rows.csv", "text,label\na,x\nb,\n"))
    assert next(rows).text == "a"
    with pytest.raises(DataError, match="rows.csv, line 3: "):
        next(rows)


def test_invalid_stream_raises_before_the_first_row():
    write("rows.svm", "1 1:1\n")
    with pytest.raises(CordwoodError, match="rows.svm has numeric features"):
        stream_dataset("rows.svm")
    with pytest.raises(DataError, match="none.csv does not exist"):
        stream_dataset("none.csv")


# Progress


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl.gz", "rows.svm", "docs"])
def test_progress_ends_at_the_file_size(name):
    rng = random.Random(0)
    if name == "docs":
        make_folder({f"{kind}/{n}": rng.randbytes(9999).hex() for kind in "ab" for n in range(9)})
        size = sum(path.stat().st_size for path in Path("docs").rglob("*") if path.is_file())
    else:
        lines = {
            "rows.csv": [
                "text,label",
                *(f"{rng.randbytes(99).hex()},{n % 2}" for n in range(2000)),
            ],
            "rows.jsonl.gz": [
                json.dumps({"text": rng.randbytes(99).hex(), "label": n % 2}) for n in range(3000)
            ],
            "rows.svm": [f"{n % 2} 1:{rng.random()} 2:{rng.random()}" for n in range(8000)],
        }[name]
        content = "\n".join(lines).encode()
        write(name, gzip.compress(content) if name.endswith(".gz") else content)
        size = Path(name).stat().st_size
    calls = []
    read_dataset(name, progress=lambda done, total: calls.append((done, total)))
    done = [step for step, _ in calls]
    assert {total for _, total in calls} == {size}
    assert done[-1] == size
    assert 3 <= len(done) <= size / (1 << 16) + 1
    assert all(later > earlier for earlier, later in zip(done, done[1:], strict=False))


# Real data


def data_folder():
    named = os.environ.get("CORDWOOD_DATA")
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "datasets"


@pytest.mark.parametrize(
    ("name", "n_samples", "n_classes", "subsets"),
    [
        ("bbc", 752, 2, None),
        ("r8", 7674, 8, {"train": 5485, "test": 2189}),
        ("ohsumed", 7400, 23, {"train": 3357, "test": 4043}),
    ],
)
def test_real_data(name, n_samples, n_classes, subsets):
    path = data_folder() / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    corpus = read_dataset(path)
    assert len(corpus) == n_samples and len(set(corpus.labels)) == n_classes
    assert corpus.skipped == ()
    assert (corpus.split and pd.Series(corpus.split).value_counts().to_dict()) == subsets
