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
    assert "\nmicro F1 " in shown
    assert "out-of-fold predictions of 60 training samples" in shown

    # The separator is stored in the model, and lists need none.
    for data in ("news.csv", "news.jsonl"):
        scores = json.loads(command("evaluate", "news.cordwood", data, "--json").out)
        assert scores["micro_f1"]["value"] > 0.9
        assert set(scores) >= {"macro_f1", "samples_f1", "accuracy", "ranking_precision"}
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
    assert "\nscores    " in shown and " right, give or take " in shown
    assert "the decision was tuned on the same predictions" in shown
    with open("costs.csv", "w") as file:
        file.write("true,ham,spam\nham,0,1e9\nspam,1,0\n")
    command(*train, "--optimize", "cost", "--cost", "costs.csv")
    found = command("predict", "mails.cordwood", "mails.csv", "--json").out.splitlines()
    assert {json.loads(line)["predicted_label"] for line in found} == {"ham"}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--optimize", "recall"), 2, "--optimize must be f1, macro_f1, cost, or precision=P"),
        (("--optimize", "precision"), 2, "--optimize must be f1"),
        (("--optimize", "precision=1.5"), 2, "with P between 0 and 1; got precision=1.5"),
        (("--optimize", "cost"), 2, "--optimize cost and --cost FILE require each other"),
        (("--cost", "none.csv"), 2, "--optimize cost and --cost FILE require each other"),
        (("--positive", "spam"), 2, "--positive requires --optimize"),
        (("--class-weight", "balanced"), 1, "recipe 'lazy_rf' cannot use sample weights"),
        (("--optimize", "f1", "--positive", "eggs"), 1, "--positive 'eggs' is not a class"),
        (("--cost", "none.csv", "--optimize", "cost"), 1, "cannot read the cost matrix"),
    ],
)
def test_errors_name_the_option(options, code, message, command):
    write_mails()
    err = command("train", "mails.csv", "--recipe", "lazy_rf", *options, code=code).err
    assert message in err and err.count("\n") == 1


def test_an_optimized_decision_has_scores_and_confidence(command):
    """From --optimize to undecided samples and a report, all by out-of-fold predictions."""
    write_mails()
    train = ("train", "mails.csv", "--encoder", "none", "--optimize", "f1", "--json")
    scores = json.loads(command(*train).out)["scores"]
    assert 0.5 < scores["accuracy"]["value"] < 1
    shown = command("predict", "mails.cordwood", "mails.csv", "--max-error", "0.3", "-o", "o.csv")
    assert "for an error of at most 30.0% with 90% confidence: out of fold" in shown.out
    sets = command("predict", "mails.cordwood", "mails.csv", "--coverage", "0.9").out
    assert sets.splitlines()[0].endswith("set,is_single")
    report = ("report", "mails.cordwood", "mails.csv", "-o", "report.json", "--json")
    found = json.loads(command(*report).out)
    assert found["scores"]["scores"]["accuracy"]["value"] == scores["accuracy"]["value"]
    members = json.loads(command("explain", "mails.cordwood", "--text", "offer", "--json").out)
    assert len(members["explanations"][0]["members"]) == 4


def test_decisions_are_checked_before_the_training(command, monkeypatch):
    monkeypatch.setattr("cordwood.classifier.text_classifier.build_model", None)
    write_csv("news.csv", [(text, labels[0]) for text, labels in make_samples()])
    err = command("train", "news.csv", "--optimize", "f1", code=1).err
    assert "--optimize f1 requires two classes; got 3" in err


def test_options_of_one_label_are_errors_for_several(command):
    write_csv("news.csv", [(text, ";".join(labels)) for text, labels in make_samples()])
    command("train", "news.csv", "--recipe", "nb", "--label-separator", ";")
    for option in ("--min-confidence", "--max-error", "--coverage"):
        err = command("predict", "news.cordwood", "news.csv", option, "0.5", code=1).err
        assert err.startswith(f"cordwood: {option} requires one label per sample")
    command("predict", "news.cordwood", "news.csv", "--unknown", "0.02")
