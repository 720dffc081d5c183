import csv
import gzip
import json
import subprocess
import sys

import pytest

from cordwood.audit.suspects import DEFINITIONS
from cordwood.cli.main import main

WORDS = {
    "food": "bread soup salt cheese apple sauce taste dish".split(),
    "sport": "goal team match player ball coach race medal".split(),
}


def make_rows(n_samples):
    """Different texts of two classes, with further columns."""
    rows = []
    for i in range(n_samples):
        label = list(WORDS)[i % 2]
        words = WORDS[label]
        body = f"{words[i % 8]} and {words[(i // 2) % 8]}, {words[(i // 3 + 1) % 8]} {i * 7919}"
        rows.append({"key": f"k{i}", "body": body, "topic": label, "note": f'a, "b"\n{i}'})
    rows[9]["body"], rows[9]["topic"] = rows[7]["body"], rows[7]["topic"]
    rows[11]["body"] = " "
    rows[12]["topic"] = "sport"
    rows[13]["note"] = "=1+1"
    rows[14]["key"] = "=SUM(A1)"
    rows[14]["body"] = "\ufffd" * 30 + "abc"
    return rows


ROWS = make_rows(80)
COLUMNS = ("--text", "body", "--label", "topic", "--id", "key")


def write_csv(path, rows, **options):
    with open(path, "w", newline="", encoding=options.pop("encoding", "utf-8")) as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path, **options):
    with open(path, newline="", encoding=options.pop("encoding", "utf-8")) as file:
        return list(csv.DictReader(file, **options))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    monkeypatch.delenv("CORDWOOD_DEBUG", raising=False)
    write_csv("rows.csv", ROWS)
    return tmp_path


@pytest.fixture
def command(capsys):
    def run(*arguments, code=0):
        found = main(["audit", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def test_summary_names_examples_and_next_steps(command):
    out = command("rows.csv", *COLUMNS, "--recipe", "nb").out
    assert " of 100 right, give or take " in out
    assert "(accuracy 0." in out
    assert "duplicate" in out and "k9 (sport)" in out
    assert f"rule      duplicate: {DEFINITIONS['duplicate']}\n" in out
    assert "k11" in out
    assert "k12 (sport)" in out
    assert "cordwood audit rows.csv -o suspects.csv writes all suspects" in out
    assert "--fix FILE writes a copy without 3 duplicate, empty or garbled rows" in out
    assert len(out.splitlines()) < 24


def test_suspects_as_csv_are_escaped(command):
    command("rows.csv", *COLUMNS, "--recipe", "nb", "-o", "suspects.csv")
    rows = read_csv("suspects.csv")
    assert list(rows[0])[:5] == ["kind", "id", "label", "suggested_label", "confidence"]
    kinds = {row["id"]: row["kind"] for row in rows}
    assert kinds["k12"] == "label error"
    assert kinds["k11"] == "empty text"
    assert kinds["'=SUM(A1)"] == "garbled text"
    command("rows.csv", *COLUMNS, "--recipe", "none", "-o", "s.csv", "--no-escape-formulas")
    assert "=SUM(A1)" in {row["id"] for row in read_csv("s.csv")}


def test_suspects_as_json_lines(command, here):
    command("rows.csv", *COLUMNS, "--recipe", "nb", "-o", "suspects.jsonl")
    records = [json.loads(line) for line in (here / "suspects.jsonl").read_text().splitlines()]
    [error] = [record for record in records if record["id"] == "k12"]
    assert (error["label"], error["suggested_label"]) == ("sport", "food")
    assert isinstance(error["words"], list)


def test_json(command):
    record = json.loads(command("rows.csv", *COLUMNS, "--recipe", "nb", "--json").out)
    assert record["counts"]["duplicate"] == 1
    assert record["dropped_ids"] == ["k9", "k11", "=SUM(A1)"]
    assert len(record["suspects"]) == sum(record["counts"].values())


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_fix_keeps_all_columns_and_values(command, here, delimiter):
    name = "data.tsv" if delimiter == "\t" else "data.csv"
    write_csv(name, ROWS, delimiter=delimiter)
    options = ("--delimiter", ";") if delimiter == ";" else ()
    before = (here / name).read_bytes()
    target = f"fixed{name[-4:]}"
    command(name, *COLUMNS, *options, "--recipe", "none", "--fix", target)
    expected = [row for row in ROWS if row["key"] not in ("k9", "k11", "=SUM(A1)")]
    assert read_csv(target, delimiter=delimiter) == expected
    assert (here / name).read_bytes() == before


def test_fix_with_relabel(command):
    out = command(
        "rows.csv", *COLUMNS, "--recipe", "nb", "--fix", "fixed.csv", "--relabel", "--json"
    )
    record = json.loads(out.out)
    assert record["relabelled"]["k12"] == "food"
    labels = {row["key"]: row["topic"] for row in read_csv("fixed.csv")}
    changed = {
        key
        for key, label in labels.items()
        for row in ROWS
        if row["key"] == key and row["topic"] != label
    }
    assert changed == set(record["relabelled"])
    assert record["n_copied"] == len(labels) == 77


def test_fix_of_json_lines_keeps_other_lines_unchanged(command, here):
    lines = [json.dumps({**row, "n": i, "nested": {"é": [i]}}) for i, row in enumerate(ROWS)]
    (here / "rows.jsonl").write_text("\n\n".join(lines) + "\n")
    command("rows.jsonl", *COLUMNS, "--recipe", "nb", "--fix", "fixed.jsonl", "--relabel")
    fixed = (here / "fixed.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(fixed) == 77
    kept = [line for line in fixed if line in lines]
    assert len(kept) < 77
    [record] = [json.loads(line) for line in fixed if '"key": "k12"' in line]
    assert (record["topic"], record["nested"]) == ("food", {"é": [12]})


def test_fix_of_a_compressed_file_in_another_encoding(command, here):
    write_csv(
        "latin.csv",
        [{**row, "note": "é", "body": row["body"].replace("\ufffd", "\x01")} for row in ROWS],
        encoding="cp1252",
    )
    (here / "latin.csv.gz").write_bytes(gzip.compress((here / "latin.csv").read_bytes()))
    command("latin.csv.gz", *COLUMNS, "--encoding", "cp1252", "--recipe", "none", "--fix", "f.csv")
    rows = read_csv("f.csv", encoding="cp1252")
    assert len(rows) == 77
    assert {row["note"] for row in rows} == {"é"}


def test_leakage_into_a_test_file(command):
    write_csv("test.csv", [{"key": f"t{row['key']}", "body": row["body"]} for row in ROWS[20:24]])
    out = command("rows.csv", *COLUMNS, "--recipe", "none", "--test", "test.csv").out
    assert "leakage" in out
    assert "test sample tk20" in out


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--fix", "rows.csv"), "cannot write rows.csv: it is an input", 1),
        (("-o", "rows.csv"), "cannot write rows.csv: it is an input", 1),
        (("--relabel",), "--relabel requires --fix FILE", 2),
        (("--fix", "new.jsonl"), "--fix keeps the format of DATA, csv", 2),
        (("--fix", "new.csv.gz"), "--fix keeps the format of DATA, csv", 2),
        (("--fix", "new.csv", "-o", "new.csv"), "are the same file", 2),
        (("--fix", "new.csv", "--subset", "train"), "omit --subset", 2),
        (("-o", "suspects.txt"), "must end in .csv, .tsv", 2),
        (("--recipe", "quik"), "unknown recipe 'quik'", 1),
        (("-j", "0"), "--jobs must be a positive number", 2),
        (("--test", "missing.csv"), "missing.csv does not exist", 1),
    ],
)
def test_invalid_options_leave_no_files(command, here, options, message, code):
    before = sorted(path.name for path in here.iterdir())
    content = (here / "rows.csv").read_bytes()
    assert message in command("rows.csv", *COLUMNS, *options, code=code).err
    assert sorted(path.name for path in here.iterdir()) == before
    assert (here / "rows.csv").read_bytes() == content


def test_fix_of_other_formats_and_invalid_rows(command, here):
    err = command("dataset:docstrings", "--fix", "new.csv", code=2).err
    assert "--fix copies a CSV, TSV, JSON lines, Excel or Parquet file only" in err
    with open("rows.csv", "a") as file:
        file.write("too,few\n")
    command("rows.csv", *COLUMNS, "--recipe", "none", "--fix", "new.csv")
    assert "too,few" not in (here / "new.csv").read_text(encoding="utf-8")
    assert "too,few" in (here / "new-left-out.csv").read_text(encoding="utf-8")


def test_quiet_prints_nothing(command):
    done = command("rows.csv", *COLUMNS, "--recipe", "none", "-q", "-o", "suspects.csv")
    assert (done.out, done.err) == ("", "")


def test_corrected_copy_can_be_audited_again(here):
    """The whole journey, in processes of their own."""

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "cordwood", "audit", *arguments, *COLUMNS, "--recipe", "nb"],
            capture_output=True,
            encoding="utf-8",
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert "wrote     fixed.csv: 77 rows, without 3 rows" in run("rows.csv", "--fix", "fixed.csv")
    counts = json.loads(run("fixed.csv", "--json"))["counts"]
    assert not {"duplicate", "empty text", "garbled text"} & set(counts)
