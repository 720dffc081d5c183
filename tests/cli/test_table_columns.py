"""Columns beside the text on the command line, from training to explanations."""

import json

import pandas as pd
import pytest

from cordwood import persist
from cordwood.cli.main import main

TEXTS = {"food": ["bread soup", "soup salt", "cheese bread"], "sport": ["goal team", "team match"]}
FRAME = pd.DataFrame(
    [
        {
            "key": f"k{number}",
            "body": TEXTS[topic][number % len(TEXTS[topic])],
            "place": "" if number % 5 == 0 else "kitchen" if topic == "food" else "field",
            "price": 3 + number % 4 if topic == "food" else "",
            "day": f"2024-05-{1 + number:02}",
            "topic": topic,
        }
        for number, topic in enumerate(["food", "sport"] * 8)
    ]
)
ROLES = ("--text", "body", "--categorical", "place", "--numeric", "price", "--date", "day")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("rows.csv", index=False)
    return tmp_path


@pytest.fixture
def command(capsys):
    def run(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


@pytest.fixture
def model(command, here):
    command("train", "rows.csv", *ROLES, "--label", "topic", "--recipe", "svm", "-o", "model")
    return here / "model"


def test_a_model_reads_the_columns_of_its_card(model, command):
    assert persist.read_model_card(model).columns == {
        "text": ["body"], "label": "topic", "categorical": ["place"], "numeric": ["price"],
        "date": ["day"],
    }  # fmt: skip
    shuffled = FRAME[FRAME.columns[::-1]].drop(columns="topic")
    shuffled.to_csv("new.csv", index=False)
    rows = command("predict", model, "new.csv", "--no-keep-columns").out.splitlines()
    assert len(rows) == len(FRAME) + 1
    found = json.loads(command("evaluate", model, "rows.csv", "--json").out)
    assert found["accuracy"]["value"] == 1 and found["is_training_data"]
    assert found["n_in_training_data"] == len(FRAME)


def test_explanations_name_the_columns(model, command):
    out = command("explain", model, "rows.csv", "--limit", "2").out
    assert "place = field" in out and "place = (missing)" in out and "price = " in out
    assert "give DATA" in command("explain", model, "--text", "soup", code=2).err


def test_roles_are_detected_unless_they_are_named(command):
    arguments = ("--columns", "auto", "--text", "body", "--label", "topic", "--recipe", "svm")
    out = command("train", "rows.csv", *arguments, "-o", "model").out
    assert (
        "columns   categorical: place; numeric: price; date: day; ignored: key (identifier)\n"
        in out
    )
    card = persist.read_model_card("model")
    assert card.columns["text"] == ["body"] and card.columns["date"] == ["day"]


def test_the_default_text_column_is_used_if_it_exists(command):
    FRAME.rename(columns={"body": "text"}).to_csv("text.csv", index=False)
    arguments = ("--categorical", "place", "--label", "topic", "--recipe", "svm", "-o", "model")
    command("train", "text.csv", *arguments)
    assert persist.read_model_card("model").columns["text"] == ["text"]
    command("train", "rows.csv", *arguments)
    assert "text" not in persist.read_model_card("model").columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--text", "body", "--numeric", "cost"), 'no column "cost"'),
        (("--numeric", "cost"), 'no column "cost"'),
        (("--text", "body", "--numeric", "place"), "column \"place\", row 1, is 'field', not a"),
        (("--text", "body", "--numeric", "body"), "'body' is named more than once"),
    ],
)
def test_invalid_columns(command, arguments, message):
    assert message in command("train", "rows.csv", *arguments, "--label", "topic", code=1).err


def test_usage_errors(command, here):
    assert "--columns must be auto" in command("train", "rows.csv", "--columns", "all", code=2).err
    (here / "food").mkdir()
    error = command("train", here, "--format", "folder", "--columns", "auto", code=2).err
    assert "has no columns" in error


def test_a_column_that_the_model_needs_is_named(model, command):
    FRAME.drop(columns="place").to_csv("new.csv", index=False)
    assert 'no column "place"' in command("predict", model, "new.csv", code=1).err
    assert 'no column "place"' in command("evaluate", model, "new.csv", code=1).err
