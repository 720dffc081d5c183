"""Multi-response linear regression."""

import numpy as np
from scipy.optimize import nnls
from sklearn.utils import gen_batches

from cordwood._base.param_validation import BOOLEAN, options
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, split_by_estimator

_BATCH_SIZE = 4096


class MultiResponseRegression(BaseCombiner):
    r"""One linear regression per class on the indicator of the class.

    For each class, also if there are only two, the least-squares regression without intercept
    predicts 1 for samples of the class and 0 for all others.

    Parameters
    ----------
    features : {"same_class", "all"}, default="same_class"
        Features of the regression of a class:

        - "same_class": the probabilities of this class, one feature per base estimator.
        - "all": the probabilities of all classes. The number of features need not be a multiple of
          the number of classes.
    nonnegative : bool, default=True
        Whether coefficients are constrained to be non-negative.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set.
    coef_ : ndarray of shape (n_classes, n_features_in_)
        Coefficients of each class; zero for features that are not used.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    LogarithmicPool : Linear model of logarithms of probabilities.

    Notes
    -----
    With coefficients :math:`w_c`, the probability of class :math:`c` is

    .. math:: P(c \mid x) = \frac{\max(0, w_c^T x)}{\sum_k \max(0, w_k^T x)}

    so it does not depend on the scale of :math:`x`. If no sum is positive, it is the class prior.

    The triangular factor of a QR decomposition, computed in batches, replaces the training samples
    in all regressions.

    References
    ----------
    .. [1] Ting, Witten (1999). Issues in stacked generalization. Journal of Artificial
       Intelligence Research 10. Section 2: ``features="same_class"``.
    .. [2] Lawson, Hanson (1974). Solving least squares problems. Chapter 23: non-negative
       coefficients.

    Examples
    --------
    The first base estimator is accurate, the second predicts at random and gets coefficient 0:

    >>> X = [[0.9, 0.1, 0.3, 0.7], [0.8, 0.2, 0.6, 0.4], [0.1, 0.9, 0.7, 0.3], [0.2, 0.8, 0.4, 0.6]]
    >>> model = MultiResponseRegression().fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.round(2)
    array([[1.13, 0.  , 0.  , 0.  ],
           [0.  , 1.13, 0.  , 0.  ]])
    >>> model.predict_proba([[0.6, 0.4, 0.0, 1.0]]).round(2)
    array([[0.6, 0.4]])
    """

    _parameter_constraints = {"features": options("same_class", "all"), "nonnegative": BOOLEAN}

    def __init__(self, features: str = "same_class", *, nonnegative: bool = True) -> None:
        self.features = features
        self.nonnegative = nonnegative

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        n_classes = len(self.classes_)
        if self.features == "all":
            triangle = _triangular_factor(X, np.eye(n_classes)[codes], weights)
            self.coef_ = self._solve(triangle[:, :-n_classes], triangle[:, -n_classes:])
            return
        probas = split_by_estimator(X, n_classes)
        self.coef_ = np.zeros((n_classes, X.shape[1]))
        for code in range(n_classes):
            triangle = _triangular_factor(probas[:, :, code], (codes == code)[:, None], weights)
            self.coef_[code, code::n_classes] = self._solve(triangle[:, :-1], triangle[:, -1:])[0]

    def _solve(self, inputs: Floats, targets: Floats) -> Floats:
        """Return the coefficients of each target: shape (n_targets, n_features)."""
        if not self.nonnegative:
            return np.asarray(np.linalg.lstsq(inputs, targets, rcond=None)[0].T)
        # The default of scipy, three iterations per feature, is too few with rounding errors.
        max_iter = 30 * inputs.shape[1]
        return np.array([nnls(inputs, target, maxiter=max_iter)[0] for target in targets.T])

    def _class_scores(self, X: Floats) -> Floats:
        if self.features == "same_class":
            split_by_estimator(X, len(self.classes_))
        return np.maximum(X @ self.coef_.T, 0.0)


def _triangular_factor(X: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the triangular QR factor of the weighted features and targets, targets last."""
    # The factor has the same least-squares solutions as the samples. Unlike the normal equations,
    # it does not square the condition number.
    n_columns = X.shape[1] + targets.shape[1]
    triangle = np.empty((0, n_columns))
    for batch in gen_batches(len(X), max(_BATCH_SIZE, n_columns)):
        block = np.hstack([X[batch], targets[batch]]) * np.sqrt(weights[batch, None])
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle
