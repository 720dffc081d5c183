import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cordwood.neighbors import _knn

modes = pytest.mark.parametrize("mode", ["compiled", "python"])


def run(mode, function, *arguments):
    function = getattr(function, "py_func", function) if mode == "python" else function
    return function(*arguments)


@modes
@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, 200, elements=st.integers(-4, 4).map(lambda i: i / 7)),
    st.integers(1, 30),
    st.sampled_from([-np.inf, 0.0]),
    st.integers(-1, 3),
    st.sampled_from([1, 4, 200]),
    st.sampled_from([np.float32, np.float64]),
)
def test_select_top_sorts_by_score_then_index(
    mode, scores, k, threshold, own_group, keys_per_neighbor, dtype
):
    groups = np.arange(200) % 5
    neighbors, similarities = np.empty(k, np.int32), np.empty(k)
    keys = np.empty(keys_per_neighbor * k, np.int64)
    arguments = (threshold, groups, own_group, keys, neighbors, similarities)
    run(mode, _knn.select_top, scores.astype(dtype), *arguments)
    single = scores.astype(np.float32)
    order = np.lexsort((np.arange(200), -single))
    order = order[(single[order] > threshold) & (groups[order] != own_group)][:k]
    assert neighbors[: len(order)].tolist() == order.tolist()
    assert similarities[: len(order)].tolist() == single[order].tolist()
    assert (neighbors[len(order) :] == -1).all()
    assert (similarities[len(order) :] == -np.inf).all()


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_keys_preserve_order_and_score(a, b):
    keys = [_knn.pack_key(score, 7) for score in (a, b)]
    assert [_knn.unpack_score(key) for key in keys] == [a, b]
    if a != b:
        assert (keys[0] < keys[1]) == (a < b)
    assert _knn.pack_key(a, 3) > _knn.pack_key(a, 4)


@modes
def test_samples_are_weighted_and_normalized(mode):
    indptr, indices = np.array([0, 2, 2, 3, 5]), np.array([0, 2, 1, 0, 1], np.int32)
    data, idf = np.array([1, 8, 3, 2, 5], np.float32), np.array([0.5, 0.0, 2.0])
    for log_counts in (False, True):
        out = np.full(5, 9, np.float32)
        run(mode, _knn.normalize_samples, indptr, indices, data, idf, log_counts, out)
        weights = (1 + np.log(data.astype(float)) if log_counts else data) * idf[indices]
        norms = np.array([np.hypot(*weights[:2])] * 2 + [1.0] + [abs(weights[3])] * 2)
        np.testing.assert_allclose(out, weights / norms, rtol=1e-6)
