"""SCANN: stacking, correspondence analysis and nearest neighbor."""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from cordwood._base.param_validation import real
from cordwood.stacking.combiners._combiner import (
    BaseCombiner,
    Codes,
    Floats,
    hard_votes,
    split_by_estimator,
)

_BATCH_SIZE = 4096


class SCANN(BaseCombiner):
    r"""Nearest class in the space of a correspondence analysis of votes.

    Each training sample is a row of an indicator table: one column for each pair of base estimator
    and predicted class, and one for each true class. Correspondence analysis embeds the columns so
    that columns that occur together are close to each other. A new sample is embedded once for each
    candidate class, and the class whose own point is nearest to the embedding is predicted.

    Only the predicted classes of the base estimators are used, not their probabilities. The vote of
    a base estimator with several most probable classes is split equally.

    Parameters
    ----------
    tol : float, default=1e-6
        Dimensions with singular values up to `tol`, in (0, 1), are dropped. Training samples do not
        differ in these dimensions, so the embedding of new samples would be random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies of the training set.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the dimensions that are kept, in descending order.
    decisions_ : ndarray of shape (n_features_in_, n_components)
        Contribution of each vote to the embedding of a sample; zero for votes that do not occur in
        the training set.
    prototypes_ : ndarray of shape (n_classes, n_components)
        Points of the classes, minus the contribution of the candidate class to the embedding.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    DecisionTemplates : Most similar mean of the probabilities of a class.

    Notes
    -----
    With the indicator table :math:`Z` of votes and classes, the masses :math:`c` of its :math:`J`
    columns, and sample weights :math:`w` that sum to one, the dimensions are the eigenvectors of
    the :math:`J \times J` matrix

    .. math:: D_c^{-1/2} (Z^T D_w Z / (L + 1)^2 - c c^T) D_c^{-1/2} = V S^2 V^T

    for :math:`L` base estimators. It is accumulated in batches: the time is linear in the number of
    samples, and the memory does not depend on it. The point of a class is
    :math:`g = D_c^{-1/2} V S`. A sample with the profile :math:`p`, which is :math:`1 / (L + 1)`
    for each vote and for the candidate class, has the embedding :math:`f = p D_c^{-1/2} V`. The
    contribution of the candidate class is constant, so it is subtracted from the class's point
    once.

    The probability of a class at distance :math:`d` is proportional to :math:`1 / (1 + d)`. It
    ranks the classes but is not calibrated.

    References
    ----------
    .. [1] Merz (1999). Using correspondence analysis to combine classifiers. Machine Learning 36.

    Examples
    --------
    Two of three base estimators always swap "b" and "c", which the analysis corrects:

    >>> correct, swapped = np.eye(3)[[0, 1, 2]], np.eye(3)[[0, 2, 1]]
    >>> X = np.hstack([swapped, swapped, correct])
    >>> model = SCANN().fit(X, ["a", "b", "c"])
    >>> model.predict(X)
    array(['a', 'b', 'c'], dtype='<U1')
    """

    _parameter_constraints = {"tol": real("()", 0, 1)}

    def __init__(self, *, tol: float = 1e-6) -> None:
        self.tol = tol

    def _fit(self, X: Floats, codes: Codes, weights: Floats) -> None:
        n_classes = len(self.classes_)
        probas = split_by_estimator(X, n_classes)
        n_votes = probas.shape[1] + 1
        joint = _joint_frequencies(probas, codes, weights) / n_votes**2
        masses = joint.sum(axis=0)
        scale = np.divide(1.0, np.sqrt(masses), out=np.zeros_like(masses), where=masses > 0)
        eigenvalues, vectors = np.linalg.eigh(
            scale[:, None] * (joint - np.outer(masses, masses)) * scale
        )
        kept = np.flatnonzero(eigenvalues > self.tol**2)[::-1]
        self.singular_values_: Floats = np.sqrt(eigenvalues[kept])
        axes = scale[:, None] * vectors[:, kept]
        class_axes = axes[-n_classes:]
        self.decisions_: Floats = axes[:-n_classes] / n_votes
        self.prototypes_: Floats = class_axes * self.singular_values_ - class_axes / n_votes

    def _class_scores(self, X: Floats) -> Floats:
        probas = split_by_estimator(X, len(self.classes_))
        scores = np.empty((len(X), len(self.classes_)))
        for batch in gen_batches(len(X), _BATCH_SIZE):
            embedding = _vote_table(probas[batch]) @ self.decisions_
            scores[batch] = 1 / (1 + cdist(embedding, self.prototypes_))
        return scores


def _vote_table(probas: Floats) -> sp.csr_array:
    """Return votes with one column for each pair of base estimator and class."""
    return sp.csr_array(hard_votes(probas).reshape(len(probas), -1))


def _joint_frequencies(probas: Floats, codes: Codes, weights: Floats) -> Floats:
    """Return how often two votes, or a vote and a true class, occur in the same sample."""
    n_classes = probas.shape[2]
    n_columns = (probas.shape[1] + 1) * n_classes
    joint = np.zeros((n_columns, n_columns))
    for batch in gen_batches(len(probas), _BATCH_SIZE):
        labels = sp.csr_array(np.eye(n_classes)[codes[batch]])
        table = sp.hstack([_vote_table(probas[batch]), labels], format="csr")
        joint += (table.T @ table.multiply(weights[batch, None])).toarray()
    return np.asarray(joint / weights.sum())
