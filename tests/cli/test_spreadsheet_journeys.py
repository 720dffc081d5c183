"""Journeys of the owner of a spreadsheet: in and out, repaired, through the command."""

import csv
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from cordwood.cli.main import COMMANDS, load_command, main

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
def test_a_byte_order_mark_determines_the_encoding(command, encoding, suffix):
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


BAD = [
    ("0050", "Paket weg", "1,50", " "),
    ("0051", "Paket da", "1,50"),
    ("0052", "Paket", "1,50", "Lieferung", "zu viel", "noch mehr"),
    ("0053", "NULL", "1,50", "Lieferung"),
    ("0054", "", "1,50", "Zahlung"),
    ("0055", "Gebühr", "1,50", "#REF!"),
]
SPELLINGS = [
    ("0060", "Paket Zustellung gestern", "1", " LIEFERUNG"),
    ("0061", "Zustellung Paket verspätet", "1", "Leiferung"),
    ("0062", "Rechnung Gebühr heute", "1", "Zahlung\u00a0"),
]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_audit_lists_all_bad_rows_and_leaves_them_out(command, suffix):
    rows = [*TICKETS, *BAD, *SPELLINGS]
    if suffix == "csv":
        write_csv(
            "old.csv", [HEADER, *rows], encoding="cp1252", delimiter=";", lineterminator="\r\n"
        )
        with open("old.csv", "ab") as file:
            file.write(b"0070;Paket \x81;1;Lieferung\r\n")  # not cp1252
    else:
        pd.DataFrame([[*row, ""][:4] for row in rows], columns=HEADER).to_excel(
            "old.xlsx", index=False
        )
    encoding = ("--encoding", "cp1252") if suffix == "csv" else ()
    options = ("--recipe", "nb", "--fix", f"new.{suffix}", "-o", f"suspects.{suffix}")
    found = command("audit", f"old.{suffix}", *COLUMNS, *encoding, *options)
    assert ("4 invalid rows" if suffix == "csv" else "2 invalid rows") in found.out
    assert "' (2" in found.out and "'LIEFERUNG' (1) and 'Leiferung' (1); unify" in found.out
    read = partial(pd.read_excel, engine="openpyxl")
    if suffix == "csv":
        read = partial(pd.read_csv, sep=";", encoding="cp1252")
    fixed = read("new." + suffix, dtype=str)
    assert set(fixed["Klasse"]) == {"Zahlung", "Lieferung"}
    kept = {"0060", "0061", "0062", *(["0052"] if suffix == "xlsx" else [])}
    assert set(fixed["Nummer"]) == kept.union(row[0] for row in TICKETS)
    left_out = read("new-left-out." + suffix, dtype=str, keep_default_na=False)
    reasons = dict(zip(left_out["Nummer"], left_out["reason"], strict=True))
    assert "is empty" in reasons["0050"] and "placeholder" in reasons["0053"]
    assert "empty text" in reasons["0054"] and "missing label" in reasons["0055"]
    if suffix == "csv":
        assert "3 fields but the header has 4" in reasons["0051"]
        assert "byte 0x81" in reasons["0070"]
        more = dict(zip(left_out["Nummer"], left_out["further cells"], strict=True))
        assert more["0052"] == "zu viel;noch mehr"
    assert len(fixed) + len(left_out) == len(rows) + (suffix == "csv")


def test_train_and_evaluate_name_ten_bad_rows(command):
    write_csv("bad.csv", [HEADER, *TICKETS[:4], *([("1", "x", "1", "")] * 12), *TICKETS[4:]])
    write_csv("good.csv", [HEADER, *TICKETS])
    train(command, "good.csv")
    fast = ("--recipe", "nb", "--no-scores", "-o", "other.cordwood")
    for arguments in (
        ("train", "bad.csv", *COLUMNS, *fast),
        ("evaluate", "model.cordwood", "bad.csv"),
    ):
        error = command(*arguments, code=1).err
        assert 'bad.csv, line 6: the label (column "Klasse") is empty; add a label' in error
        assert "11 more rows are bad: line 7: " in error
        assert "line 15: " in error and "line 16: " not in error and error.endswith("2 more\n")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "xlsx"])
def test_labels_are_stripped(command, suffix):
    rows = [(*row[:3], row[3] + ("\u00a0 " if i % 2 else "")) for i, row in enumerate(TICKETS)]
    frame = pd.DataFrame(rows, columns=HEADER)
    if suffix == "csv":
        frame.to_csv("old.csv", index=False)
    elif suffix == "jsonl":
        frame.to_json("old.jsonl", orient="records", lines=True)
    else:
        frame.to_excel("old.xlsx", index=False)
    assert "40 texts, 2 classes of 20" in train(command, f"old.{suffix}").out


def test_the_most_frequent_labels_are_printed(command):
    words = [f"wort{i}" for i in range(78)]
    rows = [(str(i), f"{word} {word} so", "1", f"c {word}") for i, word in enumerate(words * 4)]
    write_csv("old.csv", [HEADER, *rows])
    train(command, "old.csv")
    shown = command("predict", "model.cordwood", "old.csv", "-o", "out.csv").out
    (line,) = [line for line in shown.splitlines() if line.startswith("labels")]
    assert line.endswith("and 68 more") and line.count("c wort") == 10


COMMAND = Path(sys.executable).with_name("cordwood.exe" if os.name == "nt" else "cordwood")
HEAVY = ("pandas", "sklearn")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "missing.csv"), "missing.csv does not exist; check the path"),
        (("predict", "missing.cordwood", "old.csv"), "missing.cordwood does not exist"),
        (("train", "old.csv", *COLUMNS, "--recipe", "quik"), "did you mean 'quick'?"),
        (("train", "old.csv", *COLUMNS, "--encoder", "nope"), "encoder 'nope' is neither"),
        (("train", "old.csv", *COLUMNS, "--jobs", "0"), "--jobs must be a positive number"),
        (("train", "old.csv", *COLUMNS, "--optimize", "f2"), "--optimize must be f1"),
        (("train", "old.csv", "--text", "Txt"), 'no column "Txt" (did you mean "Text"?)'),
        (("audit", "old.csv", *COLUMNS, "-o", "a.doc"), "'a.doc' must end in"),
    ],
)
def test_wrong_arguments_are_errors_before_heavy_imports(command, capsys, arguments, message):
    write_csv("old.csv", [HEADER, *TICKETS])
    code = (
        "import sys; from cordwood.cli.main import main; code = main(sys.argv[1:]); "
        f"print(code, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8"
    )
    assert message in done.stderr
    assert done.stdout in ("1 []\n", "2 []\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen(command, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "100")
    lines = command(name, "--help").out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    options = {param for param in load_command(name).params if param.param_type_name == "option"}
    everything = command(name, "--help-all").out
    assert all(max(param.opts, key=len) in everything for param in options)
    if len(everything.splitlines()) > 40:
        assert f"cordwood {name} --help-all" in lines[-1]


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_odd_characters_of_labels_are_visible_on_a_terminal(command, tmp_path):
    pty = pytest.importorskip("pty")
    odd = {"Zahlung": "Zah\u200blung", "Lieferung": "Lie\u00a0fer\tung"}
    write_csv("old.csv", [HEADER, *((*row[:3], odd[row[3]]) for row in TICKETS)])
    train(command, "old.csv")
    leader, follower = pty.openpty()
    arguments = ["predict", "model.cordwood", "old.csv", "-o", "out.csv"]
    done = subprocess.Popen([str(COMMAND), *arguments], stdout=follower, stderr=follower)
    done.wait(60)
    os.close(follower)
    shown = os.read(leader, 1 << 16).decode()
    os.close(leader)
    assert "Zah<U+200B>lung (20)" in shown and "Lie<U+00A0>fer␉ung (20)" in shown
