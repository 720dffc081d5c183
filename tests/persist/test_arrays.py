import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cordwood._schema.budget import ARRAY_COST, Budget
from cordwood._schema.errors import Rejected
from cordwood.persist._arrays import ArrayReader, ArrayWriter

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
]


def round_trip(*arrays):
    """Write and read arrays; return them and the number of stored bytes."""
    sink, budget = io.BytesIO(), Budget()
    writer = ArrayWriter(sink, budget)
    numbers = [writer.add(array) for array in arrays]
    content = np.frombuffer(sink.getvalue(), np.uint8)
    reader = ArrayReader(writer.table, content, Budget(budget.total))
    return [reader.get(number) for number in numbers], len(content)


@settings(deadline=None)
@given(
    array=st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    is_fortran=st.booleans(),
    is_sorted=st.booleans(),
    n_repeats=st.sampled_from([1, 40]),
)
def test_arrays_round_trip_bit_by_bit(array, is_fortran, is_sorted, n_repeats):
    if is_sorted and array.ndim == 1:
        array = np.sort(array)
    if n_repeats > 1 and array.ndim:
        array = np.repeat(array, n_repeats, axis=0)
    if is_fortran and array.ndim:
        array = np.asfortranarray(array)
    [[loaded], _] = round_trip(array)
    assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
    assert loaded.tobytes() == array.tobytes()
    if array.ndim == 2:
        assert loaded.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_few_large_sorted_integers_round_trip(dtype):
    seeds = np.array([2**60, 2**61, 2**62, 2**63 - 1], dtype)
    [[loaded], _] = round_trip(seeds)
    assert loaded.tolist() == seeds.tolist()


def test_big_endian_arrays_are_converted():
    [[loaded], _] = round_trip(np.array([1.5, 2.5], ">f8"))
    assert loaded.dtype.isnative
    assert loaded.tolist() == [1.5, 2.5]


def test_equal_arrays_are_stored_and_read_once():
    array = np.random.default_rng(0).random(1000)
    [first, second], n_bytes = round_trip(array, array.copy())
    assert n_bytes == array.nbytes
    assert first is second


@pytest.mark.parametrize(
    ("array", "n_bytes"),
    [
        (np.arange(10**6), 10**6),  # differences of one
        (np.arange(1000)[::-1].copy(), 2000),
        (np.repeat([0.1, 0.2, 0.3], 1000), 3000 + 24),
        (-np.arange(100), 100),
    ],
    ids=["sorted", "small", "repeated", "negative"],
)
def test_arrays_are_stored_in_small_types(array, n_bytes):
    assert round_trip(array)[1] == n_bytes


@settings(deadline=None)
@given(strings=st.lists(st.text(st.characters(codec=None), max_size=300)))
def test_strings_round_trip(strings):
    sink = io.BytesIO()
    writer = ArrayWriter(sink, Budget())
    node = writer.add_strings(strings)
    content = np.frombuffer(sink.getvalue(), np.uint8)
    reader = ArrayReader(writer.table, content, Budget(writer.budget.total))
    assert reader.get_strings(node) == strings


def test_sorted_strings_share_prefixes():
    sink = io.BytesIO()
    ArrayWriter(sink, Budget()).add_strings([f"shared prefix {i:04}" for i in range(1000)])
    assert len(sink.getvalue()) < 5000


@pytest.mark.parametrize("stored", ["int64", "uint64"])
def test_sums_of_differences_do_not_overflow(stored):
    content = np.full(4, 2**62, stored).view(np.uint8).reshape(4, 8).T.copy().reshape(-1)
    table = [{"dtype": "int64", "stored": stored, "shape": [4], "sorted": True}]
    with pytest.raises(Rejected, match="out of range"):
        ArrayReader(table, content, Budget()).get(0)


def test_memory_is_limited_before_it_is_allocated():
    table = [
        {"dtype": "float64", "shape": [1]},
        {"dtype": "float64", "values": 0, "stored": "uint8", "shape": [1000]},
    ]
    content = np.zeros(8 + 1000, np.uint8)
    # Two arrays, their content, and the temporary memory of the larger one.
    total = 2 * ARRAY_COST + 8008 + 16 * 1000
    assert ArrayReader(table, content, Budget(total)).get(1).tolist() == [0.0] * 1000
    with pytest.raises(Rejected, match="needs more memory"):
        ArrayReader(table, content, Budget(total - 1)).get(1)


def test_each_reference_counts():
    """What is derived from an array is not shared."""
    table = [{"dtype": "float64", "shape": [1000]}]
    reader = ArrayReader(table, np.zeros(8000, np.uint8), Budget(5 * (ARRAY_COST + 8000) + 16_000))
    arrays = [reader.get(0) for _ in range(5)]
    assert all(array is arrays[0] for array in arrays)
    with pytest.raises(Rejected, match="needs more memory"):
        reader.get(0)
