"""Scores at the end of `cordwood train`, and `cordwood curve`."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cordwood import load
from cordwood.cli.main import main


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(60)])
    labels = ["low", "mid", "high"] * 40
    texts = [
        " ".join(rng.choice(words[10 * code : 10 * code + 40], size=6))
        for code in np.arange(120) % 3
    ]
    pd.DataFrame({"text": texts, "label": labels}).to_csv("rows.csv", index=False)


@pytest.fixture
def run(capsys):
    def call(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return call


def test_train_prints_scores_beside_baselines(run):
    out = run("train", "rows.csv", "--encoder", "none").out
    assert "this model           TF-IDF + linear SVM  majority class\n" in out
    assert re.search(r"Expected on new samples: \d+ of 100 right, give or take \d+\.\n", out)
    assert re.search(r"For comparison, TF-IDF \+ linear SVM: \d+ of 100 right, give", out)
    assert re.search(r"\naccuracy( +0\.\d{3} \(0\.\d{3}-[01]\.\d{3}\)){3}\n", out)
    for score in ("macro F1", "log loss", "ECE"):
        assert f"\n{score}  " in out
    assert "\nweakest classes  F1  " in out
    assert "cross-validation of nbsvm, nb, knn, rf" in out
    assert "; 95% intervals" in out
    table = out.partition("Expected on new samples")[2].partition("\nscores ")[0]
    assert max(map(len, table.splitlines())) <= 80


def test_train_prints_scores_as_json(run):
    record = json.loads(run("train", "rows.csv", "--recipe", "svm", "--json").out)["scores"]
    assert record["sources"] == {"classifier": "cv"}
    assert record["n_samples"] == 120
    assert set(record["baselines"]) == {"TF-IDF + linear SVM", "majority class"}
    assert record["accuracy"]["low"] < record["accuracy"]["value"] < record["accuracy"]["high"]
    model = load("rows.cordwood")
    assert len(model.oof_) == 120
    assert model.evaluation_.to_dict() == record


def test_scores_and_baseline_can_be_switched_off(run):
    out = run("train", "rows.csv", "--recipe", "nb", "--no-baseline").out
    assert "this model\n" in out
    assert "linear SVM" not in out
    assert not load("rows.cordwood").evaluation_.baselines
    out = run("train", "rows.csv", "--recipe", "nb", "--no-scores").out
    assert "Expected on new samples" not in out
    model = load("rows.cordwood")
    assert model.oof_ is None
    assert model.evaluation_ is None


def test_one_sample_per_class_is_trained_without_scores(run):
    pd.DataFrame({"text": ["good", "bad"], "label": ["+", "-"]}).to_csv("two.csv", index=False)
    assert json.loads(run("train", "two.csv", "--recipe", "svm", "--json").out)["scores"] is None


def test_curve_prints_a_forecast(run):
    out = run("curve", "rows.csv", "--recipe", "nb", "--repeats", 2).out
    assert re.search(r"\ntraining samples  accuracy  lowest  highest\n", out)
    words = r"\d+ of 100 right"
    assert re.search(rf"\nscores +{words}, give or take \d+ \(accuracy 0\.\d{{3}} ", out)
    pattern = rf"\nforecast +{words}, give or take \d+ \(accuracy (0\.\d+) .*\) with 240 samples\n"
    found = re.search(pattern, out)
    now = re.search(r"\nscores .*?accuracy (0\.\d+)", out)
    gain = re.search(r"\ngain +([+-]0\.\d+)", out)
    assert float(found[1]) == pytest.approx(float(now[1]) + float(gain[1]), abs=0.02)
    assert re.search(r"\ngain +\+0\.\d{3} \(\+0.*\) by twice as many samples\n", out)


def test_curve_prints_json(run):
    arguments = ("--recipe", "nb", "--metric", "log_loss", "--json")
    record = json.loads(run("curve", "rows.csv", *arguments).out)
    assert record["n_samples"] == 120
    assert np.shape(record["scores"]) == (3, len(record["sizes"]))
    assert record["doubled"]["value"] <= record["now"]["value"]


def test_curve_errors_are_one_sentence(run):
    err = run("curve", "rows.csv", "--recipe", "nbb", code=1).err
    assert "unknown recipe 'nbb'; did you mean 'nb'?" in err
    pd.read_csv("rows.csv")[:20].to_csv("few.csv", index=False)
    err = run("curve", "few.csv", "--recipe", "nb", code=1).err
    assert "learning curve: A learning curve needs at least 3 sizes" in err
    several = '{"text": "a", "labels": ["x", "y"]}\n{"text": "b", "labels": ["x"]}\n'
    Path("labels.jsonl").write_text(several * 10, encoding="utf-8")
    err = run("curve", "labels.jsonl", "--label", "labels", "--recipe", "nb", code=1).err
    assert err.endswith("a learning curve requires one label per sample\n")


def get_scores(out):
    [line] = [line for line in out.splitlines() if line.startswith("scores ")]
    return line


@pytest.mark.parametrize("options", [("--encoder", "none"), ("--recipe", "et", "--seed", "3")])
def test_all_commands_state_the_scores_of_the_same_model(run, options):
    expected = get_scores(run("train", "rows.csv", *options).out)
    assert re.match(r"scores +\d+ of 100 right, give or take \d+ \(accuracy 0\.", expected)
    assert get_scores(run("audit", "rows.csv", *options).out) == expected
    assert get_scores(run("report", "rows.cordwood", "rows.csv").out) == expected
    assert get_scores(run("report", "rows.cordwood").out) == expected
    out = run("curve", "rows.csv", "--repeats", 1, *options).out
    assert get_scores(out) == expected
    assert "the scores are those of `cordwood train` and `cordwood audit`" in out


def test_members_of_no_weight_are_not_shown(run):
    record = json.loads(run("train", "rows.csv", "--encoder", "none", "--json").out)
    out = run("train", "rows.csv", "--encoder", "none").out
    [line] = [line for line in out.splitlines() if line.startswith("members ")]
    for name, weight in record["members"].items():
        assert (f" {name} (weight {weight:.2f})" in line) is (abs(weight) >= 0.005)
