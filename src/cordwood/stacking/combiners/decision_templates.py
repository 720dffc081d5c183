"""Decision templates: which class's usual answers are these answers most alike?"""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.utils import gen_batches

from cordwood._param_validation import check_choice
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, check_probabilities

_N_ROWS = 256  # that many at once stay in the processor's cache


def _ratio(parts: Floats, wholes: Floats) -> Floats:
    """Divide; a part of nothing is whole, as an empty set is in every set."""
    wholes = np.broadcast_to(wholes, parts.shape)
    return np.divide(parts, wholes, out=np.ones_like(parts), where=wholes > 0)


# A is a template, of shape (n_columns,); B are rows, of shape (n_rows, n_columns).
MEASURES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "S1": lambda A, B: _ratio(np.minimum(A, B).sum(axis=1), np.maximum(A, B).sum(axis=1)),
    "S2": lambda A, B: 1 - np.abs(A - B).mean(axis=1),
    "S3": lambda A, B: 1 - np.maximum(np.minimum(A, 1 - B), np.minimum(1 - A, B)).mean(axis=1),
    "S4": lambda A, B: 1 - np.abs(A - B).max(axis=1),
    "I1": lambda A, B: _ratio(np.minimum(A, B).sum(axis=1), A.sum()),
    "I2": lambda A, B: 1 - np.maximum(A - B, 0).mean(axis=1),
    "I3": lambda A, B: np.maximum(1 - A, B).mean(axis=1),
    "I4": lambda A, B: 1 - np.maximum(A - B, 0).max(axis=1),
    "I5": lambda A, B: np.maximum(1 - A, B).min(axis=1),
    "C": lambda A, B: np.minimum(A, B).max(axis=1),
    "N": lambda A, B: 1 - np.square(A - B).mean(axis=1),
}
"""Similarity of a template to rows, by its name in [1]_."""


class DecisionTemplates(BaseCombiner):
    r"""Compare a row with the mean row of each class.

    The template of a class is the mean of its rows. A row is given to the class whose template it
    is most similar to; template and row are taken for fuzzy sets of columns, with probabilities
    for memberships, so that values must be between zero and one. The number of columns is free.

    Parameters
    ----------
    similarity : str, default="S1"
        How to compare. With the template :math:`A`, the row :math:`B`, and means, largest and
        smallest values taken over columns:

        ====== ======================================================= ========================
        name   formula                                                 what it is
        ====== ======================================================= ========================
        "S1"   sum of min(A, B) / sum of max(A, B)                     intersection over union
        "S2"   1 - mean of abs(A - B)                                  Hamming distance
        "S3"   1 - mean of max(min(A, 1 - B), min(1 - A, B))           symmetric difference
        "S4"   1 - largest abs(A - B)                                  the worst column
        "I1"   sum of min(A, B) / sum of A                             how far A is in B
        "I2"   1 - mean of max(0, A - B)                               the same, by difference
        "I3"   mean of max(1 - A, B)                                   A implies B
        "I4"   1 - largest max(0, A - B)                               I2, the worst column
        "I5"   smallest max(1 - A, B)                                  I3, the worst column
        "C"    largest min(A, B)                                       consistency
        "N"    1 - mean of (A - B)**2                                  Euclidean distance
        ====== ======================================================= ========================

        All are between zero and one; more is more alike. The inclusions (I) ask how far the
        template is in the row, not how far the row is in the template. Of a template and itself,
        S1, S2, S4, I1, I2, I4 and N make one, and the others need not: by S3, a set that is half in
        doubt is also half unlike itself. S1, S2, I1 and I2 choose the same class wherever all rows
        have the same sum [2]_, as rows of probabilities have.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Share of each class in the training rows.
    templates_ : ndarray of shape (n_classes, n_features_in_)
        The mean row of each class.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where `X` had any.

    Notes
    -----
    Probabilities are shares: the similarity to one class, divided by the sum over all classes.
    They put classes in order, but are much too even to be believed as frequencies. A row that is
    like no template at all is given the shares of the classes in the training rows.

    References
    ----------
    .. [1] Kuncheva, Bezdek, Duin (2001). Decision templates for multiple classifier fusion: an
       experimental comparison. Pattern Recognition 34.
    .. [2] Kuncheva (2001). Using measures of similarity and inclusion for multiple classifier
       fusion by decision templates. Fuzzy Sets and Systems 122.

    Examples
    --------
    The second member takes every "b" for an "a", and so its "b" is worth nothing:

    >>> X = [[0.9, 0.1, 0.6, 0.4], [0.7, 0.3, 0.6, 0.4], [0.2, 0.8, 0.9, 0.1]]
    >>> model = DecisionTemplates().fit(X, ["a", "a", "b"])
    >>> model.templates_
    array([[0.8, 0.2, 0.6, 0.4],
           [0.2, 0.8, 0.9, 0.1]])
    >>> model.predict([[0.4, 0.6, 1.0, 0.0]])
    array(['b'], dtype='<U1')
    """

    def __init__(self, similarity: str = "S1") -> None:
        self.similarity = similarity

    def _learn(self, X: Floats, codes: Codes, weights: Floats) -> None:
        check_choice("similarity", self.similarity, MEASURES)
        check_probabilities(X)
        self.templates_ = np.zeros((len(self.classes_), X.shape[1]))
        for code in np.unique(codes):
            rows = codes == code
            self.templates_[code] = np.average(X[rows], axis=0, weights=weights[rows])

    def _score(self, X: Floats) -> Floats:
        check_probabilities(X)
        measure = MEASURES[self.similarity]
        scores = np.empty((len(X), len(self.classes_)))
        for rows in gen_batches(len(X), _N_ROWS):
            for code, template in enumerate(self.templates_):
                scores[rows, code] = measure(template, X[rows])
        return np.maximum(scores, 0.0)  # a rounding error below zero is no similarity
