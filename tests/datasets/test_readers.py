import csv
import gzip
import inspect
import io
import json
import os
import random
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from cordwood.datasets.readers import detect_format, read_dataset, stream
from cordwood.exceptions import CordwoodError, DataError

SKIP_ADVICE = "or leave bad rows out with on_bad_rows='skip' / --on-bad-rows skip"
GOOD = "id,text,label\n1,a,x\n2,b,y\n"


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def complaint(path, **options):
    with pytest.raises(CordwoodError) as caught:
        read_dataset(path, **options)
    return str(caught.value)


def csv_bytes(rows, **dialect):
    file = io.StringIO(newline="")
    csv.writer(file, **dialect).writerows(rows)
    return file.getvalue().encode()


# Round trips


any_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
any_label = any_text.filter(str.strip)
nasty_text = st.one_of(any_text, st.text('a",;\n\r\t\ufeff\u2028 ', max_size=12))
documents = st.lists(st.tuples(nasty_text, any_label), min_size=1, max_size=8)


@settings(deadline=None, max_examples=150)
@given(
    rows=documents,
    delimiter=st.sampled_from(",;\t|"),
    # Python 3.11 leaves a lone line end of the other kind unquoted, which is two rows to anyone.
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
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == rows


@settings(deadline=None, max_examples=150)
@given(rows=documents, as_ascii=st.booleans())
def test_json_round_trip(rows, as_ascii):
    lines = [json.dumps({"text": t, "label": k}, ensure_ascii=as_ascii) for t, k in rows]
    write("rows.jsonl", "\n".join(lines))
    corpus = read_dataset("rows.jsonl", label="label", require_labels=False)
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == rows


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


def test_columns_by_name_and_text_joined_in_the_order_asked():
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
def test_usual_columns_are_found_and_others_left_alone(suffix):
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
def test_rows_without_ids_are_numbered_and_empty_documents_are_legal(content):
    suffix = "csv" if content.startswith("text") else "jsonl"
    corpus = read_dataset(write(f"rows.{suffix}", content))
    assert corpus.ids == ("1", "2")
    assert corpus.texts == ("", "b")
    assert corpus.split is None and corpus.groups is None and corpus.skipped == ()


def test_without_required_labels_none_are_read_unless_named():
    write("rows.csv", "text,label\na,\nb,x\n")
    assert read_dataset("rows.csv", require_labels=False).labels is None
    assert "line 2" in complaint("rows.csv", require_labels=False, label="label")


def test_named_columns_must_be_there():
    write("rows.csv", GOOD)
    for option in ("text", "label", "id", "split", "group"):
        assert complaint("rows.csv", **{option: "nope"}) == (
            'rows.csv has no column "nope"; its columns are: id, text, label; '
            f"name the {option} column with {option}= / --{option}"
        )


def test_missing_column_points_at_the_nearest():
    write("rows.csv", "ID,Texts,label\n1,a,x\n")
    assert complaint("rows.csv") == (
        'rows.csv has no column "text" (did you mean "Texts"?); its columns are: ID, Texts, label; '
        "name the text column with text= / --text"
    )


def test_long_lists_of_columns_are_cut_short():
    names = [f"c{n}" for n in range(50)]
    message = complaint(write("rows.csv", ",".join([*names, "w" * 99]) + "\n"))
    assert "c19 and 31 more;" in message and "c20" not in message


@pytest.mark.parametrize(
    ("delimiter", "name", "advice"),
    [
        (";", "semicolons", "delimiter=';' / --delimiter ';'"),
        ("|", "bars", "delimiter='|' / --delimiter '|'"),
        ("\t", "tabs", "format='tsv' / --format tsv"),
    ],
)
def test_another_delimiter_is_recognised(delimiter, name, advice):
    message = complaint(write("rows.csv", GOOD.replace(",", delimiter)))
    assert message.startswith('rows.csv has no column "text"')
    assert message.endswith(f"it seems to be separated by {name}, so read it with {advice}")


@pytest.mark.parametrize("first", ["I liked this film very much indeed,pos", "12,0.5", "spam,spam"])
def test_a_first_line_of_data_is_recognised(first):
    message = complaint(write("rows.csv", f"{first}\nmore,neg\n"))
    assert message.endswith("that looks like data: put a line with the columns' names first")


def test_repeated_column_names_are_refused_but_nameless_columns_are_not():
    assert complaint(write("rows.csv", "id,text,label,id\n1,a,x,2\n")) == (
        'rows.csv has more than one column "id" among its columns: id, text, label, id; '
        "give each a name of its own"
    )
    assert read_dataset(write("rows.csv", ",text,label,\n,a,x,\n,b,y,\n")).texts == ("a", "b")


def test_tsv_by_suffix_and_by_format():
    content = GOOD.replace(",", "\t")
    for name in ("rows.tsv", "rows.tab", "rows.TSV"):
        assert read_dataset(write(name, content)).texts == ("a", "b")
    assert read_dataset(write("rows.txt", content), format="tsv").texts == ("a", "b")


# Bad rows of a CSV file


def test_wrong_number_of_fields_names_the_line_and_both_counts():
    message = complaint(write("rows.csv", 'id,text,label\n1,"a\nb",x\n2,b\n'))
    assert message == (
        "rows.csv, line 4 has 2 fields where the header has 3 (id, text, label); quote any field "
        f"that holds the delimiter, {SKIP_ADVICE}"
    )
    assert "rows.csv, line 2 has 4 fields" in complaint(write("rows.csv", "text,label\na,b,c,d\n"))


@pytest.mark.parametrize("label", ["", "  "])
def test_empty_label_names_line_and_column(label):
    write("rows.csv", f'text,topic\n"a\r\nb",x\nc,{label}\n')
    assert complaint("rows.csv", label="topic") == (
        'rows.csv, line 4: the label (column "topic") is empty; give it a label, ' + SKIP_ADVICE
    )


def test_blank_line_in_one_column_is_no_silent_loss():
    message = complaint(write("rows.csv", "text\na\n\nb\n"), require_labels=False)
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
def test_unbalanced_quote_names_the_line_where_the_field_began(content, opened, noticed):
    for policy in ("raise", "skip"):
        message = complaint(write("rows.csv", content), on_bad_rows=policy)
        assert message.startswith(f"rows.csv, line {opened}: the quoted field that begins here")
        assert f"(line {noticed}: " in message


def test_quotes_inside_an_unquoted_field_are_text():
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
def test_nul_names_the_line(content):
    suffix = "csv" if content.startswith("text") else "jsonl"
    name = f"rows.{suffix}"
    message = complaint(write(name, content))
    assert message.startswith(f"{name}, line 3: character ")
    assert "is a NUL" in message


def test_skipped_rows_are_counted_and_told_and_keep_their_numbers():
    write("rows.csv", b"text,label\na,x\nb\nc,\n\xe9,x\nd\0,y\ne,y\n")
    corpus = read_dataset("rows.csv", on_bad_rows="skip")
    assert corpus.texts == ("a", "e")
    assert corpus.ids == ("1", "6")
    places = [sentence.split(":")[0].split(" has")[0] for sentence in corpus.skipped]
    assert places == [f"rows.csv, line {line}" for line in (3, 4, 5, 6)]
    assert not any("on_bad_rows" in sentence for sentence in corpus.skipped)


def test_all_rows_bad_is_an_error():
    write("rows.csv", "text,label\na,\nb,\n")
    assert complaint("rows.csv", on_bad_rows="skip") == (
        "rows.csv has no good row; the first of its 2 bad rows: "
        'rows.csv, line 2: the label (column "label") is empty'
    )


# Nothing to learn from


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.svm"])
def test_empty_file(name, content):
    assert complaint(write(name, content)).startswith(f"{name} is empty; it needs ")
    packed = f"{name}.gz"
    assert complaint(write(packed, gzip.compress(content))).startswith(f"{packed} is empty")
    assert complaint(write(packed, b"")).startswith(f"{packed} is empty")


def test_header_without_rows():
    assert complaint(write("rows.csv", "text,label\n\n")) == "rows.csv has no rows below its header"


@pytest.mark.parametrize(
    ("name", "content", "label"),
    [
        ("rows.csv", "text,label\na,x\nb,x\n", "x"),
        ("rows.svm", "1 1:1\n1.0 1:2\n", "1"),
        ("rows.jsonl", '{"text":"a","labels":["p","q"]}\n{"text":"b","labels":["p","q"]}', "p, q"),
    ],
)
def test_single_class_names_it_with_its_count(name, content, label):
    message = complaint(write(name, content))
    assert message.startswith(f'all 2 rows of {name} have the same label, "{label}"')


def test_single_class_is_no_matter_where_labels_are_not_required():
    write("rows.csv", "text,label\na,x\nb,x\n")
    assert read_dataset("rows.csv", label="label", require_labels=False).labels == ("x", "x")


# Encodings


def test_undecodable_byte_names_line_position_and_encoding():
    content = "text,label\nü,x\n" + "ok,y\n" * 30_000
    write("rows.csv", content.encode() + "süß é,x\n".encode() + b"s\xc3\xbc\xdf,x\n")
    assert complaint("rows.csv") == (
        "rows.csv, line 30004: byte 0xdf at position 4 of the line is not utf-8 text; name the "
        "file's encoding, such as cp1252 or utf-16, with encoding= / --encoding, " + SKIP_ADVICE
    )


def test_undecodable_byte_in_json_lines_and_in_the_header():
    write("rows.jsonl", b'{"text": "a", "label": "x"}\n{"text": "\xff", "label": "x"}\n')
    assert "rows.jsonl, line 2: byte 0xff at position 11 " in complaint("rows.jsonl")
    write("rows.csv", b"text,label,\xe9\na,x,\n")
    for policy in ("raise", "skip"):
        message = complaint("rows.csv", on_bad_rows=policy)
        assert message.startswith("rows.csv, line 1: byte 0xe9 at position 12 of the line")
    write("rows.csv", b"\xef\xbb\xbftext,label,\xe9\na,x,\n")
    assert "line 1: byte 0xe9 at position 15 of the line" in complaint("rows.csv")


@pytest.mark.parametrize(
    ("encoding", "order", "mark"),
    [
        ("utf-16", "utf-16-le", "\ufeff"),
        ("utf-16", "utf-16-be", "\ufeff"),
        ("utf-16-be", "utf-16-be", ""),
        ("utf-32-le", "utf-32-le", ""),
    ],
)
def test_undecodable_bytes_in_wide_encodings_name_line_and_position(encoding, order, mark):
    good = (f"{mark}text,label\n" + "ä\u0a0a,x\n" * 9_000).encode(order)
    write("rows.csv", good + "\ud800a,x\n".encode(order, "surrogatepass"))
    message = complaint("rows.csv", encoding=encoding, on_bad_rows="skip")
    assert message.startswith("rows.csv, line 9002: byte 0x")
    assert f"at position {len(good) + 1} of the file is not {encoding} text" in message


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "shift_jis"])
def test_encodings(encoding):
    text = "日本" if encoding == "shift_jis" else "süß é"
    content = f"text,label\r\n{text},x\r\nb,y\r\n".encode(encoding)
    assert read_dataset(write("rows.csv", content), encoding=encoding).texts == (text, "b")


def test_byte_order_mark_is_dropped_only_at_the_start():
    content = "\ufefftext,label\n\ufeffa,x\nb,y\n"
    for encoding in ("utf-8", "utf-16-le"):
        corpus = read_dataset(write("rows.csv", content.encode(encoding)), encoding=encoding)
        assert corpus.texts == ("\ufeffa", "b")


@pytest.mark.parametrize("encoding", ["utf-17", "base64", "a\0b"])
def test_unknown_encoding(encoding):
    message = complaint(write("rows.csv", GOOD), encoding=encoding)
    assert message.startswith(f"there is no text encoding {encoding!r}; ")


# gzip


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.jsonl.gz", "rows.svm.gz", "ROWS.CSV.GZ"])
def test_gzip_by_suffix(name):
    content = {
        "csv": GOOD,
        "jsonl": '{"text":"a","label":"x"}\n{"text":"b","label":"y"}\n',
        "svm": "1 1:1\n2 1:2\n",
    }[name.lower().split(".")[1]]
    assert len(read_dataset(write(name, gzip.compress(content.encode())))) == 2


def test_damaged_gzip_is_one_sentence():
    packed = gzip.compress(GOOD.encode() + random.Random(0).randbytes(5000).hex().encode())
    assert complaint(write("rows.csv.gz", packed[:-3000])) == (
        "rows.csv.gz is cut short: its gzip data has no end; copy it anew"
    )
    flipped = packed[:-6] + bytes([packed[-6] ^ 255]) + packed[-5:]
    for content in (flipped, packed[:100] + b"\xff" * 50 + packed[150:]):
        message = complaint(write("rows.csv.gz", content), on_bad_rows="skip")
        assert message.startswith("rows.csv.gz is damaged gzip data (")
    assert complaint(write("rows.csv.gz", GOOD)) == (
        "rows.csv.gz is not gzip data; take .gz off its name"
    )
    assert complaint(write("rows.csv", packed)).startswith("rows.csv is gzip data; add .gz")


# JSON lines


def test_several_labels_become_tuples():
    write("rows.jsonl", '{"text":"a","labels":["x",2]}\n{"text":"b","labels":[]}\n')
    corpus = read_dataset("rows.jsonl")
    assert corpus.labels == (("x", "2"), ())
    assert corpus.multilabel
    write("rows.jsonl", '{"text":"a","topics":["x"]}\n{"text":"b","topics":["y"]}\n')
    assert read_dataset("rows.jsonl", label="topics").labels == (("x",), ("y",))


def test_numbers_become_strings():
    rows = [{"id": 3, "text": 2.5, "label": 1}, {"id": "4", "text": "b", "label": True}]
    corpus = read_dataset(write("rows.jsonl", "\n".join(map(json.dumps, rows))))
    assert corpus.ids == ("3", "4")
    assert corpus.texts == ("2.5", "b")
    assert corpus.labels == ("1", "True")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('{"text": null, "label": "x"}', ': the text (key "text") is null'),
        ('{"text": NaN, "label": "x"}', ': the text (key "text") is NaN'),
        ('{"text": {"a": 1}, "label": "x"}', ': the text (key "text") is an object'),
        ('{"text": ["a"], "label": "x"}', ': the text (key "text") is a list'),
        ('{"text": "a", "label": " "}', ': the label (key "label") is empty'),
        ('{"text": "a", "label": null}', ': the label (key "label") is null'),
        ('{"text": "a", "label": ["x"]}', "is a list where the rows before it have one label"),
        ('{"text": "a"}', ' has no key "label"; its keys are: text'),
        ('{"Text": "a", "label": "x"}', 'has no key "text" (did you mean "Text"?)'),
        ("{}", ' has no key "text"; it has no keys'),
        ('{"text": "a", "label": "x", "id": 1}', ' has a key "id", which the rows before it'),
        ('{"text": "a", "label": "x", "label": "y"}', 'the key "label" occurs more than once'),
        ('{"text": "\\ud800a", "label": "x"}', "half of a surrogate pair (\\ud800)"),
        ('{"text": "a", "label": "x"', " is not JSON at character 27 (Expecting ',' delimiter)"),
        ("[1, 2]", " holds a list, not an object"),
        ("3", " holds a number, not an object"),
        ("[" * 100_000, " cannot be read ("),
    ],
)
def test_bad_json_row_names_the_line_and_can_be_skipped(row, fault):
    good = ['{"text": "a", "label": "x"}', "", '{"text": "b", "label": "y"}']
    write("rows.jsonl", "\n".join([*good, row, good[0]]))
    message = complaint("rows.jsonl")
    assert message.startswith("rows.jsonl, line 4") and fault in message
    assert message.endswith(SKIP_ADVICE)
    corpus = read_dataset("rows.jsonl", on_bad_rows="skip")
    assert corpus.ids == ("1", "2", "4")
    assert len(corpus.skipped) == 1 and fault in corpus.skipped[0]


def test_bad_entries_of_a_list_of_labels():
    for entry, fault in [("null", "is null"), ('""', "is empty"), ("[]", "is a list")]:
        write("rows.jsonl", f'{{"text":"a","labels":["x"]}}\n{{"text":"a","labels":["x",{entry}]}}')
        assert f'rows.jsonl, line 2: the label (key "labels") {fault}' in complaint("rows.jsonl")
    write("rows.jsonl", '{"text":"a","labels":["x"]}\n{"text":"a","labels":"x"}')
    assert "is a string where the rows before it have a list of labels" in complaint("rows.jsonl")


def test_first_good_row_decides_what_rows_have():
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


def test_folder_with_official_split():
    make_folder({f"{part}/{kind}/1": part + kind for part in ("train", "test") for kind in "ab"})
    corpus = read_dataset(Path("docs"))
    assert corpus.ids == ("test/a/1", "test/b/1", "train/a/1", "train/b/1")
    assert corpus.labels == ("a", "b", "a", "b")
    assert corpus.split == ("test", "test", "train", "train")


def test_folders_called_train_and_test_may_be_classes():
    make_folder({"train/1": "choo", "test/1": "exam"})
    corpus = read_dataset("docs")
    assert corpus.labels == ("test", "train")
    assert corpus.split is None


def test_file_outside_class_folders_is_a_bad_row():
    make_folder({"a/1": "one", "b/1": "two", "readme.txt": "hi"})
    message = complaint("docs")
    assert str(Path("docs", "readme.txt")) in message and "lies in no class folder" in message
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.labels == ("a", "b") and len(corpus.skipped) == 1
    unlabelled = read_dataset("docs", require_labels=False)
    assert unlabelled.ids == ("a/1", "b/1", "readme.txt") and unlabelled.labels is None


def test_undecodable_document_names_its_file_and_line():
    make_folder({"a/1": b"ok\n\xe9", "a/2": "one", "b/1": "two", "b/2": b"\0"})
    bad = Path("docs", "a", "1")
    assert complaint("docs").startswith(f"{bad}, line 2: byte 0xe9 at position 1 of the line")
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.texts == ("one", "two") and len(corpus.skipped) == 2


def test_links_that_lead_round_in_a_circle_end():
    make_folder({"a/1": "one", "b/1": "two"})
    try:
        Path("docs", "a", "loop").symlink_to(Path("docs").resolve(), target_is_directory=True)
        Path("docs", "b", "gone").symlink_to("nowhere")
    except OSError:
        pytest.skip("no right to make links here")
    corpus = read_dataset("docs", on_bad_rows="skip")
    assert corpus.ids == ("a/1", "b/1")
    assert len(corpus.skipped) == 2
    assert "which is read already" in corpus.skipped[0]


def test_class_folder_may_be_a_link():
    make_folder({"a/1": "one"})
    Path("elsewhere").mkdir()
    Path("elsewhere", "1").write_text("two")
    try:
        Path("docs", "b").symlink_to(Path("elsewhere").resolve(), target_is_directory=True)
    except OSError:
        pytest.skip("no right to make links here")
    assert read_dataset("docs").texts == ("one", "two")


def test_empty_folder():
    Path("docs").mkdir()
    assert complaint("docs").startswith("docs holds no files; ")


# svmlight


def test_svmlight_agrees_with_scikit_learn():
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
        # Feature j stays column j, however the file counts.
        first = 0 if zero_based else 1
        np.testing.assert_allclose(matrix.X.toarray()[:, first : first + 12], X, rtol=1e-6)


def test_svmlight_labels_and_queries():
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
    assert complaint(write("rows.svm", "1 qid:1 1:1\n2 1:1\n")) == (
        "rows.svm has a qid in 1 of its 2 rows; give it to all or to none"
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("spam 1:1", 'the label "spam" is not a number'),
        ("nan 1:1", 'the label "nan" is not a number'),
        ("12345678901234567890 1:1", "is not a number below 2**53"),
        ("1 a:1", '"a:1" is not a feature as index:value'),
        ("1 -1:1", '"-1:1" is not a feature as index:value'),
        ("1 5", '"5" is not a feature as index:value'),
        ("1 3:1 2:1", "feature 2 comes after feature 3"),
        ("1 3:1 3:1", "feature 3 comes after feature 3"),
        ("1 3:x", 'the value of feature 3 is "x"'),
        ("1 3:nan", 'the value of feature 3 is "nan"'),
        ("1 3:1e39", 'the value of feature 3 is "1e39"'),
        ("1 99999999999:1", "feature 99999999999 is beyond"),
    ],
)
def test_bad_svmlight_row_names_the_line_and_can_be_skipped(line, fault):
    write("rows.svm", f"1 1:1\n\n# note\n{line}\n2 2:1\n")
    message = complaint("rows.svm")
    assert message.startswith("rows.svm, line 4: ") and fault in message
    matrix = read_dataset("rows.svm", on_bad_rows="skip")
    assert matrix.ids == ("1", "3") and matrix.labels == ("1", "2")
    assert len(matrix.skipped) == 1 and fault in matrix.skipped[0]


def test_svmlight_width_can_be_set_to_fit_a_model():
    write("rows.svm", "1 1:1\n2 4:1\n")
    assert read_dataset("rows.svm").X.shape == (2, 5)
    assert read_dataset("rows.svm", n_features=9).X.shape == (2, 9)
    assert "line 2: feature 4 is beyond the 4 features" in complaint("rows.svm", n_features=4)


def test_all_svmlight_rows_bad_is_an_error():
    message = complaint(write("rows.svm", "x\ny\n"), on_bad_rows="skip")
    assert message.startswith("rows.svm has no good row; the first of its 2 bad rows: ")


# Formats and options


def test_format_is_told_by_the_name_or_by_the_option():
    assert detect_format(write("rows.libsvm.gz", "")) == "svmlight"
    assert detect_format(write("rows.ndjson", "")) == "jsonl"
    assert detect_format(write("rows.csv", ""), "jsonl") == "jsonl"
    assert detect_format(".") == "folder"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"format": "xml"}, "there is no format 'xml'; the formats are: csv, tsv, jsonl"),
        ({"format": "folder"}, "rows.csv is a file, not a folder"),
        ({"on_bad_rows": "drop"}, "on_bad_rows is 'drop', but must be 'raise' or 'skip'"),
        ({"delimiter": ""}, "the delimiter is '', but must be one character"),
        ({"delimiter": "::"}, "the delimiter is '::', but must be one character"),
        ({"delimiter": '"'}, "the delimiter is '\"', but must be one character"),
        ({"text": []}, "text names no column"),
        ({"n_features": 3}, "n_features is for svmlight files only"),
        ({"format": "jsonl", "delimiter": ";"}, "is read as jsonl, which has no delimiter"),
        ({"format": "svmlight", "label": "y"}, "is read as svmlight, which has no label"),
    ],
)
def test_wrong_options(options, fault):
    assert fault in complaint(write("rows.csv", GOOD), **options)


def test_wrong_paths():
    assert complaint("none.csv").startswith("none.csv does not exist; ")
    assert complaint(write("rows.txt", GOOD)).startswith("rows.txt does not tell its format by its")
    assert complaint(".", format="csv").startswith(". is a folder, not a file")
    assert complaint("-").startswith("say what standard input holds with format= / --format")


# Streaming


def test_stream_gives_the_rows_that_read_gives():
    write("rows.csv", 'id,text,label,split\nr1,"a\nb",x,train\nr2,,y,test\n')
    rows = list(stream("rows.csv"))
    assert [row.line for row in rows] == [2, 4]
    corpus = read_dataset("rows.csv")
    assert tuple(row.id for row in rows) == corpus.ids
    assert tuple(row.text for row in rows) == corpus.texts
    assert tuple(row.label for row in rows) == corpus.labels
    assert tuple(row.split for row in rows) == corpus.split
    assert {row.group for row in rows} == {None}


def test_stream_has_the_options_of_read():
    ours, theirs = (inspect.signature(function).parameters for function in (stream, read))
    assert dict(ours) == {name: option for name, option in theirs.items() if name != "n_features"}


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_first_row_comes_long_before_the_end_of_the_file(suffix):
    words = random.Random(0).randbytes(1 << 20).hex()
    rows = [("text", "label"), *((words[n : n + 200], "x") for n in range(0, len(words), 200))]
    content = csv_bytes(rows)
    write(f"rows.{suffix}", gzip.compress(content) if suffix == "csv.gz" else content)
    told = []
    rows = stream(f"rows.{suffix}", progress=lambda done, total: told.append((done, total)))
    assert next(rows).id == "1"
    done, total = told[-1] if told else (0, 1)
    assert done < total / 4
    rows.close()
    assert next(rows, None) is None


def test_standard_input_is_handed_on_as_it_comes(monkeypatch):
    reading_end, writing_end = os.pipe()
    with open(reading_end) as terminal, open(writing_end, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", terminal)
        writer.write(b"text\nfirst\n")
        rows = stream("-", format="csv", require_labels=False)
        assert next(rows).text == "first"
        writer.write(b"second\n")
        assert next(rows).text == "second"
        writer.close()
        assert next(rows, None) is None


def test_stream_counts_all_bad_rows_but_keeps_few_sentences():
    write("rows.csv", "text,label\na,x\n" + "b,\n" * 1500)
    rows = stream("rows.csv", on_bad_rows="skip")
    assert [row.text for row in rows] == ["a"]
    assert rows.n_skipped == 1500
    assert len(rows.skipped) == 1000
    assert rows.skipped[-1].startswith("rows.csv, line 1002:")
    corpus = read_dataset("rows.csv", on_bad_rows="skip", label="label", require_labels=False)
    assert len(corpus.skipped) == 1500


def test_stream_raises_where_the_bad_row_is():
    rows = stream(write("rows.csv", "text,label\na,x\nb,\n"))
    assert next(rows).text == "a"
    with pytest.raises(DataError, match="rows.csv, line 3: "):
        next(rows)


def test_numbers_cannot_be_streamed_and_mistakes_are_told_at_once():
    write("rows.svm", "1 1:1\n")
    with pytest.raises(CordwoodError, match="rows.svm holds numbers"):
        stream("rows.svm")
    with pytest.raises(DataError, match="none.csv does not exist"):
        stream("none.csv")


# Progress


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl.gz", "rows.svm", "docs"])
def test_progress_rises_to_the_size_of_the_file(name):
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
    told = []
    read_dataset(name, progress=lambda done, total: told.append((done, total)))
    done = [step for step, _ in told]
    assert {total for _, total in told} == {size}
    assert done[-1] == size
    assert 3 <= len(done) <= size / (1 << 16) + 1
    assert all(later > earlier for earlier, later in zip(done, done[1:], strict=False))


# Real data


def data_folder():
    named = os.environ.get("CORDWOOD_DATA")
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "datasets"


@pytest.mark.parametrize(
    ("name", "n_rows", "n_classes", "parts"),
    [
        ("bbc", 752, 2, None),
        ("r8", 7674, 8, {"train": 5485, "test": 2189}),
        ("ohsumed", 7400, 23, {"train": 3357, "test": 4043}),
    ],
)
def test_real_data(name, n_rows, n_classes, parts):
    path = data_folder() / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    corpus = read_dataset(path)
    assert len(corpus) == n_rows and len(set(corpus.labels)) == n_classes
    assert corpus.skipped == ()
    assert (corpus.split and pd.Series(corpus.split).value_counts().to_dict()) == parts
