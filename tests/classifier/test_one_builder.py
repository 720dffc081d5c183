"""What commands and comparisons fit for the same settings is the model of TextClassifier."""

import numpy as np
import pytest

import cordwood
from cordwood import Corpus, FeatureMatrix, TextClassifier
from cordwood.cli.main import run
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.cv_splits import Split
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.run_trial import run_trial
from matrix import COLUMNS, ENCODER, LABELS, LISTS, NUMBERS, TABLE, TEXTS

IDS = tuple(map(str, range(len(TEXTS))))
SPLIT = Split(np.arange(60), np.arange(60, len(TEXTS)))
QUICK = {"estimator": "quick", "encoder": None}


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))


@pytest.mark.parametrize(
    ("learner", "params", "data"),
    [
        ({"recipe": "quick"}, QUICK, Corpus(texts=TEXTS, ids=IDS, labels=LABELS)),
        (
            {"recipe": "quick", "params": {"encoder": str(ENCODER)}},
            {**QUICK, "encoder": str(ENCODER)},
            Corpus(texts=TEXTS, ids=IDS, labels=LABELS),
        ),
        (
            {"recipe": "nb", "params": {"calibrate": True}},
            {"estimator": "nb"},
            Corpus(texts=TEXTS, ids=IDS, labels=LABELS),
        ),
        (
            {"recipe": "svm", "params": {"C": 3.0}},
            {"estimator": "svm", "recipe_params": {"C": 3.0}},
            Corpus(texts=TEXTS, ids=IDS, labels=LABELS),
        ),
        ({"recipe": "quick"}, QUICK, Corpus(texts=TEXTS, ids=IDS, labels=LISTS)),
        ({"recipe": "quick"}, QUICK, FeatureMatrix(X=NUMBERS, ids=IDS, labels=LABELS)),
    ],
    ids=["quick", "quick with an encoder", "calibrated nb", "svm", "several labels", "numeric"],
)
def test_a_comparison_fits_the_model(learner, params, data, tmp_path):
    kind = "numeric" if isinstance(data, FeatureMatrix) else "text"
    # The file of the plan is not read: the trial gets the data.
    file = "data.svmlight" if kind == "numeric" else "data.csv"
    (tmp_path / file).touch()
    dataset = {"name": "data", "path": file, "kind": kind}
    plan = parse_plan({"datasets": [dataset], "learners": [learner]}, folder=tmp_path)
    result = run_trial(list_trials(plan)[0], data, SPLIT, seed=7)
    assert "error" not in result.outcome, result.outcome
    model = TextClassifier(**params, random_state=7).fit(data.select(SPLIT.train))
    expected = model.predict_proba(data.select(SPLIT.test))
    np.testing.assert_array_equal(result.predictions["proba"], expected.astype(np.float32))


@pytest.mark.parametrize(
    ("options", "params"),
    [
        (["--encoder", "none"], QUICK),
        (["--recipe", "nb"], {"estimator": "nb"}),
        (["--encoder", "none", "--optimize", "macro_f1"], {**QUICK, "decision": "macro_f1"}),
        (
            ["--encoder", "none", "--numeric", "price", "--categorical", "kind", "--text", "body"],
            {**QUICK, "columns": COLUMNS},
        ),
    ],
    ids=["quick", "calibrated nb", "decision", "table"],
)
def test_the_command_fits_the_model(options, params, tmp_path, monkeypatch, capsys):
    lines = [
        f"{body},{price},{kind},{label}"
        for body, price, kind, label in zip(*TABLE.values(), LABELS, strict=True)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["body,price,kind,label", *lines]) + "\n")
    text = [] if "--text" in options else ["--text", "body"]
    target = tmp_path / "model.cordwood"
    command = ["train", str(tmp_path / "data.csv"), *text, *options, "-o", str(target)]
    monkeypatch.setattr("sys.argv", ["cordwood", *command, "--no-baseline"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert not ended.value.code, capsys.readouterr().err
    X = TABLE if "columns" in params else TEXTS
    model = TextClassifier(**params).fit(X, LABELS)
    model.save(tmp_path / "other.cordwood")
    loaded, other = map(cordwood.load, (target, tmp_path / "other.cordwood"))
    np.testing.assert_array_equal(loaded.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict(X), other.predict(X))
    assert str(loaded.evaluation_) == str(other.evaluation_)
