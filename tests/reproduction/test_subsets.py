from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

from cordwood.exceptions import CordwoodError
from reproduction.subsets import score_subsets

NAMES = ["rf", "svm", "nb", "knn"]
CLASSES = np.array(["ham", "news", "spam"])


def make_stack(n_samples=90, n_members=4, seed=0):
    """Return meta-features of increasingly accurate members, and labels."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_samples) % len(CLASSES)
    votes = rng.random((n_samples, n_members, len(CLASSES)))
    strength = np.linspace(0.3, 0.9, n_members)
    votes[np.arange(n_samples)[:, None], np.arange(n_members), codes[:, None]] += strength
    votes /= votes.sum(axis=2, keepdims=True)
    return votes.reshape(n_samples, -1), CLASSES[codes]


META, Y = make_stack(seed=0)
META_TEST, Y_TEST = make_stack(60, seed=1)


def score_all(combiner, **options):
    return score_subsets(META, Y, META_TEST, Y_TEST, combiner, members=NAMES, **options)


def test_subsets_are_ordered_by_size():
    found = score_all(DummyClassifier())
    expected = [subset for size in (2, 3, 4) for subset in combinations(NAMES, size)]
    assert [subset.members for subset in found] == expected
    assert [subset.n_members for subset in found] == [len(names) for names in expected]


def test_nine_members_have_502_subsets():
    meta, y = make_stack(9, n_members=9)
    found = score_subsets(meta, y, meta, y, DummyClassifier(), members=list("abcdefghi"))
    assert len({subset.members for subset in found}) == 502


def test_score_equals_that_of_a_separate_stack():
    found = score_all(GaussianNB())
    for subset in found:
        columns = [3 * NAMES.index(name) + code for name in subset.members for code in range(3)]
        predicted = GaussianNB().fit(META[:, columns], Y).predict(META_TEST[:, columns])
        assert subset.macro_f1 == pytest.approx(f1_score(Y_TEST, predicted, average="macro"))
        assert subset.micro_f1 == pytest.approx(np.mean(predicted == Y_TEST))
    assert len({subset.macro_f1 for subset in found}) > 3


def test_double_fault_is_the_mean_over_pairs_of_members():
    wrong = {
        name: CLASSES[META_TEST[:, 3 * i : 3 * i + 3].argmax(axis=1)] != Y_TEST
        for i, name in enumerate(NAMES)
    }
    for subset in score_all(DummyClassifier()):
        pairs = [np.mean(wrong[a] & wrong[b]) for a, b in combinations(subset.members, 2)]
        assert subset.double_fault == pytest.approx(np.mean(pairs))


def test_n_jobs_does_not_change_scores_and_progress_is_reported():
    forest = RandomForestClassifier(5, random_state=0)
    calls = []
    alone = score_all(forest, progress=lambda *counts: calls.append(counts))
    assert calls == [(n, 11) for n in range(1, 12)]
    assert score_all(forest, n_jobs=2) == alone
    assert not hasattr(forest, "estimators_")


def test_scores_convert_to_a_data_frame():
    frame = pd.DataFrame(score_all(DummyClassifier()))
    assert list(frame) == ["members", "n_members", "double_fault", "micro_f1", "macro_f1"]
    assert frame["n_members"].tolist() == [2] * 6 + [3] * 4 + [4]


def test_class_unknown_to_the_combiner_counts_as_an_error():
    strange = Y_TEST.copy()
    strange[:6] = "strange"
    known = score_all(GaussianNB())[-1]
    found = score_subsets(META, Y, META_TEST, strange, GaussianNB(), members=NAMES)[-1]
    assert found.micro_f1 < known.micro_f1
    assert found.double_fault > known.double_fault


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"members": ["rf"]}, r"members must be at least two different names; got \['rf'\]"),
        ({"members": ["a", "b", "b", "c"]}, "at least two different names"),
        ({"members": "abcd"}, "got 'abcd'"),
        ({"members": ["a", "b", "c"]}, r"meta must have 9 columns, .*; got shape \(90, 12\)"),
        (
            {"meta_test": META_TEST[:, :-1]},
            r"meta_test must have 12 columns, .*; got shape \(60, 11\)",
        ),
        ({"y_test": Y_TEST[:-1]}, r"meta_test has 60 samples, but its labels have shape \(59,\)"),
        ({"meta": np.where(META == META[7, 2], np.nan, META)}, "meta has NaN .* in row 7"),
        ({"y_test": np.arange(60)}, "strings, e.g. .*, and numbers"),
    ],
)
def test_invalid_input_raises(given, sentence):
    right = {"meta": META, "y": Y, "meta_test": META_TEST, "y_test": Y_TEST, "members": NAMES}
    with pytest.raises(CordwoodError, match=sentence):
        score_subsets(**(right | given), combiner=DummyClassifier())
