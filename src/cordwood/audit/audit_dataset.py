"""Audit of labelled data: label errors, duplicates, leakage, unusual texts, revealing words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cordwood._base.labels import check_n_classes
from cordwood._base.wording import join_names
from cordwood.audit._outliers import MIN_SAMPLES, score_outliers
from cordwood.audit._revealing_words import RevealingWord, find_revealing_words
from cordwood.audit._word_features import WordFeatures, index_words
from cordwood.audit.confused_classes import ConfusedClasses, find_confused_classes
from cordwood.audit.dataset_audit import KINDS, DatasetAudit
from cordwood.audit.dataset_check import check_labels
from cordwood.audit.label_errors import find_label_errors
from cordwood.audit.near_duplicates import NearDuplicates, cluster_samples
from cordwood.audit.spellings import Spelling, confirm_spellings, find_spellings, merge_spellings
from cordwood.audit.suspects import (
    Suspect,
    find_bad_texts,
    find_leakage,
    find_missing_labels,
    find_outliers,
    find_repeated,
    make_suspect,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain.explanation import Explanation
from cordwood.oof.records import OOFPredictions

# Words are computed for at most this many label errors, because each takes a few milliseconds.
_MAX_EXPLAINED = 200
# An encoder takes as long to explain one text as the training takes for hundreds whose vectors are
# cached: one label error per this many samples is explained with it, and the others without.
_SAMPLES_PER_OCCLUSION = 500
_N_NEIGHBORS = 5
# Tokens of these characters are no reasons that help a person; emoticons such as ":)" are.
_PUNCTUATION = frozenset("'\"`´‘’“”«».,…!?*#/\\|_-–—()[]{}<>")
_N_WORDS = 5

Progress = Callable[[str, int, int | None], None]


def audit_dataset(
    data: Corpus | FeatureMatrix,
    *,
    model: Any = None,
    test: Corpus | FeatureMatrix | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> DatasetAudit:
    """Look for wrong labels and bad samples in labelled data.

    Finds likely label errors, equal and similar texts, with the same or with contradictory labels,
    test samples in the training set, empty and garbled texts, texts unlike the rest, classes that
    are hard to distinguish, and words that give the label away.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        Samples with one label each. If they have a predefined split with a subset "train", samples
        of other subsets are compared with it.
    model : TextClassifier, optional
        Model that was fitted on `data`, with its out-of-fold predictions as `oof_`. Without a
        model, neither label errors nor confused classes are sought.
    test : Corpus or FeatureMatrix, optional
        Test samples, to be compared with `data`.
    random_state : int, default=0
        Seed of the selection of samples whose neighbors are sought, if there are more than 20,000.
    progress : callable, default=None
        Called as ``progress(step, done, total)``; `total` is None while it is unknown.

    Returns
    -------
    DatasetAudit

    Raises
    ------
    DataError
        If the samples do not have one label each, or if there is only one class.
    CordwoodError
        If the model has no out-of-fold predictions of these samples.

    See Also
    --------
    check_dataset : Faster check before each training.
    find_label_errors : Label errors of given out-of-fold predictions.
    find_near_duplicates : Clusters of equal and similar texts.

    Examples
    --------
    >>> from cordwood import Corpus
    >>> texts = ["so good", "bad", "So  good", "so good", "cafÃ©", ""]
    >>> corpus = Corpus(texts=texts, ids=list("123456"), labels=list("+--++-"))
    >>> audit = audit_dataset(corpus)
    >>> audit.counts
    {'contradictory label': 1, 'duplicate': 1, 'empty text': 1, 'garbled text': 1}
    >>> audit.fix().dropped
    (3, 4, 5)
    """
    _check_labelled(data)
    oof = None if model is None else _check_oof(data, model)
    labels: Any = data.labels
    counts = Counter(labels)
    report = progress or (lambda step, done, total: None)
    spellings = confirm_spellings(
        find_spellings(counts, data.texts if isinstance(data, Corpus) else ()), oof
    )
    given, data = labels, replace(data, labels=merge_spellings(labels, spellings))
    near = cluster_samples(data, progress=lambda *done: report("comparing texts", *done))
    suspects = [*find_missing_labels(data), *find_repeated(data, near)]
    suspects += _find_all_leakage(data, test, near, report)
    bad_texts: list[Suspect] = []
    features = None
    revealing: tuple[RevealingWord, ...] = ()
    if isinstance(data, Corpus):
        report("reading texts", 0, None)
        bad_texts = list(find_bad_texts(data))
        suspects += bad_texts
        classes, y = np.unique(np.asarray(data.labels), return_inverse=True)
        revealing = find_revealing_words(data.texts, y, classes)
        report("reading texts", 1, 1)
        report("comparing words", 0, None)
        features = index_words(data.texts, random_state)
        suspects += _find_all_outliers(data, features, near, bad_texts)
        report("comparing words", 1, 1)
    confused: tuple[ConfusedClasses, ...] = ()
    if oof is not None:
        skipped = {suspect.index for suspect in bad_texts}
        suspects += _find_all_label_errors(data, oof, model, features, spellings, skipped, report)
        words = None if features is None else features.counts
        confused = find_confused_classes(oof, words, [] if features is None else features.names)
    order = {kind: position for position, kind in enumerate(KINDS)}
    return DatasetAudit(
        n_samples=len(data),
        class_counts=dict(counts.most_common()),
        findings=tuple(check_labels(counts, False, spellings)),
        suspects=tuple(sorted(suspects, key=lambda suspect: order[suspect.kind])),
        confused_classes=confused,
        revealing_words=revealing,
        spellings=spellings,
        labels=tuple(given),
        accuracy=None if oof is None else float(model.evaluation_.accuracy),
    )


def _check_labelled(data: Corpus | FeatureMatrix) -> None:
    if data.labels is None:
        raise DataError("the samples have no labels; an audit needs labelled samples")
    if data.multilabel:
        raise DataError(
            "the samples have several labels each, which an audit does not support; audit one "
            "label at a time, with a column that contains whether each sample has it"
        )
    check_n_classes(data.labels, "the data set")


def _check_oof(data: Corpus | FeatureMatrix, model: Any) -> OOFPredictions:
    oof = getattr(model, "oof_", None)
    if not isinstance(oof, OOFPredictions) or not np.array_equal(oof.y_true, np.array(data.labels)):
        raise CordwoodError(
            "model must have out-of-fold predictions of the samples in data; train it on them "
            "with TextClassifier(oof=True)"
        )
    return oof


def _find_all_leakage(
    data: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix | None,
    near: NearDuplicates,
    report: Progress,
) -> Iterator[Suspect]:
    if test is not None:
        both = cluster_samples(
            data, test, progress=lambda *done: report("comparing with the test set", *done)
        )
        yield from find_leakage(data, test, both.cluster, is_test=True)
    if data.split is None or "train" not in data.split:
        return
    is_train = np.array([subset == "train" for subset in data.split])
    train, others = np.flatnonzero(is_train), np.flatnonzero(~is_train)
    found = find_leakage(
        data.select(train),
        data.select(others),
        near.cluster[np.concatenate([train, others])],
        is_test=False,
    )
    for suspect in found:
        yield replace(suspect, index=int(others[suspect.index]))


def _find_all_outliers(
    data: Corpus, features: WordFeatures | None, near: NearDuplicates, reported: list[Suspect]
) -> Iterator[Suspect]:
    if features is None or len(data) < MIN_SAMPLES:
        return
    outliers = score_outliers(
        features.counts, features.neighbor_index, near.cluster, features.indexed
    )
    known = {suspect.index for suspect in reported}
    yield from (each for each in find_outliers(data, outliers) if each.index not in known)


def _find_all_label_errors(
    data: Corpus | FeatureMatrix,
    oof: OOFPredictions,
    model: Any,
    features: WordFeatures | None,
    spellings: Sequence[Spelling],
    skipped: set[int],
    report: Progress,
) -> Iterator[Suspect]:
    errors = find_label_errors(oof)
    classes = merge_spellings(oof.classes.tolist(), spellings)
    # Another spelling of the label is no error.
    ranking = [
        i
        for i in errors.ranking.tolist()
        if i not in skipped and classes[oof.y[i]] != classes[errors.suggested[i]]
    ]
    explained = _explain(data, model, ranking[:_MAX_EXPLAINED])
    for number, i in enumerate(ranking):
        report("explaining label errors", number + 1, len(ranking))
        given, suggested = classes[oof.y[i]], classes[errors.suggested[i]]
        reason = (
            f"{suggested} has the probability {errors.confidence[i]:.2f}, {given} "
            f"{errors.self_confidence[i]:.2f}"
        )
        words: tuple[str, ...] = ()
        explanation, without = next(explained, (None, ""))
        if explanation is not None:
            found = explanation.top_words(oof.classes[errors.suggested[i]], 4 * _N_WORDS)
            words = tuple(
                word for word, value in found if value > 0 and not _PUNCTUATION.issuperset(word)
            )[:_N_WORDS]
        related: tuple[str, ...] = ()
        if features is not None:
            nearest = features.find_nearest(i, _N_NEIGHBORS)
            agreeing = [j for j in nearest if oof.y[j] == errors.suggested[i]]
            related = tuple(data.ids[j] for j in agreeing)
            reason += f"; {len(agreeing)} of the {len(nearest)} nearest texts are {suggested}"
        if words:
            reason += f"; words{without}: {', '.join(words)}"
        yield make_suspect(
            data,
            i,
            "label error",
            reason,
            suggested_label=suggested,
            confidence=float(errors.confidence[i]),
            words=words,
            related_ids=related,
        )


def _explain(
    data: Corpus | FeatureMatrix, model: Any, samples: list[int]
) -> Iterator[tuple[Explanation, str]]:
    """Explain the predictions of some samples, and say which members are not explained.

    None if the model cannot be explained.
    """
    if not isinstance(data, Corpus):
        return
    try:
        explainer = model.make_explainer()
    except DataError:  # a model of numbers that were computed from the texts
        return
    n_whole = max(len(data) // _SAMPLES_PER_OCCLUSION, 1) if explainer.occluded else len(samples)
    for part, occlusion in ((samples[:n_whole], True), (samples[n_whole:], False)):
        selected = data.select(part)
        texts = selected if explainer.takes_table else selected.texts
        without = "" if occlusion else f" without {join_names(explainer.occluded)}"
        for explanation in explainer.explain_each(texts, occlusion=occlusion) if part else ():
            yield explanation, without
