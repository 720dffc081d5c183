"""Summary of explanations: of single predictions, and of classes by their words."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base.wording import shorten
from cordwood.audit.audit_dataset import Progress
from cordwood.exceptions import CordwoodError
from cordwood.explain.class_words import ClassWord
from cordwood.explain.explainer import Explainer
from cordwood.explain.explanation import Explanation
from cordwood.reports.model_records import (
    Contribution,
    ExplainedSample,
    MemberProbability,
    SimilarSample,
    WordsOfClass,
    WordSummary,
)
from cordwood.reports.scored_samples import ScoredSamples, count_training_samples
from cordwood.text.languages import detect_language
from cordwood.text.stop_words import get_stop_words, has_stop_words

# The length of texts in explanations.
_MAX_TEXT = 600
_N_EXPLAINED = 4
_N_NEIGHBORS = 4
_MAX_SHARED_TERMS = 10

_MAX_WORD_TEXTS = 400
_N_WORDS = 8
_N_CANDIDATES = 100
_MIN_TEXTS_RATIO = 2000


def explain_samples(
    explainer: Explainer, samples: ScoredSamples, labels: list[str], report: Progress
) -> list[ExplainedSample]:
    """Explain predictions that are correct and certain, wrong and certain, and undecided."""
    chosen = _choose_explained(samples)
    assert samples.texts is not None
    total = sum(map(len, chosen.values()))
    member_probas = explainer.view.member_oof_probas() if samples.source == "oof" else {}
    found: list[ExplainedSample] = []
    for kind, indices in chosen.items():
        texts: Any = [samples.texts[i][:_MAX_TEXT] for i in indices]
        if explainer.takes_table and samples.data is not None:
            texts = samples.data.select(indices)
        for i, explanation in zip(indices, explainer.explain_each(texts), strict=True):
            found.append(
                _summarize_explanation(kind, explanation, i, samples, labels, member_probas)
            )
            report("explaining", len(found), total)
    return found


def _summarize_explanation(
    kind: str,
    explanation: Explanation,
    index: int,
    samples: ScoredSamples,
    labels: list[str],
    member_probas: Mapping[str, NDArray[np.float64]],
) -> ExplainedSample:
    assert samples.texts is not None
    predicted, label = int(samples.predicted[index]), int(samples.y[index])
    # The final model has been trained on training texts, and does not repeat the errors of
    # out-of-fold predictions: its contributions do not explain them.
    is_explained = samples.source == "test" or predicted == label
    return ExplainedSample(
        kind=kind,
        id=samples.ids[index],
        label=labels[label],
        is_shortened=len(samples.texts[index]) > _MAX_TEXT,
        predicted=labels[predicted],
        probability=float(samples.proba[index, predicted]),
        output=explanation.output,
        segments=_list_segments(explanation, predicted, is_explained),
        contributions=_list_contributions(explanation, predicted) if is_explained else [],
        member_probabilities=[
            MemberProbability(name, float(proba[index, predicted]), float(proba[index, label]))
            for name, proba in member_probas.items()
        ],
        neighbors=_list_neighbors(explanation, index, samples),
    )


def _choose_explained(samples: ScoredSamples) -> dict[str, list[int]]:
    proba, y = samples.proba, samples.y
    confidence = proba[np.arange(len(y)), samples.predicted]
    is_correct = samples.predicted == y
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


def _list_segments(
    explanation: Explanation, column: int, is_explained: bool
) -> list[tuple[str, float]]:
    """Return the parts of a text with their contributions to a class, or with zeros."""
    if not is_explained:
        return [(explanation.text[:_MAX_TEXT], 0.0)]
    segments: list[tuple[str, float]] = []
    end = 0
    text = explanation.text
    values = explanation.word_contributions[:, column].tolist()
    for (start, stop), value in zip(explanation.spans, values, strict=True):
        segments += [(text[end:start], 0.0), (text[start:stop], value)]
        end = stop
    segments.append((text[end:], 0.0))
    # The texts of a table are explained in their whole length.
    starts = accumulate((len(part) for part, _ in segments), initial=0)
    return [
        (part, value)
        for start, (part, value) in zip(starts, segments, strict=False)
        if part and start < _MAX_TEXT
    ]


def _list_contributions(explanation: Explanation, column: int) -> list[Contribution]:
    """Return the baseline and the contributions of the members to the output of a class."""
    baseline = Contribution("baseline", float(explanation.baseline[column]), "the empty text")
    members = [
        Contribution(member.name, float(member.contributions[column]), member.method)
        for member in explanation.members
    ]
    return [baseline, *members]


def _list_neighbors(
    explanation: Explanation, index: int, samples: ScoredSamples
) -> list[SimilarSample]:
    """Return the nearest training samples, without the explained sample itself."""
    is_training = samples.source != "test"
    others = [each for each in explanation.neighbors if not (is_training and each.index == index)]
    return [
        SimilarSample(
            samples.ids[each.index] if is_training else f"number {each.index + 1:,}",
            str(each.label),
            float(each.similarity),
            each.shared_terms[:_MAX_SHARED_TERMS],
            shorten(samples.texts[each.index], _MAX_TEXT, "…")
            if is_training and samples.texts is not None
            else None,
        )
        for each in others[:_N_NEIGHBORS]
    ]


def find_class_words(
    model: Any, samples: ScoredSamples | None, report: Progress
) -> WordSummary | None:
    """Find words for and against each class in test samples, or else in the vocabulary.

    None if they cannot be found, e.g. because an encoder has no vocabulary.
    """
    texts, language, training = None, None, None
    if samples is not None and samples.texts is not None:
        texts = _sample_texts(samples)
        language = detect_language(texts)
        # In training texts, rare words look more important than they are.
        if samples.source != "test":
            texts, training = None, samples.texts
    n_train = count_training_samples(model, samples) or 0
    try:
        found = model.explain_classes(
            texts,
            training=training,
            n_words=_N_CANDIDATES,
            # There are many rare words in many texts, which mean little to a reader.
            min_texts=max(3, 0 if texts is not None else n_train // _MIN_TEXTS_RATIO),
            progress=lambda done, total: report("words of classes", done, total),
        )
    except CordwoodError:
        return None
    stop_words = get_stop_words(language) if language and has_stop_words(language) else frozenset()
    positive, negative = (
        _select_words(words, stop_words) for words in (found.positive, found.negative)
    )
    rows = zip(found.classes.tolist(), positive, negative, strict=True)
    classes = [WordsOfClass(str(label), own, other) for label, own, other in rows]
    return WordSummary(found.output, found.note, classes)


def _sample_texts(samples: ScoredSamples) -> list[str]:
    """Return the beginnings of at most 400 texts."""
    assert samples.texts is not None
    # Sorted by class, so that all classes have their share.
    order = np.argsort(samples.y, kind="stable")
    chosen = order[:: max(1, -(-len(order) // _MAX_WORD_TEXTS))]
    return [samples.texts[i][:_MAX_TEXT] for i in np.sort(chosen).tolist()]


def _select_words(
    by_class: Sequence[Sequence[ClassWord]], stop_words: Collection[str]
) -> list[list[ClassWord]]:
    """Select words of each class that mean something to a reader, those with most evidence first.

    A word of one class is evidence against all others, and is uninteresting there: the fewer
    classes have it in their list, the better.
    """
    n_classes = Counter(word.word for words in by_class for word in words)

    def evidence(word: ClassWord) -> float:
        rarity = math.log(len(by_class) / n_classes[word.word])
        return abs(word.contribution) * math.sqrt(word.n_texts or 1) * rarity

    def is_legible(word: ClassWord) -> bool:
        return any(map(str.isalpha, word.word)) and word.word not in stop_words

    return [
        sorted(filter(is_legible, words), key=evidence, reverse=True)[:_N_WORDS]
        for words in by_class
    ]
