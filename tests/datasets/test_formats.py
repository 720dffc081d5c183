"""Files of all formats: the same table gives the same corpus, and the same errors."""

import csv
import datetime as dt
import gzip
import json
import os
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cordwood.datasets import _arrow, read_dataset, stream_dataset
from cordwood.datasets._arrow import is_huggingface_folder
from cordwood.datasets.file_source import detect_format
from cordwood.datasets.values import clean_label
from cordwood.exceptions import CordwoodError, DataError

COLUMNS = ("id", "text", "label", "split", "group")
ROWS = [
    ("k1", "first text", "x", "train", "g1"),
    ("k2", "", "y", "test", "g1"),
    ("k3", 'a "quoted",\ttext; with | é\u4e2d\nand a line', "x", "train", "g2"),
]


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_csv(rows, columns, delimiter=",", name="rows.csv"):
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([columns, *rows])
    return name


def write_tsv(rows, columns):
    return write_csv(rows, columns, "\t", "rows.tsv")


def write_semicolons(rows, columns):
    return write_csv(rows, columns, ";", "semicolons.csv")


def write_gzip(rows, columns):
    Path("rows.csv.gz").write_bytes(gzip.compress(Path(write_csv(rows, columns)).read_bytes()))
    return "rows.csv.gz"


def to_records(rows, columns):
    return [dict(zip(columns, row, strict=True)) for row in rows]


def write_jsonl(rows, columns):
    lines = [json.dumps(record) + "\n" for record in to_records(rows, columns)]
    Path("rows.jsonl").write_text("".join(lines))
    return "rows.jsonl"


def write_json(rows, columns):
    Path("rows.json").write_text(json.dumps(to_records(rows, columns), indent=1))
    return "rows.json"


def write_json_lines(rows, columns):
    return Path(write_jsonl(rows, columns)).rename("lines.json").name


def write_parquet(rows, columns):
    pq.write_table(pa.Table.from_pylist(to_records(rows, columns)), "rows.parquet")
    return "rows.parquet"


def write_arrow(rows, columns):
    table = pa.Table.from_pylist(to_records(rows, columns))
    with pa.OSFile("rows.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return "rows.arrow"


def write_arrow_stream(rows, columns, name="stream.arrow"):
    table = pa.Table.from_pylist(to_records(rows, columns))
    with pa.OSFile(str(name), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return name


def write_huggingface(rows, columns):
    folder = Path("huggingface")
    folder.mkdir(exist_ok=True)
    half = len(rows) // 2
    parts = [part for part in (rows[:half], rows[half:]) if part]
    files = []
    for number, part in enumerate(parts):
        name = f"data-{number:05}-of-{len(parts):05}.arrow"
        write_arrow_stream(part, columns, folder / name)
        files.append({"filename": name})
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_split": None}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": {}}))
    return str(folder)


def write_excel(rows, columns):
    book = openpyxl.Workbook()
    for row in [columns, *rows]:
        book.active.append(list(row))
    book.save("rows.xlsx")
    return "rows.xlsx"


def write_sqlite(rows, columns):
    Path("rows.sqlite").unlink(missing_ok=True)
    names = ", ".join(f'"{name}"' for name in columns)
    with closing(sqlite3.connect("rows.sqlite")) as database, database:
        database.execute(f"CREATE TABLE entries ({names})")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO entries VALUES ({marks})", rows)
    return "rows.sqlite"


WRITERS = {
    "csv": write_csv,
    "tsv": write_tsv,
    "semicolons": write_semicolons,
    "gzip": write_gzip,
    "jsonl": write_jsonl,
    "json": write_json,
    "json_lines": write_json_lines,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "arrow_stream": write_arrow_stream,
    "huggingface": write_huggingface,
    "excel": write_excel,
    "sqlite": write_sqlite,
}


@pytest.fixture(params=WRITERS)
def write(request):
    return WRITERS[request.param]


def get_content(corpus):
    return corpus.ids, corpus.texts, corpus.labels, corpus.split, corpus.groups


def error_message(path, **options):
    with pytest.raises(CordwoodError) as caught:
        read_dataset(path, **options)
    return str(caught.value)


# The same table in every format


def test_all_formats_give_the_same_corpus(write):
    corpus = read_dataset(write(ROWS, COLUMNS))
    assert get_content(corpus) == tuple(zip(*ROWS, strict=True))


def test_streams_have_the_same_rows(write):
    rows = list(stream_dataset(write(ROWS, COLUMNS), extra_columns=["group"]))
    assert [(row.id, row.text, row.label, row.split, row.group) for row in rows] == ROWS
    assert [row.columns for row in rows] == [{"group": row[4]} for row in ROWS]


def test_rows_are_numbered_from_1(write):
    corpus = read_dataset(write([row[1:3] for row in ROWS], ("text", "label")))
    assert corpus.ids == ("1", "2", "3")


# Excel has no control characters, and XML parsers convert \r to \n.
plain_text = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
tables = st.lists(st.tuples(plain_text, plain_text.filter(str.strip)), min_size=1, max_size=6)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=tables)
def test_any_table_is_the_same_in_all_formats(rows):
    # Excel cells that start with an apostrophe or a formula are not plain text.
    rows = [(f"t{text}", clean_label(f"l{label}")) for text, label in rows]
    for writer in WRITERS.values():
        corpus = read_dataset(writer(rows, ("text", "label")), label="label", require_labels=False)
        assert list(zip(corpus.texts, corpus.labels, strict=True)) == rows, writer.__name__


# The same errors


def test_missing_columns_are_named(write):
    message = error_message(write(ROWS, ("id", "body", "label", "split", "group")))
    assert re.search(r'has no (column|key) "text"', message)
    assert "id, body, label, split, group" in message


def test_empty_labels_name_the_row_and_the_column(write):
    message = error_message(write([*ROWS, ("k4", "d", " ", "test", "g3")], COLUMNS))
    assert re.search(r"row 4:|row 5:|line \d+:", message)
    assert re.search(r'the label \((column|key) "label"\) is empty', message)


def test_bad_rows_are_skipped(write):
    path = write([*ROWS, ("k4", "d", " ", "test", "g3")], COLUMNS)
    corpus = read_dataset(path, on_bad_rows="skip")
    assert (len(corpus), len(corpus.skipped)) == (3, 1)


@pytest.mark.parametrize("name", ["parquet", "arrow", "excel", "sqlite"])
def test_missing_texts(name):
    path = WRITERS[name]([("a", "x"), (None, "y")], ("text", "label"))
    if name == "excel":  # an empty cell is an empty text
        assert read_dataset(path).texts == ("a", "")
    else:
        assert 'row 2: the text (column "text") is missing (None)' in error_message(path)


@pytest.mark.parametrize("name", ["csv", "tsv", "excel", "parquet"])
def test_duplicate_columns(name):
    if name == "parquet":
        table = pa.table([["a"], ["x"], ["y"]], names=["text", "label", "label"])
        pq.write_table(table, "rows.parquet")
        path = "rows.parquet"
    else:
        path = WRITERS[name]([("a", "x", "y")], ("text", "label", "label"))
    assert 'more than one column "label"' in error_message(path)


@pytest.mark.parametrize("name", ["excel", "sqlite", "jsonl"])
def test_numbers_are_converted_in_columns_of_any_type(name):
    path = WRITERS[name]([(7, 1), ("a", 2)], ("text", "label"))
    corpus = read_dataset(path)
    assert (corpus.texts, corpus.labels) == (("7", "a"), ("1", "2"))


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_a_column_of_numbers_is_no_text(name):
    path = WRITERS[name]([(7, 1), (8, 2)], ("text", "label"))
    assert 'row 1: the text (column "text") is of type int, not a string' in error_message(path)


@pytest.mark.parametrize("name", WRITERS)
def test_a_table_without_rows(name):
    if name in ("parquet", "arrow", "arrow_stream"):
        schema = pa.schema([("text", pa.string()), ("label", pa.string())])
        pq.write_table(schema.empty_table(), "rows.parquet")
        path = "rows.parquet"
    elif name == "huggingface":
        pytest.skip("has no files then")
    else:
        path = WRITERS[name]([], ("text", "label"))
    assert re.search("has no rows|is empty|is an empty array", error_message(path))


# Wrong suffixes


@pytest.mark.parametrize("name", ["parquet", "arrow", "excel", "sqlite"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "svm", "csv.gz"])
def test_other_files_named_as_text_files(name, suffix):
    path = Path(WRITERS[name](ROWS, COLUMNS))
    if suffix.endswith(".gz"):
        Path(f"other.{suffix}").write_bytes(gzip.compress(path.read_bytes()))
    else:
        path.rename(f"other.{suffix}")
    message = error_message(f"other.{suffix}")
    kind = {"parquet": "Parquet", "arrow": "Arrow", "excel": "Excel|zip", "sqlite": "SQLite"}[name]
    assert re.search(rf"other.{suffix} is an? ({kind}) .*, not ", message)
    if not suffix.endswith(".gz"):
        assert f"--format {name}" in message
        assert len(read_dataset(f"other.{suffix}", format=name)) == 3


@pytest.mark.parametrize("suffix", ["parquet", "xlsx", "sqlite", "arrow"])
def test_text_files_named_as_other_files(suffix):
    Path(write_csv(ROWS, COLUMNS)).rename(f"rows.{suffix}")
    assert re.search("is not in|cannot be read as Arrow", error_message(f"rows.{suffix}"))
    assert len(read_dataset(f"rows.{suffix}", format="csv")) == 3


def test_other_kinds_of_files():
    for content, kind in [
        (b"%PDF-1.7 ...", "a PDF document"),
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...", "an old Excel workbook"),
    ]:
        Path("rows.csv").write_bytes(content)
        assert f"rows.csv is {kind}" in error_message("rows.csv")
    with zipfile.ZipFile("archive.csv", "w") as archive:
        archive.writestr("rows.csv", "text,label\n")
    assert "archive.csv is a zip archive, not csv" in error_message("archive.csv")


def test_json_array_named_as_json_lines():
    Path(write_json(ROWS, COLUMNS)).rename("rows.jsonl")
    assert "rows.jsonl is a JSON array, not jsonl" in error_message("rows.jsonl")


@pytest.mark.parametrize("name", ["parquet", "arrow", "excel", "sqlite"])
def test_content_determines_the_format_without_a_known_suffix(name):
    Path(WRITERS[name](ROWS, COLUMNS)).rename("data.bin")
    assert detect_format("data.bin") == name
    assert len(read_dataset("data.bin")) == 3


# CSV


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected_and_noted(delimiter):
    corpus = read_dataset(write_csv(ROWS, COLUMNS, delimiter))
    assert get_content(corpus) == tuple(zip(*ROWS, strict=True))
    expected = {";": "semicolons", "\t": "tabs", "|": "bars"}.get(delimiter)
    assert corpus.notes == ((f"columns are separated by {expected}",) if expected else ())


def test_the_delimiter_of_other_names():
    Path("rows.csv").write_text("body;topic\nwell, yes;x\nno, no, no;y\n")
    assert read_dataset("rows.csv", text="body", label="topic").labels == ("x", "y")
    message = error_message("rows.csv")
    assert 'has no column "text"' in message
    assert "its columns are: body, topic" in message


def test_no_header():
    Path("rows.csv").write_text("well, yes;x\nno, no, no;y\n")
    corpus = read_dataset("rows.csv", header=False, text="1", label="2")
    assert (corpus.texts, corpus.labels) == (("well, yes", "no, no, no"), ("x", "y"))
    assert corpus.ids == ("1", "2")
    message = error_message("rows.csv", header=False)
    assert "its columns are: 1, 2; name the text column" in message
    assert "--no-header" in error_message("rows.csv", format="jsonl", header=False)


def test_excel_without_a_header():
    write_excel(ROWS[1:], ROWS[0])
    corpus = read_dataset("rows.xlsx", header=False, text="2", label="3")
    assert corpus.texts == tuple(row[1] for row in ROWS)


# JSON


@pytest.mark.parametrize("indent", [None, 0, 4])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_arrays_longer_than_a_chunk(indent, encoding):
    records = [{"text": f"é {n} " + "w" * (n % 700), "label": "ab"[n % 2]} for n in range(700)]
    content = json.dumps(records, indent=indent, ensure_ascii=False).encode(encoding)
    Path("rows.json").write_bytes(content)
    corpus = read_dataset("rows.json", encoding=encoding)
    assert list(corpus.texts) == [record["text"] for record in records]


def test_errors_of_json_arrays_name_the_line():
    Path("rows.json").write_text('[\n{"text": "a", "label": "x"},\n{"text": "b"},\n7,\n{}]')
    assert 'rows.json, line 3 has no key "label"' in error_message("rows.json")
    Path("rows.json").write_text('[{"text": "a", "label": "x"},\n{"text": "b" "label": "y"}]')
    assert "rows.json, line 2: Expecting ',' delimiter" in error_message("rows.json")
    Path("rows.json").write_text('[{"text": "a", "label": "x"}\n{"text": "b"}]')
    assert "line 2: a comma or ] is missing" in error_message("rows.json")
    Path("rows.json").write_text('[{"text": "a", "text": "b", "label": "x"}]')
    assert 'the key "text" occurs more than once' in error_message("rows.json")
    Path("rows.json").write_text('[{"text": "a", "label": "x"}')
    assert "a comma or ] is missing" in error_message("rows.json")
    Path("rows.json").write_text('"text"')
    assert "the file is not an array of objects" in error_message("rows.json")


def test_a_long_object_of_an_array_is_rejected():
    Path("rows.json").write_text(json.dumps([{"text": "a" * 200_000, "label": "x"}]))
    message = error_message("rows.json", max_row_length=100_000)
    assert "rows.json, line 1: the row has more than 100,000 characters" in message


# Excel


def test_sheets_and_types_of_excel():
    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("data")
    sheet.append([])
    sheet.append([None, "text", "label", "day", "n"])
    sheet.append([None, dt.datetime(2024, 5, 1), 1, dt.datetime(2024, 5, 1), 1.5])
    sheet.append([])
    sheet.append([None, "b", True, dt.datetime(2024, 5, 1, 3), None])
    book.save("rows.xlsx")
    assert "sheet empty is empty" in error_message("rows.xlsx")
    assert 'has no sheet "x"; its sheets are: empty, data' in error_message("rows.xlsx", sheet="x")
    corpus = read_dataset("rows.xlsx", sheet="data", extra_columns=["day", "n"], time="day")
    assert corpus.texts == ("2024-05-01", "b")
    assert corpus.labels == ("1", "True")
    assert corpus.columns == {"day": ("2024-05-01", "2024-05-01T03:00:00"), "n": (1.5, None)}
    assert corpus.times == (dt.datetime(2024, 5, 1), dt.datetime(2024, 5, 1, 3))
    message = error_message("rows.xlsx", sheet="data", weight="n")
    assert 'sheet data, row 5: the weight (column "n") is missing' in message


def test_excel_agrees_with_pandas():
    frame = pd.DataFrame({"text": ["a", "7", "c"], "label": ["x", "y", "x"], "n": [1.0, 2.5, 3.0]})
    frame.to_excel("rows.xlsx", index=False, engine="openpyxl")
    corpus = read_dataset("rows.xlsx", extra_columns=["n"])
    expected = pd.read_excel("rows.xlsx", dtype={"text": str}, engine="openpyxl")
    assert list(corpus.texts) == expected["text"].to_list()
    assert list(corpus.columns["n"]) == expected["n"].to_list()


def test_a_sheet_with_a_cell_far_away_is_rejected():
    book = openpyxl.Workbook()
    book.active.append(["text", "label"])
    book.active.append(["a", "x"])
    book.active["XFD1048576"] = 1
    book.save("rows.xlsx")
    message = error_message("rows.xlsx")
    assert "a sheet of 1,048,576 rows and 16,384 columns with only 5 cells" in message


def test_a_workbook_that_decompresses_to_more_than_the_limit_is_rejected():
    write_excel([("a" * 30_000, "x")] * 2, ("text", "label"))
    assert "more than 10,000 bytes after decompression" in error_message(
        "rows.xlsx", max_bytes=10_000
    )


# SQLite


def test_tables_views_and_queries():
    write_sqlite(ROWS, COLUMNS)
    with closing(sqlite3.connect("rows.sqlite")) as database, database:
        database.execute("CREATE VIEW short AS SELECT text, label FROM entries LIMIT 2")
    assert "name the table of rows.sqlite" in error_message("rows.sqlite")
    assert "its tables are: entries, short" in error_message("rows.sqlite", table="x")
    assert len(read_dataset("rows.sqlite", table="short")) == 2
    query = "SELECT upper(text) AS body, label FROM entries ORDER BY id DESC"
    corpus = read_dataset("rows.sqlite", query=query, text="body")
    assert corpus.texts[2] == "FIRST TEXT"
    message = error_message("rows.sqlite", query=query, table="entries")
    assert "table and query exclude each other" in message


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM entries",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA user_version",
        "SELECT 1; DELETE FROM entries",
        "SELECT load_extension('x')",
        "nonsense",
    ],
)
def test_only_select_statements_are_run(query):
    write_sqlite(ROWS, COLUMNS)
    before = Path("rows.sqlite").read_bytes()
    assert "rows.sqlite" in error_message("rows.sqlite", query=query)
    assert Path("rows.sqlite").read_bytes() == before
    assert not Path("other.sqlite").exists()


def test_text_of_a_database_that_is_not_utf8():
    write_sqlite([("a", "x"), ("b", "y")], ("text", "label"))
    with closing(sqlite3.connect("rows.sqlite")) as database, database:
        database.execute("INSERT INTO entries VALUES (CAST(x'ff' AS TEXT), 'x')")
    assert "row 3" in error_message("rows.sqlite")
    assert len(read_dataset("rows.sqlite", on_bad_rows="skip")) == 2


# Parquet, Arrow and Hugging Face


def test_parquet_is_read_in_batches():
    rows = [(f"text {number}", "ab"[number % 2]) for number in range(2500)]
    write_parquet(rows, ("text", "label"))
    calls = []
    stream = stream_dataset("rows.parquet", progress=lambda done, total: calls.append(done / total))
    next(stream)
    assert not calls
    assert len(list(stream)) == 2499
    assert calls[-1] == 1
    assert calls == sorted(calls)


def test_only_the_needed_columns_of_parquet_are_read(monkeypatch):
    write_parquet(ROWS, COLUMNS)
    seen = []
    to_batch = _arrow._to_batch
    monkeypatch.setattr(
        _arrow, "_to_batch", lambda batch, *args: seen.append(batch) or to_batch(batch, *args)
    )
    read_dataset("rows.parquet", group="label")
    assert "group" not in seen[0].schema.names


def test_a_parquet_file_that_decompresses_to_more_than_the_limit_is_rejected():
    table = pa.table({"text": ["a" * 1000] * 30_000, "label": ["x", "y"] * 15_000})
    pq.write_table(table, "rows.parquet")
    assert os.path.getsize("rows.parquet") < 100_000
    assert "bytes after decompression" in error_message("rows.parquet")
    assert len(read_dataset("rows.parquet", max_bytes=10**9)) == 30_000


def test_lists_of_labels_in_parquet():
    table = pa.table({"text": ["a", "b"], "labels": [["x", "y"], []]})
    pq.write_table(table, "rows.parquet")
    assert read_dataset("rows.parquet").labels == (("x", "y"), ())


@pytest.mark.parametrize("kind", ["parquet", "info"])
def test_class_labels_of_huggingface_are_names(kind):
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": ["neg", "pos"], "_type": "ClassLabel"},
    }
    rows = [("a", 0), ("b", 1)]
    if kind == "parquet":
        table = pa.Table.from_pylist(to_records(rows, ("text", "label")))
        metadata = {"huggingface": json.dumps({"info": {"features": features}})}
        pq.write_table(table.replace_schema_metadata(metadata), "rows.parquet")
        path = "rows.parquet"
    else:
        path = write_huggingface(rows, ("text", "label"))
        Path(path, "dataset_info.json").write_text(json.dumps({"features": features}))
    assert read_dataset(path).labels == ("neg", "pos")


def test_splits_of_huggingface():
    for split, rows in (("train", ROWS[:2]), ("test", ROWS[2:])):
        folder = write_huggingface([row[1:3] for row in rows], ("text", "label"))
        Path("all").mkdir(exist_ok=True)
        Path(folder).rename(f"all/{split}")
    Path("all/dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    assert is_huggingface_folder("all")
    corpus = read_dataset("all")
    assert corpus.split == ("train", "train", "test")
    assert corpus.ids == ("1", "2", "3")
    Path("all/dataset_dict.json").write_text(json.dumps({"splits": ["../other"]}))
    assert "must list the names of its splits" in error_message("all")


def test_data_files_of_huggingface_must_be_in_the_folder():
    folder = write_huggingface(ROWS, COLUMNS)
    state = {"_data_files": [{"filename": "../secret.arrow"}]}
    Path(folder, "state.json").write_text(json.dumps(state))
    assert "must list the names of data files" in error_message(folder)


# Several files


def test_several_files_of_different_formats():
    names = ("text", "label")
    paths = [write_csv([("a", "x")], names), write_jsonl([("b", "y"), ("c", "x")], names)]
    corpus = read_dataset(paths)
    assert (corpus.texts, corpus.labels) == (("a", "b", "c"), ("x", "y", "x"))
    assert corpus.ids == ("1", "2", "3")
    assert [row.text for row in stream_dataset(paths)] == ["a", "b", "c"]


def test_a_folder_of_data_files():
    Path("parts").mkdir()
    for number in range(3):
        Path(write_csv([(f"t{number}", "xyx"[number])], ("text", "label"))).rename(
            f"parts/{number}.csv"
        )
    Path("parts/.hidden").write_text("x")
    assert read_dataset("parts").texts == ("t0", "t1", "t2")
    Path("parts/readme.txt").write_text("x")
    assert "not in a class folder" in error_message("parts")


def test_files_with_different_parts_are_rejected():
    paths = [
        write_csv([("a", "x")], ("text", "label")),
        write_jsonl([("b", "y", "g")], ("text", "label", "group")),
    ]
    message = error_message(paths)
    assert message.startswith("rows.jsonl has group, but the files before it have no group")


def test_progress_of_several_files():
    paths = [write_csv(ROWS, COLUMNS), write_jsonl(ROWS, COLUMNS)]
    calls = []
    read_dataset(paths, progress=lambda done, total: calls.append(done / total))
    assert calls == sorted(calls)
    assert calls[-1] == 1


def test_missing_packages_are_named(monkeypatch):
    write_parquet(ROWS, COLUMNS)

    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr("cordwood.datasets._optional.import_module", fail)
    message = error_message("rows.parquet")
    assert message == (
        'Parquet files require the package pyarrow; install it with: pip install "cordwood[files]"'
    )


def test_unknown_options_of_a_format():
    path = write_csv(ROWS, COLUMNS)
    for option in ("sheet", "table", "query"):
        assert f"which has no {option}" in error_message(path, **{option: "x"})
    with pytest.raises(DataError, match="does not exist"):
        read_dataset(["none.csv", path])
    assert "at least one path" in error_message([])


def test_a_database_whose_schema_is_not_utf8():
    path = Path(write_sqlite(ROWS, COLUMNS))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE", b"CREATE \xb6\xff\xfe\xfd\xfc"))
    assert error_message(str(path)).startswith("rows.sqlite cannot be read with SQLite")
