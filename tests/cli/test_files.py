"""Journeys with files of all kinds, groups, weights and times."""

import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from cordwood import TextClassifier, load, persist
from cordwood.cli.main import main
from cordwood.datasets import Corpus, read_dataset

WORDS = {"food": "bread soup salt cheese", "sport": "goal team match player"}
ROWS = [
    {
        "nr": f"n{2 * number + order}",
        "body": f"the {texts.split()[number % 4]} and {texts.split()[number % 3]} {number}",
        "topic": label,
        "day": f"2024-01-{number + 1:02}",
        "author": f"a{number // 2}",
        "w": 1 + number % 2,
    }
    for number in range(12)
    for order, (label, texts) in enumerate(WORDS.items())
]
COLUMNS = ("--text", "body", "--label", "topic")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    pd.DataFrame(ROWS).to_csv("rows.csv", index=False)
    return tmp_path


@pytest.fixture
def command(capsys):
    def run(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def train(command, *arguments, recipe="svm", code=0):
    options = (*COLUMNS, "--recipe", recipe, "-o", "model.cordwood")
    return command("train", *arguments, *options, code=code)


def read_csv(text):
    return list(csv.DictReader(text.splitlines()))


def write_excel(name, frame, sheet):
    frame.to_excel(name, index=False, sheet_name=sheet, engine="openpyxl")


def write_sqlite(name, frame):
    with closing(sqlite3.connect(name)) as database:
        frame.to_sql("posts", database, index=False)


@pytest.mark.parametrize(
    ("name", "options", "write"),
    [
        ("rows.json", (), lambda frame: frame.to_json("rows.json", orient="records", indent=1)),
        ("rows.parquet", (), lambda frame: frame.to_parquet("rows.parquet")),
        ("rows.feather", (), lambda frame: frame.to_feather("rows.feather")),
        (
            "rows.xlsx",
            ("--sheet", "posts"),
            lambda frame: write_excel("rows.xlsx", frame, "posts"),
        ),
        ("rows.sqlite", ("--table", "posts"), lambda frame: write_sqlite("rows.sqlite", frame)),
        (
            "rows.db",
            ("--query", "SELECT * FROM posts ORDER BY rowid"),
            lambda frame: write_sqlite("rows.db", frame),
        ),
    ],
)
def test_the_same_table_gives_the_same_model_and_predictions(command, name, options, write):
    write(pd.DataFrame(ROWS))
    train(command, "rows.csv")
    expected = persist.read_model_card("model.cordwood").fingerprint
    printed = read_csv(command("predict", "model.cordwood", "rows.csv").out)
    train(command, name, *options)
    assert persist.read_model_card("model.cordwood").fingerprint == expected
    found = read_csv(command("predict", "model.cordwood", name, *options).out)
    assert found == printed
    assert "evaluated on the training data" in (
        command("evaluate", "model.cordwood", name, *options).out
    )


def test_the_detected_delimiter_is_printed(command):
    pd.DataFrame(ROWS).to_csv("german.csv", index=False, sep=";")
    assert "columns are separated by semicolons" in train(command, "german.csv").out
    out = command("predict", "model.cordwood", "german.csv", "-o", "out.csv").out
    assert "columns are separated by semicolons" in out
    assert list(pd.read_csv("out.csv", sep=";")) == [*ROWS[0], "label", "probability"]


def test_files_without_a_header(command):
    pd.DataFrame(ROWS).to_csv("bare.csv", index=False, header=False)
    options = ("--no-header", "--text", "2", "--label", "3")
    command("train", "bare.csv", *options, "--recipe", "nb", "-o", "model.cordwood")
    rows = read_csv(command("predict", "model.cordwood", "bare.csv", "--no-header").out)
    assert list(rows[0]) == ["1", "2", "3", "4", "5", "6", "label", "probability"]
    assert [row["label"] for row in rows] == [row["topic"] for row in ROWS]


def test_a_wrong_suffix_is_an_error(command):
    write_excel("rows.xlsx", pd.DataFrame(ROWS), "posts")
    Path("rows.xlsx").rename("wrong.csv")
    err = train(command, "wrong.csv", code=1).err
    assert "wrong.csv is an Excel workbook, not csv; read it with format='excel'" in err


def test_one_text_is_classified_without_a_file(command):
    train(command, "rows.csv")
    (row,) = read_csv(command("predict", "model.cordwood", "--text", "bread and salt").out)
    assert (row["text"], row["label"]) == ("bread and salt", "food")
    record = json.loads(
        command(
            "predict", "model.cordwood", "--text", "a goal", "--all-probabilities", "--json"
        ).out
    )
    assert record["label"] == "sport"
    assert record["probability:food"] + record["probability:sport"] == pytest.approx(1)
    assert "give DATA, or a text with --text" in command("predict", "model.cordwood", code=2).err


def test_columns_of_the_same_name_are_kept(command):
    train(command, "rows.csv")
    frame = pd.DataFrame(ROWS).assign(label="mine", probability=0.5)
    frame.to_csv("new.csv", index=False)
    rows = read_csv(command("predict", "model.cordwood", "new.csv").out)
    assert list(rows[0]) == [*frame, "predicted_label", "predicted_probability"]
    assert {row["label"] for row in rows} == {"mine"}
    assert [row["predicted_label"] for row in rows] == [row["topic"] for row in ROWS]
    rows = read_csv(command("predict", "model.cordwood", "new.csv", "--no-keep-columns").out)
    assert list(rows[0]) == ["id", "label", "probability"]


def test_nested_and_missing_keys_of_json_lines_are_kept(command):
    train(command, "rows.csv")
    records = [{"body": "bread", "tags": ["a", "b"]}, {"body": "goal", "n": None, "when": 3}]
    Path("new.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    command("predict", "model.cordwood", "new.jsonl", "-o", "out.jsonl")
    first, second = map(json.loads, Path("out.jsonl").read_text().splitlines())
    assert first["tags"] == ["a", "b"]
    assert (second["tags"], second["when"]) == (None, 3)
    command("predict", "model.cordwood", "new.jsonl", "-o", "out.csv")
    assert read_csv(Path("out.csv").read_text())[0]["tags"] == '["a", "b"]'


def test_many_files_and_folders(command):
    Path("parts").mkdir()
    pd.DataFrame(ROWS[:8]).to_csv("parts/1.csv", index=False)
    pd.DataFrame(ROWS[8:16]).to_json("parts/2.jsonl", orient="records", lines=True)
    pd.DataFrame(ROWS[16:]).to_parquet("last.parquet")
    out = train(command, "parts", "last.parquet").out
    assert "parts and 1 more file: 24 texts, 2 classes of 12" in out
    rows = read_csv(command("predict", "model.cordwood", "parts", "last.parquet").out)
    assert [row["nr"] for row in rows] == [row["nr"] for row in ROWS]
    found = json.loads(command("evaluate", "model.cordwood", "parts", "last.parquet", "--json").out)
    assert found["data"] == ["parts", "last.parquet"]
    assert found["is_training_data"]
    err = train(command, "rows.csv", "dataset:docstrings", code=2).err
    assert "dataset:docstrings cannot be combined with other files" in err


def test_groups_are_not_divided(command):
    out = train(command, "rows.csv", "--group", "author", recipe="quick").out
    assert "6 groups, not divided between training and validation" in out
    corpus = read_dataset("rows.csv", text="body", label="topic", group="author")
    expected = TextClassifier().fit(corpus, groups=corpus.groups)
    found = load("model.cordwood").predict_proba(corpus.texts)
    assert found == pytest.approx(expected.predict_proba(corpus.texts), abs=1e-3)
    # Out-of-fold predictions of any recipe are grouped; without them, groups have no effect.
    train(command, "rows.csv", "--group", "author", recipe="rf")
    assert load("model.cordwood").oof_.proba.shape == (24, 2)
    options = ("--group", "author", "--no-scores")
    err = train(command, "rows.csv", *options, recipe="svm", code=1).err
    assert "recipe 'svm' does not cross-validate, so that groups have no effect" in err


def test_weights_are_used_to_fit_and_to_score(command):
    train(command, "rows.csv", "--weight", "w")
    corpus = read_dataset("rows.csv", text="body", label="topic", weight="w")
    expected = TextClassifier("svm").fit(corpus, sample_weight=corpus.weights)
    found = load("model.cordwood").predict_proba(corpus.texts)
    assert found == pytest.approx(expected.predict_proba(corpus.texts), abs=1e-3)
    # Members of a stack that cannot use weights are left out.
    train(command, "rows.csv", "--weight", "w", recipe="stack_forests")
    names = {member.name for member in load("model.cordwood").members_}
    assert names == {"boosted_rf", "boosted_et"}
    train(command, "rows.csv", "--weight", "w")
    assert "recipe 'lazy_rf' cannot use sample weights" in (
        train(command, "rows.csv", "--weight", "w", recipe="lazy_rf", code=1).err
    )
    pd.DataFrame(ROWS).assign(w=0).to_csv("zero.csv", index=False)
    assert "all sample weights are 0" in train(command, "zero.csv", "--weight", "w", code=1).err
    wrong = pd.DataFrame(
        {"body": ["bread", "goal"], "topic": ["food", "food"], "w": [3, 1], "author": "b"}
    )
    wrong.to_csv("new.csv", index=False)
    record = json.loads(
        command("evaluate", "model.cordwood", "new.csv", "--weight", "w", "--json").out
    )
    assert record["accuracy"]["value"] == 0.75
    assert record["confusion"] == [[1, 1], [0, 0]]


def test_training_on_the_past(command):
    out = train(command, "rows.csv", "--time", "day", "--before", "2024-01-09").out
    assert "16 texts" in out
    options = ("--time", "day", "--since", "2024-01-09")
    out = command("evaluate", "model.cordwood", "rows.csv", *options).out
    assert "8 texts" in out
    assert "training data" not in out
    out = command("evaluate", "model.cordwood", "rows.csv").out
    assert "16 of 24 samples were in the training data; the scores are optimistic" in out
    assert re.search(
        r"\nothers    .*\(accuracy .*, macro F1 .*\) without them, on 8 samples\n", out
    )
    for given, message in [
        (("--before", "2024-01-09"), "--before requires --time COLUMN"),
        (("--time", "day", "--before", "7"), "--before must be an ISO 8601 date"),
        (("--time", "w", "--since", "May"), "--since must be a number"),
    ]:
        assert message in train(command, "rows.csv", *given, code=2).err
    err = train(command, "rows.csv", "--time", "day", "--before", "2023-01-01", code=1).err
    assert "has no samples with --before 2023-01-01; the times are from 2024-01-01" in err


def test_evaluate_reports_samples_of_the_training_data(command):
    train(command, "rows.csv")
    mixed = [*ROWS[:10], *({**row, "body": f"new {row['body']}"} for row in ROWS[10:])]
    pd.DataFrame(mixed).to_csv("mixed.csv", index=False)
    record = json.loads(command("evaluate", "model.cordwood", "mixed.csv", "--json").out)
    assert (record["n_in_training_data"], record["is_training_data"]) == (10, False)
    assert record["without_training_data"]["n_samples"] == 14
    corpus = read_dataset("mixed.csv", text="body", label="topic")
    rest = load("model.cordwood").evaluate(corpus.select(range(10, 24)))
    assert record["without_training_data"]["accuracy"] == rest.accuracy.to_dict()
    err = command("evaluate", "model.cordwood", "mixed.csv", "--strict", code=1).err
    assert "10 of 24 samples were in the training data; use other samples" in err
    pd.DataFrame(mixed[10:]).to_csv("new.csv", index=False)
    assert "training data" not in command("evaluate", "model.cordwood", "new.csv", "--strict").out


def test_all_samples_in_the_training_data_have_no_other_scores(command):
    train(command, "rows.csv")
    pd.DataFrame(ROWS[:10]).to_csv("part.csv", index=False)
    out = command("evaluate", "model.cordwood", "part.csv").out
    assert "10 of 10 samples were in the training data" in out
    assert "without them" not in out


def test_svmlight_rows_of_the_training_data_are_found(command):
    Path("rows.svm").write_text("".join(f"{n % 2} {n % 5}:1 {5 + n}:2\n" for n in range(20)))
    command("train", "rows.svm", "--recipe", "svm", "-o", "model.cordwood")
    Path("new.svm").write_text("0 0:1 5:2\n1 1:3\n")
    record = json.loads(command("evaluate", "model.cordwood", "new.svm", "--json").out)
    assert record["n_in_training_data"] == 1


def test_label_separator_reads_lists_of_labels(command):
    frame = pd.DataFrame(ROWS)
    frame["topic"] = [
        f"{row['topic']};new" if n % 3 else row["topic"] for n, row in enumerate(ROWS)
    ]
    frame.to_csv("many.csv", index=False)
    # Without the option, a row has one label.
    assert "4 classes" in train(command, "many.csv").out
    assert "3 labels" in train(command, "many.csv", "--label-separator", ";", recipe="nb").out
    assert persist.read_model_card("model.cordwood").columns["label_separator"] == ";"
    # The separator is read from the model file.
    assert "3 labels" in command("evaluate", "model.cordwood", "many.csv").out


def test_the_installed_command_reads_excel(here):
    book = openpyxl.Workbook()
    for row in [list(ROWS[0]), *(list(row.values()) for row in ROWS)]:
        book.active.append(row)
    book.save("rows.xlsx")
    name = "cordwood.exe" if os.name == "nt" else "cordwood"
    program = Path(sys.executable).with_name(name)
    for arguments in (
        ["train", "rows.xlsx", *COLUMNS, "--recipe", "nb", "-o", "model.cordwood"],
        ["predict", "model.cordwood", "rows.xlsx", "-o", "out.csv"],
    ):
        subprocess.run([program, *arguments], check=True, capture_output=True)
    frame = pd.read_csv("out.csv")
    assert frame["label"].tolist() == [row["topic"] for row in ROWS]
    assert frame["w"].tolist() == [row["w"] for row in ROWS]


def test_the_weights_of_a_corpus_are_used():
    texts = ["good", "so good", "bad", "so bad", "good"]
    corpus = Corpus(texts=texts, ids=list("12345"), labels=list("++--+"), weights=[1, 2, 1, 3, 0.5])
    model = TextClassifier("svm").fit(corpus)
    expected = TextClassifier("svm").fit(texts, list("++--+"), sample_weight=corpus.weights)
    plain = TextClassifier("svm").fit(texts, list("++--+"))
    proba = model.predict_proba(texts)
    assert (proba == expected.predict_proba(texts)).all()
    assert (proba != plain.predict_proba(texts)).any()
    wrong = Corpus(texts=["good", "bad"], ids=list("12"), labels=list("--"), weights=[1, 4])
    assert model.evaluate(wrong).accuracy == 0.8
