"""Logarithmic pool: a weighted product of what the members say."""

import warnings
from numbers import Real

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from cordwood.checks import check_positive
from cordwood.combine._base import BaseCombiner, Codes, Floats, as_members

# What L-BFGS-B reports if it stopped early. (It also reports line searches that end in rounding
# errors, which at the bottom of a convex function is no failure.)
_OUT_OF_STEPS = 1


class LogarithmicPool(BaseCombiner):
    """Weigh the logarithms of the members' probabilities, and each class.

    The probability of class c is in proportion to ``exp(b_c) * prod_m p_mc ** w_m``. The members'
    weights w and the classes' b are those under which the labels are most likely, which is the
    conditional logit model. So members that are surer than they should be count less and those
    that hesitate count more, and what a member says of its certainty need not be believed.

    Parameters
    ----------
    floor : float, default=1e-3
        Lesser probabilities are taken for this one, so that no member can rule a class out.
    alpha : float, default=1.0
        How strongly weights are held to equal shares of one, and those of classes to zero: as
        strongly as ``alpha`` times the sum of squares, beside the log-likelihood of all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_members,)
        The members' weights, none below zero.
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
    array([2.6, 0. ])
    """

    def __init__(self, *, floor: float = 1e-3, alpha: float = 1.0) -> None:
        self.floor = floor
        self.alpha = alpha

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        self._check()
        logs = self._take_logs(X)
        n_rows, n_members, n_classes = logs.shape
        given = np.arange(n_rows), codes
        equal = np.full(n_members, 1 / n_members)

        def lose(parameters: Floats) -> tuple[float, Floats]:
            """Give the negative log-likelihood with its penalty, and the gradient."""
            members, classes = parameters[:n_members], parameters[n_members:]
            scores = np.einsum("nmk,m->nk", logs, members) + classes
            apart = members - equal
            loss = weights @ (logsumexp(scores, axis=1) - scores[given])
            loss += self.alpha * (apart @ apart + classes @ classes)
            excess = softmax(scores, axis=1)
            excess[given] -= 1
            excess *= weights[:, None]
            slopes = np.einsum("nmk,nk->m", logs, excess) + 2 * self.alpha * apart
            return loss, np.r_[slopes, excess.sum(axis=0) + 2 * self.alpha * classes]

        start = np.r_[equal, np.zeros(n_classes)]
        bounds = [(0, None)] * n_members + [(None, None)] * n_classes
        found = minimize(lose, start, jac=True, method="L-BFGS-B", bounds=bounds)
        if found.status == _OUT_OF_STEPS:
            warnings.warn(
                f"the weights of members had not settled after {found.nit} steps, so that they may "
                "be off; a greater alpha makes them settle sooner",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.coef_, self.intercept_ = found.x[:n_members], found.x[n_members:]

    def _score(self, X: Floats) -> Floats:
        self._check()
        scores = np.einsum("nmk,m->nk", self._take_logs(X), self.coef_) + self.intercept_
        return np.asarray(softmax(scores, axis=1))

    def _take_logs(self, X: Floats) -> Floats:
        return np.log(np.maximum(as_members(X, len(self.classes_)), self.floor))

    def _check(self) -> None:
        if not isinstance(self.floor, Real) or not 0 < float(self.floor) < 1:
            raise ValueError(f"floor must be a number between zero and one; got {self.floor!r}")
        check_positive("alpha", self.alpha)
