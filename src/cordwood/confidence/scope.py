"""Samples unlike the training samples: a reference distribution, and p-values of new samples.

Up to four signals, depending on the model, show how unusual a sample is:

- entropy: of the class probabilities; of training samples, the out-of-fold ones;
- distance: to the nearest training sample, if a member stores the training samples; of a training
  sample, to another one;
- unknown_terms: the share of distinct terms of a text that are not in the vocabulary; of a training
  text, as if it had not contributed to the vocabulary;
- encoder_distance: one minus the mean cosine similarity to the nearest of a sample of the training
  texts, by the vectors of a sentence encoder; of a training text, to other ones.

With the share p_s of training samples whose signal s is at least that of a sample, its score is
-sum_s w_s ln p_s, a weighted form of Fisher's method to combine p-values. No out-of-scope samples
are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.preprocessing import normalize

from cordwood._base.sklearn_private import num_samples, take_rows
from cordwood._view import ModelView
from cordwood.exceptions import DataError
from cordwood.neighbors.base import BaseNeighborsClassifier
from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import count_terms
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.vectorizer import TextVectorizer

# Weights of the signals, see docs/confidence.md.
WEIGHTS = {"entropy": 1.0, "distance": 0.5, "unknown_terms": 0.3, "encoder_distance": 0.3}

# More samples make p-values below 0.0005 possible, and model files larger.
_MAX_SAMPLES = 2000
_SEED = 0
# Vectors that a model file contains, and how many of the nearest count. More are hardly better.
_MAX_VECTORS = 1000
_N_NEAREST = 10
_BLOCK_SIZE = 2000


@dataclass(frozen=True, kw_only=True)
class ScopeReference:
    """How unusual training samples are, by several signals and by their combination."""

    signals: tuple[str, ...]  # keys of WEIGHTS that the model has
    values: NDArray[np.float32] = field(repr=False)  # sorted, of shape (n_signals, n_samples)
    scores: NDArray[np.float32] = field(repr=False)  # of the combined signals, sorted
    # Number of training texts with each term of the vocabulary, in models of texts.
    frequencies: NDArray[np.int32] | None = field(default=None, repr=False)
    # Of training texts, in models with a sentence encoder; the length of a vector has no meaning.
    vectors: NDArray[np.int8] | None = field(default=None, repr=False)


def fit_scope(view: ModelView, X: Any, oof_proba: NDArray[np.float64]) -> ScopeReference:
    """Measure how unusual the training samples are, as a reference for new samples.

    `X` is what the model takes after the conversion of a table.
    """
    n_samples = num_samples(X)
    chosen = np.arange(n_samples)
    if n_samples > _MAX_SAMPLES:
        chosen = np.random.RandomState(_SEED).permutation(n_samples)[:_MAX_SAMPLES]
        chosen.sort()
    samples = take_rows(X, chosen)
    measured = {"entropy": _entropy(view, np.asarray(oof_proba)[chosen])}
    neighbors = _find_neighbors(view)
    if neighbors is not None:
        # The nearest sample is the sample itself.
        measured["distance"] = _nearest_distance(*neighbors, samples, rank=2)
    vectorizer = find_vectorizer(view)
    frequencies = None
    if vectorizer is not None:
        frequencies = _document_frequencies(vectorizer, neighbors, X)
        # Terms that would be in the vocabulary without one of the texts that contain them.
        min_df = vectorizer.resolved_params_.min_df
        least = min_df * n_samples if isinstance(min_df, float) else max(min_df, 1)
        measured["unknown_terms"] = _unknown_share(vectorizer, samples, frequencies - 1 >= least)
    encoder = _find_encoder(view)
    vectors = None
    if encoder is not None and len(chosen) > 1:
        encoded = encoder.transform(samples)
        own = np.random.RandomState(_SEED).permutation(len(chosen))[:_MAX_VECTORS]
        vectors = _round_vectors(encoded[own])
        measured["encoder_distance"] = _encoder_distance(vectors, encoded, own)
    values = np.sort(np.array(list(measured.values()), np.float32), axis=1)
    scores = np.sort(_combine(values, measured))
    return ScopeReference(
        signals=tuple(measured),
        values=values,
        scores=scores.astype(np.float32),
        frequencies=frequencies,
        vectors=vectors,
    )


def out_of_scope_score(
    reference: ScopeReference, view: ModelView, X: Any, proba: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Score how unlike the training samples new samples are, from 0 on."""
    if not len(proba):
        return np.empty(0)
    measured = {"entropy": _entropy(view, np.asarray(proba))}
    neighbors, vectorizer = _find_neighbors(view), find_vectorizer(view)
    if neighbors is not None and "distance" in reference.signals:
        measured["distance"] = _nearest_distance(*neighbors, X, rank=1)
    if vectorizer is not None and "unknown_terms" in reference.signals:
        measured["unknown_terms"] = _unknown_share(vectorizer, X)
    encoder, vectors = _find_encoder(view), reference.vectors
    if encoder is not None and vectors is not None and vectors.shape[1] == encoder.n_features_out_:
        measured["encoder_distance"] = _encoder_distance(vectors, encoder.transform(X))
    if set(measured) != set(reference.signals):
        raise DataError(
            "scope_ was made for another model: it has the signals "
            f"{', '.join(reference.signals)}, but the model has {', '.join(measured)}; train again"
        )
    return _combine(reference.values, {name: measured[name] for name in reference.signals})


def scope_p_values(
    reference: ScopeReference, view: ModelView, X: Any, proba: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of training samples that are at least as unusual as each sample."""
    return _upper_tail(reference.scores, out_of_scope_score(reference, view, X, proba))


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


def _entropy(view: ModelView, proba: NDArray[np.float64]) -> NDArray[np.float64]:
    total = entr(proba).sum(axis=1)
    if view.is_multilabel:  # each label is a decision of its own
        total = total + entr(1 - proba).sum(axis=1)
    return np.asarray(total)


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


def _document_frequencies(
    vectorizer: TextVectorizer,
    neighbors: tuple[Sequence[Any], BaseNeighborsClassifier] | None,
    X: Any,
) -> NDArray[np.int32]:
    """Return the number of training texts that contain each term of the vocabulary."""
    if neighbors is not None and list(neighbors[0]) == [vectorizer]:
        samples = neighbors[1].get_training_samples()  # saves another transformation of all texts
    else:
        samples = vectorizer.transform(X)
    return np.bincount(samples.indices, minlength=samples.shape[1]).astype(np.int32)


def _encoder_distance(
    vectors: NDArray[np.int8],
    encoded: NDArray[np.float32],
    own: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return one minus the mean cosine similarity to the nearest vectors.

    `own` are the positions of the vectors in `encoded`: a text is not its own neighbor.
    """
    reference = normalize(vectors.astype(np.float32))
    n_nearest = min(_N_NEAREST, len(vectors) - 1)
    found = np.empty(len(encoded))
    for start in range(0, len(encoded), _BLOCK_SIZE):
        rows = slice(start, start + _BLOCK_SIZE)
        similarity = normalize(encoded[rows]) @ reference.T
        if own is not None:
            is_inside = (own >= start) & (own < start + _BLOCK_SIZE)
            similarity[own[is_inside] - start, np.flatnonzero(is_inside)] = -np.inf
        nearest = np.partition(similarity, -n_nearest, axis=1)[:, -n_nearest:]
        found[rows] = 1.0 - nearest.mean(axis=1)
    return found


def _round_vectors(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Scale each vector to the range of 8-bit integers, which keeps its direction nearly."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.asarray(np.round(127 * vectors / np.maximum(largest, 1e-12)), np.int8)


def _find_neighbors(view: ModelView) -> tuple[Sequence[Any], BaseNeighborsClassifier] | None:
    """Return a classifier that stores the training samples, and the transformers before it."""
    for member in view.members:
        if isinstance(member.classifier, BaseNeighborsClassifier):
            return member.transformers, member.classifier
    return None


def _find_encoder(view: ModelView) -> EmbeddingVectorizer | None:
    """Return the sentence encoder of a model of texts, the first one if there are several."""
    if view.takes_columns:
        return None
    return next((each for each in view.vectorizers if isinstance(each, EmbeddingVectorizer)), None)


def find_vectorizer(view: ModelView) -> TextVectorizer | None:
    """Return a vectorizer of words, preferably that of the nearest neighbors."""
    # Texts of a table are vectorized beside other columns.
    if view.takes_columns:
        return None
    order = sorted(
        view.members, key=lambda each: not isinstance(each.classifier, BaseNeighborsClassifier)
    )
    for member in order:
        for part in member.vectorizers:
            if isinstance(part, TextVectorizer) and part.resolved_params_.analyzer == "word":
                return part
    return None
