"""Summary of the members of a stack: accuracy, weight, diversity and time."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from sklearn.pipeline import Pipeline

from cordwood._duplicates import assign_folds
from cordwood._results import OOFPredictions
from cordwood.stacking._final_predictions import FinalTrainingSet, cross_fit
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.diversity import disagreement
from cordwood.stacking.oob_stacking import OOBStackingClassifier

_N_TIMED = 100
# Fits of the combiner without each member take long on many samples.
_N_REFITTED = 2000
_MIN_PROBABILITY = 1e-7


def summarize_members(model: Any, texts: Sequence[str] | None) -> dict[str, Any] | None:
    """Summarize the members of a stack.

    Parameters
    ----------
    model : fitted classifier
        Any model.
    texts : sequence of str or None
        Texts, to measure the time of predictions.

    Returns
    -------
    dict or None
        None if the model is not a stack. Scores are unknown for stacks of a model file, which does
        not contain the out-of-fold predictions of the members.
    """
    stack = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(stack, OOBStackingClassifier):
        return None
    names = list(stack.named_estimators_)
    oof = getattr(model, "oof_", None)
    # Model files contain neither the sources nor the names of dropped members.
    sources = getattr(stack, "oof_source_", {} if oof is None else oof.sources)
    pruned = getattr(stack, "pruned_", [])
    weights = _find_weights(stack, names)
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "oof_source": sources.get(name),
            "weight": None if weights is None else weights.get(name, 0.0),
            "is_pruned": name in pruned,
        }
        for name in [*names, *pruned]
    ]
    by_name = {row["name"]: row for row in rows}
    is_only_step = not isinstance(model, Pipeline) or len(model.steps) == 1
    if texts and is_only_step:
        sample = list(texts[:: max(1, len(texts) // _N_TIMED)])[:_N_TIMED]
        for name, member in stack.named_estimators_.items():
            start = time.process_time()
            member.predict_proba(sample)
            by_name[name]["predict_seconds"] = (time.process_time() - start) / len(sample)
    pairs = None
    probas = find_member_probas(model)
    if oof is not None and probas:
        predicted = {name: proba.argmax(axis=1) for name, proba in probas.items()}
        for name, codes in predicted.items():
            by_name[name] |= {
                "accuracy": float((codes == oof.y).mean()),
                "macro_f1": float(f1_score(oof.y, codes, average="macro", zero_division=0.0)),
            }
        if len(names) > 1:
            pairs = disagreement(predicted, oof.y).tolist()
            for name, loss in _measure_losses(stack, probas, oof).items():
                by_name[name] |= loss
    return {
        "combiner": type(stack.final_estimator_).__name__,
        "members": rows,
        "names": names,
        "disagreement": pairs,
    }


def _find_weights(stack: OOBStackingClassifier, names: list[str]) -> dict[str, float] | None:
    """Return the mean weights of the members over the classes, if the combiner has weights."""
    if stack.passthrough or not isinstance(stack.final_estimator_, LogarithmicPool):
        return None
    return dict(zip(names, stack.final_estimator_.coef_.mean(axis=1).tolist(), strict=True))


def _measure_losses(
    stack: OOBStackingClassifier, probas: dict[str, NDArray[np.float64]], oof: OOFPredictions
) -> dict[str, dict[str, float]]:
    """Measure the scores of the stack without each member, by cross-fitting its combiner."""
    if stack.passthrough:
        return {}
    n_samples = len(oof.y)
    chosen = np.random.RandomState(0).permutation(n_samples)[:_N_REFITTED]
    groups = chosen if oof.groups is None else oof.groups[chosen]
    _, clusters = np.unique(groups, return_inverse=True)
    y = oof.y[chosen]
    folds = assign_folds(y, clusters.astype(np.intp), 2, np.arange(len(chosen)))

    def score(names: list[str]) -> tuple[float, float]:
        features = np.hstack([probas[name][chosen] for name in names])
        data = FinalTrainingSet(features, features.shape[1], oof.classes[y], {}, folds)
        proba = cross_fit(stack.final_estimator_, data, oof.classes)
        true = np.clip(proba[np.arange(len(y)), y], _MIN_PROBABILITY, 1)
        return float((proba.argmax(axis=1) == y).mean()), float(-np.log(true).mean())

    accuracy, log_loss = score(list(probas))
    found = {}
    for name in probas:
        without = score([other for other in probas if other != name])
        found[name] = {
            "accuracy_loss": accuracy - without[0],
            "log_loss_increase": without[1] - log_loss,
        }
    return found


def find_member_probas(model: Any) -> dict[str, NDArray[np.float64]]:
    """Return the out-of-fold probabilities of the members of a stack.

    Parameters
    ----------
    model : fitted classifier
        Any model.

    Returns
    -------
    dict of str to ndarray of shape (n_samples, n_classes)
        Empty if the model is not a stack, or was loaded from a file.
    """
    stack = model.steps[-1][1] if isinstance(model, Pipeline) else model
    features = getattr(stack, "meta_features_", None)
    if not isinstance(stack, OOBStackingClassifier) or features is None:
        return {}
    names, n_classes = list(stack.named_estimators_), len(stack.classes_)
    blocks = np.asarray(features)[:, : len(names) * n_classes].reshape(-1, len(names), n_classes)
    return {name: blocks[:, i] for i, name in enumerate(names)}
