import csv
import json
import os

import openpyxl
import pandas as pd
import polars as pl
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.cli.outputs import check_suffix, check_target, escape_formula, open_table
from cordwood.datasets import table_files
from cordwood.datasets.csv_records import Dialect
from cordwood.exceptions import CordwoodError

# Text that UTF-8 can encode, in which special characters of CSV are frequent.
cells = st.text(st.one_of(st.sampled_from('\r\n",; '), st.characters(codec="utf-8")), max_size=8)
tables = st.lists(st.tuples(cells, cells, st.floats(0, 1)), max_size=5)


@given(tables)
@settings(deadline=None, max_examples=60)
def test_csv_round_trips(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("outputs") / "out.csv"
    with open_table(path, ("id", "label", "probability"), escape_formulas=False) as write:
        for row in rows:
            write(row)
    with path.open(encoding="utf-8", newline="") as file:
        header, *back = csv.reader(file)
    assert header == ["id", "label", "probability"]
    assert [(id, label, float(p)) for id, label, p in back] == rows


@given(tables)
@settings(deadline=None, max_examples=60)
def test_json_lines_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("outputs") / "out.jsonl"
    with open_table(path, ("id", "label", "probability")) as write:
        for row in rows:
            write(row)
    # splitlines() would also split at characters that JSON does not escape.
    lines = path.read_bytes().split(b"\n")[:-1]
    back = [json.loads(line) for line in lines]
    assert [tuple(record) for record in back] == [("id", "label", "probability")] * len(rows)
    assert [tuple(record.values()) for record in back] == rows


def test_pandas_reads_the_csv(tmp_path):
    path = tmp_path / "out.csv"
    with open_table(path, ("id", "label", "probability")) as write:
        write(("a,b", 'say "hi"', 0.25))
    frame = pd.read_csv(path)
    assert frame.to_dict("records") == [{"id": "a,b", "label": 'say "hi"', "probability": 0.25}]


@pytest.mark.parametrize(
    "cell",
    ["=1+1", "+spam", "-spam", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-1+1", "=", "-", "\uff1d1"],
)
def test_cells_that_spreadsheets_evaluate_are_escaped(tmp_path, cell):
    path = tmp_path / "out.csv"
    with open_table(path, ("id", cell)) as write:
        write((cell, "plain"))
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["id", f"'{cell}"], [f"'{cell}", "plain"]]
    with open_table(path, ("id",), escape_formulas=False) as write:
        write((cell,))
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["id"], [cell]]
    with open_table(path.with_suffix(".jsonl"), ("id",)) as write:
        write((cell,))
    assert json.loads(path.with_suffix(".jsonl").read_text(encoding="utf-8")) == {"id": cell}


@pytest.mark.parametrize("value", ["-1", "+1.5", "-.5e-3", "1", "a=b", "", -1, -0.5, None])
def test_numbers_and_other_cells_are_not_escaped(value):
    assert escape_formula(value) == value


@pytest.mark.skipif(os.name == "nt", reason="Windows restricts symbolic links")
def test_directory_of_the_file_that_a_link_points_to_is_checked(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "elsewhere" / "out.csv")
    with pytest.raises(CordwoodError, match="elsewhere does not exist"):
        check_target(link)
    (tmp_path / "elsewhere").mkdir()
    check_target(link)


def test_standard_output_as_csv_or_json_lines(capsys):
    with open_table(None, ("id", "label")) as write:
        write(("1", "ä"))
    with open_table(None, ("id", "label"), json_lines=True) as write:
        write(("1", "ä"))
    assert capsys.readouterr().out == 'id,label\n1,ä\n{"id": "1", "label": "ä"}\n'


def test_lone_surrogates_are_escaped(tmp_path):
    path = tmp_path / "out.jsonl"
    with open_table(path, ("id",)) as write:
        write(("\ud800",))
    assert json.loads(path.read_bytes()) == {"id": "\ud800"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, CordwoodError])
def test_unfinished_file_is_not_written(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(error), open_table(path, ("id",)) as write:
        write(("1",))
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_check_target_rejects_invalid_paths(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("text\n")
    check_target(tmp_path / "new.csv", inputs=[source])
    check_target(source)
    with pytest.raises(CordwoodError, match=r"in\.csv: it is an input"):
        check_target(source, inputs=[tmp_path / "other.csv", str(source)])
    with pytest.raises(CordwoodError, match="it is a directory"):
        check_target(tmp_path)
    with pytest.raises(CordwoodError, match="directory .*nowhere does not exist"):
        check_target(tmp_path / "nowhere" / "out.csv")


@pytest.mark.parametrize("name", ["out.csv", "OUT.CSV", "out.jsonl", "out.ndjson", "a.xlsx"])
def test_check_suffix_accepts_what_can_be_written(tmp_path, name):
    check_suffix(tmp_path / name)


@pytest.mark.parametrize("name", ["out", "out.xls", "out.csv.gz"])
def test_check_suffix_rejects_others(tmp_path, name):
    with pytest.raises(typer.BadParameter, match=r"must end in \.csv, \.tsv"):
        check_suffix(tmp_path / name)


def write(path, columns, rows, **options):
    with open_table(path, columns, **options) as write_row:
        for row in rows:
            write_row(row)
    return path


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "http://a.b/c",
    "00123",
    "1e5",
    "TRUE",
    " blank ",
    "a\tb",
]
HOSTILE += [
    "a\nb",
    "c\rd",
    "\x00\x1b",
    "_x0041_",
    "\U0001f642",
    "\ufffe",
    "mailto:a@b.c",
    "'",
    "#N/A",
]


def test_strings_stay_strings_in_excel(tmp_path):
    path = write(tmp_path / "a.xlsx", ("id", "=x"), [(cell, 0.25) for cell in HOSTILE])
    sheet = openpyxl.load_workbook(path).worksheets[0]
    first = [row[0] for row in sheet.iter_rows(min_row=2)]
    # openpyxl leaves the escapes of characters that XML does not allow, as \r and \x00.
    unescape = openpyxl.utils.escape.unescape
    assert [unescape(cell.value) for cell in first] == HOSTILE
    assert {cell.data_type for cell in first} == {"s"}
    assert sheet["B1"].value == "=x" and sheet["B1"].data_type == "s"
    assert all(cell.hyperlink is None for cell in first)
    assert [row[1].value for row in sheet.iter_rows(min_row=2)] == [0.25] * len(HOSTILE)
    frame = pd.read_excel(path, dtype=str, engine="calamine", keep_default_na=False)
    assert frame["id"].tolist()[:8] == HOSTILE[:8]


def test_values_of_all_types_in_excel_and_parquet(tmp_path):
    rows = [
        ("a", 1, 0.5, True, None, ("x", "y"), 10**17),
        (None, 2, 3, False, "late", (), 5),
        ("\ud800", -3, float("nan"), None, 7, ("z",), None),
    ]
    columns = ("text", "int", "float", "bool", "mixed", "labels", "long")
    sheet = openpyxl.load_workbook(write(tmp_path / "a.xlsx", columns, rows)).worksheets[0]
    found = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert found[0] == ["a", 1, 0.5, True, None, "x;y", str(10**17)]
    assert found[1] == [None, 2, 3, False, "late", None, 5]
    assert found[2][0] == "\\ud800" and found[2][2] == "nan"
    path = write(tmp_path / "a.parquet", columns, rows)
    frame = pl.read_parquet(path)
    assert frame["int"].to_list() == [1, 2, -3] and frame["long"].to_list() == [10**17, 5, None]
    assert frame["float"].dtype == pl.Float64 and frame["mixed"].to_list() == [None, "late", "7"]
    assert frame["labels"].to_list() == [["x", "y"], [], ["z"]]
    assert pd.read_parquet(path)["bool"].tolist() == [True, False, None]


def test_limits_of_excel_are_stated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table_files, "_MAX_ROWS", 4)
    rows = [(str(i), "\U0001f642" * 20_000 if i == 2 else "x" * 32_767) for i in range(7)]
    path = write(tmp_path / "a.xlsx", ("id", "text"), rows)
    book = openpyxl.load_workbook(path)
    found = [(row[0].value, row[1].value) for sheet in book for row in sheet.iter_rows(min_row=2)]
    assert [len(book.worksheets), *(sheet["A1"].value for sheet in book)] == [3, *["id"] * 3]
    assert found[2] == ("2", "\U0001f642" * 16_383)
    assert found[:2] + found[3:] == rows[:2] + rows[3:]
    shown = capsys.readouterr().err
    assert "at most 4 rows, so there are 3 sheets" in shown
    assert "1 cell of more than 32,767 characters, the limit of Excel, truncated" in shown
    with pytest.raises(CordwoodError, match="at most 16,384 columns"):
        write(tmp_path / "b.xlsx", ["x"] * 16_385, [])
    assert not (tmp_path / "b.xlsx").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-be", "utf-16-le", "shift_jis"])
@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"])
def test_csv_of_a_dialect_is_read_by_pandas(tmp_path, encoding, line_end):
    has_mark = encoding.startswith("utf")
    dialect = Dialect(encoding, has_mark, ";", line_end)
    text = "ä; \n" if encoding != "shift_jis" else "\u30c6;\n"
    path = write(tmp_path / "a.csv", ("a", "b"), [(text, 0.5), ("x", 1)], dialect=dialect)
    content = path.read_bytes().decode(encoding)
    assert content.startswith("\ufeff" if has_mark else "a;b" + line_end)
    codec = {"utf-8": "utf-8-sig", "utf-16-be": "utf-16", "utf-16-le": "utf-16"}
    frame = pd.read_csv(path, sep=";", encoding=codec.get(encoding, encoding))
    assert frame.to_dict("list") == {"a": [text, "x"], "b": [0.5, 1.0]}


def test_what_an_encoding_cannot_hold_is_written_as_utf_8(tmp_path, capsys):
    dialect = Dialect("cp1252", False, ";", "\r\n")
    path = write(tmp_path / "a.csv", ("a", "b"), [("é", "x"), ("→", "y")], dialect=dialect)
    assert path.read_bytes() == "\ufeffa;b\r\né;x\r\n→;y\r\n".encode()
    assert "has no character '\\u2192'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]
    tabs = write(tmp_path / "a.tsv", ("a", "b"), [("é", "x")], dialect=dialect)
    assert tabs.read_bytes() == "a\tb\r\né\tx\r\n".encode("cp1252")


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet", ".tsv"])
def test_unfinished_file_of_any_format_is_not_written(tmp_path, suffix):
    with (
        pytest.raises(KeyboardInterrupt),
        open_table(tmp_path / f"a{suffix}", ("id",)) as write_row,
    ):
        write_row(("1",))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
