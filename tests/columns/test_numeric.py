import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.preprocessing import QuantileTransformer, SplineTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood.columns.numeric import NumericEncoder


@parametrize_with_checks([NumericEncoder(), NumericEncoder(n_knots=4)])
def test_sklearn_contract(estimator, check):
    check(estimator)


def make_numbers(seed=0, n_samples=300):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.lognormal(size=n_samples), rng.integers(0, 4, n_samples), rng.normal(size=n_samples)]
    )


def test_ranks_are_those_of_quantile_transformer():
    X, new = make_numbers(), make_numbers(1) * 1.5
    reference = QuantileTransformer(n_quantiles=101).fit(X)
    expected = 2 * reference.transform(new) - 1
    # The lowest and the highest value are not averaged over duplicates in scikit-learn.
    is_inner = (new > X.min(axis=0)) & (new < X.max(axis=0))
    found = NumericEncoder().fit(X).transform(new)
    np.testing.assert_allclose(found[is_inner], expected[is_inner], atol=1e-6)


@pytest.mark.parametrize("n_knots", [2, 3, 5, 11])
def test_features_are_those_of_spline_transformer(n_knots):
    X, new = make_numbers(), make_numbers(1)
    found = NumericEncoder(n_knots=n_knots).fit(X).transform(new)
    ranks = (NumericEncoder().fit(X).transform(new).astype(np.float64) + 1) / 2
    knots = np.tile(np.linspace(0, 1, n_knots)[:, None], X.shape[1])
    reference = SplineTransformer(n_knots, degree=1, knots=knots).fit(ranks)
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray(), reference.transform(ranks), atol=1e-5)


@given(
    arrays.arrays(
        np.float64, st.integers(1, 30), elements=st.floats(-1e300, 1e300) | st.just(np.nan)
    )
)
@example(np.array([0.0, 4.34584738e-311, 5.43230922e-311, 5.43230922e-311]))
@example(np.array([-1.7e308, 0.0, 1.7e308]))
@settings(deadline=None)
def test_the_order_of_numbers_is_kept(values):
    X = values[:, None]
    codes = NumericEncoder().fit(X).transform(X)
    assert np.isfinite(codes).all() and (np.abs(codes) <= 1).all()
    known = ~np.isnan(values)
    assert (codes[~known, 0] == 0).all()
    order = np.argsort(values[known], kind="stable")
    assert (np.diff(codes[known, 0][order]) >= 0).all()
    splines = NumericEncoder(n_knots=3).fit(X).transform(X).toarray()
    assert (splines >= 0).all()
    np.testing.assert_allclose(splines[:, :3].sum(axis=1), known, atol=1e-6)


@pytest.mark.parametrize("n_knots", [None, 3])
def test_missing_values_have_an_indicator_if_there_were_any_in_training(n_knots):
    X = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0]])
    encoder = NumericEncoder(n_knots=n_knots).fit(X)
    assert encoder.missing_features_.tolist() == [0]
    row = sp.csr_matrix(encoder.transform([[np.nan, np.nan]])).toarray()[0]
    assert row[-1] == 1 and not row[:-1].any()


def test_features_without_values_or_with_one_value():
    X = np.array([[np.nan, 3.0], [np.nan, 3.0]])
    codes = NumericEncoder().fit(X).transform([[np.nan, 3.0], [2.0, 2.0], [2.0, 4.0]])
    np.testing.assert_array_equal(codes[:, 1], [0, -1, 1])
    assert codes[0, 2] == 1


@pytest.mark.parametrize("n_knots", [None, 2])
def test_names_and_sources_of_the_features(n_knots):
    X = [[1.0, 2.0], [3.0, np.nan]]
    encoder = NumericEncoder(n_knots=n_knots).fit(X)
    names = encoder.get_feature_names_out(["size", "age"])
    assert len(names) == encoder.transform(X).shape[1] == len(encoder.list_sources())
    assert names[-1] == "age (missing)"
    for name, source in zip(names, encoder.list_sources(), strict=True):
        assert name.startswith(["size", "age"][source])
    with pytest.raises(ValueError, match="input_features should have length"):
        encoder.get_feature_names_out(["size"])


def test_invalid_parameters():
    with pytest.raises(ValueError, match="n_knots must be an integer >= 2 or None; got 1"):
        NumericEncoder(n_knots=1).fit([[1.0]])
