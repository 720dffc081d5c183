import datetime
from decimal import Decimal

import numpy as np
import pytest

from cordwood import Corpus
from cordwood.columns import ColumnRoles, detect_columns
from cordwood.columns.roles import check_columns
from cordwood.exceptions import CordwoodError, DataError


def test_a_single_name_is_a_list_of_one():
    assert check_columns({"text": "title"}) == ColumnRoles(text=("title",))
    assert check_columns(ColumnRoles(numeric=("price",))).numeric == ("price",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("auto", "must be a mapping of roles"),
        ({"texts": ["a"]}, "unknown role 'texts'; use one of text, categorical"),
        ({"text": ["a"], "numeric": ["a"]}, "'a' is named more than once"),
        ({}, "at least one column"),
        ({"text": []}, "at least one column"),
        ({"text": [1]}, r"columns\['text'\] must be a list of column names"),
        ({"numeric": 3}, r"columns\['numeric'\] must be a list of column names"),
    ],
)
def test_invalid_roles(columns, message):
    with pytest.raises(CordwoodError, match=message):
        check_columns(columns)


WORDS = ["a small red house", "the big green tree", "one old blue boat", "two new white cars"]


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([f"{text} number {i}" for i, text in enumerate(WORDS * 5)], "text"),
        (["hot", "cold", "hot", None] * 5, "categorical"),
        (["Debian Perl Group", "Debian Java Maintainers"] * 10, "categorical"),
        ([True, False] * 10, "categorical"),
        ([1.5, None, 3] * 5, "numeric"),
        (["1", "2.5", " -3e2", ""] * 5, "numeric"),
        ([Decimal("1.5"), Decimal("2")] * 5, "numeric"),
        ([5, 3, 1, 4, 2], "numeric"),
        (["2024-05-01", "2023-01-31T12:00", ""], "date"),
        ([datetime.date(2024, 5, 1), datetime.datetime(2023, 1, 1, 12)], "date"),
        ([f"file{i}.txt" for i in range(20)], "identifier"),
        (list(range(10, 20)), "row numbers"),
        (["same"] * 5, "a single value"),
        ([None, "", float("nan")], "no values"),
        ([[1], [2]], "values of type list"),
    ],
)
def test_roles_are_detected_by_the_values(values, role):
    found = detect_columns({"column": values, "other": [1.5 + i % 2 for i in range(len(values))]})
    if role in ("text", "categorical", "numeric", "date"):
        assert "column" in getattr(found.roles, role)
    else:
        assert found.ignored["column"] == role


def test_excluded_columns_have_no_role():
    table = {"label": ["a", "b"] * 5, "kind": ["x", "y"] * 5}
    assert detect_columns(table, exclude=["label"]).roles.names == ("kind",)


def test_a_table_without_usable_columns():
    with pytest.raises(DataError, match=r"no column can be used.*name \(a single value\)"):
        detect_columns({"name": ["a", "a"]})


def test_the_texts_of_a_corpus_are_a_column():
    texts = [f"{text} number {i}" for i, text in enumerate(WORDS)]
    corpus = Corpus(texts=texts, ids=list("1234"), columns={"price": [1, 5, 3, 2]})
    assert detect_columns(corpus).roles == ColumnRoles(text=("text",), numeric=("price",))


def test_the_summary_is_one_line():
    table = {"text": WORDS, "price": np.array([1.0, np.nan, 3.0, 2.0]), "id": [1, 2, 3, 4]}
    assert str(detect_columns(table)) == "text: text; numeric: price; ignored: id (row numbers)"
