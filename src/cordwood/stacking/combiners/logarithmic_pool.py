"""Logarithmic pool: a weighted product of what the members say."""

import warnings
from numbers import Real

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from cordwood._param_validation import check_positive
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, as_members

# What L-BFGS-B reports if it stopped early. (It also reports line searches that end in rounding
# errors, which at the bottom of a convex function is no failure.)
_OUT_OF_STEPS = 1


class LogarithmicPool(BaseCombiner):
    """Weigh the logarithms of the members' probabilities, and each class.

    The probability of class c is in proportion to ``exp(b_c) * prod_m p_mc ** w_mc``. The members'
    weights w and the classes' b are those under which the labels are most likely, which is the
    conditional logit model. So members that are surer than they should be count less and those
    that hesitate count more, and what a member says of its certainty need not be believed. A
    member may be believed more of one class than of another, as far as the rows tell.

    Parameters
    ----------
    floor : float, default=1e-3
        Lesser probabilities are taken for this one, so that no member can rule a class out.
    alpha : float, default=1.0
        How strongly weights are held to equal shares of one, and those of classes to zero: as
        strongly as ``alpha`` times the sum of squares, beside the log-likelihood of all rows.
    class_alpha : float or None, default=10.0
        How strongly a member's weights in the classes are held to their mean, likewise. None gives
        each member one weight in all classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_members, n_classes)
        The members' weights in each class; none is below zero if each member has one.
    intercept_ : ndarray of shape (n_classes,)
        The classes' weights.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    References
    ----------
    .. [1] Genest, Zidek (1986). Combining probability distributions: a critique and an annotated
       bibliography. Statistical Science 1.
    .. [2] McFadden (1974). Conditional logit analysis of qualitative choice behavior. Frontiers in
       Econometrics.

    Examples
    --------
    The first member is right, and the second sure:

    >>> X = [[0.6, 0.4, 0.0, 1.0], [0.4, 0.6, 0.0, 1.0]] * 20
    >>> model = LogarithmicPool().fit(X, ["a", "b"] * 20)
    >>> model.predict(X[:2])
    array(['a', 'b'], dtype='<U1')
    >>> model.coef_.round(1)
    array([[2.6, 2.6],
           [0. , 0.1]])
    """

    def __init__(
        self, *, floor: float = 1e-3, alpha: float = 1.0, class_alpha: float | None = 10.0
    ) -> None:
        self.floor = floor
        self.alpha = alpha
        self.class_alpha = class_alpha

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        self._check()
        logs = self._take_logs(X)
        n_rows, n_members, n_classes = logs.shape
        given = np.arange(n_rows), codes
        equal = 1 / n_members
        # A column for each class, or one for all of them.
        shape = (n_members, 1 if self.class_alpha is None else n_classes)
        class_alpha = 0.0 if self.class_alpha is None else self.class_alpha
        n_weights = shape[0] * shape[1]

        def lose(parameters: Floats) -> tuple[float, Floats]:
            """Give the negative log-likelihood with its penalty, and the gradient."""
            coef, classes = parameters[:n_weights].reshape(shape), parameters[n_weights:]
            scores = np.einsum("nmk,mk->nk", logs, np.broadcast_to(coef, (n_members, n_classes)))
            scores += classes
            means = coef.mean(axis=1, keepdims=True)
            apart, bent = means - equal, coef - means
            loss = weights @ (logsumexp(scores, axis=1) - scores[given])
            loss += self.alpha * ((apart**2).sum() + classes @ classes)
            loss += class_alpha * (bent**2).sum()
            excess = softmax(scores, axis=1)
            excess[given] -= 1
            excess *= weights[:, None]
            slopes = np.einsum("nmk,nk->mk", logs, excess)
            slopes = slopes.reshape(n_members, shape[1], -1).sum(axis=2)
            slopes += 2 * (self.alpha * apart / shape[1] + class_alpha * bent)
            return loss, np.r_[slopes.ravel(), excess.sum(axis=0) + 2 * self.alpha * classes]

        start = np.r_[np.full(n_weights, equal), np.zeros(n_classes)]
        least = 0 if self.class_alpha is None else None
        bounds = [(least, None)] * n_weights + [(None, None)] * n_classes
        found = minimize(lose, start, jac=True, method="L-BFGS-B", bounds=bounds)
        if found.status == _OUT_OF_STEPS:
            warnings.warn(
                f"the weights of members had not settled after {found.nit} steps, so that they may "
                "be off; a greater alpha makes them settle sooner",
                ConvergenceWarning,
                stacklevel=3,
            )
        coef = found.x[:n_weights].reshape(shape)
        self.coef_ = np.broadcast_to(coef, (n_members, n_classes)).copy()
        self.intercept_ = found.x[n_weights:]

    def _score(self, X: Floats) -> Floats:
        self._check()
        scores = np.einsum("nmk,mk->nk", self._take_logs(X), self.coef_) + self.intercept_
        return np.asarray(softmax(scores, axis=1))

    def _take_logs(self, X: Floats) -> Floats:
        return np.log(np.maximum(as_members(X, len(self.classes_)), self.floor))

    def _check(self) -> None:
        if not isinstance(self.floor, Real) or not 0 < float(self.floor) < 1:
            raise ValueError(f"floor must be a number between zero and one; got {self.floor!r}")
        check_positive("alpha", self.alpha)
        if self.class_alpha is not None:
            check_positive("class_alpha, if it is not None,", self.class_alpha)
