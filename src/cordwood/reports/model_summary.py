"""Summary of a model: from a fitted classifier and labelled samples to plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from cordwood.audit.audit_dataset import Progress, audit_dataset
from cordwood.audit.dataset_audit import DatasetAudit
from cordwood.audit.label_errors import find_label_errors
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.decisions.tuned_decision import TunedDecisionClassifier
from cordwood.exceptions import CordwoodError
from cordwood.explain.explainer import Explainer
from cordwood.metrics.evaluation import OOFEvaluation
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.oof.records import OOFPredictions
from cordwood.persist import ModelCard
from cordwood.reports.confusion_summary import summarize_confusion
from cordwood.reports.dataset_summary import finding_to_dict, summarize_audit
from cordwood.reports.explanation_summary import explain_samples, find_class_words
from cordwood.reports.member_summary import summarize_members
from cordwood.reports.model_scores import (
    evaluate,
    summarize_abstention,
    summarize_classes,
    summarize_evaluation,
    summarize_reliability,
    summarize_sets,
)
from cordwood.reports.scored_samples import (
    ScoredSamples,
    count_training_samples,
    score_samples,
    to_predictions,
)

_MAX_EXCERPT = 280
_N_SUSPECTS = 25
_N_AUDIT_SUSPECTS = 1
_MAX_PARAMS = 200


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a model was made, as far as it is known.

    Parameters
    ----------
    name : str, default="model"
        Name of the model.
    card : ModelCard, optional
        Metadata of its file.
    data : str, optional
        Name of the samples in the report.
    audit : DatasetAudit, optional
        Audit of the training data, which is computed without a model if it is None.
    evaluation : OOFEvaluation, optional
        Result of `oof_evaluation` for the model; `evaluation_` of the model if it is None.
    curve : LearningCurveEstimate, optional
        Learning curve.
    """

    name: str = "model"
    card: ModelCard | None = None
    data: str | None = None
    audit: DatasetAudit | None = None
    evaluation: OOFEvaluation | None = None
    curve: LearningCurveEstimate | None = None


def summarize_model(
    model: Any,
    data: Corpus | FeatureMatrix | None,
    provenance: Provenance,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Summarize a model.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train` or `cordwood.load`.
    data : Corpus, FeatureMatrix or None
        Labelled samples: the training set, or a test set.
    provenance : Provenance
        How the model was made.
    progress : callable, optional
        Called with the name of a step, the number of finished parts and their total.

    Returns
    -------
    dict
        Numbers, texts, lists and dicts; parts that cannot be computed are None or empty.
    """
    report = progress or (lambda *_: None)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, MultiLabelClassifier) or (data is not None and data.multilabel):
        raise CordwoodError(
            "the samples have several labels each; a report of a model requires one label per "
            "sample"
        )
    labels = [str(label) for label in model.classes_]
    report("predicting", 0, None)
    samples = score_samples(model, data, provenance.card)
    summary: dict[str, Any] = {
        "kind": "model",
        "name": provenance.name,
        "classes": labels,
        "data": provenance.data,
        "source": None,
        "scores": None,
        "n_unseen": 0,
        "has_tuned_decision": isinstance(last, TunedDecisionClassifier),
        "by_class": [],
        "confusion": None,
        "reliability": [],
        "abstention": None,
        "prediction_sets": [],
        "curve": None if provenance.curve is None else provenance.curve.to_dict(),
        "suspects": None,
        "explained": [],
        "members": summarize_members(model, samples.texts if samples is not None else None),
        "words": None,
        "findings": [],
        "audit": None,
        "provenance": _describe(model, provenance, samples),
    }
    evaluation = provenance.evaluation or getattr(model, "evaluation_", None)
    if samples is not None and (samples.source != "training" or evaluation is None):
        summary |= _summarize_predictions(samples, evaluation, np.asarray(model.classes_))
    elif evaluation is not None:
        # A model file has no out-of-fold predictions if they are too many, but it has their scores.
        # Errors and probabilities of training samples would be too good beside them.
        summary |= {"source": "oof", "scores": summarize_evaluation(evaluation)}
    if samples is not None:
        summary |= _summarize_training_data(data, samples, provenance, summary["suspects"], report)
    if not hasattr(model, "n_features_in_"):
        explainer = Explainer(model)
        if samples is not None and samples.texts is not None:
            summary["explained"] = explain_samples(model, explainer, samples, labels, report)
        summary["words"] = find_class_words(model, samples, report)
    return summary


def _summarize_predictions(
    samples: ScoredSamples, evaluation: OOFEvaluation | None, classes: NDArray[Any]
) -> dict[str, Any]:
    """Return the scores of the samples, their errors and their probabilities."""
    proba, y = samples.proba, samples.y
    labels = [str(label) for label in classes]
    predictions = to_predictions(samples, classes)
    return {
        "source": samples.source,
        "scores": _find_scores(predictions, samples.source, evaluation),
        "n_unseen": samples.n_unseen,
        "by_class": summarize_classes(proba, y, labels),
        "confusion": summarize_confusion(proba, y, labels, samples.texts, samples.ids),
        "reliability": summarize_reliability(proba, y),
        "abstention": summarize_abstention(proba, y),
        "prediction_sets": summarize_sets(proba, y),
        "suspects": _list_suspects(predictions, samples, labels),
    }


def _find_scores(
    predictions: OOFPredictions, source: str, evaluation: OOFEvaluation | None
) -> dict[str, Any]:
    """Return scores beside baselines, and for test samples those that were expected."""
    if source == "oof":
        return evaluate(predictions, evaluation)
    found = evaluate(predictions)
    if source == "test" and evaluation is not None:
        found["expected"] = evaluation.scores.to_dict()
    return found


def _summarize_training_data(
    data: Corpus | FeatureMatrix | None,
    samples: ScoredSamples,
    provenance: Provenance,
    suspects: Mapping[str, Any] | None,
    report: Progress,
) -> dict[str, Any]:
    """Return the findings of the audit of the training data, if they are given."""
    audit = provenance.audit
    if audit is None:
        if data is None or samples.source == "test" or len(set(data.labels or ())) < 2:
            return {}
        # The label errors are known already, from the predictions of this model.
        audit = audit_dataset(data, progress=report)
    found = summarize_audit(audit, _N_AUDIT_SUSPECTS)
    if suspects is not None and suspects["n"] and samples.source == "oof":
        found["counts"] = {"label error": suspects["n"], **found["counts"]}
        found["suspects"]["label error"] = [
            {**row, "reason": f"{row['suggested']} has the probability {row['confidence']:.2f}"}
            for row in suspects["samples"][:_N_AUDIT_SUSPECTS]
        ]
    return {"findings": [finding_to_dict(each) for each in audit.findings], "audit": found}


def _list_suspects(
    predictions: OOFPredictions, samples: ScoredSamples, labels: list[str]
) -> dict[str, Any]:
    """Return the samples whose label is probably wrong, and how many there are."""
    found = find_label_errors(predictions)
    rows = [
        {
            "id": samples.ids[i],
            "label": labels[samples.y[i]],
            "suggested": labels[found.suggested[i]],
            "confidence": float(found.confidence[i]),
            "self_confidence": float(found.self_confidence[i]),
            "text": "" if samples.texts is None else samples.texts[i][:_MAX_EXCERPT],
            "is_shortened": samples.texts is not None and len(samples.texts[i]) > _MAX_EXCERPT,
        }
        for i in found.ranking[:_N_SUSPECTS].tolist()
    ]
    return {"n": len(found.ranking), "samples": rows}


def _describe(model: Any, provenance: Provenance, samples: ScoredSamples | None) -> dict[str, Any]:
    card = provenance.card
    estimator = model.steps[-1][1] if isinstance(model, Pipeline) else model
    params = {
        name: str(value)
        for name, value in sorted(model.get_params().items())
        if isinstance(value, bool | int | float | str)
    }
    return {
        "name": provenance.name,
        "classifier": type(estimator).__name__,
        "recipe": None if card is None else card.recipe,
        "data": None if samples is None or samples.source == "test" else provenance.data,
        "created": None if card is None else card.created,
        "fingerprint": None if card is None else card.fingerprint,
        "versions": {} if card is None else dict(card.versions),
        "columns": {} if card is None else dict(card.columns),
        "n_train": count_training_samples(model, samples),
        "training": {} if card is None else dict(card.training),
        "params": dict(list(params.items())[:_MAX_PARAMS]),
    }
