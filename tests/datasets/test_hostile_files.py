"""Files whose content is much larger than they are, in processes with limits."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import hostile_files
from cordwood.datasets._arrow_sizes import decoded_size
from cordwood.datasets.readers import read_dataset
from cordwood.exceptions import DataError
from hostile_files import BUILDERS

LARGE = (100_000, 1000)

# Forked processes have limits; the process of the tests has threads, and does not fork.
RUN = """
import json, random, sys
from fuzz_input import check_limited, make_hostile, run_case, run_cases
from hostile_files import BUILDERS
outcomes = {}
for build in BUILDERS:
    for size in ((3, 20), (20, 1_000_000)):
        case = make_hostile(build, *size)
        outcomes[f"{build.__name__} {size}"] = run_case(case, random.Random(0), check_limited)
_, failures = run_cases(40, 1, check_limited)
print(json.dumps([outcomes, failures]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of the address space")
def test_files_are_read_or_rejected_within_limits():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    outcomes, failures = json.loads(done.stdout)
    assert failures == []
    assert len(outcomes) == 2 * len(BUILDERS)
    assert {name: outcome for name, outcome in outcomes.items() if "failed" in outcome} == {}
    read = {name.partition(" ")[0] for name, outcome in outcomes.items() if outcome == "read"}
    invalid = ("arrow_damaged", "arrow_nulls", "excel_false_size", "excel_prefixed", "sqlite_view")
    assert read == {each.__name__ for each in BUILDERS if not each.__name__.startswith(invalid)}


def error_message(build, n_samples, length, **options):
    name, content = build(n_samples, length)
    with open(name, "wb") as file:
        file.write(content)
    with pytest.raises(DataError) as caught:
        read_dataset(name, require_labels=False, **options)
    return str(caught.value)


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("arrow_dictionary", "arrow_runs", "arrow_string_view", "arrow_nulls"),
        *("arrow_damaged_length", "parquet_dictionary", "parquet_arrow_dictionary"),
        *("excel_shared_string", "excel_prefixed_names", "sqlite_default", "sqlite_generated"),
    ],
)
def test_content_that_is_much_larger_than_its_file_names_the_limit(name):
    message = error_message(getattr(hostile_files, name), *LARGE)
    assert message.startswith("data.")
    assert re.search(
        r"has more than 1[56],\d{3},\d{3} bytes after decompression; if it is", message
    )


def test_damaged_column_name_is_an_error_that_names_the_file():
    message = error_message(hostile_files.arrow_damaged_name, 3, 20)
    assert message.startswith("data.arrow cannot be read as Arrow ('utf-8' codec can't decode")


def test_lists_of_unknown_size_are_rejected():
    def build(n_samples, length):
        labels = pa.array([["a" * length] * n_samples])
        encoding = {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False}
        return hostile_files.write_parquet({"text": ["a"], "label": labels}, **encoding)

    message = error_message(build, 3, 20, label="label")
    assert "lists in the encoding DELTA_BYTE_ARRAY, whose size is unknown" in message


def test_views_must_be_named_and_call_few_functions():
    build = hostile_files.sqlite_concatenation
    assert "name the table of data.sqlite with table= / --table; its tables are: t" in (
        error_message(build, 3, 20)
    )
    assert read_dataset("data.sqlite", require_labels=False, table="t").texts == ("a" * 16,) * 3
    message = error_message(hostile_files.sqlite_view, 3, 20, table="t")
    assert "not authorized to use function: " in message
    # In a statement of the user, any function may be called.
    query = "SELECT replace(hex(zeroblob(2)), '0', 'b') AS text"
    assert read_dataset("data.sqlite", require_labels=False, query=query).texts == ("bbbb",)


def test_view_that_takes_too_long_is_an_error(monkeypatch):
    monkeypatch.setattr("cordwood.datasets._sqlite._MIN_SECONDS", 0.01)
    message = error_message(hostile_files.sqlite_endless_sum, 10**6, 10**6, table="t")
    assert "(interrupted); a view or a column takes too long; read it with query=" in message


def oracle_size(value):
    """Return 8 bytes for each value and the length of each string, without nested nulls."""
    if isinstance(value, str | bytes):
        return 8 + len(value)
    if isinstance(value, dict):
        return 8 + sum(map(oracle_size, value.values()))
    return 8 + sum(map(oracle_size, value)) if isinstance(value, list | tuple) else 8


INDICES = pa.array([1, 0, 1, 1, 0], pa.int8())
STRINGS = pa.array(["ab", "cde", "", "fghij", "k"])
LISTS = pa.array([["a", "bc"], [], ["def"], ["g"], ["h", "i", "jk"]])
ARRAYS = {
    "string": STRINGS,
    "large": STRINGS.cast(pa.large_string()),
    "view": STRINGS.cast(pa.string_view()),
    "number": pa.array([1, 2, 3, 4, 5]),
    "null": pa.nulls(5),
    "fixed": pa.array([b"ab", b"cd", b"ef", b"gh", b"ij"], pa.binary(2)),
    "dictionary": pa.DictionaryArray.from_arrays(INDICES, ["spam", "ham"]),
    "dictionary of lists": pa.DictionaryArray.from_arrays(INDICES, LISTS),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 5], ["spam", "ham"]),
    "list": LISTS,
    "list of dictionaries": pa.ListArray.from_arrays(
        [0, 2, 2, 3, 4, 5], STRINGS.dictionary_encode()
    ),
    "list view": pa.ListViewArray.from_arrays([0, 0, 1, 4, 2], [5, 2, 0, 1, 3], STRINGS),
    "fixed list": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([STRINGS, STRINGS]), 2),
    "struct": pa.array([{"a": letter, "b": letter * 3} for letter in "vwxyz"]),
    "map": pa.array([[("a", 1)], [], [("b", 2)], [], []], pa.map_(pa.string(), pa.int8())),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("rows", [(0, 5), (1, 3)])
def test_size_is_known_without_expansion(name, rows):
    array = ARRAYS[name].slice(*rows)
    batch = pa.record_batch({"a": array})
    expected = sum(map(oracle_size, array.to_pylist()))
    found = decoded_size(batch)
    assert expected <= found <= max(expected + 8 * len(array), array.nbytes)


def test_every_kind_of_column_is_read_back(tmp_path):
    columns = {name: array for name, array in ARRAYS.items()}
    name, content = hostile_files.write_arrow({"text": STRINGS, **columns})
    (tmp_path / name).write_bytes(content)
    corpus = read_dataset(name, require_labels=False, extra_columns=list(columns))
    for column, array in columns.items():
        assert list(corpus.columns[column]) == array.to_pylist(), column
    assert corpus.texts == tuple(STRINGS.to_pylist())


def test_sizes_of_nested_views_do_not_overflow():
    views = pa.array(["a" * 20])
    for _ in range(6):
        offsets, sizes = np.zeros(5000, np.int32), np.full(5000, len(views), np.int32)
        views = pa.ListViewArray.from_arrays(pa.array(offsets), pa.array(sizes), views)
    assert decoded_size(pa.record_batch({"a": views})) > 2.0**63
