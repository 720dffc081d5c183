import csv
import json
import re

import pandas as pd
import pytest
from joblib import cpu_count, effective_n_jobs

from cordwood import TextClassifier, load, persist
from cordwood.cli import demo as demo_module
from cordwood.cli import predict as predict_module
from cordwood.cli.main import main
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.readers import read_dataset

WORDS = {
    "food": ["bread soup", "soup salt", "cheese bread", "salt apple", "apple cheese"],
    "sport": ["goal team", "team match", "player goal", "match ball", "ball player"],
}
ROWS = [
    {"nr": f"n{2 * number + order}", "head": text, "body": f"the {text} {number}", "topic": label}
    for number in range(5)
    for order, (label, texts) in enumerate(WORDS.items())
    for text in [texts[number]]
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    monkeypatch.delenv("CORDWOOD_DEBUG", raising=False)
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


COLUMNS = ("--text", "head", "--text", "body", "--label", "topic", "--id", "nr")


@pytest.fixture
def model(command, here):
    command("train", "rows.csv", *COLUMNS, "-o", "model")
    return here / "model"


def test_train_writes_the_model_of_the_python_api(model):
    corpus = read_dataset("rows.csv", text=["head", "body"], label="topic", id="nr")
    expected = TextClassifier().fit(corpus)
    found = load(model).predict_proba(corpus.texts)
    assert found == pytest.approx(expected.predict_proba(corpus.texts), abs=1e-3)
    card = persist.read_model_card(model)
    assert card.columns == {"text": ["head", "body"], "label": "topic", "id": "nr"}
    assert card.recipe == "quick"
    assert card.fingerprint == corpus.fingerprint()


def test_train_prints_a_summary(command):
    out = command("train", "rows.csv", *COLUMNS).out
    assert "rows.csv: 10 texts, 2 classes of 5\n" in out
    assert re.search(r"\nfeatures  .*preset social.*; \d+ terms\n", out)
    assert re.search(r"recipe quick, in [0-9.]+ s on \d+ cores?\n", out)
    assert "rows.cordwood (" in out
    assert "cordwood predict rows.cordwood NEW-DATA\n" in out


def test_boosted_forests_have_no_members(command):
    options = ("--recipe", "boosted_rf", "--no-scores", "--set", "calibrate=false", "--json")
    record = json.loads(command("train", "rows.csv", *COLUMNS, *options).out)
    assert record["members"] is None


def test_train_prints_json(command, here):
    record = json.loads(command("train", "rows.csv", *COLUMNS, "--json").out)
    assert record["n_samples"] == 10
    assert record["classes"] == {"food": 5, "sport": 5}
    assert record["n_skipped"] == 0
    assert record["model"] == "rows.cordwood"
    assert record["bytes"] == (here / "rows.cordwood").stat().st_size


def test_train_uses_all_cores_by_default(command, here):
    assert json.loads(command("train", "rows.csv", *COLUMNS, "--json").out)["n_jobs"] == cpu_count()
    err = command("train", "rows.csv", *COLUMNS, "-j", 0, code=2).err
    assert "--jobs must be a positive number, or -1 for all cores; got 0" in err


@pytest.mark.parametrize("arguments", [("predict", "rows.csv"), ("evaluate", "rows.csv")])
def test_model_file_is_read_once(command, model, monkeypatch, arguments):
    opened = []
    original = open

    def spy(path, *arguments, **options):
        opened.append(path)
        return original(path, *arguments, **options)

    monkeypatch.setattr("builtins.open", spy)
    command(arguments[0], model, arguments[1])
    assert opened.count(model) == 1


@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_predictions_use_all_cores(command, model, monkeypatch, name):
    n_jobs = []
    original = TextClassifier.apply_rule

    def spy(*arguments):
        n_jobs.append(effective_n_jobs(None))
        return original(*arguments)

    monkeypatch.setattr(TextClassifier, "apply_rule", spy)
    command(name, model, "rows.csv")
    assert n_jobs[-1] == cpu_count()  # those before are of the trial when the model is loaded


def test_quiet_prints_nothing(command, here):
    captured = command("train", "rows.csv", *COLUMNS, "-q")
    assert (captured.out, captured.err) == ("", "")
    assert (here / "rows.cordwood").exists()


def test_settings_seed_and_jobs_are_passed_to_the_model(command, here):
    settings = ("--recipe", "svm", "--set", "C=0.25", "--set", "min_df=2", "--seed", 7, "-j", 2)
    command("train", "rows.csv", *COLUMNS, *settings)
    model = load(here / "rows.cordwood")
    assert model.random_state == 7
    params = model.estimator_.get_params()
    assert params["classifier__C"] == 0.25
    assert params["vectorizer__min_df"] == 2
    assert params["classifier__random_state"] == 7


def write_german(path):
    rows = [
        {
            "text": f"Das ist nicht die erste {word}, die wir in diesem Jahr sehen. " * 7,
            "label": word[:2],
        }
        for word in ("Katze", "Kuh") * 60
    ]
    pd.DataFrame(rows).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "; stop_words='de' for German"),
        (("--language", "nl+fr"), "; stop_words='nl+fr' for Dutch and French"),
        (("--set", "language=fr"), "; stop_words='fr' for French"),
        (("--language", "en"), "; min_df=2 for naive_bayes"),
    ],
)
def test_language_selects_the_stop_words(command, here, options, reason):
    write_german("german.csv")
    command("train", "german.csv", "--recipe", "nb", *options, "-o", "model")
    assert load(here / "model").view.vectorizer.preset_reason_.endswith(reason)


def test_language_requires_a_known_code_and_texts(command, here):
    err = command("train", "rows.csv", *COLUMNS, "--language", "deutsch", code=1).err
    assert "language must be an ISO 639-1 code such as 'de'" in err
    (here / "x.svm").write_text("1 1:1\n2 2:1\n" * 10)
    err = command("train", "x.svm", "--language", "de", code=1).err
    assert "language requires texts, but the samples are numeric" in err


@pytest.mark.parametrize(
    ("setting", "message"),
    [("C", "'C' is not of the form NAME=VALUE"), ("recipe=svm", "'recipe' is not a parameter")],
)
def test_invalid_settings_are_usage_errors(command, setting, message):
    err = command("train", "rows.csv", *COLUMNS, "--set", setting, code=2).err
    assert err.startswith(f"cordwood: Invalid value: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "there is no DATA; give it, or the classes by --classes FILE"),
        (["--nothing"], "No such option: --nothing (see cordwood --help)"),
        (["predict", "model", "rows.csv", "-o", "x.txt"], "'x.txt' must end in .csv, .tsv"),
        (["datasets", "--export", "x.csv"], "--export requires the NAME of a data set"),
    ],
)
def test_usage_errors_are_one_line(command, arguments, message):
    err = command(*arguments, code=2).err
    assert message in err
    assert err.count("\n") == 1


def test_debug_prints_the_traceback(command, monkeypatch):
    # Set here, so that pytest restores the variable that --debug sets.
    monkeypatch.setenv("CORDWOOD_DEBUG", "")
    err = command("--debug", "train", "missing.csv", code=1).err
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("cordwood: missing.csv")


def test_default_model_name_is_that_of_the_data(command, here):
    frame = pd.DataFrame(ROWS).rename(columns={"head": "text", "topic": "label"})
    frame.to_csv("rows.v2.csv.gz", index=False)
    command("train", "rows.v2.csv.gz")
    for label, texts in WORDS.items():
        (here / "my.folder" / label).mkdir(parents=True)
        for position, text in enumerate(texts):
            (here / "my.folder" / label / f"{position}.txt").write_text(text)
    command("train", here / "my.folder")
    command("train", "dataset:sklearn:wine")
    models = {path.name for path in here.glob("*.cordwood")}
    assert models == {"rows.v2.cordwood", "my.folder.cordwood", "wine.cordwood"}


def test_standard_input_requires_a_model_name(command):
    assert "-o" in command("train", "-", "--format", "csv", code=2).err


def test_inputs_are_not_overwritten(command, model, here):
    before = (here / "rows.csv").read_bytes()
    assert "rows.csv" in command("train", "rows.csv", *COLUMNS, "-o", "rows.csv", code=1).err
    assert "rows.csv" in command("predict", model, "rows.csv", "-o", "rows.csv", code=1).err
    assert (here / "rows.csv").read_bytes() == before


def test_predict_keeps_order_and_ids(command, model, here):
    samples = read_dataset("rows.csv", text=["head", "body"], label="topic")
    expected = load(model).classify(samples)
    printed = command("predict", model, "rows.csv").out
    records = list(csv.DictReader(printed.splitlines()))
    assert [
        {name: record[name] for name in ROWS[0]} for record in records
    ] == ROWS  # the user's columns are kept
    assert list(records[0]) == [*ROWS[0], "label", "probability"]
    assert [record["label"] for record in records] == expected.labels.tolist()
    found = [float(record["probability"]) for record in records]
    assert found == pytest.approx(expected.confidence, abs=1e-6)
    command("predict", model, "rows.csv", "-o", "out.csv")
    assert (here / "out.csv").read_text() == printed
    command("predict", model, "rows.csv", "-o", "out.jsonl")
    lines = (here / "out.jsonl").read_text()
    assert lines == command("predict", model, "rows.csv", "--json").out
    assert [json.loads(line) for line in lines.splitlines()] == [
        {**record, "probability": float(record["probability"])} for record in records
    ]


def test_predictions_do_not_depend_on_the_batch_size(command, model, monkeypatch):
    whole = command("predict", model, "rows.csv").out
    monkeypatch.setattr(predict_module, "BATCH_SIZE", 3)
    assert command("predict", model, "rows.csv").out == whole


def test_all_probabilities_adds_a_column_per_class(command, model, here):
    command("predict", model, "rows.csv", "--all-probabilities", "-o", "out.csv")
    frame = pd.read_csv("out.csv")
    probabilities = ["probability:food", "probability:sport"]
    assert list(frame) == [*ROWS[0], "label", "probability", *probabilities]
    each = frame[["probability:food", "probability:sport"]]
    assert each.sum(axis=1).tolist() == pytest.approx([1] * 10, abs=1e-5)
    assert each.max(axis=1).tolist() == frame["probability"].tolist()
    assert each.idxmax(axis=1).str.removeprefix("probability:").tolist() == frame["label"].tolist()


def test_predict_prints_a_json_summary(command, model):
    record = json.loads(command("predict", model, "rows.csv", "-o", "out.csv", "--json").out)
    assert (record["n_samples"], record["n_skipped"], record["output"]) == (10, 0, "out.csv")
    assert record["labels"] == {"food": 5, "sport": 5}


def test_columns_of_the_model_can_be_overridden(command, model, here):
    pd.DataFrame(ROWS).rename(columns={"nr": "id", "body": "words"}).to_csv("new.csv", index=False)
    err = command("predict", model, "new.csv", code=1).err
    assert 'no column "body"' in err or 'no column "nr"' in err
    options = ("--text", "words", "--id", "id", "--no-keep-columns")
    out = command("predict", model, "new.csv", *options).out
    assert out.splitlines()[1].startswith("n0,food,")


def test_error_in_the_first_row_prints_no_header(command, model, here):
    (here / "bad.csv").write_text("nr,head,body\n1,a\n")
    captured = command("predict", model, "bad.csv", code=1)
    assert captured.out == ""
    assert "bad.csv, line 2" in captured.err


def test_invalid_rows_are_skipped_and_counted(command, model, here, capsys):
    with open("rows.csv", "a") as file:
        file.write("n10,short\nn11,bread,soup,\n")
    assert "line 12" in command("train", "rows.csv", *COLUMNS, code=1).err
    skip = ("--on-bad-rows", "skip")
    out = command("train", "rows.csv", *COLUMNS, *skip).out
    assert "2 invalid rows: rows.csv, line 12" in out
    assert main(["predict", str(model), "rows.csv", *skip]) == 0
    captured = capsys.readouterr()
    assert "cordwood: skipped 1 invalid row: rows.csv, line 12" in captured.err
    assert [line.split(",")[0] for line in captured.out.splitlines()][-1] == "n11"
    record = json.loads(command("evaluate", model, "rows.csv", *skip, "--json").out)
    assert (record["n_samples"], record["n_skipped"]) == (10, 2)


def test_evaluate_prints_scores_and_confusion_matrix(command, model, here):
    pd.DataFrame(
        [
            ("goal team", "", "sport", "1"),
            ("bread", "soup", "sport", "2"),
            ("salt", "", "art", "3"),
        ],
        columns=["head", "body", "topic", "nr"],
    ).to_csv("new.csv", index=False)
    lines = command("evaluate", model, "new.csv").out.splitlines()
    scores = {line[:17].rstrip(): line[17:].split() for line in lines}
    assert scores["accuracy"][0] == "0.333" and scores["accuracy"][4:] == "1 of 3 correct".split()
    assert (
        scores["macro F1"][0] == "0.222" and scores["macro F1"][4:] == "mean of 3 classes".split()
    )
    assert {"log loss", "calibration error"} <= scores.keys()
    assert any("1 sample with labels not in the training set" in line for line in lines)
    table = {line.split()[0]: line.split()[1:] for line in lines if line and line[0] != " "}
    assert table["sport"] == ["1.000", "0.500", "0.667", "(0.000", "to", "1.000)", "2"]
    assert table["art"] == ["0.000", "0.000", "0.000", "(0.000", "to", "0.975)", "1"]
    assert table["3"] == ["sport", "0", "1", "1"]
    record = json.loads(command("evaluate", model, "new.csv", "--json").out)
    assert record["confusion"] == [[0, 1, 0], [0, 0, 0], [0, 1, 1]]
    assert record["unseen_labels"] == {"art": 1}
    assert record["is_training_data"] is False


def test_evaluate_warns_on_training_data(command, model):
    assert "evaluated on the training data" in command("evaluate", model, "rows.csv").out


def test_evaluate_accepts_a_single_class(command, model):
    pd.DataFrame(ROWS[::2]).to_csv("new.csv", index=False)
    assert "5 texts, all of class food" in command("evaluate", model, "new.csv").out


def test_many_classes_print_the_most_frequent_errors(command, here):
    names = [f"c{number:02}" for number in range(21)]
    rows = [{"text": f"{name} {name}", "label": name} for name in names for _ in range(3)]
    pd.DataFrame(rows).to_csv("many.csv", index=False)
    command("train", "many.csv")
    pd.DataFrame([*rows, {"text": "c03 c03", "label": "c04"}]).to_csv("new.csv", index=False)
    out = command("evaluate", "many.cordwood", "new.csv").out
    assert "Confusion matrix:" not in out
    assert ["c04", "c03", "1"] in [line.split() for line in out.splitlines()]


def test_subset_selects_a_subset_of_the_split(command, here):
    rows = [
        {"text": row["body"], "label": row["topic"], "split": "test" if n < 2 else "train"}
        for n, row in enumerate(ROWS)
    ]
    pd.DataFrame(rows).to_csv("split.csv", index=False)
    out = command("train", "split.csv").out
    assert "all subsets are used; --subset selects one of: train (8), test (2)" in out
    assert (
        "split.csv, subset train: 8 texts" in command("train", "split.csv", "--subset", "train").out
    )
    record = json.loads(
        command("evaluate", "split.cordwood", "split.csv", "--subset", "test", "--json").out
    )
    assert record["n_samples"] == 2
    err = command("train", "split.csv", "--subset", "dev", code=1).err
    assert "split.csv: there is no subset 'dev' in the split; its subsets are: test, train" in err


def test_svmlight_files(command, here):
    (here / "rows.svm").write_text("1 1:1 3:2\n1 1:2\n2 2:3\n2 2:4 3:1\n")
    assert "4 samples with 4 features" in command("train", "rows.svm").out
    (here / "new.svm").write_text("0 1:5\n0 2:5\n")
    out = command("predict", "rows.cordwood", "new.svm").out
    assert [line.rpartition(",")[0] for line in out.splitlines()] == ["id,label", "1,1", "2,2"]
    assert "4 of 4 correct" in command("evaluate", "rows.cordwood", "rows.svm").out
    assert (
        "trained on numeric features"
        in command("predict", "rows.cordwood", "rows.csv", "--text", "body", code=1).err
    )


@pytest.fixture
def data_dir(here):
    folder = here / "data"
    folder.mkdir()
    rows = [
        {
            "id": row["nr"],
            "text": row["body"] + '\r "x",\n',
            "label": row["topic"],
            "split": "train",
        }
        for row in ROWS
    ]
    (folder / "single.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    several = [
        {"id": row["id"], "text": row["text"], "labels": [row["label"], "x"]} for row in rows
    ]
    (folder / "several.jsonl").write_text("".join(json.dumps(row) + "\n" for row in several))
    return folder


def test_datasets_lists_the_data_sets(command, data_dir, monkeypatch):
    out = command("datasets").out
    assert "docstrings" in out
    assert "sklearn:wine" in out
    assert "CORDWOOD_DATA" in out
    out = command("datasets", "--data-dir", data_dir).out
    assert "single" in out
    assert "CORDWOOD_DATA" not in out
    monkeypatch.setenv("CORDWOOD_DATA", str(data_dir))
    found = json.loads(command("datasets", "--json").out)["datasets"]
    assert {"single", "several", "docstrings"} <= {info["name"] for info in found}


def test_datasets_describes_a_data_set(command, data_dir):
    record = json.loads(command("datasets", "single", "--data-dir", data_dir, "--json").out)
    assert record["n_samples"] == 10
    assert record["classes"] == {"food": 5, "sport": 5}
    assert record["split"] == {"train": 10}
    assert record["n_words"] == [5, 5, 5]
    assert record["examples"][0]["label"] == "food"
    out = command("datasets", "several", "--data-dir", data_dir).out
    assert "any number per sample" in out
    assert "food, x" in out
    assert "features  13\n" in command("datasets", "sklearn:wine").out


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_exported_data_set_round_trips(command, data_dir, name):
    command("datasets", "single", "--data-dir", data_dir, "--export", name)
    assert read_dataset(name) == read_dataset(data_dir / "single.jsonl")


def test_multilabel_export_requires_json_lines(command, data_dir, here):
    several = ("datasets", "several", "--data-dir", data_dir, "--export")
    assert "export it to a .jsonl or .parquet file" in command(*several, "out.csv", code=1).err
    assert not (here / "out.csv").exists()
    command(*several, "out.jsonl")
    assert read_dataset("out.jsonl") == read_dataset(data_dir / "several.jsonl")
    assert (
        "is numeric; only texts can be exported"
        in command("datasets", "sklearn:iris", "--export", "o.csv", code=1).err
    )


def test_data_may_be_a_named_data_set(command, data_dir):
    where = ("--data-dir", data_dir)
    assert "dataset:single: 10 texts" in command("train", "dataset:single", *where).out
    out = command("predict", "single.cordwood", "dataset:single", *where).out
    assert out.splitlines()[1].startswith("n0,food,")
    assert (
        "--text does not apply to dataset:single; omit it"
        in command("train", "dataset:single", "--text", "t", *where, code=2).err
    )
    assert "3 labels, 2.0 per sample" in command("train", "dataset:several", *where).out
    assert "sklearn:wine" in command("train", "dataset:wine", code=1).err


def test_demo(command, monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "cache"))
    rows = [row for row in ROWS for _ in range(10)]
    corpus = Corpus(
        texts=tuple(f"{row['body']} {i % 7}" for i, row in enumerate(rows)),
        ids=tuple(str(number) for number in range(len(rows))),
        labels=tuple(row["topic"] for row in rows),
    )
    monkeypatch.setattr(demo_module, "collect_docstrings", lambda **_: corpus)
    out = command("demo").out
    assert "80 texts for training, 20 others for a test" in out
    assert "TF-IDF + linear SVM" in out
    assert "100 of 100 right" in out
    assert "speak" in out.split("Why? ", 1)[1]
    assert "labels of the training texts look" in out or "No label of the training" in out
    assert "cordwood train YOURS.csv --text body --label topic" in out
    report = tmp_path / "cache" / "demo.html"
    assert str(report) in out
    assert "<title>" in report.read_text(encoding="utf-8")
    report.unlink()
    record = json.loads(command("demo", "--json").out)
    assert (record["n_training_samples"], record["n_samples"]) == (80, 20)
    assert record["explanation"]["prediction"] == record["explanation"]["label"]
    assert not report.exists()
