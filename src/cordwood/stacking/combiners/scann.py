"""SCANN: members' decisions and true classes as points in one space of correspondence analysis."""

from numbers import Real

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, as_members, decide

_N_ROWS = 4096


class SCANN(BaseCombiner):
    """Stacking by correspondence analysis and the nearest class.

    Rows of the training data are written as what each member decided for, and what is true: one
    column for each decision of each member, and one for each class. Correspondence analysis puts
    columns that occur together at points near to each other. A new row is put where it would be
    if it were of a class, for every class in turn, and is given to the class whose point is then
    the nearest.

    Only decisions count, not how probable members hold them. A member that holds several classes
    for equally and most probable has split its decision between them.

    Parameters
    ----------
    tol : float, default=1e-6
        Dimensions whose singular value, between zero and one, is not above `tol` are dropped. In
        them no training row differs from another, and new rows would be put at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows.
    singular_values_ : ndarray of shape (n_dimensions,)
        Of the dimensions kept, falling.
    decisions_ : ndarray of shape (n_features_in_, n_dimensions)
        How far each decision of each member moves a row. Zero for a decision that no training
        row has seen: it says nothing of any class.
    prototypes_ : ndarray of shape (n_classes, n_dimensions)
        Where members' decisions would have to move a row for it to fall onto its class.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    Notes
    -----
    With the table :math:`Z` of decisions and classes, its :math:`J` columns' masses :math:`c`, and
    weights :math:`w` of rows that sum to one, the dimensions are the eigenvectors of the square
    matrix of :math:`J` columns

    .. math:: D_c^{-1/2} (Z^T D_w Z / (L + 1)^2 - c c^T) D_c^{-1/2} = V S^2 V^T

    for :math:`L` members. It is summed up over rows, so that time is linear in them and memory
    does not depend on them. A class has the point :math:`g = D_c^{-1/2} V S`, and a row with the
    profile :math:`p`, which has :math:`1 / (L + 1)` for each decision and for the class supposed,
    :math:`f = p D_c^{-1/2} V`. As the part of the class supposed is a constant, it is taken from
    the class's point beforehand.

    The probability of a class at the distance :math:`d` is its share of :math:`1 / (1 + d)`: an
    order, not a frequency.

    References
    ----------
    .. [1] Merz (1999). Using correspondence analysis to combine classifiers. Machine Learning 36.

    Examples
    --------
    Two of three members always take "b" for "c" and "c" for "b", which can be undone:

    >>> right, confused = np.eye(3)[[0, 1, 2]], np.eye(3)[[0, 2, 1]]
    >>> X = np.hstack([confused, confused, right])
    >>> model = SCANN().fit(X, ["a", "b", "c"])
    >>> model.predict(X)
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(self, *, tol: float = 1e-6) -> None:
        self.tol = tol

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        if not isinstance(self.tol, Real) or not 0 < float(self.tol) < 1:
            raise ValueError(f"tol must be a number between zero and one; got {self.tol!r}")
        n_classes = len(self.classes_)
        members = as_members(X, n_classes)
        n_votes = members.shape[1] + 1
        joint = _count_together(members, codes, weights) / n_votes**2
        masses = joint.sum(axis=0)
        scale = np.divide(1.0, np.sqrt(masses), out=np.zeros_like(masses), where=masses > 0)
        squares, vectors = np.linalg.eigh(
            scale[:, None] * (joint - np.outer(masses, masses)) * scale
        )
        kept = np.flatnonzero(squares > self.tol**2)[::-1]
        self.singular_values_: Floats = np.sqrt(squares[kept])
        axes = scale[:, None] * vectors[:, kept]
        of_class = axes[-n_classes:]
        self.decisions_: Floats = axes[:-n_classes] / n_votes
        self.prototypes_: Floats = of_class * self.singular_values_ - of_class / n_votes

    def _score(self, X: Floats) -> Floats:
        members = as_members(X, len(self.classes_))
        scores = np.empty((len(X), len(self.classes_)))
        for rows in gen_batches(len(X), _N_ROWS):
            places = _table(members[rows]) @ self.decisions_
            scores[rows] = 1 / (1 + cdist(places, self.prototypes_))
        return scores


def _table(members: Floats) -> sp.csr_array:
    """Write down decisions, one column for each decision of each member."""
    return sp.csr_array(decide(members).reshape(len(members), -1))


def _count_together(members: Floats, codes: Codes, weights: Floats) -> Floats:
    """Count how often two decisions, or a decision and a class, fall on the same row.

    Returns
    -------
    ndarray of shape (n_members * n_classes + n_classes,) * 2
        Shares of the rows' weight.
    """
    n_classes = members.shape[2]
    n_columns = (members.shape[1] + 1) * n_classes
    joint = np.zeros((n_columns, n_columns))
    for rows in gen_batches(len(members), _N_ROWS):
        truth = sp.csr_array(np.eye(n_classes)[codes[rows]])
        table = sp.hstack([_table(members[rows]), truth], format="csr")
        joint += (table.T @ table.multiply(weights[rows, None])).toarray()
    return np.asarray(joint / weights.sum())
