import csv
import json

import numpy as np
import pytest

from cordwood import TextClassifier, load
from cordwood.cli.main import main
from synthetic_data import make_counts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of three classes with noise, and texts to classify."""
    folder = tmp_path_factory.mktemp("decisions")
    X, y = make_counts(700, 60, 3, seed=0, noise=0.1, spread=0.8)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in X]
    model = TextClassifier("nb", oof=True).fit(texts[:600], np.array(["a", "b", "c"])[y[:600]])
    model.save(folder / "model.cordwood")
    with open(folder / "new.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text"])
        rows.writerows(enumerate([*texts[600:], "entirely different words here"]))
    return folder


@pytest.fixture
def predict(folder, capsys):
    def run(*options, code=0, data="new.csv"):
        arguments = ["predict", folder / "model.cordwood", folder / data, *options]
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def read_rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_coverage_writes_sets(predict):
    rows = read_rows(predict("--coverage", 0.95).out)
    assert [*rows[0]][-4:] == ["label", "probability", "set", "is_single"]
    for row in rows:
        labels = row["set"].split("|")
        assert labels[0] == row["label"]
        assert row["is_single"] == str(len(labels) == 1)
    assert {row["is_single"] for row in rows} == {"True", "False"}


def test_coverage_that_needs_more_samples_is_explained(predict, folder):
    out = predict("--coverage", 0.999, "-o", folder / "sets.csv").out
    assert "needs at least 999 training samples, and there are 600: each set has all labels" in out
    rows = read_rows((folder / "sets.csv").read_text(encoding="utf-8"))
    assert {len(row["set"].split("|")) for row in rows} == {3}
    assert "each set" not in predict("--coverage", 0.99, "-o", folder / "sets.csv").out


def test_texts_unlike_the_training_texts_are_a_warning(predict, folder, capsys):
    assert "differ" not in predict().err
    model = folder / "model.cordwood"
    for name, word in (("same", ""), ("other", " covid")):
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            texts = [row["text"] for row in read_rows((folder / "new.csv").read_text("utf-8"))]
            rows = csv.writer(file)
            rows.writerow(["id", "text", "label"])
            rows.writerows((i, f"{text}{word}", "abc"[i % 3]) for i, text in enumerate(texts))
    message = "'covid' is in 100% of them instead of 0.0%; the accuracy of 0."
    assert message in predict(data="other.csv").err
    target = folder / "labels.csv"
    for data, terms in (("same.csv", None), ("other.csv", [("covid", 1.0, 0.0)])):
        found = json.loads(predict("-o", target, "--json", data=data).out)["shift"]
        assert found == (terms and [dict(zip(found[0], each, strict=True)) for each in terms])
        assert main(["evaluate", str(model), str(folder / data)]) == 0
        assert (message in capsys.readouterr().out) is (terms is not None)
        assert main(["evaluate", str(model), str(folder / data), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["shift"] == found


def test_json_lines_have_lists(predict):
    lines = predict("--coverage", 0.95, "--class-conditional", "--json").out.splitlines()
    records = [json.loads(line) for line in lines]
    assert all(isinstance(record["set"], list) for record in records)
    assert all(record["is_single"] is (len(record["set"]) == 1) for record in records)


def test_min_confidence_leaves_samples_undecided(predict):
    rows = read_rows(predict("--min-confidence", 0.7).out)
    for row in rows:
        assert (row["label"] == "__undecided__") is (float(row["probability"]) < 0.7)


def test_max_error_prints_the_threshold(predict, folder):
    target = folder / "labels.csv"
    out = predict("--max-error", 0.15, "-o", target).out
    assert "for an error of at most 15.0% with 90% confidence" in out
    labels = [row["label"] for row in read_rows(target.read_text(encoding="utf-8"))]
    assert 0 < labels.count("__undecided__") < len(labels)
    assert f"__undecided__ ({labels.count('__undecided__')})" in out


def test_max_error_that_cannot_be_shown_is_an_error(predict):
    message = predict("--max-error", 0.001, code=1).err
    assert "--max-error=0.001 needs at least" in message


def test_unknown_samples_are_marked(predict):
    rows = read_rows(predict("--unknown", 0.02).out)
    assert rows[-1]["label"] == "__unknown__"
    assert sum(row["label"] == "__unknown__" for row in rows) < 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--coverage", 95), "--coverage must be between 0 and 1"),
        (("--class-conditional",), "--class-conditional requires --coverage"),
        (("--min-confidence", 0.5, "--max-error", 0.1), "are alternatives"),
        (("--unknown", -1), "--unknown must be between 0 and 1"),
    ],
)
def test_invalid_options_are_usage_errors(predict, options, message):
    assert message in " ".join(predict(*options, code=2).err.split())


def test_model_without_out_of_fold_predictions(predict, folder):
    path = folder / "model.cordwood"
    model = load(path)
    stored = path.read_bytes()
    model.oof_ = model.scope_ = model.evaluation_ = None
    try:
        model.save(path)
        assert (
            "--coverage requires out-of-fold predictions" in predict("--coverage", 0.9, code=1).err
        )
        assert "--unknown requires out-of-fold predictions" in predict("--unknown", 0.1, code=1).err
    finally:
        path.write_bytes(stored)
