import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cordwood.neighbors import _knn as nearest

kinds = pytest.mark.parametrize("kind", ["compiled", "plain"])


def run(kind, function, *arguments):
    function = getattr(function, "py_func", function) if kind == "plain" else function
    return function(*arguments)


@kinds
@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, 200, elements=st.integers(-4, 4).map(lambda i: i / 7)),
    st.integers(1, 30),
    st.sampled_from([-np.inf, 0.0]),
    st.integers(-1, 3),
    st.sampled_from([1, 4, 200]),
    st.sampled_from([np.float32, np.float64]),
)
def test_the_best_are_selected_in_order(kind, scores, k, floor, own, room, dtype):
    group = np.arange(200) % 5
    ids, found = np.empty(k, np.int32), np.empty(k)
    keys = np.empty(room * k, np.int64)
    run(kind, nearest.select, scores.astype(dtype), floor, group, own, keys, ids, found)
    single = scores.astype(np.float32)
    order = np.lexsort((np.arange(200), -single))
    order = order[(single[order] > floor) & (group[order] != own)][:k]
    assert ids[: len(order)].tolist() == order.tolist()
    assert found[: len(order)].tolist() == single[order].tolist()
    assert (ids[len(order) :] == -1).all()
    assert (found[len(order) :] == -np.inf).all()


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_keys_are_in_the_order_of_the_scores_and_give_them_back(a, b):
    keys = [nearest.key_of(score, 7) for score in (a, b)]
    assert [nearest.score_of(key) for key in keys] == [a, b]
    if a != b:
        assert (keys[0] < keys[1]) == (a < b)
    assert nearest.key_of(a, 3) > nearest.key_of(a, 4)


@kinds
def test_rows_are_weighed_to_unit_length(kind):
    indptr, indices = np.array([0, 2, 2, 3, 5]), np.array([0, 2, 1, 0, 1], np.int32)
    data, idf = np.array([1, 8, 3, 2, 5], np.float32), np.array([0.5, 0.0, 2.0])
    for log_counts in (False, True):
        out = np.full(5, 9, np.float32)
        run(kind, nearest.weigh, indptr, indices, data, idf, log_counts, out)
        weights = (1 + np.log(data.astype(float)) if log_counts else data) * idf[indices]
        norms = np.array([np.hypot(*weights[:2])] * 2 + [1.0] + [abs(weights[3])] * 2)
        np.testing.assert_allclose(out, weights / norms, rtol=1e-6)
