import json
import os
import re
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pytest

from cordwood.cli.main import main

ROWS = [
    {"text": f"{adverb} {word}", "label": label}
    for label, words in (("food", ["bread", "soup"]), ("sport", ["goal", "team"]))
    for word in words
    for adverb in ("the", "a", "some")
]


@pytest.fixture(autouse=True)
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ROWS).to_csv("rows.csv", index=False)
    assert main(["train", "rows.csv", "-o", "model", "--quiet"]) == 0
    return "model"


@pytest.fixture
def command(capsys):
    capsys.readouterr()

    def run(*arguments, code=0):
        found = main(["explain", *map(str, arguments)])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def test_explains_a_text(command):
    out = command("model", "--text", "the soup\x1b[31m and more").out
    assert "food: probability" in out
    assert "\x1b" not in out
    assert "baseline" in out
    assert "exact: coefficient times value of each term" in out
    assert "soup" in out.split("\nword ", 1)[1].splitlines()[1]
    assert "“soup” speaks for food; " in out
    assert "Runner-up: sport, " in out
    assert "- food: number 4, which has in common: soup" in out
    assert "--training FILE shows similar training texts in full" in out


def test_shows_similar_training_texts(command, tmp_path):
    out = command("model", "--text", "soup", "--training", "rows.csv", "--html", "page.html").out
    assert "- food: the soup" in out
    assert "--training FILE" not in out
    assert "<q>the soup</q>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    pd.DataFrame(ROWS[1:]).to_csv("others.csv", index=False)
    message = command("model", "--text", "soup", "--training", "others.csv", code=1).err
    assert "others.csv is not what model was trained on, or has changed since" in message
    assert "the soup" in command("model", "--training", "rows.csv", "--class", "food").out


def test_shows_ids_and_true_labels(command, tmp_path):
    pd.DataFrame([{"id": "x7", **ROWS[0], "label": "sport"}]).to_csv("test.csv", index=False)
    out = command("model", "test.csv", "--html", "page.html").out
    assert "x7, true label sport" in out
    assert "id x7 · true label sport · predicted wrongly" in (tmp_path / "page.html").read_text()


def test_texts_without_words_get_no_label(command):
    out = command("model", "--text", "", "--text", "qqq").out
    assert out.count("No words, no label. ") == 2
    assert "speaks for" not in out
    assert "Similar" not in out


def test_explains_another_class(command):
    out = command("model", "--text", "soup", "--class", "sport").out
    assert "sport: probability" in out
    assert "food: probability" not in out


def test_explains_the_first_texts_of_a_file(command):
    record = json.loads(command("model", "rows.csv", "--limit", 2, "--json").out)
    assert [each["text"] for each in record["explanations"]] == ["the bread", "a bread"]


def test_prints_the_words_of_classes_without_texts(command):
    out = command("model").out
    assert "words of the vocabulary" in out
    assert "soup" in out


def test_aggregates_the_texts_of_a_file(command):
    record = json.loads(command("model", "rows.csv", "--by-class", "--top", 2, "--json").out)
    words = {each["label"]: {word["word"] for word in each["for"]} for each in record["classes"]}
    assert words == {"food": {"bread", "soup"}, "sport": {"goal", "team"}}


def test_writes_a_page(command, tmp_path):
    command("model", "--text", "soup & <b>", "--html", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "&lt;" in page
    assert "<b>&" not in page


def test_invalid_arguments_are_usage_errors(command):
    message = command("model", "--text", "soup", "--class", "music", code=2).err
    assert "--class must be a class of the model, food, sport; got music" in message
    message = command("model", "--text", "soup", "--by-class", code=2).err
    assert "--by-class needs many texts" in message
    message = command("model", "--text", "soup", "--html", "none/page.html", code=1).err
    assert "directory none does not exist" in message


def test_words_of_training_texts_are_explained_out_of_fold(command):
    arguments = ("model", "rows.csv", "--by-class", "--out-of-fold", "--class", "food")
    out = command(*arguments).out
    assert "in 12 texts, each explained by a model that was not trained on it" in out
    assert "food" in out
    message = command("model", "--out-of-fold", code=2).err
    assert "--out-of-fold needs --by-class and the training texts, DATA" in message
    pd.DataFrame(ROWS).drop(columns="label").to_csv("texts.csv", index=False)
    assert "label" in command("model", "texts.csv", *arguments[2:], code=1).err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_words_are_styled_on_a_terminal(tmp_path):
    leader, follower = os.openpty()
    arguments = ["explain", "model", "--text", "the soup of the team"]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-m", "cordwood", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=tmp_path,
    ) as process:
        os.close(follower)
        shown = b""
        # Linux reports the end of a pseudo-terminal as an error.
        with suppress(OSError):
            while part := os.read(leader, 4096):
                shown += part
        os.close(leader)
    assert process.returncode == 0
    out = shown.decode()
    # Bold on a background for the strongest word; words against the class are underlined.
    assert re.search(r"\x1b\[1;37;44msoup\x1b\[0m|\x1b\[1;37;44mteam\x1b\[0m", out)
    assert re.search(r"\x1b\[1?;?4;[\d;]*m(team|soup)\x1b\[0m", out)
    assert re.search(r"for\x1b\[0m the predicted class, .*against\x1b\[0m it", out)
