import gzip
import json
import os
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from cordwood import TextClassifier, load
from cordwood.classifier import batch_predictor
from cordwood.cli import predict_parts
from cordwood.cli.main import main
from kill_predict import kill_and_resume
from matrix import COLUMNS, LABELS, LISTS, TABLE, TEXTS

N = 25


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    TextClassifier("svm", oof=True).fit(TEXTS, LABELS).save(folder / "svm.cordwood")
    TextClassifier("nb").fit(TEXTS, LABELS).save(folder / "nb.cordwood")
    TextClassifier("svm").fit(TEXTS, LISTS).save(folder / "several.cordwood")
    table = TextClassifier("svm", columns=COLUMNS).fit(TABLE, LABELS)
    table.save(folder / "table.cordwood")
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with parts of several formats, and files that are no parts."""
    monkeypatch.chdir(tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    for number in range(3):
        pa.parquet.write_table(make_table(number), parts / f"a{number}.parquet")
    pa.csv.write_csv(make_table(3), parts / "b.csv")
    lines = [json.dumps(row) for row in make_table(4).to_pylist()]
    with gzip.open(parts / "c.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    (parts / "_SUCCESS").touch()
    (parts / ".crc").touch()
    return tmp_path


def make_table(number):
    texts = [TEXTS[(7 * number + i) % len(TEXTS)] for i in range(N)]
    keys = pa.array(range(N * number, N * number + N), pa.int32())
    return pa.table({"key": keys, "text": texts})


def run(*arguments, code=0):
    assert main(["predict", *map(str, arguments), "--quiet"]) == code


def read_rows(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path).to_pylist()
    if path.suffix == ".csv":
        return pa.csv.read_csv(path).to_pylist()
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_folder(folder):
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("_"))
    return {name: read_rows(folder / name) for name in names}


def bytes_of(folder):
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.name != predict_parts.RECORDS
    }


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_output_per_part(folder, models, jobs):
    run(models / "svm.cordwood", "parts", "-o", "out/", "--jobs", jobs)
    found = read_folder(folder / "out")
    assert list(found) == ["a0.parquet", "a1.parquet", "a2.parquet", "b.csv", "c.jsonl"]
    model = load(models / "svm.cordwood")
    for number, rows in enumerate(found.values()):
        expected = make_table(number).to_pylist()
        assert [{"key": row["key"], "text": row["text"]} for row in rows] == expected
        predictions = model.classify([row["text"] for row in expected])
        assert [row["label"] for row in rows] == predictions.labels.tolist()
        probabilities = [row["probability"] for row in rows]
        assert probabilities == pytest.approx(predictions.confidence.tolist(), abs=1e-6)
    # The types of columns are kept, as those of other parts of the lake.
    schema = pa.parquet.read_schema(folder / "out" / "a0.parquet")
    assert schema.types == [pa.int32(), pa.string(), pa.string(), pa.float64()]


def test_pattern_is_expanded(folder, models):
    run(models / "svm.cordwood", "parts/a[01]*", "parts/b.csv", "-o", "out/")
    assert list(read_folder(folder / "out")) == ["a0.parquet", "a1.parquet", "b.csv"]


def test_existing_folder_needs_no_slash(folder, models):
    (folder / "out").mkdir()
    run(models / "svm.cordwood", "parts/b.csv", "-o", "out")
    assert list(read_folder(folder / "out")) == ["b.csv"]


def spy(monkeypatch):
    done = []
    predict = predict_parts.predict_part

    def record(part, progress=None):
        done.append(part.target.name)
        return predict(part, progress)

    monkeypatch.setattr(predict_parts, "predict_part", record)
    return done


def test_true_records_are_not_predicted_again(folder, models, monkeypatch, capsys):
    run(models / "svm.cordwood", "parts", "-o", "out/")
    before = bytes_of(folder / "out")
    done = spy(monkeypatch)
    assert main(["predict", str(models / "svm.cordwood"), "parts", "-o", "out/", "--json"]) == 0
    assert done == []
    summary = json.loads(capsys.readouterr().out)
    assert summary["n_parts"] == summary["n_parts_before"] == 5
    assert summary["n_samples"] == sum(summary["labels"].values()) == 5 * N
    (folder / "out" / "a1.parquet").unlink()
    (folder / "out" / "b.csv").write_text("changed")
    pa.parquet.write_table(make_table(9), folder / "parts" / "a2.parquet")
    run(models / "svm.cordwood", "parts", "-o", "out/")
    assert done == ["a1.parquet", "a2.parquet", "b.csv"]
    after = bytes_of(folder / "out")
    assert [name for name in after if after[name] != before[name]] == ["a2.parquet"]


def test_output_without_record_is_predicted_again(folder, models, monkeypatch):
    run(models / "svm.cordwood", "parts", "-o", "out/")
    before = bytes_of(folder / "out")
    records = folder / "out" / predict_parts.RECORDS
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join(lines[:3]) + lines[3][:20])  # killed while it wrote
    (folder / "out" / ".b.csv.x7").write_text("temporary file of a killed process")
    done = spy(monkeypatch)
    run(models / "svm.cordwood", "parts", "-o", "out/")
    assert len(done) == 3
    assert bytes_of(folder / "out") == before
    assert not (folder / "out" / ".b.csv.x7").exists()


def test_killed_before_the_first_record(folder, models):
    (folder / "out").mkdir()
    (folder / "out" / predict_parts.RECORDS).write_text('{"key":"run","mod')
    run(models / "svm.cordwood", "parts/b.csv", "-o", "out/")
    assert list(bytes_of(folder / "out")) == ["b.csv"]


def test_models_and_options_are_not_mixed(folder, models, capsys):
    run(models / "svm.cordwood", "parts/b.csv", "-o", "out/")
    before = bytes_of(folder / "out")
    run(models / "nb.cordwood", "parts", "-o", "out/", code=1)
    assert "out has predictions with another model (1 part); give" in capsys.readouterr().err
    run(models / "svm.cordwood", "parts", "-o", "out/", "--all-probabilities", code=1)
    assert "out has predictions with other options (1 part); give" in capsys.readouterr().err
    assert bytes_of(folder / "out") == before


def test_replaced_model_is_an_error(folder, models, monkeypatch, capsys):
    model = folder / "m.cordwood"
    model.write_bytes((models / "svm.cordwood").read_bytes())
    load_once = predict_parts.load_once

    def replace_model(path, digest):
        found = load_once(path, digest)
        model.write_bytes((models / "nb.cordwood").read_bytes())
        batch_predictor._load.cache_clear()  # as in a worker process
        return found

    monkeypatch.setattr(predict_parts, "load_once", replace_model)
    run(model, "parts", "-o", "out/", code=1)
    assert "was replaced by another model" in capsys.readouterr().err
    assert bytes_of(folder / "out") == {}


def test_folder_of_unknown_origin(folder, models, capsys):
    run(models / "svm.cordwood", "parts/b.csv", "-o", "parts/", code=1)
    assert "parts/b.csv: it is an input; give another folder" in capsys.readouterr().err
    run(models / "svm.cordwood", "parts/b.csv", "-o", "./", code=0)
    (folder / "out").mkdir()
    (folder / "out" / "old.csv").touch()
    run(models / "svm.cordwood", "parts/b.csv", "-o", "out/", code=1)
    assert "files of unknown origin, such as old.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    "data, message",
    [
        (["none*.csv"], "none*.csv has no files; check the path"),
        (["none.csv"], "none.csv does not exist"),
        (["parts/_SUCCESS"], "parts/_SUCCESS cannot be predicted to a folder"),
        (["parts/b.csv", "other/b.csv"], "have the same name, and so would their outputs"),
    ],
)
def test_invalid_parts(folder, models, capsys, data, message):
    (folder / "other").mkdir()
    (folder / "other" / "b.csv").write_text("text\nsoup\n")
    run(models / "svm.cordwood", *data, "-o", "out/", code=1)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_option_of_another_format(folder, models, capsys):
    run(models / "svm.cordwood", "parts/a0.parquet", "-o", "out/", "--delimiter", ";", code=1)
    assert "in parquet format, which has no delimiter" in capsys.readouterr().err


def test_missing_text(folder, models, capsys):
    table = pa.table({"text": ["soup", None, "goal"]})
    pa.parquet.write_table(table, "null.parquet")
    run(models / "svm.cordwood", "null.parquet", "-o", "out/", code=1)
    assert "null.parquet, row 2: the text is missing" in capsys.readouterr().err
    run(models / "svm.cordwood", "null.parquet", "-o", "other/", "--on-bad-rows", "skip")
    assert [row["text"] for row in read_rows(folder / "other/null.parquet")] == ["soup", "goal"]


def test_part_without_rows(folder, models):
    pa.parquet.write_table(make_table(0).slice(0, 0), "empty.parquet")
    run(models / "svm.cordwood", "empty.parquet", "-o", "out/", "--coverage", "0.9")
    found = pa.parquet.read_table(folder / "out" / "empty.parquet")
    assert found.num_rows == 0
    assert found.column_names == ["key", "text", "label", "probability", "set"]


def test_large_part_has_row_groups(folder, models):
    table = pa.concat_tables([make_table(i) for i in range(1000)])
    pa.parquet.write_table(table, "large.parquet")
    run(models / "nb.cordwood", "large.parquet", "-o", "out/")
    file = pa.parquet.ParquetFile(folder / "out" / "large.parquet")
    assert file.num_row_groups == 2
    assert file.read().select(["key", "text"]).equals(table)


def test_ids_only(folder, models):
    run(models / "svm.cordwood", "parts/a1.parquet", "-o", "out/", "--no-keep-columns")
    rows = read_rows(folder / "out" / "a1.parquet")
    assert [row["id"] for row in rows] == [str(i + 1) for i in range(N)]
    run(models / "svm.cordwood", "parts/a1.parquet", "-o", "k/", "--no-keep-columns", "--id", "key")
    assert [row["id"] for row in read_rows(folder / "k/a1.parquet")] == [
        str(N + i) for i in range(N)
    ]


def test_several_labels(folder, models):
    run(models / "several.cordwood", "parts/a0.parquet", "parts/c.jsonl.gz", "-o", "out/")
    model = load(models / "several.cordwood")
    for name, number in (("a0.parquet", 0), ("c.jsonl", 4)):
        expected = model.predict(make_table(number)["text"].to_pylist()).tolist()
        assert [tuple(row["label"]) for row in read_rows(folder / "out" / name)] == expected


def test_tables(folder, models):
    pa.parquet.write_table(pa.table(TABLE), "rows.parquet")
    run(models / "table.cordwood", "rows.parquet", "-o", "out/", "--min-confidence", "0.6")
    expected = load(models / "table.cordwood").classify(TABLE, min_confidence=0.6)
    found = read_rows(folder / "out" / "rows.parquet")
    assert [row["label"] for row in found] == expected.decided_labels()


def test_second_process_is_rejected(folder, models, capsys):
    (folder / "out").mkdir()
    with predict_parts.Ledger(folder / "out" / predict_parts.RECORDS).claim("writer"):
        run(models / "svm.cordwood", "parts", "-o", "out/", code=1)
    assert "another process writes to out" in capsys.readouterr().err


def test_jobs_of_a_single_output(folder, models, capsys):
    run(models / "svm.cordwood", "parts/b.csv", "-o", "b.csv", "--jobs", "2", code=2)
    assert "--jobs requires -o FOLDER/" in capsys.readouterr().err
    run(models / "svm.cordwood", "--text", "soup", "-o", "out/", code=2)
    assert "-o FOLDER/ requires DATA" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_killed_runs_continue(tmp_path):
    counts = kill_and_resume(tmp_path, 4, random.Random(0), n_parts=9, job_rounds=0)
    assert counts["kills"] == 4 and counts["resumed"] > 0
    assert counts["compared"] >= 1 and counts["different"] == 0
