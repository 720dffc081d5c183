"""Out-of-scope samples: detection of texts that are unlike those that a model was trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.pipeline import FeatureUnion, Pipeline

from cordwood._base.sklearn_private import num_samples, take_rows
from cordwood.confidence.scope_reference import ScopeReference
from cordwood.exceptions import DataError
from cordwood.neighbors.base import BaseNeighborsClassifier
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import count_terms
from cordwood.text.vectorizer import TextVectorizer

__all__ = ["ScopeReference", "fit_scope", "out_of_scope_score", "scope_p_values"]

# Weights of the signals, see docs/confidence.md.
WEIGHTS = {"entropy": 1.0, "distance": 0.5, "unknown_terms": 0.3}

# More samples make p-values below 0.0005 possible, and model files larger.
_MAX_SAMPLES = 2000


def fit_scope(
    model: Any, X: Any, oof_proba: NDArray[np.float64], *, random_state: int = 0
) -> ScopeReference:
    r"""Measure how unusual training samples are, as a reference for new samples.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train`, or any classifier with `predict_proba`.
    X : sequence of str, array or sparse matrix of length n_samples
        Training samples.
    oof_proba : array of shape (n_samples, n_classes)
        Out-of-fold probabilities of the training samples, such as `OOFPredictions.proba`.
    random_state : int, default=0
        Chooses the samples that are measured, if there are more than 2,000.

    Returns
    -------
    ScopeReference
        To be stored as attribute `scope_` of the model.

    See Also
    --------
    out_of_scope_score : Score of new samples.
    scope_p_values : Share of training samples that are at least as unusual.

    Notes
    -----
    There are up to three signals, depending on the model:

    - entropy: the entropy of the class probabilities, here of the out-of-fold ones;
    - distance: the distance to the nearest training sample, if the model or a member of the stack
      stores the training samples; here to another training sample;
    - unknown_terms: the share of distinct terms of a text that are not in the vocabulary of the
      vectorizer; here as if the text had not contributed to the vocabulary.

    With the share :math:`p_s(x)` of training samples whose signal s is at least that of x, the
    score is :math:`-\sum_s w_s \ln p_s(x)`, a weighted form of Fisher's method to combine p-values.
    No out-of-scope samples are needed.

    Examples
    --------
    `cordwood.train` calls it for stacks and calibrated recipes:

    >>> from cordwood import train
    >>> texts = ["salt soup", "bread soup", "salt bread", "team goal", "match goal", "team match"]
    >>> labels = ["food"] * 3 + ["sport"] * 3
    >>> model = train(texts * 5, labels * 5, recipe="knn")
    >>> model.scope_.signals
    ('entropy', 'distance', 'unknown_terms')
    >>> out_of_scope_score(model, ["salt and soup", "a comet near the moon"]).round(1)
    array([1. , 6.2])
    """
    n_samples = num_samples(X)
    chosen = np.arange(n_samples)
    if n_samples > _MAX_SAMPLES:
        chosen = np.random.RandomState(random_state).permutation(n_samples)[:_MAX_SAMPLES]
        chosen.sort()
    samples = take_rows(X, chosen)
    measured = {"entropy": _entropy(np.asarray(oof_proba)[chosen])}
    neighbors = _find_neighbors(model)
    if neighbors is not None:
        # The nearest sample is the sample itself.
        measured["distance"] = _nearest_distance(*neighbors, samples, rank=2)
    vectorizer = _find_vectorizer(model)
    if vectorizer is not None:
        is_known = _known_without_one(vectorizer, neighbors, X)
        measured["unknown_terms"] = _unknown_share(vectorizer, samples, is_known)
    values = np.sort(np.array(list(measured.values()), np.float32), axis=1)
    scores = np.sort(_combine(values, measured))
    return ScopeReference(signals=tuple(measured), values=values, scores=scores.astype(np.float32))


def out_of_scope_score(
    model: Any, X: Any, proba: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Score how unlike the training samples new samples are.

    Parameters
    ----------
    model : fitted classifier with the attribute `scope_`
        Model returned by `cordwood.train`, or loaded from a model file.
    X : sequence of str, array or sparse matrix of length n_samples
        Samples.
    proba : array of shape (n_samples, n_classes), optional
        Their class probabilities, if they are known already.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores of at least 0; higher for more unusual samples. See `fit_scope`.

    See Also
    --------
    scope_p_values : Share of training samples with at least the same score.
    """
    reference = get_scope(model)
    if proba is None:
        proba = model.predict_proba(X)
    measured = {"entropy": _entropy(np.asarray(proba))}
    if not len(proba):
        return np.empty(0)
    neighbors, vectorizer = _find_neighbors(model), _find_vectorizer(model)
    if neighbors is not None and "distance" in reference.signals:
        measured["distance"] = _nearest_distance(*neighbors, X, rank=1)
    if vectorizer is not None and "unknown_terms" in reference.signals:
        measured["unknown_terms"] = _unknown_share(vectorizer, X)
    if set(measured) != set(reference.signals):
        raise DataError(
            "scope_ was made for another model: it has the signals "
            f"{', '.join(reference.signals)}, but the model has {', '.join(measured)}; train again"
        )
    return _combine(reference.values, {name: measured[name] for name in reference.signals})


def scope_p_values(
    model: Any, X: Any, proba: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the share of training samples that are at least as unusual as each sample.

    Treating samples with a p-value of at most 0.02 as unknown loses about 2 % of the samples that
    are like the training samples.

    Parameters
    ----------
    model : fitted classifier with the attribute `scope_`
        Model returned by `cordwood.train`, or loaded from a model file.
    X : sequence of str, array or sparse matrix of length n_samples
        Samples.
    proba : array of shape (n_samples, n_classes), optional
        Their class probabilities, if they are known already.

    Returns
    -------
    ndarray of shape (n_samples,)
        P-values, greater than 0 and at most 1.

    See Also
    --------
    out_of_scope_score : The score that is compared.
    """
    scores = out_of_scope_score(model, X, proba)
    return _upper_tail(get_scope(model).scores, scores)


def get_scope(model: Any) -> ScopeReference:
    """Return the reference of a model; raise if it has none."""
    reference = getattr(model, "scope_", None)
    if reference is None:
        raise DataError(
            "the model has no reference for out-of-scope samples; train it with oof=True, on the "
            "command line without --no-scores"
        )
    return reference  # type: ignore[no-any-return]


def _combine(
    reference: NDArray[np.float32], measured: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the weighted sum of the negative logarithms of the p-values.

    `reference` has one row of sorted values for each signal in `measured`.
    """
    terms = [
        -WEIGHTS[signal] * np.log(_upper_tail(row, values))
        for row, (signal, values) in zip(reference, measured.items(), strict=True)
    ]
    return np.asarray(np.sum(terms, axis=0))


def _upper_tail(reference: NDArray[np.float32], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of sorted reference values that are at least each value, plus one each."""
    n_below = np.searchsorted(reference, values.astype(np.float32), side="left")
    return np.asarray((1 + len(reference) - n_below) / (1 + len(reference)))


def _entropy(proba: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(entr(proba).sum(axis=1))


def _nearest_distance(
    steps: Sequence[Any], classifier: BaseNeighborsClassifier, X: Any, *, rank: int
) -> NDArray[np.float64]:
    """Return the distance to the nearest training sample, or to that of the given rank."""
    for step in steps:
        X = step.transform(X)
    distances, _ = classifier.kneighbors(X, rank)
    # A text that shares no term with any training sample has no neighbors. Model files contain
    # finite numbers only.
    return np.asarray(np.nan_to_num(distances[:, -1], posinf=float(np.finfo(np.float32).max)))


def _unknown_share(
    vectorizer: TextVectorizer, texts: Any, is_known: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return the share of distinct terms of each text that are not in the vocabulary.

    With `is_known`, a mask of the vocabulary, other terms count as if they were not in it.
    """
    analyzer = build_analyzer(vectorizer.resolved_params_)
    n_terms = np.diff(count_terms(list(texts), analyzer).counts.indptr)
    known = vectorizer.transform(texts)
    if is_known is None:
        n_known = np.diff(known.indptr)
    else:
        n_known = np.add.reduceat(np.append(is_known[known.indices], 0), known.indptr[:-1])
        n_known[np.diff(known.indptr) == 0] = 0
    return np.asarray(1.0 - n_known / np.maximum(n_terms, 1)) * (n_terms > 0)


def _known_without_one(
    vectorizer: TextVectorizer,
    neighbors: tuple[Sequence[Any], BaseNeighborsClassifier] | None,
    X: Any,
) -> NDArray[np.bool_]:
    """Return which terms would be in the vocabulary without one of the texts that contain them."""
    if neighbors is not None and list(neighbors[0]) == [vectorizer]:
        samples = neighbors[1]._training_samples()  # saves another transformation of all texts
    else:
        samples = vectorizer.transform(X)
    frequency = np.bincount(samples.indices, minlength=samples.shape[1])
    min_df = vectorizer.resolved_params_.min_df
    least = min_df * samples.shape[0] if isinstance(min_df, float) else max(min_df, 1)
    return np.asarray(frequency - 1 >= least)


def _list_pipelines(model: Any) -> list[list[Any]]:
    """Return the steps of the model, or those of each member of a stack."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    last = steps[-1]
    if not isinstance(last, OOBStackingClassifier):
        return [steps]
    return [steps[:-1] + rest for member in last.estimators_ for rest in _list_pipelines(member)]


def _find_neighbors(model: Any) -> tuple[Sequence[Any], BaseNeighborsClassifier] | None:
    """Return a classifier that stores the training samples, and the steps before it."""
    for *steps, last in _list_pipelines(model):
        if isinstance(last, BaseNeighborsClassifier):
            return steps, last
    return None


def _find_vectorizer(model: Any) -> TextVectorizer | None:
    """Return a vectorizer of words, preferably that of the nearest neighbors."""
    neighbors = _find_neighbors(model)
    first_steps = [steps[0] for steps in _list_pipelines(model)]
    if neighbors is not None and neighbors[0]:
        first_steps.insert(0, neighbors[0][0])
    for step in first_steps:
        is_union = isinstance(step, FeatureUnion)
        parts = [each for _, each in step.transformer_list] if is_union else [step]
        for part in parts:
            if isinstance(part, TextVectorizer) and part.resolved_params_.analyzer == "word":
                return part
    return None
