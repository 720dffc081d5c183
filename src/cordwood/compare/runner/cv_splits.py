"""Train/test splits of a data set.

A split depends only on the data, the kind of evaluation and the seed: not on the order in which
trials run, nor on their number.
"""

import hashlib
import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from cordwood.compare.config.schema import EvaluationConfig
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.multilabel.indicators import find_rarest_labels, to_indicators

Indices = NDArray[np.intp]


class Split(NamedTuple):
    """Training and test samples of one fold, as indices in ascending order."""

    train: Indices
    test: Indices


def split(data: Corpus | FeatureMatrix, evaluation: EvaluationConfig, seed: int) -> list[Split]:
    """Split a labelled data set into training and test samples, for each fold of each repeat.

    Fold `f` of repeat `r` is at index ``r * folds + f``. Samples with several labels are stratified
    by their rarest label.

    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaabbb"))
    >>> [test.tolist() for _, test in split(corpus, EvaluationConfig(folds=3), seed=0)]
    [[2, 4], [1, 5], [0, 3]]
    """
    y = _encode_labels(data)
    if evaluation.kind == "fixed":
        return [_official_split(data)] * evaluation.repeats
    if evaluation.kind == "time":
        return _split_by_time(data, evaluation.folds)
    splits: list[Split] = []
    for repeat in range(evaluation.repeats):
        # The first repeat has scikit-learn's folds for the plan's seed as `random_state`, and more
        # repeats do not change the earlier ones.
        repeat_seed = seed if repeat == 0 else derive_seed(f"repeat {repeat}", seed)
        if evaluation.kind == "grouped":
            test_folds = _assign_grouped_folds(data, y, evaluation.folds, repeat_seed)
        elif evaluation.kind == "holdout":
            test_folds = np.ones(len(y), dtype=np.intp)
            test_folds[_sample_holdout(y, evaluation.test_size or 0.0, repeat_seed)] = 0
        else:
            test_folds = _assign_stratified_folds(y, evaluation.folds, repeat_seed)
        splits.extend(
            Split(np.flatnonzero(test_folds != fold), np.flatnonzero(test_folds == fold))
            for fold in range(evaluation.folds)
        )
    return splits


def subsample_train(
    data: Corpus | FeatureMatrix, split: Split, train_fraction: float, seed: int
) -> Split:
    """Keep a stratified random fraction of the training samples, for a learning curve.

    Larger fractions contain the smaller ones. Each class keeps at least one sample as long as the
    fraction has as many samples as there are classes.

    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> half = subsample_train(corpus, Split(np.arange(6), np.arange(0)), 0.5, seed=0)
    >>> [corpus.labels[index] for index in half.train]
    ['a', 'a', 'b']
    """
    train = split.train
    digest = hashlib.sha256(train.astype("<i8").tobytes()).hexdigest()
    random = np.random.RandomState(derive_seed(f"share of {digest}", seed))
    shuffled = random.permutation(train)
    y = _encode_labels(data)[shuffled]
    # Rank within the class over class size: the first sample of every class precedes all others.
    relative_rank = _rank_within_class(y) / np.bincount(y)[y]
    order = np.lexsort((random.uniform(size=len(train)), relative_rank))
    n_kept = max(2, round(train_fraction * len(train)))
    return Split(np.sort(shuffled[order[:n_kept]]), split.test)


def fingerprint(data: Corpus | FeatureMatrix, evaluation: EvaluationConfig) -> str:
    """Hash everything in a data set that a result can depend on, to 64 hexadecimal digits."""
    columns = {"grouped": data.groups, "fixed": data.split, "time": data.times}
    parts = (data.fingerprint(), columns.get(evaluation.kind))
    # Data without weights have the fingerprints of earlier ledgers.
    content = repr(parts if data.weights is None else (*parts, data.weights))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _encode_labels(data: Corpus | FeatureMatrix) -> Indices:
    """Encode the labels as integers, in order of first occurrence."""
    if data.labels is None:
        raise DataError("a comparison needs labelled samples, but the data set has no labels")
    if data.multilabel:
        # As in `cordwood.multilabel`, so that rare labels are spread over the folds.
        rarest = find_rarest_labels(to_indicators(cast(Any, data.labels))[1])
        return np.unique(rarest, return_inverse=True)[1].ravel()
    codes = {label: code for code, label in enumerate(dict.fromkeys(data.labels))}
    return np.array([codes[label] for label in data.labels], dtype=np.intp)


def derive_seed(purpose: str, seed: int) -> int:
    """Derive a seed for another purpose, the same on every platform."""
    # Changing the string of a purpose changes the splits, and so the results, of existing ledgers.
    return int.from_bytes(hashlib.sha256(f"{purpose} {seed}".encode()).digest()[:4], "little")


def _rank_within_class(y: Indices) -> Indices:
    """Return for each sample the number of preceding samples of the same class."""
    order = np.argsort(y, kind="stable")
    starts = np.cumsum(np.bincount(y)) - np.bincount(y)
    ranks = np.empty_like(y)
    ranks[order] = np.arange(len(y)) - starts[y[order]]
    return ranks


def _assign_stratified_folds(y: Indices, n_folds: int, seed: int) -> Indices:
    """Assign samples to folds as `StratifiedKFold` with shuffling does."""
    # `StratifiedKFold` itself raises if all classes have fewer samples than there are folds, and
    # warns if one has. Here some folds then have no test sample of the class.
    if len(y) < n_folds:
        raise DataError(f"{len(y)} samples cannot be split into {n_folds} folds")
    random = np.random.RandomState(seed)
    ends = np.cumsum(np.bincount(y))[:-1]
    folds = np.empty_like(y)
    for code, class_folds in enumerate(np.split(np.arange(len(y)) % n_folds, ends)):
        class_folds = np.sort(class_folds)
        random.shuffle(class_folds)
        folds[y == code] = class_folds
    return folds


def _assign_grouped_folds(
    data: Corpus | FeatureMatrix, y: Indices, n_folds: int, seed: int
) -> Indices:
    """Assign samples to folds as `StratifiedGroupKFold` with shuffling does."""
    if data.groups is None:
        raise DataError(
            "evaluation kind 'grouped' needs groups, but the data set has none; name the group "
            "column in the plan, or choose another kind"
        )
    n_groups = len(set(data.groups))
    if n_groups < n_folds:
        raise DataError(f"{n_groups} groups cannot be split into {n_folds} folds")
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    folds = np.empty_like(y)
    with warnings.catch_warnings():
        # Classes with fewer samples than folds are allowed here.
        warnings.simplefilter("ignore", UserWarning)
        try:
            splits = list(splitter.split(y, y, np.asarray(data.groups)))
        except ValueError as error:
            raise DataError(f"the samples cannot be split into grouped folds: {error}") from error
    for fold, (_, test) in enumerate(splits):
        folds[test] = fold
    return folds


def _split_by_time(data: Corpus | FeatureMatrix, n_folds: int) -> list[Split]:
    """Split as `TimeSeriesSplit` does, but never between samples of the same time."""
    if data.times is None:
        raise DataError(
            "evaluation kind 'time' needs times, but the data set has none; name the time column "
            "in the plan, or choose another kind"
        )
    _, ranks = np.unique(np.asarray(data.times), return_inverse=True)
    order = np.argsort(ranks, kind="stable")
    test_size = len(order) // (n_folds + 1)
    starts = len(order) - test_size * np.arange(n_folds, 0, -1)
    # A test set starts with the first sample of its time, so that equal times are not divided.
    starts = np.searchsorted(ranks[order], ranks[order][starts % len(order)])
    ends = np.append(starts[1:], len(order))
    if test_size == 0 or starts[0] == 0 or (ends <= starts).any():
        n_times = ranks.max() + 1
        raise DataError(
            f"{len(order)} samples with {n_times} different times cannot be split into {n_folds} "
            "folds by time; use fewer folds"
        )
    return [
        Split(np.sort(order[:start]), np.sort(order[start:end]))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _official_split(data: Corpus | FeatureMatrix) -> Split:
    """Return the parts "train" and "test"; samples of other parts are not used."""
    parts = np.asarray(data.split if data.split is not None else (), dtype=str)
    found = Split(np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test"))
    if not len(found.train) or not len(found.test):
        known = ", ".join(sorted(set(parts.tolist()))) or "none"
        raise DataError(
            "evaluation kind 'fixed' needs an official split with the parts 'train' and 'test', "
            f"but the parts of the data set are: {known}; choose another kind"
        )
    return found


def _sample_holdout(y: Indices, test_size: float, seed: int) -> Indices:
    n_test = min(max(1, round(test_size * len(y))), len(y) - 1)
    if n_test < 1:
        raise DataError(f"{len(y)} samples cannot be split into training and test samples")
    class_sizes = np.bincount(y)
    exact = class_sizes * (n_test / len(y))
    n_per_class = np.floor(exact).astype(np.intp)
    # Largest remainder method: the classes that lost most by rounding down get one more each.
    n_remaining = n_test - int(n_per_class.sum())
    n_per_class[np.argsort(n_per_class - exact, kind="stable")[:n_remaining]] += 1
    shuffled = np.random.RandomState(seed).permutation(len(y))
    is_test = _rank_within_class(y[shuffled]) < n_per_class[y[shuffled]]
    return np.asarray(shuffled[is_test])
