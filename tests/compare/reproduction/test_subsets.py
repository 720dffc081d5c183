from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB

from cordwood.compare.reproduction.subsets import score_subsets
from cordwood.exceptions import CordwoodError

NAMES = ["rf", "svm", "nb", "knn"]
CLASSES = np.array(["ham", "news", "spam"])


def make_stack(n_rows=90, n_members=4, seed=0):
    """Meta-features of members of which each is better than the one before."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_rows) % len(CLASSES)
    votes = rng.random((n_rows, n_members, len(CLASSES)))
    strength = np.linspace(0.3, 0.9, n_members)
    votes[np.arange(n_rows)[:, None], np.arange(n_members), codes[:, None]] += strength
    votes /= votes.sum(axis=2, keepdims=True)
    return votes.reshape(n_rows, -1), CLASSES[codes]


META, Y = make_stack(seed=0)
META_TEST, Y_TEST = make_stack(60, seed=1)


def score_all(combiner, **options):
    return score_subsets(META, Y, META_TEST, Y_TEST, combiner, members=NAMES, **options)


def test_all_subsets_of_two_or_more_in_order():
    found = score_all(DummyClassifier())
    expected = [subset for size in (2, 3, 4) for subset in combinations(NAMES, size)]
    assert [subset.members for subset in found] == expected
    assert [subset.n_members for subset in found] == [len(names) for names in expected]


def test_nine_members_have_502_subsets():
    meta, y = make_stack(9, n_members=9)
    found = score_subsets(meta, y, meta, y, DummyClassifier(), members=list("abcdefghi"))
    assert len({subset.members for subset in found}) == 502


def test_a_subset_is_scored_as_if_it_were_stacked_alone():
    found = score_all(GaussianNB())
    for subset in found:
        columns = [3 * NAMES.index(name) + code for name in subset.members for code in range(3)]
        answers = GaussianNB().fit(META[:, columns], Y).predict(META_TEST[:, columns])
        assert subset.macro_f1 == pytest.approx(f1_score(Y_TEST, answers, average="macro"))
        assert subset.micro_f1 == pytest.approx(np.mean(answers == Y_TEST))
    assert len({subset.macro_f1 for subset in found}) > 3


def test_double_fault_is_the_mean_over_pairs_on_the_test_rows():
    wrong = {
        name: CLASSES[META_TEST[:, 3 * i : 3 * i + 3].argmax(axis=1)] != Y_TEST
        for i, name in enumerate(NAMES)
    }
    for subset in score_all(DummyClassifier()):
        pairs = [np.mean(wrong[a] & wrong[b]) for a, b in combinations(subset.members, 2)]
        assert subset.double_fault == pytest.approx(np.mean(pairs))


def test_processes_change_nothing_and_progress_is_told():
    forest = RandomForestClassifier(5, random_state=0)
    told = []
    alone = score_all(forest, progress=lambda *counts: told.append(counts))
    assert told == [(n, 11) for n in range(1, 12)]
    assert score_all(forest, n_jobs=2) == alone
    assert not hasattr(forest, "estimators_")


def test_the_records_make_a_data_frame():
    frame = pd.DataFrame(score_all(DummyClassifier()))
    assert list(frame) == ["members", "n_members", "double_fault", "micro_f1", "macro_f1"]
    assert frame["n_members"].tolist() == [2] * 6 + [3] * 4 + [4]


def test_a_class_that_was_never_learnt_counts_as_an_error():
    strange = Y_TEST.copy()
    strange[:6] = "strange"
    known = score_all(GaussianNB())[-1]
    found = score_subsets(META, Y, META_TEST, strange, GaussianNB(), members=NAMES)[-1]
    assert found.micro_f1 < known.micro_f1
    assert found.double_fault > known.double_fault


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"members": ["rf"]}, r"members is \['rf'\]; give two or more different names"),
        ({"members": ["a", "b", "b", "c"]}, "two or more different names"),
        ({"members": "abcd"}, "members is 'abcd'"),
        ({"members": ["a", "b", "c"]}, r"meta is of shape \(90, 12\), and must have 9 columns"),
        ({"meta_test": META_TEST[:, :-1]}, r"meta_test is of shape \(60, 11\)"),
        ({"y_test": Y_TEST[:-1]}, r"meta_test has 60 rows, and its labels are of shape \(59,\)"),
        ({"meta": np.where(META == META[7, 2], np.nan, META)}, "meta has a NaN .* in row 7"),
        ({"y_test": np.arange(60)}, "strings, e.g. .*, and numbers"),
    ],
)
def test_wrong_input_is_said_in_a_sentence(given, sentence):
    right = {"meta": META, "y": Y, "meta_test": META_TEST, "y_test": Y_TEST, "members": NAMES}
    with pytest.raises(CordwoodError, match=sentence):
        score_subsets(**(right | given), combiner=DummyClassifier())
