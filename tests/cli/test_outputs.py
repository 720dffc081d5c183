import csv
import json
import os

import pandas as pd
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.cli.outputs import check_suffix, check_target, escape_formula, open_table
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


@pytest.mark.parametrize("name", ["out.csv", "OUT.CSV", "out.jsonl", "out.ndjson"])
def test_check_suffix_accepts_csv_and_json_lines(tmp_path, name):
    check_suffix(tmp_path / name)


@pytest.mark.parametrize("name", ["out", "out.xlsx", "out.csv.gz"])
def test_check_suffix_rejects_others(tmp_path, name):
    with pytest.raises(typer.BadParameter, match=r"must end in \.csv or \.jsonl"):
        check_suffix(tmp_path / name)
