from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from cordwood.compare.config.plan import Evaluation
from cordwood.compare.runner.cv_splits import Split, discard, fingerprint, shrink, split
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
def test_stratified_folds_are_scikit_learns(seed):
    dealer = StratifiedKFold(5, shuffle=True, random_state=seed)
    expected = list(dealer.split(LABELS, LABELS))
    found = split(corpus(LABELS), Evaluation(), seed)
    assert len(found) == 5
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.train, theirs[0])
        np.testing.assert_array_equal(ours.test, theirs[1])


def test_grouped_folds_are_scikit_learns_and_keep_groups_whole():
    groups = [str(i // 3) for i in range(len(LABELS))]
    dealer = StratifiedGroupKFold(4, shuffle=True, random_state=7)
    found = split(corpus(LABELS, groups=tuple(groups)), Evaluation(kind="grouped", folds=4), seed=7)
    for ours, theirs in zip(found, dealer.split(LABELS, LABELS, groups), strict=True):
        np.testing.assert_array_equal(ours.test, theirs[1])
        assert not {groups[i] for i in ours.train} & {groups[i] for i in ours.test}


@settings(deadline=None, max_examples=60)
@given(labels, st.integers(2, 8), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_folds_divide_all_rows_evenly_whatever_the_classes(labels, folds, repeats, seed):
    found = split(corpus(labels), Evaluation(folds=folds, repeats=repeats), seed)
    assert len(found) == folds * repeats
    for repeat in range(repeats):
        tests = [test for _, test in found[repeat * folds : (repeat + 1) * folds]]
        assert sorted(np.concatenate(tests).tolist()) == list(range(len(labels)))
        for label in set(labels):
            counts = [sum(labels[i] == label for i in test) for test in tests]
            assert max(counts) - min(counts) <= 1
    for train, test in found:
        assert sorted([*train, *test]) == list(range(len(labels)))


def test_small_classes_are_no_error_in_folds_of_groups():
    small = ["a"] * 12 + ["b"]
    rows = corpus(small, groups=tuple(map(str, range(13))))
    tests = [test for _, test in split(rows, Evaluation(kind="grouped", folds=5), 0)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(13))


def test_more_repeats_leave_the_first_alone():
    few = split(corpus(LABELS), Evaluation(repeats=2), 3)
    many = split(corpus(LABELS), Evaluation(repeats=4), 3)
    for ours, theirs in zip(few, many[:10], strict=True):
        np.testing.assert_array_equal(ours.test, theirs.test)
    firsts = {many[repeat * 5].test.tobytes() for repeat in range(4)}
    assert len(firsts) == 4


def test_fixed_is_the_official_split():
    rows = corpus("abab", split=("test", "train", "unused", "train"))
    (found,) = split(rows, Evaluation(kind="fixed"), 0)
    assert (found.train.tolist(), found.test.tolist()) == ([1, 3], [0])


@settings(deadline=None, max_examples=60)
@given(labels, st.floats(0.05, 0.95), st.integers(0, 1000))
def test_holdout_keeps_the_share_of_every_class(labels, share, seed):
    evaluation = Evaluation(kind="holdout", test_size=share)
    ((train, test),) = split(corpus(labels), evaluation, seed)
    assert sorted([*train, *test]) == list(range(len(labels)))
    n_test = min(max(1, round(share * len(labels))), len(labels) - 1)
    assert len(test) == n_test
    for label in set(labels):
        exact = labels.count(label) * n_test / len(labels)
        assert abs(sum(labels[i] == label for i in test) - exact) < 1


def test_holdout_is_drawn_by_the_seed_and_anew_for_each_repeat():
    evaluation = Evaluation(kind="holdout", repeats=3)
    tests = [test.tobytes() for _, test in split(corpus(LABELS), evaluation, 1)]
    again = [test.tobytes() for _, test in split(corpus(LABELS), evaluation, 1)]
    assert tests == again
    assert len(set(tests)) == 3


@settings(deadline=None, max_examples=60)
@given(labels, st.integers(0, 1000))
def test_shares_are_nested_stratified_and_seeded(labels, seed):
    rows = corpus(labels)
    whole = split(rows, Evaluation(folds=4), seed)[1]
    kept = set()
    for share in (0.1, 0.3, 0.5, 0.9, 1.0):
        part = shrink(rows, whole, share, seed)
        assert part.test is whole.test
        assert (np.diff(part.train) > 0).all()
        assert len(part.train) == max(2, round(share * len(whole.train)))
        assert kept <= set(part.train) <= set(whole.train)
        kept = set(part.train)
        n_classes = len({labels[i] for i in whole.train})
        assert len({labels[i] for i in kept}) == min(n_classes, len(kept))
        for label in set(labels):
            present = sum(labels[i] == label for i in whole.train)
            exact = present * len(kept) / len(whole.train)
            assert abs(sum(labels[i] == label for i in kept) - exact) < n_classes
        assert shrink(rows, whole, share, seed).train.tobytes() == part.train.tobytes()


def test_folds_shrink_in_ways_of_their_own():
    rows = corpus(["a", "b"] * 100)
    whole = Split(np.arange(200), np.arange(0))
    other = Split(np.arange(198), np.arange(198, 200))
    picks = [
        shrink(rows, division, 0.2, seed).train.tolist()
        for division, seed in ((whole, 0), (whole, 1), (other, 0))
    ]
    assert len(set(map(tuple, picks))) == 3


@pytest.mark.parametrize(
    ("rows", "evaluation", "sentence"),
    [
        (replace(corpus("ab"), labels=None), {}, "have no labels"),
        (replace(corpus("ab"), labels=(("a", "b"), ())), {}, "one label a row"),
        (corpus("abab"), {}, "4 rows cannot be divided into 5 folds"),
        (corpus("abab"), {"kind": "grouped"}, "needs the group of each row"),
        (corpus("abab", groups=tuple("1122")), {"kind": "grouped", "folds": 3}, "2 groups cannot"),
        (
            corpus("abcdef", groups=tuple("123456")),
            {"kind": "grouped", "folds": 3},
            "cannot be divided into grouped folds: ",
        ),
        (corpus("ab"), {"kind": "fixed"}, "the parts here are: none"),
        (corpus("ab", split=("train", "dev")), {"kind": "fixed"}, "here are: dev, train"),
        (corpus("a"), {"kind": "holdout"}, "1 rows cannot be divided"),
    ],
)
def test_rows_that_cannot_be_divided_are_refused(rows, evaluation, sentence):
    with pytest.raises(DataError, match=sentence):
        split(rows, Evaluation(**evaluation), 0)


def test_the_fingerprint_sees_what_the_evaluation_sees():
    plain = corpus("abab")
    grouped = replace(plain, groups=tuple("1122"))
    parted = replace(plain, split=("train", "test") * 2)
    for kind, changed, same in (
        ("stratified", replace(plain, texts=("x",) * 4), (grouped, parted)),
        ("grouped", grouped, (parted,)),
        ("fixed", parted, (grouped,)),
    ):
        evaluation = Evaluation(kind=kind)
        base = fingerprint(plain, evaluation)
        assert fingerprint(changed, evaluation) != base
        assert all(fingerprint(rows, evaluation) == base for rows in same)


def test_fewer_of_a_category_are_kept_and_all_of_the_others():
    labels = tuple("a" if row % 4 == 0 else "b" for row in range(60))
    rows = Corpus(texts=("",) * 60, ids=tuple(map(str, range(60))), labels=labels)
    whole = Split(np.arange(40), np.arange(40, 60))
    kept = {
        (n, repeat): discard(rows, whole, "a", n, repeat, seed=1)
        for n in (2, 5, 10, 99)
        for repeat in (0, 1)
    }
    for (n, _), part in kept.items():
        assert sum(labels[row] == "a" for row in part.train) == min(n, 10)
        assert sum(labels[row] == "b" for row in part.train) == 30
        assert part.train.tolist() == sorted(part.train) and part.test is whole.test
    assert set(kept[2, 0].train) < set(kept[5, 0].train) < set(kept[10, 0].train)
    assert kept[5, 0].train.tolist() != kept[5, 1].train.tolist()
    assert kept[5, 0].train.tolist() != discard(rows, whole, "a", 5, 0, seed=2).train.tolist()
