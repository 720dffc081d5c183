import numpy as np
import pytest

from cordwood.encoders import matmul as _matmul
from cordwood.encoders.matmul import WIDTH, matmul, pack


def draw(*shape):
    return np.random.default_rng(0).standard_normal(shape, np.float32)


@pytest.mark.parametrize("n_samples", [1, 3, 4, 9])
@pytest.mark.parametrize(("n_terms", "n_columns"), [(1, 1), (7, WIDTH), (500, 5), (1000, 3 * 7)])
def test_matches_double_precision(kernels, n_samples, n_terms, n_columns):
    X, weight = draw(n_samples, n_terms), draw(n_terms, n_columns)
    found = kernels.matmul.matmul(X, kernels.matmul.pack(weight))
    assert found.shape == (n_samples, n_columns)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, X.astype(np.float64) @ weight, atol=1e-4)


@pytest.mark.parametrize("n_terms", [32, 384, 512, 1280, 1536])
def test_row_does_not_depend_on_other_rows(n_terms):
    X, weight = draw(70, n_terms), pack(draw(n_terms, 96))
    together = matmul(X, weight)
    for n_samples in range(1, len(X)):
        np.testing.assert_array_equal(matmul(X[:n_samples], weight), together[:n_samples])
        np.testing.assert_array_equal(matmul(X[n_samples:], weight), together[n_samples:])


def test_column_does_not_depend_on_other_columns():
    X, weight = draw(5, 600), draw(600, 2 * WIDTH + 3)
    together = matmul(X, pack(weight))
    for columns in (slice(1), slice(WIDTH, None), slice(5, WIDTH + 6)):
        np.testing.assert_array_equal(matmul(X, pack(weight[:, columns])), together[:, columns])


def test_input_may_be_strided():
    X, weight = draw(8, 40), pack(draw(20, 6))
    np.testing.assert_array_equal(matmul(X[:, 20:], weight), matmul(X[:, 20:].copy(), weight))


def test_no_rows():
    assert matmul(draw(0, 5), pack(draw(5, 3))).shape == (0, 3)


def test_other_number_of_elements_raises():
    with pytest.raises(ValueError, match="matrix of 5 rows cannot be multiplied by vectors of 4"):
        matmul(draw(2, 4), pack(draw(5, 3)))


def test_processors_with_unknown_features_have_narrow_tiles(monkeypatch):
    def fail():
        raise RuntimeError

    monkeypatch.setattr(_matmul.binding, "get_host_cpu_features", fail)
    assert not _matmul._has_avx512()
