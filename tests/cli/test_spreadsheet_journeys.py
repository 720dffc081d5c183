"""Journeys of the owner of a spreadsheet: in and out, repaired, through the command."""

import csv

import openpyxl
import pandas as pd
import pytest

from cordwood.cli.main import main

WORDS = {
    "Zahlung": ("Rechnung", "Überweisung", "Gebühr"),
    "Lieferung": ("Paket", "Zustellung", "verspätet"),
}
HEADER = ("Nummer", "Text", "Betrag", "Klasse")
TICKETS = [
    (f"00{i}", f"{words[i % 3]} {words[i // 3 % 3]} {i}; so", f"{10 * k + i},50", label)
    for i in range(20)
    for k, (label, words) in enumerate(WORDS.items())
]
COLUMNS = ("--text", "Text", "--label", "Klasse", "--id", "Nummer")


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)

    def run(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def write_csv(name, rows, encoding="utf-8", **form):
    with open(name, "w", newline="", encoding=encoding) as file:
        csv.writer(file, **form).writerows(rows)


def train(command, data, *options):
    fast = ("--recipe", "nb", "--no-scores", "-o", "model.cordwood")
    return command("train", data, *COLUMNS, *options, *fast)


def test_a_german_file_comes_back_as_it_was(command, tmp_path):
    form = {"encoding": "cp1252", "delimiter": ";", "lineterminator": "\r\n"}
    write_csv("old.csv", [HEADER, *TICKETS], **form)
    write_csv("new.csv", [HEADER, *TICKETS[:9]], **form)
    train(command, "old.csv", "--numeric", "Betrag", "--encoding", "cp1252")
    # The model remembers the encoding.
    command("predict", "model.cordwood", "new.csv", "-o", "out.csv")
    written = (tmp_path / "out.csv").read_bytes()
    assert written.count(b"\r\n") == written.count(b"\n") == 10
    frame = pd.read_csv("out.csv", sep=";", encoding="cp1252", dtype=str)
    assert [tuple(row) for row in frame[list(HEADER)].to_numpy()] == TICKETS[:9]
    assert frame["label"].tolist() == frame["Klasse"].tolist()
    assert "9 of 9 correct" in command("evaluate", "model.cordwood", "new.csv").out
    # The command line has the last word, and a byte order mark precedes the memory.
    assert (
        "is not"
        in command("predict", "model.cordwood", "new.csv", "--encoding", "ascii", code=1).err
    )
    for encoding in ("utf-8-sig", "utf-16"):
        write_csv("marked.csv", [HEADER, *TICKETS[:9]], encoding, delimiter=";")
        command("predict", "model.cordwood", "marked.csv", "-o", "out.csv")
        marked = pd.read_csv("out.csv", sep=";", encoding=encoding, dtype=str)
        assert marked.equals(frame)
        assert (tmp_path / "out.csv").read_bytes()[:2] == (tmp_path / "marked.csv").read_bytes()[:2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json"])
def test_a_byte_order_mark_tells_the_encoding(command, encoding, suffix):
    frame = pd.DataFrame(TICKETS, columns=HEADER)
    if suffix == "csv":
        frame.to_csv("old.csv", index=False, encoding=encoding)
    else:
        text = frame.to_json(orient="records", lines=suffix == "jsonl", force_ascii=False)
        with open(f"old.{suffix}", "w", encoding=encoding) as file:
            file.write(text)
    assert "40 texts, 2 classes" in train(command, f"old.{suffix}").out


def test_excel_in_and_out(command):
    book = openpyxl.Workbook()
    book.create_sheet("Tickets")
    for row in [HEADER, *TICKETS, ("=1", "Paket", "1", "Lieferung")]:
        cells = book["Tickets"]
        cells.append(row)
        cells.cell(cells.max_row, 1).data_type = "s"
    book.save("old.xlsx")
    train(command, "old.xlsx", "--sheet", "Tickets")
    command("predict", "model.cordwood", "old.xlsx", "-o", "out.xlsx")
    rows = list(openpyxl.load_workbook("out.xlsx").active.iter_rows())
    assert [cell.value for cell in rows[0]] == [*HEADER, "label", "probability"]
    assert [cell.value for cell in rows[1]][:4] == list(TICKETS[0])
    assert (rows[-1][0].value, rows[-1][0].data_type) == ("=1", "s")
    assert isinstance(rows[1][5].value, float)
    command("predict", "model.cordwood", "old.xlsx", "-o", "out.parquet")
    assert pd.read_parquet("out.parquet")["Nummer"].tolist()[-1] == "=1"
    book["Tickets"].title = "Other"
    book.save("new.xlsx")
    error = command("predict", "model.cordwood", "new.xlsx", code=1).err
    assert "its sheets are: Sheet, Other; name one with" in error
    command("predict", "model.cordwood", "new.xlsx", "--sheet", "Other", "-o", "out.jsonl")
