"""Features of numeric columns."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._base.param_validation import ParamValidationMixin, integer, options
from cordwood.columns.cells import MISSING

# Quantiles of the training values; between two of them, ranks are interpolated.
_N_QUANTILES = 101

# Magnitudes that are distinguished; smaller numbers are zero.
_SMALLEST, _LARGEST = 1e-290, 1e300


class NumericEncoder(ParamValidationMixin, TransformerMixin, BaseEstimator):
    r"""Encode numbers by their rank among the training values; missing values are allowed.

    The rank u of a value is the fraction of the training values below it, from 0 to 1. It does not
    depend on the scale of the column, and outliers do not stand out.

    Parameters
    ----------
    n_knots : int or None, default=None
        None encodes a value as the single number :math:`2u - 1`, for decision trees: the median is
        0, and the order of the values is kept. An integer encodes it by that many non-negative
        features, for linear models and nearest neighbors: piecewise linear functions of u that are
        1 at one of the knots :math:`0, 1/(k-1), \dots, 1` and 0 at all others. A linear
        combination of them is a linear spline of u.

    Attributes
    ----------
    quantiles_ : ndarray of shape (101, n_features)
        Quantiles of the training values.
    missing_features_ : ndarray of int
        Features with missing training values. Each has an indicator of missing values.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the input has names.

    See Also
    --------
    sklearn.preprocessing.QuantileTransformer : Computes the same ranks, except that of the lowest
        and the highest value if they occur more than once.
    sklearn.preprocessing.SplineTransformer : Computes the same features, with degree 1.

    Notes
    -----
    All features of a missing value are zero, except the indicator.

    Examples
    --------
    >>> X = [[0.0], [10.0], [np.nan], [20.0]]
    >>> NumericEncoder().fit_transform(X)
    array([[-1.,  0.],
           [ 0.,  0.],
           [ 0.,  1.],
           [ 1.,  0.]], dtype=float32)
    >>> NumericEncoder(n_knots=3).fit(X).transform([[5.0]]).toarray()
    array([[0.5, 0.5, 0. , 0. ]], dtype=float32)
    """

    _parameter_constraints = {"n_knots": integer(2) | options(None)}

    def __init__(self, n_knots: int | None = None) -> None:
        self.n_knots = n_knots

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Compute the quantiles of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing ones are NaN.
        y : None
            Ignored.

        Returns
        -------
        NumericEncoder
            The encoder itself.
        """
        self._validate_params()
        X = self._validate(X, reset=True)
        levels = np.linspace(0, 1, _N_QUANTILES)
        quantiles = [
            np.quantile(known, levels) if len(known := column[~np.isnan(column)]) else levels * 0
            for column in X.T
        ]
        # Interpolation may round neighbors out of order.
        self.quantiles_ = np.maximum.accumulate(np.column_stack(quantiles), axis=0)
        self.missing_features_ = np.flatnonzero(np.isnan(X).any(axis=0))
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32] | sp.csr_matrix:
        """Encode samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers; missing ones are NaN.

        Returns
        -------
        X_new : {ndarray, CSR matrix} of float32, shape (n_samples, n_features_new)
            Sparse if `n_knots` is given.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        is_missing = np.isnan(X)
        ranks = np.column_stack(
            [_rank(column, known) for column, known in zip(X.T, self.quantiles_.T, strict=True)]
        )
        indicators = is_missing[:, self.missing_features_].astype(np.float32)
        if self.n_knots is None:
            values = np.where(is_missing, 0.0, 2 * ranks - 1).astype(np.float32)
            return np.hstack([values, indicators])
        splines = _encode_splines(ranks, ~is_missing, self.n_knots)
        return sp.csr_matrix(sp.hstack([splines, sp.csr_matrix(indicators)]))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the input features.

        Returns
        -------
        feature_names_out : ndarray of str objects
        """
        check_is_fitted(self)
        default = [f"x{number}" for number in range(self.n_features_in_)]
        if input_features is None:
            input_features = getattr(self, "feature_names_in_", default)
        names = [str(name) for name in np.asarray(input_features, dtype=object)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        missing = [f"{names[feature]} {MISSING}" for feature in self.missing_features_]
        if self.n_knots is not None:
            names = [f"{name} knot {knot}" for name in names for knot in range(self.n_knots)]
        return np.array([*names, *missing], dtype=object)

    def list_sources(self) -> NDArray[np.intp]:
        """Return the input feature of each output feature.

        Returns
        -------
        ndarray of shape (n_features_new,)

        Examples
        --------
        >>> NumericEncoder(n_knots=2).fit([[1.0, 2.0], [3.0, np.nan]]).list_sources()
        array([0, 0, 1, 1, 1])
        """
        check_is_fitted(self)
        repeats = 1 if self.n_knots is None else self.n_knots
        known = np.repeat(np.arange(self.n_features_in_), repeats)
        return np.concatenate([known, self.missing_features_])

    def _validate(self, X: Any, *, reset: bool) -> NDArray[np.float64]:
        validated: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        return validated

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _rank(values: NDArray[np.float64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the fraction of training values below each value.

    Of equal quantiles, the first and the last are averaged, as in `QuantileTransformer`.
    """
    values, quantiles = _limit_range(values), _limit_range(quantiles)
    levels = np.linspace(0, 1, len(quantiles))
    lowest = np.interp(-values, -quantiles[::-1], -levels[::-1])
    return np.asarray(0.5 * (np.interp(values, quantiles, levels) - lowest))


def _limit_range(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Limit the magnitudes, so that differences and their quotients do not overflow."""
    limited: NDArray[np.float64] = np.clip(values, -_LARGEST, _LARGEST)
    limited[np.abs(limited) < _SMALLEST] = 0.0
    return limited


def _encode_splines(
    ranks: NDArray[np.float64], is_known: NDArray[np.bool_], n_knots: int
) -> sp.csr_matrix:
    """Return the weights of the two knots around each rank."""
    n_samples, n_features = ranks.shape
    position = np.where(is_known, ranks, 0.0) * (n_knots - 1)
    left = np.minimum(position.astype(np.intp), n_knots - 2)
    weight = position - left
    column = left + np.arange(n_features) * n_knots
    values = np.stack([1 - weight, weight], axis=2) * is_known[:, :, None]
    columns = np.stack([column, column + 1], axis=2)
    indptr = np.arange(n_samples + 1) * 2 * n_features
    X = sp.csr_matrix(
        (values.ravel().astype(np.float32), columns.ravel(), indptr),
        shape=(n_samples, n_features * n_knots),
    )
    X.eliminate_zeros()
    return X
