"""Further columns, weights, times and several labels in all kinds of tables."""

import json
from datetime import datetime
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cordwood.datasets import Corpus, read_dataset, stream_dataset
from cordwood.exceptions import CordwoodError, DataError

RECORDS = [
    {"text": "a", "label": "x", "day": "2024-05-01", "w": 2, "price": 1.5, "kind": "red"},
    {"text": "b", "label": "y", "day": "2024-04-01", "w": 0.5, "price": None, "kind": "blue"},
]


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_csv(records):
    pd.DataFrame(records).to_csv("rows.csv", index=False)
    return "rows.csv"


def write_jsonl(records):
    Path("rows.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return "rows.jsonl"


KINDS = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.Table.from_pylist,
}


@pytest.fixture(params=KINDS)
def make_source(request):
    return KINDS[request.param]


def error_message(source, **options):
    with pytest.raises(CordwoodError) as caught:
        read_dataset(source, **options)
    return str(caught.value)


def test_further_columns_are_read_only_if_they_are_named(make_source):
    source = make_source(RECORDS)
    assert read_dataset(source).columns == {}
    columns = read_dataset(source, extra_columns=["price", "kind"]).columns
    assert list(columns) == ["price", "kind"]
    assert columns["kind"] == ("red", "blue")
    assert columns["price"] in ((1.5, None), ("1.5", None))


def test_all_and_other_columns(make_source):
    source = make_source(RECORDS)
    assert list(read_dataset(source, extra_columns="all").columns) == list(RECORDS[0])
    other = read_dataset(source, extra_columns="other", time="day", weight="w")
    assert list(other.columns) == ["text", "price", "kind"]


def test_text_may_be_empty_with_further_columns(make_source):
    corpus = read_dataset(make_source(RECORDS), text=[], extra_columns=["price"])
    assert corpus.texts == ("", "")
    assert "text must name at least one column" in error_message(make_source(RECORDS), text=[])


def test_weights_and_times(make_source):
    corpus = read_dataset(make_source(RECORDS), weight="w", time="day")
    assert corpus.weights == (2.0, 0.5)
    assert corpus.times == (datetime(2024, 5, 1), datetime(2024, 4, 1))
    assert read_dataset(make_source(RECORDS), time="w").times == (2.0, 0.5)


@pytest.mark.parametrize("value", ["much", "-1", None])
def test_invalid_weights_name_the_row_and_the_column(make_source, value):
    records = [{**RECORDS[0], "w": "1"}, {**RECORDS[1], "w": value}]
    message = error_message(make_source(records), weight="w")
    assert '"w"' in message
    assert "not a number of at least 0" in message
    assert "row 1" in message or "line 3" in message or "line 2" in message


def test_times_are_all_dates_or_all_numbers(make_source):
    message = error_message(make_source([RECORDS[0], {**RECORDS[1], "day": "7"}]), time="day")
    assert "is a number, but the rows before it have dates" in message
    message = error_message(make_source([RECORDS[0], {**RECORDS[1], "day": "May"}]), time="day")
    assert "not a number or an ISO 8601 date" in message


def test_bad_times_can_be_skipped(make_source):
    source = make_source([*RECORDS, {**RECORDS[0], "day": "May"}])
    corpus = read_dataset(source, time="day", on_bad_rows="skip")
    assert len(corpus) == 2
    assert len(corpus.skipped) == 1


def test_missing_further_columns(make_source):
    message = error_message(make_source(RECORDS), extra_columns=["pricee"])
    assert '"pricee"' in message
    assert "name a " in message


def test_label_separator(make_source):
    source = make_source([RECORDS[0], {**RECORDS[1], "label": "x; y;;"}])
    corpus = read_dataset(source, label_separator=";")
    assert corpus.labels == (("x",), ("x", "y"))
    assert corpus.multilabel
    assert "label_separator must be" in error_message(source, label_separator=" ")


def test_dates_of_dataframes_are_strings():
    frame = pd.DataFrame(RECORDS).assign(day=pd.to_datetime(["2024-05-01", None]))
    corpus = read_dataset(frame, extra_columns=["day"])
    assert corpus.columns["day"] == ("2024-05-01", None)
    with_zone = frame.assign(day=pd.to_datetime(["2024-05-01T01:00+02:00"] * 2))
    assert read_dataset(with_zone, time="day").times == (datetime(2024, 4, 30, 23),) * 2


def test_json_keys_may_be_missing_in_some_rows():
    write_jsonl([{"text": "a", "label": "x"}, {"text": "b", "label": "y", "n": 3}])
    assert read_dataset("rows.jsonl", extra_columns=["n"]).columns == {"n": (None, 3)}
    assert read_dataset("rows.jsonl", extra_columns="all").columns["n"] == (None, 3)


def test_streamed_rows_have_the_same_columns(make_source):
    source = make_source(RECORDS)
    if not isinstance(source, str):
        pytest.skip("dataframes are not streamed")
    corpus = read_dataset(source, extra_columns="all", weight="w", time="day")
    rows = list(stream_dataset(source, extra_columns="all", weight="w", time="day"))
    assert [row.columns["kind"] for row in rows] == list(corpus.columns["kind"])
    assert [(row.weight, row.time) for row in rows] == list(
        zip(corpus.weights, corpus.times, strict=True)
    )


def test_select_keeps_columns_weights_and_times():
    corpus = Corpus(
        texts=["a", "b"],
        ids=["1", "2"],
        weights=[1.0, 2.0],
        times=[3, 4],
        columns={"price": pd.Series([1.5, 2.5])},
    )
    chosen = corpus.select([1])
    assert (chosen.columns, chosen.weights, chosen.times) == ({"price": (2.5,)}, (2.0,), (4,))
    assert "columns: price" in repr(corpus)
    assert "times: 3 to 4" in repr(corpus)


def test_fingerprint_includes_columns_on_request():
    corpora = [Corpus(texts=["a"], ids=["1"], columns={"price": (price,)}) for price in (1.5, 2.5)]
    assert corpora[0].fingerprint() == corpora[1].fingerprint()
    assert corpora[0].fingerprint(["price"]) != corpora[1].fingerprint(["price"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"columns": {"price": (1,)}}, 'the column "price" has 1 entries for 2 samples'),
        ({"weights": (1, -1)}, r"weights\[1\] must be a number of at least 0; got -1"),
        ({"weights": (1, float("nan"))}, r"weights\[1\] must be a number"),
        ({"times": (1, datetime(2024, 1, 1))}, r"times\[1\] must be a number, as times\[0\] is"),
        ({"times": (datetime(2024, 1, 1), None)}, r"times\[1\] must be a date"),
    ],
)
def test_invalid_fields_of_a_corpus(fields, message):
    with pytest.raises(DataError, match=message):
        Corpus(texts=["a", "b"], ids=["1", "2"], **fields)


EMPTY_LABELS = {
    "rows.csv": "text,label\na,x;y\nb,\nc,y\nd, \n",
    "rows.jsonl": "\n".join(
        f'{{"text": "{text}", "label": {label}}}'
        for text, label in zip("abcd", ['"x;y"', "null", '"y"', '""'], strict=True)
    ),
}


@pytest.mark.parametrize("name", EMPTY_LABELS)
def test_rows_without_a_label_are_errors_that_can_be_skipped(name, tmp_path):
    path = tmp_path / name
    path.write_text(EMPTY_LABELS[name])
    line = 3 if name == "rows.csv" else 2
    with pytest.raises(DataError, match=rf"{name}, line {line}: the label .* skip bad rows with"):
        read_dataset(path)
    found = read_dataset(path, on_bad_rows="skip")
    assert (found.labels, found.texts, len(found.skipped)) == (("x;y", "y"), ("a", "c"), 2)


@pytest.mark.parametrize("name", EMPTY_LABELS)
def test_rows_without_a_label_have_no_labels_if_there_may_be_several(name, tmp_path):
    path = tmp_path / name
    path.write_text(EMPTY_LABELS[name])
    assert read_dataset(path, label_separator=";").labels == (("x", "y"), (), ("y",), ())


@pytest.mark.parametrize("missing", [None, float("nan"), "", " "])
def test_missing_labels_of_a_dataframe_are_no_labels_if_there_may_be_several(missing):
    frame = {"text": ["a", "b"], "label": [missing, "x;y"]}
    assert read_dataset(frame, label_separator=";").labels == ((), ("x", "y"))
    with pytest.raises(DataError, match='row 0: the label \\(column "label"\\) is'):
        read_dataset(frame)
