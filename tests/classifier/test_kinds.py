"""Kinds of samples and labels: `TextClassifier` recognizes them, and the model is the same."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from cordwood import Corpus, FeatureMatrix, TextClassifier
from cordwood.columns import ColumnRoles
from synthetic_data import make_counts

TEXTS = ["red apple", "ripe apple", "apple pie", "fast car", "car engine", "red car"] * 4
LABELS = ["fruit", "fruit", "fruit", "auto", "auto", "auto"] * 4
IDS = [str(i) for i in range(24)]

TEXT_KINDS = {
    "list": list,
    "tuple": tuple,
    "numpy str": np.array,
    "numpy object": lambda texts: np.array(texts, dtype=object),
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas with another index": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts))),
    "pandas Index": pd.Index,
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunks": lambda texts: pa.chunked_array([texts[:5], texts[5:]]),
    "Corpus": lambda texts: Corpus(texts=texts, ids=IDS[: len(texts)]),
}


@pytest.fixture(scope="module")
def of_texts():
    return TextClassifier("nb").fit(TEXTS, LABELS)


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_texts(kind, of_texts):
    X = TEXT_KINDS[kind](TEXTS)
    model = TextClassifier("nb").fit(X, LABELS)
    assert model.input_kind_ == "text"
    assert np.array_equal(model.predict_proba(X), of_texts.predict_proba(TEXTS))
    assert model.predict(X).tolist() == of_texts.predict(TEXTS).tolist()
    assert model.score(X, LABELS) == 1.0
    assert len(model.explain(TEXT_KINDS[kind](TEXTS[:6]))) == 6


LABEL_KINDS = {
    "tuple": tuple,
    "numpy str": np.array,
    "numpy object": lambda labels: np.array(labels, dtype=object),
    "pandas": pd.Series,
    "pandas category": lambda labels: pd.Series(labels, dtype="category"),
    "pandas string": lambda labels: pd.Series(labels, dtype="string"),
    "polars": pl.Series,
    "polars category": lambda labels: pl.Series(labels, dtype=pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda labels: pa.chunked_array([labels[:5], labels[5:]]),
}


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels(kind, of_texts):
    y = LABEL_KINDS[kind](LABELS)
    model = TextClassifier("nb").fit(TEXTS, y)
    assert model.classes_.tolist() == ["auto", "fruit"]
    assert np.array_equal(model.predict_proba(TEXTS), of_texts.predict_proba(TEXTS))
    assert model.score(TEXTS, y) == 1.0


@pytest.mark.parametrize("estimator", ["nb", "svm", "quick"])
@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [(0, 1, int), (-3, 7, int), (False, True, bool), (0.0, 1.0, float), ("b", "a", str)],
)
def test_types_of_labels(estimator, first, second, dtype):
    y = np.array([first, second], dtype=dtype)[(np.array(LABELS) == "fruit").astype(int)]
    for labels in (y, y.tolist()):
        model = TextClassifier(estimator).fit(TEXTS, labels)
        assert model.classes_.tolist() == sorted([first, second])
        predicted = model.predict(TEXTS)
        assert predicted.dtype == y.dtype
        assert np.array_equal(predicted, y)
        assert model.evaluate(TEXTS, labels).accuracy == 1.0


TABLE = {"words": TEXTS, "size": [float(len(text)) for text in TEXTS]}
TABLE_KINDS = {
    "mapping": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_tables(kind):
    roles = ColumnRoles(text=("words",), numeric=("size",))
    expected = TextClassifier("nb", columns=roles).fit(TABLE, LABELS)
    X = TABLE_KINDS[kind](TABLE)
    model = TextClassifier("nb", columns=roles).fit(X, LABELS)
    assert model.input_kind_ == "table"
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(TABLE))
    named = TextClassifier("nb", columns=roles).fit(TABLE_KINDS[kind]({**TABLE, "y": LABELS}), "y")
    assert np.array_equal(named.predict_proba(X), expected.predict_proba(TABLE))
    assert model.score(X, LABELS) == named.score(TABLE_KINDS[kind]({**TABLE, "y": LABELS}), "y")


NUMBERS, CODES = make_counts(60, 12, 3, seed=0, noise=0.0)
NUMERIC_KINDS = {
    "dense": np.asarray,
    "float64": lambda X: X.astype(np.float64),
    "int": lambda X: X.astype(int),
    "Fortran order": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "list of arrays": list,
    "tuple of tuples": lambda X: tuple(map(tuple, X.tolist())),
    "dense FeatureMatrix": lambda X: FeatureMatrix(X=X, ids=[str(i) for i in range(len(X))]),
}
SPARSE_KINDS = {
    "csr array": sp.csr_array,
    "csr matrix": sp.csr_matrix,
    "csc array": sp.csc_array,
    "csc matrix": sp.csc_matrix,
    "coo array": sp.coo_array,
    "FeatureMatrix": lambda X: FeatureMatrix(
        X=sp.csr_array(X), ids=[str(i) for i in range(len(X))]
    ),
}


@pytest.mark.parametrize("estimator", ["knn", "rf"])
@pytest.mark.parametrize("kind", NUMERIC_KINDS | SPARSE_KINDS)
def test_numeric_features(kind, estimator):
    convert = (NUMERIC_KINDS | SPARSE_KINDS)[kind]
    reference = np.asarray if kind in NUMERIC_KINDS else sp.csr_array  # only dense ones are scaled
    params = {"recipe_params": {"n_estimators": 10}} if estimator == "rf" else {}
    expected = TextClassifier(estimator, **params).fit(reference(NUMBERS), CODES)
    model = TextClassifier(estimator, **params).fit(convert(NUMBERS), CODES)
    assert model.input_kind_ == "numeric"
    assert model.n_features_in_ == 12
    np.testing.assert_allclose(
        model.predict_proba(convert(NUMBERS)), expected.predict_proba(reference(NUMBERS)), atol=1e-6
    )
    assert model.predict(convert(NUMBERS)).shape == (60,)
    assert model.score(convert(NUMBERS), CODES) == expected.score(reference(NUMBERS), CODES)


def to_indicators(labels):
    return np.array([[label in each for label in ("apple", "car", "red")] for each in labels], int)


LISTS = [[word for word in ("apple", "car", "red") if word in text] for text in TEXTS]
INDICATORS = to_indicators(LISTS)
LIST_KINDS = {
    "lists": list,
    "tuples": lambda labels: [*map(tuple, labels)],
    "sets": lambda labels: [*map(set, labels)],
    "frozensets": lambda labels: tuple(map(frozenset, labels)),
    "repeated labels": lambda labels: [each * 2 for each in labels],
    "numpy object": lambda labels: pd.Series(labels).to_numpy(),
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": pa.array,
}
INDICATOR_KINDS = {
    "int": np.asarray,
    "bool": lambda Y: Y.astype(bool),
    "float": lambda Y: Y.astype(float),
    "csr array": sp.csr_array,
    "csc matrix": sp.csc_matrix,
    "pandas": pd.DataFrame,
}


@pytest.fixture(scope="module")
def of_lists():
    return TextClassifier("svm").fit(TEXTS, LISTS)


@pytest.mark.parametrize("kind", LIST_KINDS)
def test_lists_of_labels(kind, of_lists):
    y = LIST_KINDS[kind](LISTS)
    model = TextClassifier("svm").fit(TEXTS, y)
    assert model.target_kind_ == "lists"
    assert model.classes_.tolist() == ["apple", "car", "red"]
    assert np.array_equal(model.predict_proba(TEXTS), of_lists.predict_proba(TEXTS))
    assert [sorted(each) for each in model.predict(TEXTS)] == LISTS
    assert model.score(TEXTS, y) == 1.0


@pytest.mark.parametrize("kind", INDICATOR_KINDS)
def test_label_indicators(kind, of_lists):
    y = INDICATOR_KINDS[kind](INDICATORS)
    model = TextClassifier("svm").fit(TEXTS, y)
    assert model.target_kind_ == "indicators"
    assert np.array_equal(model.predict_proba(TEXTS), of_lists.predict_proba(TEXTS))
    assert np.array_equal(model.predict(TEXTS), INDICATORS)
    assert model.score(TEXTS, y) == 1.0


def test_numeric_labels_in_lists():
    numbers = [[("apple", "car", "red").index(word) for word in each] for each in LISTS]
    model = TextClassifier("svm").fit(TEXTS, numbers)
    assert model.classes_.tolist() == [0, 1, 2]
    assert [sorted(each) for each in model.predict(TEXTS)] == numbers
