"""Audit of labelled data: label errors, duplicates, leakage, unusual texts, revealing words."""

import html
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from cordwood import recipes
from cordwood._csr import to_csr
from cordwood._duplicates import number_duplicates
from cordwood._labels import check_n_classes
from cordwood._results import OOFPredictions, _html_table, _import_pandas
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.inspection._confused_classes import ConfusedClasses, find_confused_classes
from cordwood.inspection._outliers import MIN_SAMPLES, score_outliers
from cordwood.inspection._revealing_words import RevealingWord, find_revealing_words
from cordwood.inspection._suspects import (
    Suspect,
    find_bad_texts,
    find_leakage,
    find_outliers,
    find_repeated,
    make_suspect,
)
from cordwood.inspection.dataset_check import Finding, check_labels, group_equal
from cordwood.inspection.explainer import Explainer
from cordwood.inspection.label_errors import find_label_errors
from cordwood.inspection.near_duplicates import NearDuplicates, find_near_duplicates
from cordwood.inspection.oof_predictions import fit_with_oof
from cordwood.neighbors.index import CosineIndex, build_index, query_index

KINDS = (
    "label error",
    "contradictory label",
    "leakage",
    "duplicate",
    "near-duplicate",
    "empty text",
    "garbled text",
    "encoding error",
    "no letters",
    "outlier",
)
"""Kinds of suspects, in the order of a report."""

DROPPED_KINDS = ("duplicate", "empty text", "garbled text")
"""Kinds of suspects that `DatasetAudit.fix` drops."""

RELABEL_CONFIDENCE = 0.95
"""Out-of-fold probability of the suggested label from which on `DatasetAudit.fix` relabels."""

# Neighbors are sought among at most this many samples.
_MAX_INDEXED = 20_000
# Words are computed for at most this many label errors, because each takes a few milliseconds.
_MAX_EXPLAINED = 200
_N_NEIGHBORS = 5
_N_WORDS = 5

Progress = Callable[[str, int, int | None], None]


class Fix(NamedTuple):
    """Changes that `DatasetAudit.fix` proposes.

    Parameters
    ----------
    dropped : tuple of int
        Positions of the samples to drop, sorted.
    relabelled : dict of int to object
        New label by the position of the sample.
    """

    dropped: tuple[int, ...]
    relabelled: dict[int, Any]


@dataclass(frozen=True, kw_only=True)
class DatasetAudit:
    """Result of `audit_dataset`.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    class_counts : dict of str to int
        Number of samples of each class, the largest class first.
    findings : tuple of Finding
        Problems of the labels as a whole: small classes, spellings, labels that look like ids.
    suspects : tuple of Suspect
        Samples that may be wrong, by kind in the order of `KINDS`, and within a kind the most
        suspect first. A sample may have several kinds.
    confused_classes : tuple of ConfusedClasses
        Pairs of classes that are hard to tell apart.
    revealing_words : tuple of RevealingWord
        Words that give the label away.
    recipe : str or None
        Recipe of the out-of-fold predictions; None if label errors were not sought, or if a model
        was given.
    accuracy : float or None
        Out-of-fold accuracy, with the given labels as the truth.
    """

    n_samples: int
    class_counts: dict[str, int]
    findings: tuple[Finding, ...]
    suspects: tuple[Suspect, ...]
    confused_classes: tuple[ConfusedClasses, ...]
    revealing_words: tuple[RevealingWord, ...]
    recipe: str | None
    accuracy: float | None

    @property
    def counts(self) -> dict[str, int]:
        """Number of suspects of each kind that occurs, in the order of `KINDS`."""
        found = Counter(suspect.kind for suspect in self.suspects)
        return {kind: found[kind] for kind in KINDS if kind in found}

    def select(self, kind: str) -> tuple[Suspect, ...]:
        """Return the suspects of one kind.

        Parameters
        ----------
        kind : str
            One of `KINDS`.

        Returns
        -------
        tuple of Suspect
        """
        if kind not in KINDS:
            raise CordwoodError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
        return tuple(suspect for suspect in self.suspects if suspect.kind == kind)

    def fix(self, *, relabel: bool = False) -> Fix:
        """Return the changes that are safe to make without a review.

        Parameters
        ----------
        relabel : bool, default=False
            Whether to replace labels if the suggested label has an out-of-fold probability of at
            least 0.95.

        Returns
        -------
        Fix
            Duplicates with the same label as an earlier sample, empty texts and garbled texts are
            dropped. Samples of the test set are not changed.
        """
        own = [suspect for suspect in self.suspects if not suspect.is_test]
        dropped = {suspect.index for suspect in own if suspect.kind in DROPPED_KINDS}
        relabelled = {
            suspect.index: suspect.suggested_label
            for suspect in own
            if relabel
            and suspect.kind == "label error"
            and suspect.confidence is not None
            and suspect.confidence >= RELABEL_CONFIDENCE
            and suspect.index not in dropped
        }
        return Fix(tuple(sorted(dropped)), relabelled)

    def to_frame(self, table: str = "suspects") -> Any:
        """Convert one of the tables to a pandas DataFrame.

        Parameters
        ----------
        table : {"suspects", "confused_classes", "revealing_words", "findings"}, default="suspects"

        Returns
        -------
        DataFrame
            One row per suspect, pair of classes, word or finding, with the fields of the record as
            columns.
        """
        kinds: dict[str, type[Any]] = {
            "suspects": Suspect,
            "confused_classes": ConfusedClasses,
            "revealing_words": RevealingWord,
            "findings": Finding,
        }
        if table not in kinds:
            raise CordwoodError(
                f"table must be one of {', '.join(map(repr, kinds))}; got {table!r}"
            )
        columns = [field.name for field in fields(kinds[table])]
        return _import_pandas().DataFrame(map(asdict, getattr(self, table)), columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field, and `counts`.
        """
        return {
            "n_samples": self.n_samples,
            "class_counts": dict(self.class_counts),
            "recipe": self.recipe,
            "accuracy": self.accuracy,
            "counts": self.counts,
            "findings": [_to_json(asdict(finding)) for finding in self.findings],
            "suspects": [_to_json(asdict(suspect)) for suspect in self.suspects],
            "confused_classes": [_to_json(asdict(pair)) for pair in self.confused_classes],
            "revealing_words": [_to_json(asdict(word)) for word in self.revealing_words],
        }

    def __str__(self) -> str:
        lines = [f"audit of {self.n_samples:,} samples of {len(self.class_counts):,} classes"]
        lines += [finding.message for finding in self.findings]
        lines += [
            f"{n:,} x {kind}: {describe(self.select(kind)[0])}" for kind, n in self.counts.items()
        ]
        lines += [describe_pair(pair) for pair in self.confused_classes]
        lines += [describe_word(word) for word in self.revealing_words]
        return "\n".join(lines if len(lines) > 1 else [*lines, "no findings"])

    def _repr_html_(self) -> str:
        title = f"audit of {self.n_samples:,} samples of {len(self.class_counts):,} classes"
        notes = [finding.message for finding in self.findings]
        notes += [describe_pair(pair) for pair in self.confused_classes]
        notes += [describe_word(word) for word in self.revealing_words]
        rows = [(kind, f"{n:,}", describe(self.select(kind)[0])) for kind, n in self.counts.items()]
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        table = _html_table(title, ("problem", "samples", "example"), rows)
        return table + (f"<ul>{items}</ul>" if notes else "")


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
    are hard to tell apart, and words that give the label away.

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
        Called as ``progress(step, done, total)``; `total` is None if it is unknown.

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
        near = find_near_duplicates(
            data.texts, progress=lambda *done: report("comparing texts", *done)
        )
    suspects += text_suspects
    suspects += find_repeated(data, group_equal(data), near)
    suspects += _find_all_leakage(data, test, near, report)
    features = _index_words(data, random_state) if isinstance(data, Corpus) else None
    if isinstance(data, Corpus) and features is not None and near is not None:
        report("comparing words", 0, None)
        suspects += _find_all_outliers(data, features, near, text_suspects)
    revealing: tuple[RevealingWord, ...] = ()
    if isinstance(data, Corpus):
        classes, y = np.unique(np.asarray(labels), return_inverse=True)
        revealing = find_revealing_words(data.texts, y, classes)
    oof = None
    confused: tuple[ConfusedClasses, ...] = ()
    if model is not None or recipe is not None:
        report("training", 0, None)
        model, oof = _predict_oof(data, model, recipe, random_state, n_jobs)
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
        recipe=None if oof is None else recipe,
        accuracy=None if oof is None else float(np.mean(oof.proba.argmax(axis=1) == oof.y)),
    )


def describe(suspect: Suspect) -> str:
    """Describe a suspect in one line."""
    label = "" if suspect.label is None else f" ({suspect.label})"
    return f"{suspect.id}{label}: {suspect.reason}"


def describe_pair(pair: ConfusedClasses) -> str:
    """Describe two confused classes in one line."""
    a, b = pair.labels
    line = (
        f"{a} and {b} are hard to tell apart: {sum(pair.n_errors):,} samples, "
        f"{pair.error_rate:.0%} of both, are predicted as the other"
    )
    shown = [
        f"{label}: {', '.join(words)}"
        for label, words in zip(pair.labels, pair.words, strict=True)
        if words
    ]
    return f"{line}; words of {'; of '.join(shown)}" if shown else line


def describe_word(word: RevealingWord) -> str:
    """Describe a revealing word in one line."""
    kind = "" if word.kind == "word" else f" ({word.kind})"
    n_others = word.n_texts - word.n_texts_in_class
    return (
        f"{word.word!r}{kind} gives away {word.label}: in {word.n_texts_in_class:,} of its "
        f"{word.class_size:,} texts and in {n_others:,} of other classes"
    )


class _WordFeatures(NamedTuple):
    """Counts of words, and an index of some of the samples."""

    counts: sp.csr_matrix
    names: list[str]
    neighbor_index: CosineIndex
    indexed: NDArray[np.intp]


def _ignore(step: str, done: int, total: int | None) -> None:
    pass


def _check_labelled(data: Corpus | FeatureMatrix) -> None:
    if data.labels is None:
        raise DataError("the samples have no labels; an audit needs labelled samples")
    if data.multilabel:
        raise DataError(
            "the samples have a list of labels each; an audit supports one label per sample only"
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


def _index_words(data: Corpus, random_state: int) -> _WordFeatures | None:
    """Count the words of all texts and index some of the texts; None if there are no words."""
    vectorizer = CountVectorizer(token_pattern=r"\b\w+\b", dtype=np.float32)
    try:
        counts = to_csr(vectorizer.fit_transform(data.texts))
    except ValueError:  # no words
        return None
    order = np.random.RandomState(random_state).permutation(len(data))
    indexed = np.sort(order[:_MAX_INDEXED])
    index = build_index(to_csr(counts[indexed]), "tfidf_cosine")
    assert isinstance(index, CosineIndex)
    return _WordFeatures(counts, list(vectorizer.get_feature_names_out()), index, indexed)


def _find_all_outliers(
    data: Corpus, features: _WordFeatures, near: NearDuplicates, reported: list[Suspect]
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
    features: _WordFeatures | None,
    skipped: set[int],
    report: Progress,
) -> Iterator[Suspect]:
    errors = find_label_errors(oof)
    ranking = [i for i in errors.ranking.tolist() if i not in skipped]
    explainer = Explainer(model) if isinstance(data, Corpus) else None
    classes = oof.classes.tolist()
    for number, i in enumerate(ranking):
        report("explaining label errors", number, len(ranking))
        given, suggested = classes[oof.y[i]], classes[errors.suggested[i]]
        reason = (
            f"{suggested} has the probability {errors.confidence[i]:.2f}, {given} "
            f"{errors.self_confidence[i]:.2f}"
        )
        words: tuple[str, ...] = ()
        if explainer is not None and isinstance(data, Corpus) and number < _MAX_EXPLAINED:
            found = explainer.explain(data.texts[i]).top_words(suggested, 4 * _N_WORDS)
            words = tuple(word for word, value in found if value > 0)[:_N_WORDS]
        related: tuple[str, ...] = ()
        if features is not None:
            nearest = _find_nearest(features, i)
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


def _find_nearest(features: _WordFeatures, sample: int) -> list[int]:
    """Return the nearest indexed samples of a sample."""
    n_neighbors = min(_N_NEIGHBORS, len(features.indexed))
    neighbors, _ = query_index(
        features.neighbor_index,
        features.counts[[sample]],
        n_neighbors,
        query_groups=np.array([sample], np.int64),
        groups=features.indexed.astype(np.int64),
    )
    return [int(features.indexed[j]) for j in neighbors[0] if j >= 0]


def _to_json(value: Any) -> Any:
    """Convert tuples to lists, and other objects to str."""
    if isinstance(value, dict):
        return {name: _to_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
