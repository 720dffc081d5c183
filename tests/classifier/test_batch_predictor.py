import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cordwood import BatchPredictor, CordwoodError, LinearSVMClassifier, TextClassifier, save
from cordwood.classifier import batch_predictor
from matrix import COLUMNS, LABELS, LISTS, TABLE, TEXTS

NEW = [*TEXTS[:7], "goal and soup", ""]


@pytest.fixture(scope="module")
def model():
    return TextClassifier("svm", oof=True).fit(TEXTS, LABELS)


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.cordwood", precision="full")
    return tmp_path / "model.cordwood"


def expect(model, texts, **rule):
    found = model.classify(texts, **rule)
    return found.decided_labels(), found.confidence.tolist()


COLUMN_TYPES = {
    "list": list,
    "tuple": tuple,
    "numpy": np.array,
    "numpy objects": lambda texts: np.array(texts, object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
    "pyarrow large": lambda texts: pa.array(texts, pa.large_string()),
    "pyarrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
}
TABLE_TYPES = {
    "dict": dict,
    "dict of arrays": lambda data: {name: np.array(values) for name, values in data.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pyarrow batch": pa.RecordBatch.from_pydict,
}


def to_lists(found):
    """Return columns as lists, of any result."""
    if isinstance(found, dict):
        return {name: list(values) for name, values in found.items()}
    if isinstance(found, pd.DataFrame):
        return found.to_dict("list")
    if isinstance(found, pl.Series):
        found = found.struct.unnest()
    if isinstance(found, pa.StructArray):
        found = pa.Table.from_struct_array(found)
    return found.to_dict(as_series=False) if isinstance(found, pl.DataFrame) else found.to_pydict()


@pytest.mark.parametrize("kind", COLUMN_TYPES)
def test_column(path, model, kind):
    found = to_lists(BatchPredictor(path)(COLUMN_TYPES[kind](NEW)))
    assert tuple(found.values()) == expect(model, NEW)
    assert list(found) == ["label", "probability"]


@pytest.mark.parametrize("kind", TABLE_TYPES)
def test_table_keeps_its_columns_and_type(path, model, kind):
    batch = TABLE_TYPES[kind]({"key": list(range(len(NEW))), "body": NEW})
    result = BatchPredictor(path, text="body")(batch)
    assert type(result) is type(batch)
    found = to_lists(result)
    assert list(found) == ["key", "body", "label", "probability"]
    assert (found["label"], found["probability"]) == expect(model, NEW)


def test_index_of_pandas(path):
    frame = pd.DataFrame({"text": NEW[:3]}, index=[5, 5, 2])
    predictor = BatchPredictor(path)
    assert predictor(frame).index.equals(frame.index)
    assert predictor(frame["text"]).index.equals(frame.index)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_missing_texts_have_missing_labels(path, model, missing):
    series = pd.Series(["soup", missing, "goal"], dtype=object)
    found = BatchPredictor(path, all_probabilities=True)(series)
    assert found.isna().all(axis=1).tolist() == [False, True, False]
    assert found["label"].dropna().tolist() == expect(model, ["soup", "goal"])[0]


@pytest.mark.parametrize("kind", TABLE_TYPES)
def test_empty_batch_has_the_schema(path, kind):
    predictor = BatchPredictor(path, all_probabilities=True, coverage=0.9)
    empty = pa.table({"text": pa.array([], pa.string())})
    some = pa.table({"text": NEW})
    result = predictor(empty)
    assert result.schema == predictor(some).schema
    assert result.schema.types[1:4] == [pa.string(), pa.float64(), pa.list_(pa.string())]
    frame = pd.DataFrame({"text": NEW})
    assert (predictor(frame.iloc[:0]).dtypes == predictor(frame).dtypes).all()
    assert predictor(pl.DataFrame(empty)).schema == predictor(pl.DataFrame(some)).schema
    found = predictor(TABLE_TYPES[kind]({"text": []}))
    assert all(len(values) == 0 for values in to_lists(found).values())


def test_rule(path, model):
    rule = {"min_confidence": 0.8, "unknown": 0.1, "coverage": 0.9}
    found = BatchPredictor(path, **rule)(NEW)
    labels, confidence = expect(model, NEW, **rule)
    assert found["label"].tolist() == labels
    assert {"__undecided__", "__unknown__"} & set(labels)
    np.testing.assert_array_equal(found["probability"], confidence)
    sets = model.classify(NEW, **rule).label_sets()
    assert [tuple(each) for each in found["set"]] == sets


def test_several_labels(tmp_path):
    model = TextClassifier("svm").fit(TEXTS, LISTS)
    model.save(tmp_path / "several.cordwood", precision="full")
    predictor = BatchPredictor(tmp_path / "several.cordwood")
    expected = [[*each] for each in model.predict(NEW).tolist()]
    table = predictor(pa.table({"text": [*NEW, None]}))
    assert table["label"].to_pylist() == [*expected, None]
    assert table.schema.field("probability").type == pa.list_(pa.float64())
    assert predictor(pl.Series(NEW)).struct.field("label").to_list() == expected
    with pytest.raises(CordwoodError, match="requires one label per sample"):
        BatchPredictor(tmp_path / "several.cordwood", max_error=0.1)


@pytest.mark.parametrize("kind", TABLE_TYPES)
def test_model_of_a_table(tmp_path, kind):
    model = TextClassifier(encoder=None, columns=COLUMNS).fit(TABLE, LABELS)
    model.save(tmp_path / "table.cordwood", precision="full")
    predictor = BatchPredictor(tmp_path / "table.cordwood")
    rows = {"key": list(range(10)), **{name: values[:10] for name, values in TABLE.items()}}
    found = to_lists(predictor(TABLE_TYPES[kind](rows)))
    assert found["label"] == model.predict(rows).tolist()
    assert found["key"] == rows["key"]
    with pytest.raises(CordwoodError, match='no column "price"'):
        predictor({"body": ["soup"], "kind": ["a"]})
    with pytest.raises(CordwoodError, match="text applies to models of texts only"):
        BatchPredictor(tmp_path / "table.cordwood", text="body")


def test_pickle_has_no_model(path, model):
    predictor = BatchPredictor(path)
    stored = pickle.dumps(predictor)
    assert len(stored) < 1000
    assert pickle.loads(stored) == predictor
    assert hash(pickle.loads(stored)) == hash(predictor)


def test_relative_path_holds_elsewhere(path, model, tmp_path, monkeypatch):
    monkeypatch.chdir(path.parent)
    predictor = BatchPredictor(path.name)
    monkeypatch.chdir("/")
    batch_predictor._load.cache_clear()
    assert predictor(["soup"])["label"].tolist() == model.predict(["soup"]).tolist()


def test_replaced_file_is_an_error(path):
    predictor = BatchPredictor(path)
    TextClassifier("nb").fit(TEXTS, LABELS).save(path)
    # This process has loaded the model; another one has not.
    predictor(["soup"])
    batch_predictor._load.cache_clear()
    with pytest.raises(CordwoodError, match="was replaced by another model: its SHA-256") as error:
        predictor(["soup"])
    assert "\n" not in str(error.value)
    assert BatchPredictor(path).digest != predictor.digest
    with pytest.raises(CordwoodError, match="is not 00"):
        BatchPredictor(path, digest="00")


def test_threads_load_a_model_once(path, monkeypatch):
    predictor = BatchPredictor(path)
    batch_predictor._load.cache_clear()
    calls = []
    load = batch_predictor.load_with_card
    monkeypatch.setattr(
        batch_predictor,
        "load_with_card",
        lambda *args, **kw: (calls.append(args), load(*args, **kw))[1],
    )
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(predictor(NEW)["label"].tolist()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert len(results) == 8 and all(each == results[0] for each in results)


def test_number_of_models_in_memory_is_bounded(model, tmp_path):
    for number in range(6):
        path = tmp_path / f"{number}.cordwood"
        model.save(path)
        BatchPredictor(path)
    assert batch_predictor._load.cache_info().currsize == 4


@pytest.mark.parametrize(
    "batch, message",
    [
        ({"words": ["soup"]}, 'no column "text", which the model needs; its columns are: words'),
        ({"text": ["soup", 3]}, 'column "text", row 1 of the batch: the text is of type int'),
        ([b"soup"], "row 0 of the batch: the text is of type bytes"),
        (
            {"text": ["soup"], "label": ["food"], "predicted_label": ["sport"]},
            'has a column "predicted_label" and one without',
        ),
    ],
)
def test_invalid_batch(path, batch, message):
    with pytest.raises(CordwoodError, match=message):
        BatchPredictor(path)(batch)


def test_names_that_the_batch_has(path):
    found = BatchPredictor(path)({"text": ["soup"], "label": ["food"]})
    assert list(found) == ["text", "label", "predicted_label", "probability"]


def test_single_text_is_not_a_batch(path):
    with pytest.raises(TypeError, match="pass \\[text\\]"):
        BatchPredictor(path)("soup")


def test_texts_of_several_columns_are_joined(path, model):
    found = BatchPredictor(path, text=["title", "body"])({"title": ["soup"], "body": ["goal"]})
    assert found["probability"].tolist() == expect(model, ["soup\ngoal"])[1]


def test_other_estimators_are_rejected(tmp_path):
    fitted = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    save(fitted, tmp_path / "svm.cordwood")
    with pytest.raises(CordwoodError, match="contains a LinearSVMClassifier"):
        BatchPredictor(tmp_path / "svm.cordwood")
    with pytest.raises(CordwoodError, match="does not exist"):
        BatchPredictor(tmp_path / "none.cordwood")
