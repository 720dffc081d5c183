from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import (
    Split,
    fingerprint,
    split,
    subsample_train,
)
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError


def corpus(labels, **columns):
    n = len(labels)
    return Corpus(
        texts=tuple(f"text {i}" for i in range(n)),
        ids=tuple(map(str, range(n))),
        labels=tuple(labels),
        **columns,
    )


LABELS = ["b"] * 30 + ["a"] * 17 + ["c"] * 9 + ["b"] * 4
labels = st.lists(st.sampled_from("abcd"), min_size=8, max_size=60)


@pytest.mark.parametrize("seed", [0, 42])
def test_stratified_folds_match_scikit_learn(seed):
    splitter = StratifiedKFold(5, shuffle=True, random_state=seed)
    expected = list(splitter.split(LABELS, LABELS))
    found = split(corpus(LABELS), EvaluationConfig(), seed)
    assert len(found) == 5
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.train, theirs[0])
        np.testing.assert_array_equal(ours.test, theirs[1])


def test_grouped_folds_match_scikit_learn_and_do_not_split_groups():
    groups = [str(i // 3) for i in range(len(LABELS))]
    splitter = StratifiedGroupKFold(4, shuffle=True, random_state=7)
    found = split(
        corpus(LABELS, groups=tuple(groups)), EvaluationConfig(kind="grouped", folds=4), seed=7
    )
    for ours, theirs in zip(found, splitter.split(LABELS, LABELS, groups), strict=True):
        np.testing.assert_array_equal(ours.test, theirs[1])
        assert not {groups[i] for i in ours.train} & {groups[i] for i in ours.test}


@settings(deadline=None, max_examples=60)
@given(labels, st.integers(2, 8), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_folds_partition_all_samples_evenly(labels, folds, repeats, seed):
    found = split(corpus(labels), EvaluationConfig(folds=folds, repeats=repeats), seed)
    assert len(found) == folds * repeats
    for repeat in range(repeats):
        tests = [test for _, test in found[repeat * folds : (repeat + 1) * folds]]
        assert sorted(np.concatenate(tests).tolist()) == list(range(len(labels)))
        for label in set(labels):
            counts = [sum(labels[i] == label for i in test) for test in tests]
            assert max(counts) - min(counts) <= 1
    for train, test in found:
        assert sorted([*train, *test]) == list(range(len(labels)))


def test_grouped_folds_accept_classes_smaller_than_the_number_of_folds():
    small = ["a"] * 12 + ["b"]
    data = corpus(small, groups=tuple(map(str, range(13))))
    tests = [test for _, test in split(data, EvaluationConfig(kind="grouped", folds=5), 0)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(13))


def test_more_repeats_do_not_change_the_first():
    few = split(corpus(LABELS), EvaluationConfig(repeats=2), 3)
    many = split(corpus(LABELS), EvaluationConfig(repeats=4), 3)
    for ours, theirs in zip(few, many[:10], strict=True):
        np.testing.assert_array_equal(ours.test, theirs.test)
    firsts = {many[repeat * 5].test.tobytes() for repeat in range(4)}
    assert len(firsts) == 4


def test_fixed_uses_the_official_split():
    data = corpus("abab", split=("test", "train", "unused", "train"))
    (found,) = split(data, EvaluationConfig(kind="fixed"), 0)
    assert (found.train.tolist(), found.test.tolist()) == ([1, 3], [0])


@settings(deadline=None, max_examples=60)
@given(labels, st.floats(0.05, 0.95), st.integers(0, 1000))
def test_holdout_is_stratified(labels, test_size, seed):
    evaluation = EvaluationConfig(kind="holdout", test_size=test_size)
    ((train, test),) = split(corpus(labels), evaluation, seed)
    assert sorted([*train, *test]) == list(range(len(labels)))
    n_test = min(max(1, round(test_size * len(labels))), len(labels) - 1)
    assert len(test) == n_test
    for label in set(labels):
        exact = labels.count(label) * n_test / len(labels)
        assert abs(sum(labels[i] == label for i in test) - exact) < 1


def test_holdout_depends_on_seed_and_repeat():
    evaluation = EvaluationConfig(kind="holdout", repeats=3)
    tests = [test.tobytes() for _, test in split(corpus(LABELS), evaluation, 1)]
    again = [test.tobytes() for _, test in split(corpus(LABELS), evaluation, 1)]
    assert tests == again
    assert len(set(tests)) == 3


@settings(deadline=None, max_examples=60)
@given(labels, st.integers(0, 1000))
def test_training_subsamples_are_nested_stratified_and_seeded(labels, seed):
    data = corpus(labels)
    full = split(data, EvaluationConfig(folds=4), seed)[1]
    kept = set()
    for train_fraction in (0.1, 0.3, 0.5, 0.9, 1.0):
        part = subsample_train(data, full, train_fraction, seed)
        assert part.test is full.test
        assert (np.diff(part.train) > 0).all()
        assert len(part.train) == max(2, round(train_fraction * len(full.train)))
        assert kept <= set(part.train) <= set(full.train)
        kept = set(part.train)
        n_classes = len({labels[i] for i in full.train})
        assert len({labels[i] for i in kept}) == min(n_classes, len(kept))
        for label in set(labels):
            present = sum(labels[i] == label for i in full.train)
            exact = present * len(kept) / len(full.train)
            assert abs(sum(labels[i] == label for i in kept) - exact) < n_classes
        assert (
            subsample_train(data, full, train_fraction, seed).train.tobytes()
            == part.train.tobytes()
        )


def test_training_subsamples_differ_between_seeds_and_folds():
    data = corpus(["a", "b"] * 100)
    full = Split(np.arange(200), np.arange(0))
    other = Split(np.arange(198), np.arange(198, 200))
    picks = [
        subsample_train(data, split, 0.2, seed).train.tolist()
        for split, seed in ((full, 0), (full, 1), (other, 0))
    ]
    assert len(set(map(tuple, picks))) == 3


@pytest.mark.parametrize(
    ("data", "evaluation", "message"),
    [
        (replace(corpus("ab"), labels=None), {}, "has no labels"),
        (corpus("abab"), {}, "4 samples cannot be split into 5 folds"),
        (corpus("abab"), {"kind": "grouped"}, "needs groups"),
        (corpus("abab", groups=tuple("1122")), {"kind": "grouped", "folds": 3}, "2 groups cannot"),
        (
            corpus("abcdef", groups=tuple("123456")),
            {"kind": "grouped", "folds": 3},
            "cannot be split into grouped folds: ",
        ),
        (corpus("ab"), {"kind": "fixed"}, "the parts of the data set are: none"),
        (
            corpus("ab", split=("train", "dev")),
            {"kind": "fixed"},
            "parts of the data set are: dev, train",
        ),
        (corpus("a"), {"kind": "holdout"}, "1 samples cannot be split"),
    ],
)
def test_data_that_cannot_be_split_raise(data, evaluation, message):
    with pytest.raises(DataError, match=message):
        split(data, EvaluationConfig(**evaluation), 0)


def test_fingerprint_depends_only_on_data_that_the_evaluation_uses():
    plain = corpus("abab")
    grouped = replace(plain, groups=tuple("1122"))
    officially_split = replace(plain, split=("train", "test") * 2)
    for kind, changed, same in (
        ("stratified", replace(plain, texts=("x",) * 4), (grouped, officially_split)),
        ("grouped", grouped, (officially_split,)),
        ("fixed", officially_split, (grouped,)),
    ):
        evaluation = EvaluationConfig(kind=kind)
        base = fingerprint(plain, evaluation)
        assert fingerprint(changed, evaluation) != base
        assert all(fingerprint(data, evaluation) == base for data in same)


@pytest.mark.parametrize("n_folds", [2, 3, 7])
def test_time_folds_match_scikit_learn(n_folds):
    times = np.random.RandomState(0).permutation(len(LABELS)).astype(float)
    order = np.argsort(times)
    data = corpus(LABELS, times=tuple(times.tolist()))
    found = split(data, EvaluationConfig(kind="time", folds=n_folds), 0)
    expected = TimeSeriesSplit(n_folds).split(order)
    for fold, (train, test) in zip(found, expected, strict=True):
        assert fold.train.tolist() == sorted(order[train].tolist())
        assert fold.test.tolist() == sorted(order[test].tolist())


@settings(deadline=None)
@given(times=st.lists(st.integers(0, 8), min_size=8, max_size=40), n_folds=st.integers(2, 4))
def test_training_samples_are_earlier_than_test_samples(times, n_folds):
    data = corpus("ab" * (len(times) // 2) + "a" * (len(times) % 2), times=times)
    try:
        folds = split(data, EvaluationConfig(kind="time", folds=n_folds), 0)
    except DataError as error:
        assert "cannot be split" in str(error)
        return
    array = np.array(times)
    assert all(array[train].max() < array[test].min() for train, test in folds)
    assert all(
        len(later.train) > len(fold.train) for fold, later in zip(folds, folds[1:], strict=False)
    )
    assert folds[-1].test.max() < len(times)


def test_time_folds_need_times_and_are_fingerprinted():
    evaluation = EvaluationConfig(kind="time", folds=2)
    with pytest.raises(DataError, match="needs times"):
        split(corpus(LABELS), evaluation, 0)
    with pytest.raises(DataError, match="60 samples with 1 different times cannot be split"):
        split(corpus(LABELS, times=(1.0,) * 60), evaluation, 0)
    times = tuple(map(float, range(60)))
    assert fingerprint(corpus(LABELS, times=times), evaluation) != fingerprint(
        corpus(LABELS, times=times[::-1]), evaluation
    )


def test_weights_change_the_fingerprint():
    plain, weighted = corpus(LABELS), corpus(LABELS, weights=(2.0,) * 60)
    evaluation = EvaluationConfig()
    assert fingerprint(plain, evaluation) != fingerprint(weighted, evaluation)
