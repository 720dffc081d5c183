"""Baselines: out-of-fold predictions of the majority class and of a linear SVM on TF-IDF."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._base.sklearn_private import num_samples
from cordwood._base.temperature import HeldOutMargins, fit_temperature
from cordwood.metrics.evaluation import score_proba
from cordwood.metrics.scores import Score
from cordwood.oof.folds import Fold, make_folds
from cordwood.oof.proba import align_columns
from cordwood.oof.records import OOFPredictions

MAJORITY, TFIDF_SVM, SVM = "majority class", "TF-IDF + linear SVM", "linear SVM"

_N_FOLDS = 5


def score_baselines(X: Any, oof: OOFPredictions, seed: int = 0) -> dict[str, dict[str, Score]]:
    """Return the scores of simple classifiers in a cross-validation of the training samples.

    These are scikit-learn's `LinearSVC` on TF-IDF or on numeric features, if it applies, and the
    majority class.
    """
    if (n_given := num_samples(X)) != len(oof):
        raise ValueError(
            f"X has {n_given} samples, but the model was trained on {len(oof)}; pass the "
            "training samples in the same order."
        )
    found = {**_predict_linear(X, oof, seed), MAJORITY: predict_majority(oof)}
    return {name: score_proba(oof, proba) for name, proba in found.items()}


def predict_majority(oof: OOFPredictions) -> NDArray[np.float64]:
    """Return the class frequencies for each sample."""
    prior = np.bincount(oof.y, minlength=len(oof.classes)) / len(oof)
    return np.tile(prior, (len(oof), 1))


def _predict_linear(X: Any, oof: OOFPredictions, seed: int) -> dict[str, NDArray[np.float64]]:
    """Return cross-validated probabilities of scikit-learn's `LinearSVC`, by the name of it.

    Texts become TF-IDF by the defaults of `TfidfVectorizer`, fitted on the training part of each
    fold; numeric features are standardized unless they are sparse. The decision values of a fold
    become probabilities by a temperature that is fitted on the other folds. Empty if the samples
    are neither texts nor a matrix, or if there are too few to cross-validate.
    """
    is_text = isinstance(X, Sequence | np.ndarray) and len(X) > 0 and isinstance(X[0], str)
    if not is_text and not (sp.issparse(X) or getattr(X, "ndim", 0) == 2):
        return {}
    try:
        features = CountVectorizer().fit_transform(X) if is_text else X
        folds = make_folds(_N_FOLDS, oof.y, oof.groups, seed)
    except ValueError:  # no word in any text, or no class of two samples
        return {}
    if is_mostly_empty(features):
        # The memory of liblinear is proportional to the number of features, and not bounded.
        features = EmptyFeatureRemover().fit_transform(features)
    held_out = [_fit_fold(features, oof.y, fold, seed, is_text=is_text) for fold in folds]
    proba = np.zeros(oof.proba.shape)
    for number, ((_, test), (margins, known)) in enumerate(zip(folds, held_out, strict=True)):
        others = [i for i in range(len(folds)) if i != number]
        temperature = fit_temperature(
            [_select_known(oof.y[folds[i][1]], *held_out[i]) for i in others]
        )
        proba[test] = align_columns(
            softmax(margins / temperature, axis=1), known, np.arange(len(oof.classes))
        )
    return {TFIDF_SVM if is_text else SVM: proba}


def _fit_fold(
    features: Any, y: NDArray[np.intp], fold: Fold, seed: int, *, is_text: bool
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return decision values of the test part, one column for each class of the training part."""
    train, test = fold
    known = np.unique(y[train])
    if len(known) == 1:
        return np.zeros((len(test), 1)), known
    X_train, X_test = _preprocess(features[train], features[test], is_text=is_text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        margins = LinearSVC(random_state=seed).fit(X_train, y[train]).decision_function(X_test)
    return np.column_stack([-margins, margins]) if margins.ndim == 1 else margins, known


def _preprocess(X_train: Any, X_test: Any, *, is_text: bool) -> Iterator[Any]:
    if is_text:
        # Terms that only the test part contains are not in the vocabulary of the training part.
        is_known = np.asarray(X_train.sum(axis=0)).ravel() > 0
        if is_known.any():
            X_train, X_test = X_train[:, is_known], X_test[:, is_known]
        transformer: Any = TfidfTransformer()
    elif sp.issparse(X_train):
        return iter((X_train, X_test))
    else:
        transformer = StandardScaler()
    transformer.fit(X_train)
    return iter((transformer.transform(X_train), transformer.transform(X_test)))


def _select_known(
    y: NDArray[np.intp], margins: NDArray[np.float64], known: NDArray[np.intp]
) -> HeldOutMargins:
    """Return the held-out samples whose class the training part contains."""
    kept = np.isin(y, known)
    columns = np.searchsorted(known, y[kept])
    return HeldOutMargins(margins[kept], columns, np.ones(int(kept.sum())))
