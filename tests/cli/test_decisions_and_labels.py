"""Commands with several labels per sample, and with tuned decisions."""

import csv
import json

import numpy as np
import pytest

from cordwood.cli.main import main

WORDS = {"gas": ["pipeline", "methane"], "grain": ["wheat", "corn"], "oil": ["crude", "opec"]}


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def make_samples(n_samples=60):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n_samples):
        labels = rng.choice([*WORDS], rng.integers(1, 3), replace=False).tolist()
        words = [rng.choice(WORDS[label]) for label in labels for _ in range(3)]
        rows.append((" ".join([*words, *rng.choice(["said", "week", "today"], 4)]), labels))
    return rows


def write_csv(name, rows):
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def test_several_labels_from_csv_to_predictions(command):
    rows = make_samples()
    write_csv("news.csv", [(text, ";".join(labels)) for text, labels in rows])
    with open("news.jsonl", "w") as file:
        file.writelines(json.dumps({"text": t, "label": labels}) + "\n" for t, labels in rows)
    shown = command("train", "news.csv", "--recipe", "svm", "--label-separator", ";").out
    assert "60 texts, 3 labels, 1.6 per sample" in shown
    assert "out of fold, micro F1" in shown

    # The separator is stored in the model, and lists need none.
    for data in ("news.csv", "news.jsonl"):
        scores = json.loads(command("evaluate", "news.cordwood", data, "--json").out)
        assert scores["micro_f1"] > 0.9
        assert set(scores) >= {"macro_f1", "samples_f1", "subset_accuracy", "ranking_precision"}
    assert "sample F1 " in command("evaluate", "news.cordwood", "news.csv").out

    predict = ("predict", "news.cordwood", "news.csv", "--no-keep-columns")
    command(*predict, "-o", "found.csv")
    with open("found.csv") as file:
        table = [*csv.DictReader(file)]
    command(*predict, "--all-probabilities", "-o", "found.jsonl")
    with open("found.jsonl") as file:
        records = [*map(json.loads, file)]
    for row, record in zip(table, records, strict=True):
        assert row["label"].split(";") == record["label"]
        assert [*map(float, row["probability"].split(";"))] == record["probability"]
        assert record["probability"] == [record[f"probability:{each}"] for each in record["label"]]


def test_lists_train_without_a_separator(command):
    with open("news.jsonl", "w") as file:
        for text, labels in make_samples():
            file.write(json.dumps({"text": text, "label": labels}) + "\n")
    report = json.loads(command("train", "news.jsonl", "--recipe", "nb", "--json").out)
    assert set(report["classes"]) == {"gas", "grain", "oil"}


def write_mails():
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(80):
        spam = rng.random() < 0.3
        words = rng.choice(["offer", "free"] if spam else ["report", "lunch"], 2).tolist()
        rows.append((" ".join([*words, *rng.choice(["offer", "report", "now"], 4)]), spam))
    write_csv("mails.csv", [(text, "spam" if spam else "ham") for text, spam in rows])


def test_optimized_decisions_are_stored_and_applied(command):
    write_mails()
    train = ("train", "mails.csv", "--recipe", "nb")
    assert "decision  spam from a probability of" in command(*train, "--optimize", "f1").out
    shown = command(*train, "--optimize", "f1", "--positive", "ham").out
    assert "decision  ham from a probability of" in shown
    with open("costs.csv", "w") as file:
        file.write("true,ham,spam\nham,0,1e9\nspam,1,0\n")
    command(*train, "--optimize", "cost", "--cost", "costs.csv")
    found = command("predict", "mails.cordwood", "mails.csv", "--json").out.splitlines()
    assert {json.loads(line)["predicted_label"] for line in found} == {"ham"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--optimize", "recall"), "optimize must be f1"),
        (("--optimize", "cost"), "require each other"),
        (("--class-weight", "balanced"), "not supported by recipe 'lazy_rf'"),
        (("--cost", "none.csv", "--optimize", "cost"), "cannot read the cost matrix"),
    ],
)
def test_errors_name_the_option(options, message, command):
    write_mails()
    assert message in command("train", "mails.csv", "--recipe", "lazy_rf", *options, code=1).err
