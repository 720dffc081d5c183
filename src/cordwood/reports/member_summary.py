"""Summary of the members of a stack: accuracy, weight, diversity and time."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from cordwood.reports.model_records import MemberSummary, StackSummary
from cordwood.stacking.oob_stacking import OOBStackingClassifier

_N_TIMED = 100


def summarize_members(model: Any, texts: Sequence[str] | None) -> StackSummary | None:
    """Summarize the members of a stack, with the times of predicting texts; None if it is none."""
    stack = find_stack(model)
    if stack is None:
        return None
    names = list(stack.named_estimators_)
    weights = getattr(stack, "estimator_weights_", {})
    # A stack with a tuned decision, or one of a file that was not trained by `cordwood.train`,
    # may have no ablation.
    ablation = getattr(stack, "ablation_", {})
    rows = [
        MemberSummary(
            name=name,
            oof_source=stack.oof_source_[name],
            weight=weights.get(name),
            is_pruned=name in stack.pruned_,
            **stack.oof_scores_[name],
            fit_seconds=stack.fit_times_.get(name),
            accuracy_change=ablation.get(name, {}).get("accuracy"),
            log_loss_change=ablation.get(name, {}).get("log_loss"),
        )
        for name in [*names, *stack.pruned_]
    ]
    is_only_step = not isinstance(model, Pipeline) or len(model.steps) == 1
    if texts and is_only_step:
        sample = list(texts[:: max(1, len(texts) // _N_TIMED)])[:_N_TIMED]
        for i, member in enumerate(stack.estimators_):
            start = time.process_time()
            member.predict_proba(sample)
            seconds = (time.process_time() - start) / len(sample)
            rows[i] = replace(rows[i], predict_seconds=seconds)
    return StackSummary(
        type(stack.final_estimator_).__name__,
        rows,
        names,
        stack.oof_disagreement_.tolist() if len(names) > 1 else None,
    )


def find_stack(model: Any) -> OOBStackingClassifier | None:
    """Return the stack of a model, also of one with a tuned decision; None if it has none."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    last = getattr(last, "estimator_", last)
    return last if isinstance(last, OOBStackingClassifier) else None


def find_member_probas(model: Any) -> dict[str, NDArray[np.float64]]:
    """Return the out-of-fold probabilities of the members, which a model file does not contain."""
    stack = find_stack(model)
    features = getattr(stack, "meta_features_", None)
    if stack is None or features is None:
        return {}
    names, n_classes = list(stack.named_estimators_), len(stack.classes_)
    blocks = np.asarray(features).reshape(-1, len(names), n_classes)
    return {name: blocks[:, i] for i, name in enumerate(names)}
