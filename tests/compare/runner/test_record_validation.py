import json

import pytest

from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.record_validation import read_records
from cordwood.exceptions import DataError

RESULT = {
    "key": "a1",
    "data": "d1",
    "trial": {"dataset": "news"},
    "scores": {"micro_f1": 0.9, "macro_f1": 0.8},
    "n_train": 10,
    "n_test": 5,
}
FAILURE = {"key": "a2", "data": "d1", "trial": {"dataset": "news"}, "error": "out of memory"}


def write(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return Ledger(path)


def test_valid_records_are_returned_unchanged(tmp_path):
    records = [RESULT, FAILURE, {**RESULT, "other": [None]}]
    assert read_records(write(tmp_path / "ledger.jsonl", *records)) == records
    assert read_records(Ledger(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trial": None}, "trial: "),
        ({"trial": {}}, "trial.dataset: Field required"),
        ({"trial": {"dataset": 3}}, "trial.dataset: "),
        ({"data": None}, "data: "),
        ({"scores": None}, "it must have scores or an error"),
        ({"scores": {}}, "its scores have no micro_f1"),
        ({"scores": {"micro_f1": "0.9", "macro_f1": 1}}, "scores.micro_f1: "),
        ({"scores": {"micro_f1": float("nan"), "macro_f1": 1}}, "scores.micro_f1: "),
        ({"scores": [1]}, "scores: "),
        ({"n_test": None}, "n_train or n_test is missing"),
        ({"n_train": -1}, "n_train: "),
        ({"fit_cpu_seconds": "fast"}, "fit_cpu_seconds: "),
    ],
)
def test_record_of_wrong_shape_raises_with_its_line_and_field(tmp_path, change, message):
    ledger = write(tmp_path / "ledger.jsonl", FAILURE, {**RESULT, **change})
    with pytest.raises(DataError) as caught:
        read_records(ledger)
    found = str(caught.value)
    assert found.startswith(f"{ledger.path}, line 2 is not a valid record (")
    assert message in found
    assert found.endswith("or delete the line and run its trial again")


def test_deeply_nested_line_raises(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text("[" * 200_000 + "\n")
    with pytest.raises(DataError, match="line 1 is not a record"):
        read_records(Ledger(path))
