"""Splits: which rows are learnt from and which are asked about.

A division follows from the data, the kind of evaluation and the seed alone: not from the order in
which units are run, nor from their number.
"""

import hashlib
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from cordwood.compare.config.schema import Evaluation
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

Positions = NDArray[np.intp]


class Split(NamedTuple):
    """One division of the rows, by their positions in rising order."""

    train: Positions
    test: Positions


def split(rows: Corpus | FeatureMatrix, evaluation: Evaluation, seed: int) -> list[Split]:
    """Divide labelled rows into training and test rows, once for each fold of each repeat.

    - "stratified": each class is dealt out over the folds as evenly as it goes; the folds are those
      of scikit-learn's `StratifiedKFold` with shuffling. A class of fewer rows than folds is no
      error: in some folds none of its rows is asked about. The only row of a class is asked about
      without having been learnt from.
    - "grouped": scikit-learn's `StratifiedGroupKFold` with shuffling; the rows of a group stay
      together, and classes are as even as that allows.
    - "fixed": the rows whose official part is "train", and those of "test". Rows of other parts
      are left out.
    - "holdout": this share of all rows is the test, and of each class as nearly as it goes.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        With one label for each row.
    evaluation : Evaluation
        The plan's.
    seed : int
        The plan's. The first repeat is drawn with this very number, as scikit-learn would.

    Returns
    -------
    list of Split
        Fold `f` of repeat `r` is at ``r * folds + f``; further repeats leave earlier ones alone.

    Raises
    ------
    DataError
        If the rows have no labels, several labels each, no groups or no official split where
        these are needed, or if there are fewer rows or groups than folds.

    Examples
    --------
    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaabbb"))
    >>> [test.tolist() for _, test in split(corpus, Evaluation(folds=3), seed=0)]
    [[2, 4], [1, 5], [0, 3]]
    """
    codes = _encode(rows)
    if evaluation.kind == "fixed":
        return [_read_official(rows)] * evaluation.repeats
    splits: list[Split] = []
    for repeat in range(evaluation.repeats):
        repeat_seed = seed if repeat == 0 else _derive(f"repeat {repeat}", seed)
        if evaluation.kind == "grouped":
            tests = _deal_groups(rows, codes, evaluation.folds, repeat_seed)
        elif evaluation.kind == "holdout":
            tests = np.ones(len(codes), dtype=np.intp)
            tests[_hold_out(codes, evaluation.test_size or 0.0, repeat_seed)] = 0
        else:
            tests = _deal(codes, evaluation.folds, repeat_seed)
        splits.extend(
            Split(np.flatnonzero(tests != fold), np.flatnonzero(tests == fold))
            for fold in range(evaluation.folds)
        )
    return splits


def shrink(rows: Corpus | FeatureMatrix, split: Split, share: float, seed: int) -> Split:
    """Keep a share of the training rows, for a learning curve.

    Larger shares contain the smaller ones. Of each class the same share is kept, as nearly as it
    goes; each class keeps a row as long as the share has as many rows as there are classes.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        With one label for each row.
    split : Split
        One division of these rows.
    share : float
        Above 0 and up to 1; two rows are kept at least.
    seed : int
        The plan's.

    Returns
    -------
    Split
        With the same test rows.

    Examples
    --------
    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> half = shrink(corpus, Split(np.arange(6), np.arange(0)), 0.5, seed=0)
    >>> [corpus.labels[row] for row in half.train]
    ['a', 'a', 'b']
    """
    train = split.train
    digest = hashlib.sha256(train.astype("<i8").tobytes()).hexdigest()
    random = np.random.RandomState(_derive(f"share of {digest}", seed))
    shuffled = random.permutation(train)
    codes = _encode(rows)[shuffled]
    # How far through its class a row comes; the first of every class come before all others.
    progress = _rank_within(codes) / np.bincount(codes)[codes]
    first = np.lexsort((random.uniform(size=len(train)), progress))
    n_kept = max(2, round(share * len(train)))
    return Split(np.sort(shuffled[first[:n_kept]]), split.test)


def discard(
    rows: Corpus | FeatureMatrix, split: Split, category: str, n_kept: int, repeat: int, seed: int
) -> Split:
    """Keep so many of the training rows of a category, for a curve of a class that gets rare.

    More rows contain fewer of the same repeat; repeats are drawn independently of each other.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        With one label for each row.
    split : Split
        One division of these rows.
    category : str
        The label.
    n_kept : int
        Rows to keep; all where there are no more.
    repeat : int
        From 0.
    seed : int
        The plan's.

    Returns
    -------
    Split
        With all training rows of other labels, and the same test rows.

    Examples
    --------
    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> few = discard(corpus, Split(np.arange(6), np.arange(0)), "a", 1, repeat=0, seed=0)
    >>> [corpus.labels[row] for row in few.train]
    ['a', 'b', 'b']
    """
    labels = rows.labels or ()
    is_category = np.array([labels[row] == category for row in split.train], dtype=bool)
    random = np.random.RandomState(_derive(f"positives {repeat}", seed))
    kept = random.permutation(split.train[is_category])[:n_kept]
    return Split(np.sort(np.concatenate([split.train[~is_category], kept])), split.test)


def fingerprint(rows: Corpus | FeatureMatrix, evaluation: Evaluation) -> str:
    """Hash all of the data that a result can depend on: also groups or parts where they matter.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
    evaluation : Evaluation
        The plan's.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    columns = {"grouped": rows.groups, "fixed": rows.split}
    told = repr((rows.fingerprint(), columns.get(evaluation.kind)))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _encode(rows: Corpus | FeatureMatrix) -> Positions:
    """Number the classes in the order in which they come."""
    if rows.labels is None:
        raise DataError("a comparison needs labelled rows, and these have no labels")
    if rows.multilabel:
        raise DataError(
            "a comparison needs one label a row, and here a row may have several, or none"
        )
    numbers = {label: code for code, label in enumerate(dict.fromkeys(rows.labels))}
    return np.array([numbers[label] for label in rows.labels], dtype=np.intp)


def _derive(purpose: str, seed: int) -> int:
    """Make another seed of a seed, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{purpose} {seed}".encode()).digest()[:4], "little")


def _rank_within(codes: Positions) -> Positions:
    """Count for each row the rows of its class before it."""
    order = np.argsort(codes, kind="stable")
    starts = np.cumsum(np.bincount(codes)) - np.bincount(codes)
    ranks = np.empty_like(codes)
    ranks[order] = np.arange(len(codes)) - starts[codes[order]]
    return ranks


def _deal(codes: Positions, n_folds: int, seed: int) -> Positions:
    """Deal rows out over folds, class by class without a break, then shuffle within each class.

    Not by `StratifiedKFold`, which refuses data whose classes are all smaller than the number of
    folds, and warns where one is.
    """
    if len(codes) < n_folds:
        raise DataError(f"{len(codes)} rows cannot be divided into {n_folds} folds")
    random = np.random.RandomState(seed)
    dealt = np.arange(len(codes)) % n_folds
    ends = np.cumsum(np.bincount(codes))[:-1]
    folds = np.empty_like(codes)
    for code, hand in enumerate(np.split(dealt, ends)):
        hand = np.sort(hand)
        random.shuffle(hand)
        folds[codes == code] = hand
    return folds


def _deal_groups(
    rows: Corpus | FeatureMatrix, codes: Positions, n_folds: int, seed: int
) -> Positions:
    if rows.groups is None:
        raise DataError(
            "grouped evaluation needs the group of each row, and these rows have none; "
            "name the column with group, or choose another kind"
        )
    n_groups = len(set(rows.groups))
    if n_groups < n_folds:
        raise DataError(f"{n_groups} groups cannot be divided into {n_folds} folds")
    dealer = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    folds = np.empty_like(codes)
    with warnings.catch_warnings():
        # Classes smaller than the number of folds are legal here.
        warnings.simplefilter("ignore", UserWarning)
        try:
            divisions = list(dealer.split(codes, codes, np.asarray(rows.groups)))
        except ValueError as error:
            raise DataError(f"these rows cannot be divided into grouped folds: {error}") from error
    for fold, (_, test) in enumerate(divisions):
        folds[test] = fold
    return folds


def _read_official(rows: Corpus | FeatureMatrix) -> Split:
    parts = np.asarray(rows.split if rows.split is not None else (), dtype=str)
    found = Split(np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test"))
    if not len(found.train) or not len(found.test):
        known = ", ".join(sorted(set(parts.tolist()))) or "none"
        raise DataError(
            "fixed evaluation needs rows of the parts 'train' and 'test', and the parts here are: "
            f"{known}; choose another kind"
        )
    return found


def _hold_out(codes: Positions, share: float, seed: int) -> Positions:
    n_test = min(max(1, round(share * len(codes))), len(codes) - 1)
    if n_test < 1:
        raise DataError(f"{len(codes)} rows cannot be divided into training and test rows")
    sizes = np.bincount(codes)
    exact = sizes * (n_test / len(codes))
    quota = np.floor(exact).astype(np.intp)
    # The rows that are lacking come from the classes that were rounded down the most.
    lacking = n_test - int(quota.sum())
    quota[np.argsort(quota - exact, kind="stable")[:lacking]] += 1
    shuffled = np.random.RandomState(seed).permutation(len(codes))
    chosen = _rank_within(codes[shuffled]) < quota[codes[shuffled]]
    return np.asarray(shuffled[chosen])
