"""Multi-response linear regression: one regression for each class, on its indicator."""

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import gen_batches

from cordwood._param_validation import check_choice
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, as_members

_N_ROWS = 4096


class MultiResponseRegression(BaseCombiner):
    """Weigh members by least squares, for each class apart.

    For each class, and so twice for two classes, the regression seeks weights of columns whose
    weighted sum is one on the rows of the class and zero on all others. There is no intercept.

    Parameters
    ----------
    columns : {"own", "all"}, default="own"
        What the regression of a class may use: "own", what members say of that class, one column
        from each; or "all", what they say of any class. With "all", the number of columns is
        free, and need not be a multiple of the number of classes.
    nonnegative : bool, default=True
        Whether weights are kept from falling below zero, so that what members say for a class can
        only speak for it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows.
    coef_ : ndarray of shape (n_classes, n_features_in_)
        Weight of each column for each class; zero where the column is not used.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    Notes
    -----
    The probability of a class is its share of the weighted sums, of which those below zero count
    as zero; so it does not matter if new rows are of another scale than the training rows. Where no
    sum is above zero, it is the share of the class in the training rows.

    Rows are rotated onto a triangle with as many rows as columns first, block by block. So all
    regressions of "all" share one pass over the rows.

    References
    ----------
    .. [1] Ting, Witten (1999). Issues in stacked generalization. Journal of Artificial
       Intelligence Research 10. Section 2: the columns "own".
    .. [2] Lawson, Hanson (1974). Solving least squares problems. Chapter 23: weights that are not
       negative.

    Examples
    --------
    The first member knows, the second guesses:

    >>> X = [[0.9, 0.1, 0.3, 0.7], [0.8, 0.2, 0.6, 0.4], [0.1, 0.9, 0.7, 0.3], [0.2, 0.8, 0.4, 0.6]]
    >>> model = MultiResponseRegression().fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.round(2)
    array([[1.13, 0.  , 0.  , 0.  ],
           [0.  , 1.13, 0.  , 0.  ]])
    >>> model.predict_proba([[0.6, 0.4, 0.0, 1.0]]).round(2)
    array([[0.6, 0.4]])
    """

    def __init__(self, columns: str = "own", *, nonnegative: bool = True) -> None:
        self.columns = columns
        self.nonnegative = nonnegative

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        check_choice("columns", self.columns, ("own", "all"))
        n_classes = len(self.classes_)
        if self.columns == "all":
            triangle = _rotate(X, np.eye(n_classes)[codes], weights)
            self.coef_ = self._solve(triangle[:, :-n_classes], triangle[:, -n_classes:])
            return
        members = as_members(X, n_classes)
        self.coef_ = np.zeros((n_classes, X.shape[1]))
        for code in range(n_classes):
            triangle = _rotate(members[:, :, code], (codes == code)[:, None], weights)
            self.coef_[code, code::n_classes] = self._solve(triangle[:, :-1], triangle[:, -1:])[0]

    def _solve(self, inputs: Floats, targets: Floats) -> Floats:
        """Give the weights of columns for each target: shape (n_targets, n_columns)."""
        if not self.nonnegative:
            return np.asarray(np.linalg.lstsq(inputs, targets, rcond=None)[0].T)
        # scipy gives up after three rounds a column, which rounding errors can use up.
        n_rounds = 30 * inputs.shape[1]
        return np.array([nnls(inputs, target, maxiter=n_rounds)[0] for target in targets.T])

    def _score(self, X: Floats) -> Floats:
        if self.columns == "own":
            as_members(X, len(self.classes_))
        return np.maximum(X @ self.coef_.T, 0.0)


def _rotate(X: Floats, targets: Floats, weights: Floats) -> Floats:
    """Give the triangle of a QR decomposition of weighted columns, targets last.

    Sums of squares over its rows are those over all rows, and unlike the normal equations, which
    say the same, they have not lost half of the digits.
    """
    n_columns = X.shape[1] + targets.shape[1]
    triangle = np.empty((0, n_columns))
    for rows in gen_batches(len(X), max(_N_ROWS, n_columns)):
        block = np.hstack([X[rows], targets[rows]]) * np.sqrt(weights[rows, None])
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle
