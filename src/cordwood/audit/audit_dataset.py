"""Audit of labelled data: label errors, duplicates, leakage, unusual texts, revealing words."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood import recipes
from cordwood._base.duplicates import number_duplicates
from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._base.labels import check_n_classes
from cordwood.audit._confused_classes import ConfusedClasses, find_confused_classes
from cordwood.audit._outliers import MIN_SAMPLES, score_outliers
from cordwood.audit._revealing_words import RevealingWord, find_revealing_words
from cordwood.audit._word_features import WordFeatures, index_words
from cordwood.audit.dataset_audit import KINDS, DatasetAudit
from cordwood.audit.dataset_check import check_labels, group_equal
from cordwood.audit.label_errors import find_label_errors
from cordwood.audit.near_duplicates import NearDuplicates, find_near_duplicates
from cordwood.audit.suspects import (
    Suspect,
    find_bad_texts,
    find_leakage,
    find_outliers,
    find_repeated,
    make_suspect,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain.explainer import Explainer
from cordwood.oof.fit import fit_with_oof
from cordwood.oof.records import OOFPredictions

# Words are computed for at most this many label errors, because each takes a few milliseconds.
_MAX_EXPLAINED = 200
_N_NEIGHBORS = 5
# Tokens of these characters are no reasons that help a person; emoticons such as ":)" are.
_PUNCTUATION = frozenset("'\"`´‘’“”«».,…!?*#/\\|_-–—()[]{}<>")
_N_WORDS = 5

Progress = Callable[[str, int, int | None], None]


def audit_dataset(
    data: Corpus | FeatureMatrix,
    *,
    test: Corpus | FeatureMatrix | None = None,
    recipe: str | None = recipes.DEFAULT,
    model: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
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
    test : Corpus or FeatureMatrix, optional
        Test samples, to be compared with `data`.
    recipe : str or None, default="quick"
        Recipe whose out-of-fold predictions are compared with the labels; None looks for neither
        label errors nor confused classes, which takes most of the time.
    model : Pipeline, optional
        Model that `cordwood.train` returned for `data`, with out-of-fold predictions; no other
        model is trained.
    random_state : int, default=0
        Seed of the recipe, and of the selection of samples whose neighbors are sought, if there
        are more than 20,000.
    n_jobs : int, optional
        Number of threads of the recipe. The result does not depend on it.
    progress : callable, default=None
        Called as ``progress(step, done, total)``; `total` is None while it is unknown.

    Returns
    -------
    DatasetAudit

    Raises
    ------
    DataError
        If the samples do not have one label each, or if there is only one class.

    See Also
    --------
    check_dataset : Faster check before each training.
    find_label_errors : Label errors of given out-of-fold predictions.
    find_near_duplicates : Clusters of equal and similar texts.

    Examples
    --------
    >>> from cordwood import Corpus
    >>> corpus = Corpus(
    ...     texts=["so good", "bad", "So  good", "so good", "cafÃ©", ""],
    ...     ids=["1", "2", "3", "4", "5", "6"],
    ...     labels=["+", "-", "-", "+", "+", "-"],
    ... )
    >>> audit = audit_dataset(corpus, recipe=None)
    >>> audit.counts
    {'contradictory label': 1, 'duplicate': 1, 'empty text': 1, 'garbled text': 1}
    >>> audit.fix().dropped
    (3, 4, 5)
    """
    _check_labelled(data)
    labels: Any = data.labels
    counts = Counter(labels)
    report = progress or _ignore
    suspects: list[Suspect] = []
    text_suspects: list[Suspect] = []
    near = None
    if isinstance(data, Corpus):
        report("reading texts", 0, None)
        text_suspects = list(find_bad_texts(data))
        report("reading texts", 1, 1)
        near = find_near_duplicates(
            data.texts, progress=lambda *done: report("comparing texts", *done)
        )
    suspects += text_suspects
    suspects += find_repeated(data, group_equal(data), near)
    suspects += _find_all_leakage(data, test, near, report)
    features = index_words(data.texts, random_state) if isinstance(data, Corpus) else None
    if isinstance(data, Corpus) and features is not None and near is not None:
        report("comparing words", 0, None)
        suspects += _find_all_outliers(data, features, near, text_suspects)
        report("comparing words", 1, 1)
    revealing: tuple[RevealingWord, ...] = ()
    if isinstance(data, Corpus):
        classes, y = np.unique(np.asarray(labels), return_inverse=True)
        revealing = find_revealing_words(data.texts, y, classes)
    oof = None
    is_given = model is not None
    confused: tuple[ConfusedClasses, ...] = ()
    if is_given or recipe is not None:
        report("training", 0, None)
        model, oof = _predict_oof(data, model, recipe, random_state, n_jobs)
        report("training", 1, 1)
        skipped = {suspect.index for suspect in text_suspects}
        suspects += _find_all_label_errors(data, oof, model, features, skipped, report)
        words = None if features is None else features.counts
        confused = find_confused_classes(oof, words, [] if features is None else features.names)
    order = {kind: position for position, kind in enumerate(KINDS)}
    return DatasetAudit(
        n_samples=len(data),
        class_counts=dict(counts.most_common()),
        findings=tuple(check_labels(counts, False)),
        suspects=tuple(sorted(suspects, key=lambda suspect: order[suspect.kind])),
        confused_classes=confused,
        revealing_words=revealing,
        recipe=None if is_given else recipe,
        accuracy=None if oof is None else float(np.mean(oof.proba.argmax(axis=1) == oof.y)),
    )


def _ignore(step: str, done: int, total: int | None) -> None:
    pass


def _check_labelled(data: Corpus | FeatureMatrix) -> None:
    if data.labels is None:
        raise DataError("the samples have no labels; an audit needs labelled samples")
    if data.multilabel:
        raise DataError(
            "the samples have several labels each, which an audit does not support; audit one "
            "label at a time, with a column that contains whether each sample has it"
        )
    check_n_classes(data.labels, "the data set")


def _find_all_leakage(
    data: Corpus | FeatureMatrix,
    test: Corpus | FeatureMatrix | None,
    near: NearDuplicates | None,
    report: Progress,
) -> Iterator[Suspect]:
    if test is not None:
        if type(test) is not type(data):
            raise DataError(
                "test must have texts if data has texts, and features if it has features"
            )
        yield from find_leakage(data, test, _cluster_both(data, test, report), is_test=True)
    if data.split is None or "train" not in data.split:
        return
    is_train = np.array([subset == "train" for subset in data.split])
    train, others = np.flatnonzero(is_train), np.flatnonzero(~is_train)
    if isinstance(data, FeatureMatrix):
        cluster = number_duplicates(data.X)
    else:
        assert near is not None
        cluster = near.cluster
    found = find_leakage(
        data.select(train),
        data.select(others),
        cluster[np.concatenate([train, others])],
        is_test=False,
    )
    for suspect in found:
        index = int(others[suspect.index])
        yield make_suspect(
            data, index, suspect.kind, suspect.reason, related_ids=suspect.related_ids
        )


def _cluster_both(
    data: Corpus | FeatureMatrix, test: Corpus | FeatureMatrix, report: Progress
) -> NDArray[np.intp]:
    """Return the clusters of training and test samples together."""
    if isinstance(data, Corpus) and isinstance(test, Corpus):
        return find_near_duplicates(
            (*data.texts, *test.texts),
            progress=lambda *done: report("comparing with the test set", *done),
        ).cluster
    assert isinstance(data, FeatureMatrix) and isinstance(test, FeatureMatrix)
    parts: list[Any] = [sp.csr_matrix(data.X), sp.csr_matrix(test.X)]
    n_features = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], n_features)
    return number_duplicates(sp.vstack(parts))


def _find_all_outliers(
    data: Corpus, features: WordFeatures, near: NearDuplicates, reported: list[Suspect]
) -> Iterator[Suspect]:
    if len(data) < MIN_SAMPLES:
        return
    outliers = score_outliers(
        features.counts, features.neighbor_index, near.cluster, features.indexed
    )
    known = {suspect.index for suspect in reported}
    yield from (each for each in find_outliers(data, outliers) if each.index not in known)


def _predict_oof(
    data: Corpus | FeatureMatrix,
    model: Any,
    recipe: str | None,
    random_state: int,
    n_jobs: int | None,
) -> tuple[Any, OOFPredictions]:
    y = np.asarray(data.labels)
    if model is not None:
        oof = getattr(model, "oof_", None)
        if not isinstance(oof, OOFPredictions) or not np.array_equal(oof.y_true, y):
            raise CordwoodError(
                "model must have out-of-fold predictions of the samples in data; train it on them "
                "with cordwood.train(data, oof=True)"
            )
        return model, oof
    X: Any = data.texts if isinstance(data, Corpus) else data.X
    model = recipes.make(
        str(recipe),
        input="text" if isinstance(data, Corpus) else "numeric",
        # Sparse features are usually term weights, which are on comparable scales.
        scale=not sp.issparse(X),
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if is_mostly_empty(X):
        model.steps.insert(0, ("remover", EmptyFeatureRemover()))
    try:
        oof = fit_with_oof(
            model, X, y, groups=data.groups, n_jobs=n_jobs, random_state=random_state
        )
    except ValueError as error:
        raise CordwoodError(
            f"training of recipe {recipe!r} failed: {error}; without a recipe, label errors are "
            "not sought"
        ) from error
    return model, oof


def _find_all_label_errors(
    data: Corpus | FeatureMatrix,
    oof: OOFPredictions,
    model: Any,
    features: WordFeatures | None,
    skipped: set[int],
    report: Progress,
) -> Iterator[Suspect]:
    errors = find_label_errors(oof)
    ranking = [i for i in errors.ranking.tolist() if i not in skipped]
    explainer = Explainer(model) if isinstance(data, Corpus) else None
    classes = oof.classes.tolist()
    for number, i in enumerate(ranking):
        report("explaining label errors", number + 1, len(ranking))
        given, suggested = classes[oof.y[i]], classes[errors.suggested[i]]
        reason = (
            f"{suggested} has the probability {errors.confidence[i]:.2f}, {given} "
            f"{errors.self_confidence[i]:.2f}"
        )
        words: tuple[str, ...] = ()
        if explainer is not None and isinstance(data, Corpus) and number < _MAX_EXPLAINED:
            found = explainer.explain(data.texts[i]).top_words(suggested, 4 * _N_WORDS)
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
            reason += f"; words: {', '.join(words)}"
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
