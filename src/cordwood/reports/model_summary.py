"""Summary of a model: from a fitted classifier and labelled samples to plain values."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from cordwood.api import predict
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.decisions.tuned_decision import TunedDecisionClassifier
from cordwood.exceptions import CordwoodError, DataError
from cordwood.inspection.audit import audit_dataset
from cordwood.inspection.class_words import explain_classes
from cordwood.inspection.dataset_audit import DatasetAudit
from cordwood.inspection.evaluation import OOFEvaluation
from cordwood.inspection.explainer import Explainer
from cordwood.inspection.explanation import Explanation
from cordwood.inspection.label_errors import find_label_errors
from cordwood.inspection.learning_curve import LearningCurveEstimate
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.persist import ModelCard
from cordwood.reports.confusion_summary import summarize_confusion
from cordwood.reports.dataset_summary import finding_to_dict, summarize_audit
from cordwood.reports.member_summary import find_member_probas, summarize_members
from cordwood.reports.model_scores import (
    evaluate,
    summarize_abstention,
    summarize_classes,
    summarize_reliability,
    summarize_sets,
)
from cordwood.results.prediction_records import OOFPredictions
from cordwood.text.languages import detect_language
from cordwood.text.stop_words import get_stop_words, has_stop_words

_N_EXPLAINED = 4
_MAX_TEXT = 600
_MAX_EXCERPT = 280
_N_SUSPECTS = 25
_N_AUDIT_SUSPECTS = 1
_MAX_WORD_TEXTS = 400
_N_WORDS = 8
_MIN_TEXTS_RATIO = 2000
_N_CANDIDATES = 100
_N_NEIGHBORS = 4
_MAX_SHARED_TERMS = 10
_MAX_PARAMS = 200

Progress = Callable[[str, int, int | None], None]


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


@dataclass(frozen=True, kw_only=True)
class ScoredSamples:
    """Labelled samples with predicted probabilities.

    Parameters
    ----------
    source : {"oof", "test", "training"}
        Out-of-fold predictions of the training samples; predictions of other samples; or
        predictions of training samples by the model that was trained on them.
    proba : ndarray of shape (n_samples, n_classes)
    y : int ndarray of shape (n_samples,)
        Codes of the true classes.
    texts : sequence of str, optional
    ids : sequence of str
    data : Corpus, FeatureMatrix or None, default=None
        The samples.
    groups : int ndarray of shape (n_samples,), optional
    n_unseen : int, default=0
        Number of further samples, whose class is unknown to the model.
    """

    source: str
    proba: NDArray[np.float64]
    y: NDArray[np.intp]
    texts: Sequence[str] | None
    ids: Sequence[str]
    data: Corpus | FeatureMatrix | None = None
    groups: NDArray[np.intp] | None = None
    n_unseen: int = 0


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
    if samples is not None:
        proba, y = samples.proba, samples.y
        summary |= {
            "source": samples.source,
            "scores": _find_scores(model, samples, provenance),
            "n_unseen": samples.n_unseen,
            "has_tuned_decision": isinstance(last, TunedDecisionClassifier),
            "by_class": summarize_classes(proba, y, labels),
            "confusion": summarize_confusion(proba, y, labels, samples.texts, samples.ids),
            "reliability": summarize_reliability(proba, y),
            "abstention": summarize_abstention(proba, y),
            "prediction_sets": summarize_sets(proba, y),
            "suspects": _list_suspects(samples, np.asarray(model.classes_), labels),
        }
        summary |= _summarize_training_data(data, samples, provenance, summary["suspects"], report)
    if not hasattr(model, "n_features_in_"):
        explainer = Explainer(model)
        if samples is not None and samples.texts is not None:
            summary["explained"] = _explain(model, explainer, samples, labels, report)
        summary["words"] = _find_words(model, samples, report)
    return summary


def score_samples(
    model: Any, data: Corpus | FeatureMatrix | None, card: ModelCard | None
) -> ScoredSamples | None:
    """Return out-of-fold predictions if the model has them for the data, else predict the data."""
    oof = getattr(model, "oof_", None)
    if data is None:
        if oof is None:
            return None
        ids = [str(i + 1) for i in range(len(oof.y))]
        return ScoredSamples(
            source="oof", proba=oof.proba, y=oof.y, texts=None, ids=ids, groups=oof.groups
        )
    if data.labels is None:
        raise DataError("the samples have no labels; a report of a model needs labelled samples")
    codes = {str(label): code for code, label in enumerate(model.classes_)}
    y = np.array([codes.get(str(label), -1) for label in data.labels], dtype=np.intp)
    texts = data.texts if isinstance(data, Corpus) else None
    has_fingerprint = card is not None and card.fingerprint is not None
    is_training = (
        data.fingerprint() == card.fingerprint
        if card is not None and has_fingerprint
        else oof is not None and np.array_equal(y, oof.y)
    )
    if is_training and oof is not None and np.array_equal(y, oof.y):
        return ScoredSamples(
            source="oof",
            proba=oof.proba,
            y=y,
            texts=texts,
            ids=data.ids,
            data=data,
            groups=oof.groups,
        )
    known = np.flatnonzero(y >= 0)
    if not len(known):
        raise DataError("no sample has a class of the model; give data with its labels")
    selected = data if len(known) == len(y) else data.select(known)
    groups = None
    if selected.groups is not None:
        groups = np.unique(selected.groups, return_inverse=True)[1].astype(np.intp)
    return ScoredSamples(
        source="training" if is_training else "test",
        proba=np.asarray(predict(model, selected).probabilities, dtype=np.float64),
        y=y[known],
        texts=selected.texts if isinstance(selected, Corpus) else None,
        ids=selected.ids,
        data=selected,
        groups=groups,
        n_unseen=len(y) - len(known),
    )


def _find_scores(model: Any, samples: ScoredSamples, provenance: Provenance) -> dict[str, Any]:
    """Return scores beside baselines, and for test samples those that were expected."""
    expected = provenance.evaluation or getattr(model, "evaluation_", None)
    predictions = _to_predictions(samples, np.asarray(model.classes_))
    if samples.source == "oof":
        return evaluate(predictions, expected)
    found = evaluate(predictions)
    if samples.source == "test" and expected is not None:
        found["expected"] = expected.scores.to_dict()
    return found


def _summarize_training_data(
    data: Corpus | FeatureMatrix | None,
    samples: ScoredSamples,
    provenance: Provenance,
    suspects: Mapping[str, Any],
    report: Progress,
) -> dict[str, Any]:
    """Return the findings of the audit of the training data, if they are given."""
    audit = provenance.audit
    if audit is None:
        if data is None or samples.source == "test" or len(set(data.labels or ())) < 2:
            return {}
        # The label errors are known already, from the predictions of this model.
        audit = audit_dataset(data, recipe=None, progress=report)
    found = summarize_audit(audit, _N_AUDIT_SUSPECTS)
    if suspects["n"] and samples.source == "oof":
        found["counts"] = {"label error": suspects["n"], **found["counts"]}
        found["suspects"]["label error"] = [
            {**row, "reason": f"{row['suggested']} has the probability {row['confidence']:.2f}"}
            for row in suspects["samples"][:_N_AUDIT_SUSPECTS]
        ]
    return {"findings": [finding_to_dict(each) for each in audit.findings], "audit": found}


def _list_suspects(
    samples: ScoredSamples, classes: NDArray[Any], labels: list[str]
) -> dict[str, Any]:
    """Return the samples whose label is probably wrong, and how many there are."""
    found = find_label_errors(_to_predictions(samples, classes))
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


def _to_predictions(samples: ScoredSamples, classes: NDArray[Any]) -> OOFPredictions:
    return OOFPredictions(
        proba=samples.proba,
        y=samples.y,
        classes=classes,
        sources={"model": "prefit"},
        groups=samples.groups,
    )


def _explain(
    model: Any, explainer: Explainer, samples: ScoredSamples, labels: list[str], report: Progress
) -> list[dict[str, Any]]:
    """Explain predictions that are correct and certain, wrong and certain, and undecided."""
    chosen = _choose_explained(samples.proba, samples.y)
    assert samples.texts is not None
    n_done, total = 0, sum(map(len, chosen.values()))
    member_probas = find_member_probas(model) if samples.source == "oof" else {}
    found = []
    for kind, indices in chosen.items():
        texts: Any = [samples.texts[i][:_MAX_TEXT] for i in indices]
        if explainer.takes_table and samples.data is not None:
            texts = samples.data.select(indices)
        for i, explanation in zip(indices, explainer.explain_each(texts), strict=True):
            predicted, label = int(samples.proba[i].argmax()), int(samples.y[i])
            # The final model has been trained on training texts, and does not repeat the errors
            # of out-of-fold predictions: its contributions do not explain them.
            is_explained = samples.source == "test" or predicted == label
            found.append(
                {
                    "kind": kind,
                    "id": samples.ids[i],
                    "label": labels[label],
                    "is_shortened": len(samples.texts[i]) > _MAX_TEXT,
                    "predicted": labels[predicted],
                    "probability": float(samples.proba[i, predicted]),
                    "output": explanation.output,
                    "segments": _list_segments(explanation, predicted, is_explained),
                    "contributions": (
                        _list_contributions(explanation, predicted) if is_explained else []
                    ),
                    "member_probabilities": [
                        {
                            "name": name,
                            "predicted": float(proba[i, predicted]),
                            "label": float(proba[i, label]),
                        }
                        for name, proba in member_probas.items()
                    ],
                    "neighbors": _list_neighbors(explanation, i, samples),
                }
            )
            n_done += 1
            report("explaining", n_done, total)
    return found


def _choose_explained(proba: NDArray[np.float64], y: NDArray[np.intp]) -> dict[str, list[int]]:
    confidence = proba.max(axis=1)
    is_correct = proba.argmax(axis=1) == y
    top = np.sort(proba, axis=1)[:, -2:]
    margin = top[:, -1] - top[:, 0]
    by_confidence = np.argsort(-confidence, kind="stable")
    correct = _spread(by_confidence[is_correct[by_confidence]], y)
    wrong = by_confidence[~is_correct[by_confidence]][:_N_EXPLAINED].tolist()
    others = [i for i in np.argsort(margin, kind="stable").tolist() if i not in {*correct, *wrong}]
    return {
        "correct and certain": correct,
        "wrong and certain": wrong,
        "undecided": others[:_N_EXPLAINED],
    }


def _spread(order: NDArray[np.intp], y: NDArray[np.intp]) -> list[int]:
    """Take the first samples, of different classes if there are enough."""
    _, first = np.unique(y[order], return_index=True)
    chosen = [*np.sort(first).tolist(), *range(len(order))]
    return [int(order[i]) for i in dict.fromkeys(chosen)][:_N_EXPLAINED]


def _list_segments(explanation: Explanation, column: int, is_explained: bool) -> list[list[Any]]:
    """Return the parts of a text with their contributions to a class, or with zeros."""
    if not is_explained:
        return [[explanation.text[:_MAX_TEXT], 0.0]]
    segments: list[list[Any]] = []
    end = 0
    text = explanation.text
    values = explanation.word_contributions[:, column].tolist()
    for (start, stop), value in zip(explanation.spans, values, strict=True):
        segments += [[text[end:start], 0.0], [text[start:stop], value]]
        end = stop
    segments.append([text[end:], 0.0])
    # The texts of a table are explained in their whole length.
    starts = accumulate((len(part) for part, _ in segments), initial=0)
    return [
        [part, value]
        for start, (part, value) in zip(starts, segments, strict=False)
        if part and start < _MAX_TEXT
    ]


def _list_contributions(explanation: Explanation, column: int) -> list[dict[str, Any]]:
    """Return the baseline and the contributions of the members to the output of a class."""
    baseline = {
        "name": "baseline",
        "value": float(explanation.baseline[column]),
        "method": "the empty text",
    }
    members = [
        {
            "name": member.name,
            "value": float(member.contributions[column]),
            "method": member.method,
        }
        for member in explanation.members
    ]
    return [baseline, *members]


def _list_neighbors(
    explanation: Explanation, index: int, samples: ScoredSamples
) -> list[dict[str, Any]]:
    """Return the nearest training samples, without the explained sample itself."""
    is_training = samples.source != "test"
    neighbors = next((m.neighbors for m in explanation.members if m.neighbors), ())
    others = [each for each in neighbors if not (is_training and each.index == index)]
    return [
        {
            "id": samples.ids[each.index] if is_training else f"number {each.index + 1:,}",
            "label": str(each.label),
            "similarity": float(each.similarity),
            "terms": list(each.shared_terms[:_MAX_SHARED_TERMS]),
        }
        for each in others[:_N_NEIGHBORS]
    ]


def _find_words(
    model: Any, samples: ScoredSamples | None, report: Progress
) -> dict[str, Any] | None:
    """Find words for and against each class in test samples, or else in the vocabulary."""
    texts, language = None, None
    n_train = _count_training_samples(model, samples)
    if samples is not None and samples.texts is not None:
        # Sorted by class, so that all classes have their share.
        order = np.argsort(samples.y, kind="stable")
        chosen = order[:: max(1, -(-len(order) // _MAX_WORD_TEXTS))]
        texts = [samples.texts[i][:_MAX_TEXT] for i in np.sort(chosen).tolist()]
        language = detect_language(texts)
        # In training texts, rare words look more important than they are.
        if samples.source != "test":
            texts = None
    try:
        found = explain_classes(
            model,
            texts,
            n_words=_N_CANDIDATES,
            # There are many rare words in many texts, which mean little to a reader.
            min_texts=max(3, 0 if texts is not None else (n_train or 0) // _MIN_TEXTS_RATIO),
            progress=lambda done, total: report("words of classes", done, total),
        )
    except CordwoodError:
        return None  # for example, an encoder has no vocabulary
    stop_words = get_stop_words(language) if language and has_stop_words(language) else frozenset()
    words = found.to_dict()
    for side in ("for", "against"):
        n_classes = Counter(word["word"] for row in words["classes"] for word in row[side])
        rarity = {word: math.log(len(words["classes"]) / n) for word, n in n_classes.items()}
        for row in words["classes"]:
            row[side] = _select_words(row[side], stop_words, rarity)
    for row in words["classes"]:
        row["label"] = str(row["label"])
    return words


def _select_words(
    words: list[dict[str, Any]], stop_words: Collection[str], rarity: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Select words that mean something to a reader, those with most evidence first.

    A word of one class is evidence against all others, and is uninteresting there: the fewer
    classes have it in their list, the better.
    """
    legible = [
        word
        for word in words
        if any(letter.isalpha() for letter in word["word"]) and word["word"] not in stop_words
    ]

    def evidence(word: dict[str, Any]) -> float:
        weight = abs(word["contribution"]) * math.sqrt(word["n_texts"] or 1)
        return float(weight * rarity[word["word"]])

    return sorted(legible, key=evidence, reverse=True)[:_N_WORDS]


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
        "n_train": _count_training_samples(model, samples),
        "training": {} if card is None else dict(card.training),
        "params": dict(list(params.items())[:_MAX_PARAMS]),
    }


def _count_training_samples(model: Any, samples: ScoredSamples | None) -> int | None:
    oof = getattr(model, "oof_", None)
    if oof is not None:
        return len(oof.y)
    if samples is not None and samples.source != "test":
        return len(samples.y)
    return None
