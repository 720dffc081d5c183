"""Summary of a model, from a fitted classifier and labelled samples."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.audit.audit_dataset import Progress, audit_dataset
from cordwood.audit.dataset_audit import DatasetAudit
from cordwood.audit.label_errors import find_label_errors
from cordwood.audit.suspects import Suspect
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.metrics.scores import Evaluation
from cordwood.oof.records import OOFPredictions
from cordwood.persist import ModelCard
from cordwood.reports.confusion_summary import summarize_confusion
from cordwood.reports.dataset_summary import summarize_audit, summarize_finding
from cordwood.reports.explanation_summary import explain_samples, find_class_words
from cordwood.reports.member_summary import summarize_members
from cordwood.reports.model_records import (
    ModelFacts,
    ModelSummary,
    ScoreSummary,
    SuspectLabel,
    SuspectLabels,
)
from cordwood.reports.model_scores import (
    evaluate,
    summarize_abstention,
    summarize_classes,
    summarize_evaluation,
    summarize_reliability,
    summarize_scores,
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
    """What is known about a model beside itself."""

    name: str = "model"
    card: ModelCard | None = None
    data: str | None = None  # name of the samples in the report
    audit: DatasetAudit | None = None  # by default an audit without a model
    evaluation: Evaluation | None = None  # by default `evaluation_` of the model
    curve: LearningCurveEstimate | None = None
    review: str | None = None  # command that shows the suspicious labels one by one


def summarize_model(
    model: Any,
    data: Corpus | FeatureMatrix | None,
    provenance: Provenance,
    progress: Progress | None = None,
) -> ModelSummary:
    """Summarize a model."""
    report = progress or (lambda *_: None)
    if model.target_kind_ != "label" or (data is not None and data.multilabel):
        raise CordwoodError(
            "the samples have several labels each; a report of a model requires one label per "
            "sample"
        )
    labels = [str(label) for label in model.classes_]
    report("predicting", 0, None)
    samples = score_samples(model, data, provenance.card)
    summary = ModelSummary(
        name=provenance.name,
        classes=labels,
        data=provenance.data,
        review=provenance.review,
        decision=None if model.decision_.matrix is None else model.decision_.describe(),
        curve=provenance.curve,
        members=summarize_members(model.view, samples.texts if samples is not None else None),
        provenance=_describe(model, provenance, samples),
    )
    evaluation = provenance.evaluation or model.evaluation_
    if samples is not None and (samples.source != "training" or evaluation is None):
        summary = _add_predictions(summary, samples, evaluation, np.asarray(model.classes_))
    elif evaluation is not None:
        # A model file has no out-of-fold predictions if they are too many, but it has their scores.
        # Errors and probabilities of training samples would be too good beside them.
        summary = replace(summary, source="oof", scores=summarize_evaluation(evaluation))
    if samples is not None:
        summary = _add_training_data(summary, data, samples, provenance.audit, report)
    if model.input_kind_ != "numeric":
        explainer = model.make_explainer()
        if samples is not None and samples.texts is not None:
            explained = explain_samples(explainer, samples, labels, report)
            summary = replace(summary, explained=explained)
        summary = replace(summary, words=find_class_words(model, samples, report))
    return summary


def _add_predictions(
    summary: ModelSummary,
    samples: ScoredSamples,
    evaluation: Evaluation | None,
    classes: NDArray[Any],
) -> ModelSummary:
    """Add the scores of the samples, their errors and their probabilities."""
    proba, y, predicted = samples.proba, samples.y, samples.predicted
    labels = [str(label) for label in classes]
    predictions = to_predictions(samples, classes)
    return replace(
        summary,
        source=samples.source,
        scores=_find_scores(predictions, samples, evaluation),
        n_unseen=samples.n_unseen,
        by_class=summarize_classes(proba, y, predicted, labels),
        confusion=summarize_confusion(samples, labels),
        reliability=summarize_reliability(proba, y, predicted),
        abstention=summarize_abstention(proba, y, predicted),
        prediction_sets=summarize_sets(proba, y),
        suspects=_list_suspects(predictions, samples, labels),
    )


def _find_scores(
    predictions: OOFPredictions, samples: ScoredSamples, evaluation: Evaluation | None
) -> ScoreSummary:
    """Return scores beside baselines, and for test samples those that were expected."""
    if samples.source == "oof":
        return evaluate(predictions, samples.predicted, evaluation)
    found = evaluate(predictions, samples.predicted)
    if samples.source == "test" and evaluation is not None:
        return replace(found, expected=summarize_scores(evaluation.scores))
    return found


def _add_training_data(
    summary: ModelSummary,
    data: Corpus | FeatureMatrix | None,
    samples: ScoredSamples,
    audit: DatasetAudit | None,
    report: Progress,
) -> ModelSummary:
    """Add the findings of the audit of the training data, if they are given."""
    if audit is None:
        if data is None or samples.source == "test" or len(set(data.labels or ())) < 2:
            return summary
        # The label errors are known already, from the predictions of this model.
        audit = audit_dataset(data, progress=report)
    found = summarize_audit(audit, _N_AUDIT_SUSPECTS)
    suspects = summary.suspects
    if suspects is not None and suspects.n and samples.source == "oof":
        shown = [_to_suspect(row, samples) for row in suspects.samples[:_N_AUDIT_SUSPECTS]]
        found = replace(
            found,
            counts={"label error": suspects.n, **found.counts},
            suspects={**found.suspects, "label error": shown},
        )
    findings = [summarize_finding(each) for each in audit.findings]
    return replace(summary, findings=findings, audit=found)


def _to_suspect(row: SuspectLabel, samples: ScoredSamples) -> Suspect:
    return Suspect(
        kind="label error",
        index=samples.ids.index(row.id),
        id=row.id,
        label=row.label,
        suggested_label=row.suggested,
        confidence=row.confidence,
        reason=f"{row.suggested} has the probability {row.confidence:.2f}",
        text=row.text,
    )


def _list_suspects(
    predictions: OOFPredictions, samples: ScoredSamples, labels: list[str]
) -> SuspectLabels:
    """Return the samples whose label may be wrong, and how many there are."""
    found = find_label_errors(predictions)
    rows = [
        SuspectLabel(
            id=samples.ids[i],
            label=labels[samples.y[i]],
            suggested=labels[found.suggested[i]],
            confidence=float(found.confidence[i]),
            self_confidence=float(found.self_confidence[i]),
            text="" if samples.texts is None else samples.texts[i][:_MAX_EXCERPT],
            is_shortened=samples.texts is not None and len(samples.texts[i]) > _MAX_EXCERPT,
        )
        for i in found.ranking[:_N_SUSPECTS].tolist()
    ]
    return SuspectLabels(len(found.ranking), rows)


def _describe(model: Any, provenance: Provenance, samples: ScoredSamples | None) -> ModelFacts:
    card = provenance.card
    params = {
        name: str(value)
        for name, value in sorted(model.get_params().items())
        if isinstance(value, bool | int | float | str)
    }
    return ModelFacts(
        name=provenance.name,
        classifier=type(model.view.classifier).__name__,
        recipe=None if card is None else card.recipe,
        data=None if samples is None or samples.source == "test" else provenance.data,
        created=None if card is None else card.created,
        fingerprint=None if card is None else card.fingerprint,
        versions={} if card is None else card.versions,
        columns={} if card is None else card.columns,
        n_train=count_training_samples(model, samples),
        training={} if card is None else card.training,
        params=dict(list(params.items())[:_MAX_PARAMS]),
    )
