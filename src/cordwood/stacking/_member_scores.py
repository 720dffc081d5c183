"""Scores of the base estimators of a stack, from their out-of-fold probabilities."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from cordwood.oof.engine import index_params
from cordwood.stacking._final_predictions import FinalTrainingSet, cross_fit
from cordwood.stacking.diversity.pairwise import disagreement

# Fits of the final estimator without each base estimator take long on many samples.
_MAX_SAMPLES = 2000
_MIN_PROBABILITY = 1e-7


def score_members(
    names: Sequence[str], meta_features: NDArray[np.float64], class_codes: NDArray[np.intp]
) -> dict[str, dict[str, float]]:
    """Return the accuracy and macro F1 of each base estimator.

    Examples
    --------
    >>> score_members(["rf"], np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))
    {'rf': {'accuracy': 1.0, 'macro_f1': 1.0}}
    """
    predicted = _predict_codes(meta_features, len(names))
    return {
        name: {
            "accuracy": float((codes == class_codes).mean()),
            "macro_f1": float(f1_score(class_codes, codes, average="macro", zero_division=0.0)),
        }
        for name, codes in zip(names, predicted, strict=True)
    }


def measure_disagreement(
    names: Sequence[str], meta_features: NDArray[np.float64], class_codes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return how often exactly one of two base estimators is correct.

    Examples
    --------
    >>> meta_features = np.array([[0.9, 0.1, 0.4, 0.6], [0.2, 0.8, 0.3, 0.7]])
    >>> measure_disagreement(["rf", "svm"], meta_features, np.array([0, 1]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    return disagreement(_predict_codes(meta_features, len(names)), class_codes)


def _predict_codes(meta_features: NDArray[np.float64], n_estimators: int) -> NDArray[np.intp]:
    """Return the most probable class of each base estimator, of shape (n_estimators, n_samples)."""
    blocks = meta_features.reshape(len(meta_features), n_estimators, -1)
    return np.asarray(blocks.argmax(axis=2).T)


def measure_ablation(
    make_final: Callable[[Sequence[str]], Any],
    data: FinalTrainingSet,
    names: Sequence[str],
    classes: NDArray[Any],
) -> dict[str, dict[str, float]]:
    """Measure how the scores of a stack change if a base estimator is removed.

    The final estimator, made for base estimators of given names, is cross-fitted in two folds on
    the meta-features of all base estimators, and on those of all but one.
    """
    if len(names) == 1:
        return {}
    chosen = np.sort(np.random.RandomState(0).permutation(len(data.y))[:_MAX_SAMPLES])
    y = data.y[chosen]
    blocks = data.features[chosen].reshape(len(chosen), len(names), -1)
    params = index_params(data.fit_params, chosen, len(data.y))
    # Five folds become two, so that duplicates and groups remain together.
    folds = (data.folds[chosen] % 2).astype(np.intp)
    codes = np.searchsorted(classes, y)

    def score(kept: list[int]) -> tuple[float, float]:
        features = blocks[:, kept].reshape(len(chosen), -1)
        training = FinalTrainingSet(features, features.shape[1], y, params, folds)
        proba = cross_fit(make_final([names[i] for i in kept]), training, classes)
        true = np.clip(proba[np.arange(len(codes)), codes], _MIN_PROBABILITY, 1)
        return float((proba.argmax(axis=1) == codes).mean()), float(-np.log(true).mean())

    everything = list(range(len(names)))
    accuracy, log_loss = score(everything)
    changes = {}
    for i, name in enumerate(names):
        without = score([j for j in everything if j != i])
        changes[name] = {"accuracy": without[0] - accuracy, "log_loss": without[1] - log_loss}
    return changes
