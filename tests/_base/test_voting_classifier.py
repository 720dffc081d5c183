import numpy as np
import pandas as pd
import pytest

from cordwood._base.voting_classifier import check_classification_labels
from cordwood.ensemble import ExtraTreesClassifier, LazyForestClassifier, RandomForestClassifier

X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 0, 1],
        ["a", "b", "a", "b"],
        (True, False, True, True),
        np.array(["a", "b", "a", "b"], object),
        np.array([0.0, 1.0, 0.0, 1.0]),
        pd.Series(["a", "b", "a", "b"]),
        pd.Series(["a", "b", "a", "b"], dtype="category"),
        pd.Series([1, 2, 1, 2], dtype="Int64"),
    ],
)
def test_valid_labels_are_accepted(y):
    check_classification_labels(y)
    assert RandomForestClassifier(2, random_state=0).fit(X, y).predict(X).shape == (4,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", None, "b", "a"], r"^y\[1\] is None; every sample needs a label"),
        ([0.0, 1.0, np.nan, 1.0], r"^y\[2\] is (np\.float64\()?nan\)?; every sample needs a label"),
        (np.array([0.0, 1.0, np.nan, 1.0]), r"^y\[2\] is .*nan"),
        (np.array(["a", "b", "a", np.nan], object), r"^y\[3\] is nan"),
        (pd.Series(["a", "b", pd.NA, "a"]), r"^y\[2\] is "),
        (pd.Series([1, 2, pd.NA, 2], dtype="Int64"), r"^y\[2\] is <NA>"),
        (pd.to_datetime(pd.Series(["2020-01-01", None] * 2)), r"^y\[1\] is NaT"),
        ([["a"], ["a", "b"], ["b"], []], r"^y\[0\] is a list, \['a'\]; y must have one label per"),
        ([("a",), ("b",), ("a",), ("b",)], r"^y\[0\] is a tuple"),
        ([{"a"}, {"b"}, {"a"}, {"b"}], r"^y\[0\] is a set"),
        ([1, "a", 1, "a"], "^y has labels of the types int and str; convert all labels"),
        ([1, 2, 1], "inconsistent numbers of samples"),
        (None, "requires y to be passed, but the target y is None"),
        ([0.5, 1.5, 2.5, 3.5], "Unknown label type: continuous"),
    ],
    ids=str,
)
@pytest.mark.parametrize("Classifier", [ExtraTreesClassifier, LazyForestClassifier])
def test_invalid_labels_raise_one_sentence(Classifier, y, message):
    with pytest.raises(ValueError, match=message):
        Classifier().fit(X, y)
