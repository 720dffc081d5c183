import csv
import json

import pandas as pd
import pytest

from cordwood import persist, workflow
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


def test_the_file_holds_what_the_library_would_have_trained(model):
    corpus = read_dataset("rows.csv", text=["head", "body"], label="topic", id="nr")
    twin = workflow.train(corpus, random_state=0)
    found = persist.load(model).predict_proba(corpus.texts)
    assert found.tolist() == twin.predict_proba(corpus.texts).tolist()
    card = persist.read_card(model)
    assert card.columns == {"text": ["head", "body"], "label": "topic", "id": "nr"}
    assert card.recipe == "quick"
    assert card.fingerprint == corpus.fingerprint()


def test_train_says_what_it_read_chose_and_wrote(command):
    out = command("train", "rows.csv", *COLUMNS).out
    assert "rows.csv: 10 documents, 2 classes of 5\n" in out
    assert "preset social" in out
    assert "recipe quick" in out
    assert "rows.cordwood (" in out
    assert "cordwood predict rows.cordwood NEW-DATA\n" in out


def test_train_for_machines(command, here):
    record = json.loads(command("train", "rows.csv", *COLUMNS, "--json").out)
    assert record["rows"] == 10
    assert record["classes"] == {"food": 5, "sport": 5}
    assert record["skipped"] == 0
    assert record["model"] == "rows.cordwood"
    assert record["bytes"] == (here / "rows.cordwood").stat().st_size


def test_quiet_prints_nothing(command, here):
    captured = command("train", "rows.csv", *COLUMNS, "-q")
    assert (captured.out, captured.err) == ("", "")
    assert (here / "rows.cordwood").exists()


def test_settings_and_seed_reach_the_model(command, here):
    settings = ("--recipe", "svm", "--set", "C=0.25", "--set", "min_df=2", "--seed", 7)
    command("train", "rows.csv", *COLUMNS, *settings)
    params = persist.load(here / "rows.cordwood").get_params()
    assert params["classifier__C"] == 0.25
    assert params["vectorizer__min_df"] == 2
    assert params["classifier__random_state"] == 7


@pytest.mark.parametrize(
    ("setting", "message"),
    [("C", "'C' is not of the form name=value"), ("recipe=svm", "'recipe' is not a parameter")],
)
def test_settings_that_are_none_are_usage_errors(command, setting, message):
    err = command("train", "rows.csv", *COLUMNS, "--set", setting, code=2).err
    assert err.startswith(f"cordwood: Invalid value: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train"], "Missing argument 'DATA' (see cordwood train --help)"),
        (["--nothing"], "No such option: --nothing (see cordwood --help)"),
        (["predict", "model", "rows.csv", "-o", "x.txt"], "'x.txt' must end in .csv or .jsonl"),
        (["datasets", "--export", "x.csv"], "--export needs the NAME of a data set"),
    ],
)
def test_usage_errors_are_one_line(command, arguments, message):
    err = command(*arguments, code=2).err
    assert message in err
    assert err.count("\n") == 1


def test_debugging_shows_the_traceback(command, monkeypatch):
    # Set first, so that what the option sets is undone after the test.
    monkeypatch.setenv("CORDWOOD_DEBUG", "")
    err = command("--debug", "train", "missing.csv", code=1).err
    assert err.startswith("Traceback")
    assert err.splitlines()[-1].startswith("cordwood: missing.csv")


def test_a_model_is_named_after_its_data(command, here):
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


def test_standard_input_needs_a_name_for_the_model(command):
    assert "-o" in command("train", "-", "--format", "csv", code=2).err


def test_data_and_model_are_not_overwritten_by_accident(command, model, here):
    before = (here / "rows.csv").read_bytes()
    assert "rows.csv" in command("train", "rows.csv", *COLUMNS, "-o", "rows.csv", code=1).err
    assert "rows.csv" in command("predict", model, "rows.csv", "-o", "rows.csv", code=1).err
    assert (here / "rows.csv").read_bytes() == before


def test_predictions_keep_order_and_ids(command, model, here):
    expected = workflow.predict(
        persist.load(model), read_dataset("rows.csv", text=["head", "body"], label="topic")
    )
    printed = command("predict", model, "rows.csv").out
    records = list(csv.DictReader(printed.splitlines()))
    assert [record["id"] for record in records] == [row["nr"] for row in ROWS]
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


def test_batches_do_not_show(command, model, monkeypatch):
    whole = command("predict", model, "rows.csv").out
    monkeypatch.setattr(predict_module, "BATCH_ROWS", 3)
    assert command("predict", model, "rows.csv").out == whole


def test_all_probabilities_have_a_column_for_each_class(command, model, here):
    command("predict", model, "rows.csv", "--all-probabilities", "-o", "out.csv")
    frame = pd.read_csv("out.csv")
    assert list(frame) == ["id", "label", "probability", "probability:food", "probability:sport"]
    each = frame[["probability:food", "probability:sport"]]
    assert each.sum(axis=1).tolist() == pytest.approx([1] * 10, abs=1e-5)
    assert each.max(axis=1).tolist() == frame["probability"].tolist()
    assert each.idxmax(axis=1).str.removeprefix("probability:").tolist() == frame["label"].tolist()


def test_predict_sums_up_what_it_wrote(command, model):
    record = json.loads(command("predict", model, "rows.csv", "-o", "out.csv", "--json").out)
    assert (record["rows"], record["skipped"], record["output"]) == (10, 0, "out.csv")
    assert record["labels"] == {"food": 5, "sport": 5}


def test_other_columns_than_the_models_can_be_named(command, model, here):
    pd.DataFrame(ROWS).rename(columns={"nr": "id", "body": "words"}).to_csv("new.csv", index=False)
    err = command("predict", model, "new.csv", code=1).err
    assert 'no column "body"' in err or 'no column "nr"' in err
    out = command("predict", model, "new.csv", "--text", "words", "--id", "id").out
    assert out.splitlines()[1].startswith("n0,food,")


def test_an_error_in_the_first_rows_prints_no_header(command, model, here):
    (here / "bad.csv").write_text("nr,head,body\n1,a\n")
    captured = command("predict", model, "bad.csv", code=1)
    assert captured.out == ""
    assert "bad.csv, line 2" in captured.err


def test_bad_rows_are_skipped_and_told_on_request(command, model, here, capsys):
    with open("rows.csv", "a") as file:
        file.write("n10,short\nn11,bread,soup,\n")
    assert "line 12" in command("train", "rows.csv", *COLUMNS, code=1).err
    skip = ("--on-bad-rows", "skip")
    out = command("train", "rows.csv", *COLUMNS, *skip).out
    assert "2 bad rows, the first: rows.csv, line 12" in out
    assert main(["predict", str(model), "rows.csv", *skip]) == 0
    captured = capsys.readouterr()
    assert "cordwood: skipped 1 bad row: rows.csv, line 12" in captured.err
    assert [line.split(",")[0] for line in captured.out.splitlines()][-1] == "n11"
    record = json.loads(command("evaluate", model, "rows.csv", *skip, "--json").out)
    assert (record["n"], record["skipped"]) == (10, 2)


def test_evaluate_prints_scores_and_confusion(command, model, here):
    pd.DataFrame(
        [
            ("goal team", "", "sport", "1"),
            ("bread", "soup", "sport", "2"),
            ("salt", "", "art", "3"),
        ],
        columns=["head", "body", "topic", "nr"],
    ).to_csv("new.csv", index=False)
    lines = command("evaluate", model, "new.csv").out.splitlines()
    assert "micro F1  0.333 (1 of 3 right)" in lines
    assert "macro F1  0.222 (mean over 3 classes)" in lines
    assert any("1 row with labels that the model has never seen" in line for line in lines)
    table = {line.split()[0]: line.split()[1:] for line in lines if line and line[0] != " "}
    assert table["sport"] == ["1.000", "0.500", "0.667", "2"]
    assert table["art"] == ["0.000", "0.000", "0.000", "1"]
    assert table["3"] == ["sport", "0", "1", "1"]
    record = json.loads(command("evaluate", model, "new.csv", "--json").out)
    assert record["confusion"] == [[0, 1, 0], [0, 0, 0], [0, 1, 1]]
    assert record["unknown"] == {"art": 1}
    assert record["trained_on_these_rows"] is False


def test_evaluate_says_when_it_sees_the_training_rows(command, model):
    assert "trained on these very rows" in command("evaluate", model, "rows.csv").out


def test_one_class_is_enough_to_evaluate_on(command, model):
    pd.DataFrame(ROWS[::2]).to_csv("new.csv", index=False)
    assert "5 documents, all of class food" in command("evaluate", model, "new.csv").out


def test_many_classes_show_the_commonest_errors(command, here):
    names = [f"c{number:02}" for number in range(21)]
    rows = [{"text": f"{name} {name}", "label": name} for name in names for _ in range(3)]
    pd.DataFrame(rows).to_csv("many.csv", index=False)
    command("train", "many.csv")
    pd.DataFrame([*rows, {"text": "c03 c03", "label": "c04"}]).to_csv("new.csv", index=False)
    out = command("evaluate", "many.cordwood", "new.csv").out
    assert "Confusion" not in out
    assert out.splitlines()[-1].split() == ["c04", "c03", "1"]


def test_a_part_of_the_split_is_kept(command, here):
    rows = [
        {"text": row["body"], "label": row["topic"], "split": "test" if n < 2 else "train"}
        for n, row in enumerate(ROWS)
    ]
    pd.DataFrame(rows).to_csv("split.csv", index=False)
    out = command("train", "split.csv").out
    assert "all parts are used; --part keeps one of: train (8), test (2)" in out
    assert (
        "split.csv, part train: 8 documents" in command("train", "split.csv", "--part", "train").out
    )
    record = json.loads(
        command("evaluate", "split.cordwood", "split.csv", "--part", "test", "--json").out
    )
    assert record["n"] == 2
    err = command("train", "split.csv", "--part", "dev", code=1).err
    assert "split.csv: there is no subset 'dev' in the split; its subsets are: test, train" in err


def test_rows_of_numbers_go_the_same_road(command, here):
    (here / "rows.svm").write_text("1 1:1 3:2\n1 1:2\n2 2:3\n2 2:4 3:1\n")
    assert "4 rows of" in command("train", "rows.svm").out
    (here / "new.svm").write_text("0 1:5\n0 2:5\n")
    out = command("predict", "rows.cordwood", "new.svm").out
    assert [line.rpartition(",")[0] for line in out.splitlines()] == ["id,label", "1,1", "2,2"]
    assert "micro F1  1.000" in command("evaluate", "rows.cordwood", "rows.svm").out
    assert (
        "trained on rows of numbers"
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


def test_datasets_are_listed(command, data_dir, monkeypatch):
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


def test_one_dataset_is_shown(command, data_dir):
    record = json.loads(command("datasets", "single", "--data-dir", data_dir, "--json").out)
    assert record["rows"] == 10
    assert record["classes"] == {"food": 5, "sport": 5}
    assert record["split"] == {"train": 10}
    assert record["words"] == [5, 5, 5]
    assert record["samples"][0]["label"] == "food"
    out = command("datasets", "several", "--data-dir", data_dir).out
    assert "a row may have several, or none" in out
    assert "food, x" in out
    assert "13 in each row" in command("datasets", "sklearn:wine").out


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl"])
def test_an_exported_dataset_reads_back_the_same(command, data_dir, name):
    command("datasets", "single", "--data-dir", data_dir, "--export", name)
    assert read_dataset(name) == read_dataset(data_dir / "single.jsonl")


def test_several_labels_need_json_lines(command, data_dir, here):
    several = ("datasets", "several", "--data-dir", data_dir, "--export")
    assert "export to a .jsonl file" in command(*several, "out.csv", code=1).err
    assert not (here / "out.csv").exists()
    command(*several, "out.jsonl")
    assert read_dataset("out.jsonl") == read_dataset(data_dir / "several.jsonl")
    assert "holds numbers" in command("datasets", "sklearn:iris", "--export", "o.csv", code=1).err


def test_a_dataset_can_be_named_where_data_is_read(command, data_dir):
    where = ("--data-dir", data_dir)
    assert "dataset:single: 10 documents" in command("train", "dataset:single", *where).out
    out = command("predict", "single.cordwood", "dataset:single", *where).out
    assert out.splitlines()[1].startswith("n0,food,")
    assert "leave it out" in command("train", "dataset:single", "--text", "t", *where, code=2).err
    assert "one label a row" in command("train", "dataset:several", *where, code=1).err
    assert "sklearn:wine" in command("train", "dataset:wine", code=1).err


def test_demo_shows_the_whole_road(command, monkeypatch):
    twice = [row for row in ROWS for _ in range(2)]
    corpus = Corpus(
        texts=tuple(row["body"] for row in twice),
        ids=tuple(str(number) for number in range(20)),
        labels=tuple(row["topic"] for row in twice),
        split=("train", "test") * 10,
    )
    monkeypatch.setattr(demo_module, "collect_docstrings", lambda progress: corpus)
    out = command("demo").out
    assert "10 to learn from, 10 of other modules" in out
    assert "micro F1  1.000 (10 of 10 right)" in out
    assert "cordwood train YOURS.csv --text body --label topic" in out
    record = json.loads(command("demo", "--json").out)
    assert record["trained_on"] == record["n"] == 10
    assert [example["predicted"] for example in record["examples"]] == [
        example["label"] for example in record["examples"]
    ]
    assert len(record["examples"]) == 3
