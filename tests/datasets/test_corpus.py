from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.datasets.corpus import Corpus, FeatureMatrix

DENSE = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], dtype=np.float32)


def make_corpus(**changes):
    columns = {
        "texts": ("a", "b", "c"),
        "ids": ("1", "2", "3"),
        "labels": ("x", "y", "x"),
        "split": ("train", "test", "train"),
        "groups": ("g", "g", "h"),
        "skipped": ("line 2 is bad",),
    }
    return Corpus(**{**columns, **changes})


def make_matrix(X, **changes):
    return FeatureMatrix(X=X, ids=("1", "2", "3"), labels=("x", "y", "x"), **changes)


@pytest.mark.parametrize("rows", [[2, 0], (2, 0), np.array([2, 0]), np.array([2, 0], dtype="u1")])
def test_select_keeps_the_order_asked_for_in_every_column(rows):
    chosen = make_corpus().select(rows)
    assert chosen == make_corpus(
        texts=("c", "a"),
        ids=("3", "1"),
        labels=("x", "x"),
        split=("train", "train"),
        groups=("h", "g"),
    )


@pytest.mark.parametrize("X", [DENSE, sp.csr_array(DENSE)])
def test_select_rows_of_a_matrix(X):
    chosen = make_matrix(X, feature_names=("p", "q")).select([2, 1])
    rows = chosen.X if isinstance(X, np.ndarray) else chosen.X.toarray()
    np.testing.assert_array_equal(rows, DENSE[[2, 1]])
    assert type(chosen.X) is type(X)
    assert (chosen.ids, chosen.labels, chosen.feature_names) == (
        ("3", "2"),
        ("x", "y"),
        ("p", "q"),
    )


def test_select_nothing():
    assert len(make_corpus().select([])) == 0


@pytest.mark.parametrize("rows", [[True, False, True], np.array([0.0, 1.9])])
def test_select_takes_positions_only(rows):
    with pytest.raises(TypeError, match="positions"):
        make_corpus().select(rows)


def test_select_leaves_missing_columns_missing():
    chosen = Corpus(texts=("a", "b"), ids=("1", "2")).select([1])
    assert (chosen.labels, chosen.split, chosen.groups) == (None, None, None)


def test_part_keeps_the_rows_of_that_name():
    assert make_corpus().subset("train").ids == ("1", "3")
    assert make_corpus().subset("test").ids == ("2",)


def test_unknown_part_lists_those_there_are():
    with pytest.raises(ValueError, match="no part 'dev' in the split; parts here: test, train"):
        make_corpus().subset("dev")
    with pytest.raises(ValueError, match="parts here: none"):
        make_corpus(split=None).subset("train")


@pytest.mark.parametrize("name", ["texts", "labels", "split", "groups"])
def test_columns_must_be_of_one_length(name):
    with pytest.raises(ValueError, match=f"{name} has 2 entries for 3 rows"):
        make_corpus(**{name: ("a", "b")})


def test_matrix_rows_must_match_the_ids():
    with pytest.raises(ValueError, match="X has 2 entries for 3 rows"):
        make_matrix(DENSE[:2])


def test_records_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        make_corpus().texts = ()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("x", "y", "z"), False), ((("x",), (), ("y", "z")), True), (None, False)],
)
def test_multilabel(labels, expected):
    assert make_corpus(labels=labels).multilabel is expected
    assert make_corpus(labels=labels).select([]).multilabel is False


def test_fingerprint_is_the_same_for_the_same_training_data():
    same = make_corpus(ids=("7", "8", "9"), split=None, groups=None, skipped=())
    assert make_corpus().fingerprint() == same.fingerprint()


@pytest.mark.parametrize(
    "changes",
    [
        {"texts": ("a", "b", "d")},
        {"texts": ("b", "a", "c")},
        {"texts": ("ab", "", "c")},
        {"labels": ("x", "y", "y")},
        {"labels": None},
        {"labels": (("x",), ("y",), ("x",))},
    ],
)
def test_fingerprint_tells_other_training_data(changes):
    assert make_corpus().fingerprint() != make_corpus(**changes).fingerprint()


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_fingerprint_of_a_matrix(make):
    whole = make_matrix(make(DENSE))
    assert whole.fingerprint() == make_matrix(make(DENSE.copy())).fingerprint()
    others = [
        make(DENSE * 2),
        make(DENSE.astype(np.float64)),
        make(DENSE[:, ::-1].copy()),
        make(np.hstack([DENSE, np.zeros((3, 1), dtype=np.float32)])),
    ]
    prints = {whole.fingerprint(), *(make_matrix(X).fingerprint() for X in others)}
    assert len(prints) == 5


def test_fingerprint_tells_the_same_numbers_in_another_shape():
    numbers = np.arange(6.0)
    two = FeatureMatrix(X=numbers.reshape(2, 3), ids=("1", "2"))
    three = FeatureMatrix(X=numbers.reshape(3, 2), ids=("1", "2", "3"))
    assert two.fingerprint() != three.fingerprint()
