"""Decision templates."""

from collections.abc import Callable, Mapping

import numpy as np
from sklearn.utils import gen_batches

from cordwood._base.param_validation import options
from cordwood.stacking.combiners._combiner import BaseCombiner, Codes, Floats, check_probabilities

_BATCH_SIZE = 256  # samples whose features fit in the processor cache


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; 0 / 0 is 1, because the empty set is contained in every set."""
    denominator = np.broadcast_to(denominator, numerator.shape)
    return np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0)


# A is a template of shape (n_features,), B are samples of shape (n_samples, n_features).
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
"""Similarity of a template to samples, by its name in [1]_."""


class DecisionTemplates(BaseCombiner):
    r"""Predict the class whose mean feature vector is most similar to the sample.

    The template of a class is the mean of the features of its training samples. Template and sample
    are compared as fuzzy sets, with probabilities as degrees of membership. Features must be in
    [0, 1]; their number need not be a multiple of the number of classes.

    Parameters
    ----------
    similarity : {"S1", "S2", "S3", "S4", "I1", "I2", "I3", "I4", "I5", "C", "N"}, default="S1"
        Similarity measure. With the template :math:`A` and the sample :math:`B`, and sums, means,
        maxima and minima over features:

        ====== ======================================================= ========================
        name   formula                                                 description
        ====== ======================================================= ========================
        "S1"   sum(min(A, B)) / sum(max(A, B))                         Jaccard index
        "S2"   1 - mean(abs(A - B))                                    Hamming distance
        "S3"   1 - mean(max(min(A, 1 - B), min(1 - A, B)))             symmetric difference
        "S4"   1 - max(abs(A - B))                                     Chebyshev distance
        "I1"   sum(min(A, B)) / sum(A)                                 inclusion of A in B
        "I2"   1 - mean(max(0, A - B))                                 inclusion, by difference
        "I3"   mean(max(1 - A, B))                                     A implies B
        "I4"   1 - max(max(0, A - B))                                  I2 of the worst feature
        "I5"   min(max(1 - A, B))                                      I3 of the worst feature
        "C"    max(min(A, B))                                          consistency
        "N"    1 - mean((A - B)**2)                                    Euclidean distance
        ====== ======================================================= ========================

        All measures are in [0, 1] and higher for more similar sets. S1, S2, S4, I1, I2, I4 and N of
        a set and itself are 1; the others may be lower. S1, S2, I1 and I2 predict the same class if
        the features of all samples have the same sum [2]_, as probabilities have.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set.
    templates_ : ndarray of shape (n_classes, n_features_in_)
        Mean features of each class.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    SCANN : Nearest class in the space of a correspondence analysis.

    Notes
    -----
    `predict_proba` divides the similarity to each class by the sum over all classes. The values
    rank the classes but are not calibrated: they are too close to uniform. A sample whose
    similarity to all templates is 0 gets the class prior.

    References
    ----------
    .. [1] Kuncheva, Bezdek, Duin (2001). Decision templates for multiple classifier fusion: an
       experimental comparison. Pattern Recognition 34.
    .. [2] Kuncheva (2001). Using measures of similarity and inclusion for multiple classifier
       fusion by decision templates. Fuzzy Sets and Systems 122.

    Examples
    --------
    The second base estimator predicts "a" for both classes, most confidently for "b":

    >>> X = [[0.9, 0.1, 0.6, 0.4], [0.7, 0.3, 0.6, 0.4], [0.2, 0.8, 0.9, 0.1]]
    >>> model = DecisionTemplates().fit(X, ["a", "a", "b"])
    >>> model.templates_
    array([[0.8, 0.2, 0.6, 0.4],
           [0.2, 0.8, 0.9, 0.1]])
    >>> model.predict([[0.4, 0.6, 1.0, 0.0]])
    array(['b'], dtype='<U1')
    """

    _parameter_constraints = {"similarity": options(*MEASURES)}

    def __init__(self, similarity: str = "S1") -> None:
        self.similarity = similarity

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        check_probabilities(X)
        self.templates_ = np.zeros((len(self.classes_), X.shape[1]))
        for code in np.unique(codes):
            in_class = codes == code
            self.templates_[code] = np.average(X[in_class], axis=0, weights=weights[in_class])

    def _class_scores(self, X: Floats) -> Floats:
        check_probabilities(X)
        measure = MEASURES[self.similarity]
        scores = np.empty((len(X), len(self.classes_)))
        for batch in gen_batches(len(X), _BATCH_SIZE):
            for code, template in enumerate(self.templates_):
                scores[batch, code] = measure(template, X[batch])
        return np.maximum(scores, 0.0)  # Rounding errors may be negative.
