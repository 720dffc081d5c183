import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

from cordwood import Corpus
from cordwood.columns.converter import TableConverter
from cordwood.exceptions import CordwoodError, DataError

TABLE = {
    "title": ["Soup", None, "Tea"],
    "kind": ["hot", None, "hot"],
    "price": [4.5, None, 2.0],
    "day": [datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)],
}
ROLES = {"text": ["title"], "categorical": ["kind"], "numeric": ["price"], "date": ["day"]}
EXPECTED = [
    ["Soup", "hot", 4.5, 2024.0, 2.0, 3.0, 60.0, 19782.0],
    ["", "(missing)", *[np.nan] * 6],
    ["Tea", "hot", 2.0, 1969.0, 12.0, 2.0, 365.0, -1.0],
]


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda table: Corpus(texts=[""] * 3, ids=["1", "2", "3"], columns=table),
    ],
    ids=["dict", "pandas", "polars", "pyarrow", "Corpus"],
)
def test_every_kind_of_table_has_the_same_values(make):
    converter = TableConverter(**ROLES)
    found = converter.fit_transform(make({**TABLE, "unused": [1, 2, 3]}))
    assert found.dtype == object
    # Compares the types of the cells as well, and NaN.
    assert repr(found.tolist()) == repr(EXPECTED)


def test_columns_are_selected_by_name_in_any_order():
    converter = TableConverter(**ROLES).fit(TABLE)
    backwards = dict(reversed(TABLE.items()))
    assert converter.transform(backwards)[0].tolist() == EXPECTED[0]


def test_parts_of_dates_are_those_of_pandas():
    days = pd.to_datetime(["2000-02-29", "1969-07-20T12:00", "2031-12-31"], format="ISO8601")
    parts = TableConverter(date=["day"]).fit_transform({"day": days}).astype(float)
    expected = [days.year, days.month, days.day_of_week, days.day_of_year]
    np.testing.assert_array_equal(parts[:, :4].T, expected)
    since_epoch = (days - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(parts[:, 4], since_epoch)


def test_types_of_categories_do_not_matter():
    as_float = TableConverter(categorical=["c"]).fit_transform({"c": np.array([1.0, np.nan, 2.0])})
    as_string = TableConverter(categorical=["c"]).fit_transform({"c": ["1", " ", "2"]})
    assert as_float.tolist() == as_string.tolist() == [["1"], ["(missing)"], ["2"]]


def test_texts_are_joined_unless_they_are_separate():
    table = {"title": ["Soup", None], "body": ["of the day", "empty title"]}
    joined = TableConverter(text=["title", "body"]).fit(table)
    assert joined.transform(table).tolist() == [["Soup\nof the day"], ["\nempty title"]]
    assert joined.get_feature_names_out().tolist() == ["title + body"]
    separate = clone(joined).set_params(join_text=False).fit(table)
    assert separate.transform(table).tolist()[0] == ["Soup", "of the day"]
    assert separate.get_feature_names_out().tolist() == ["title", "body"]


def test_rows_with_missing_values_can_be_equal():
    found = TableConverter(numeric=["price"]).fit_transform({"price": [None, "NA", float("nan")]})
    assert len({tuple(row) for row in found.tolist()}) == 1


@pytest.mark.parametrize(
    ("role", "value", "message"),
    [
        ("text", 3, 'the column "a", row 1, is of type int, not a string'),
        ("numeric", "cheap", "row 1, is 'cheap', not a number"),
        ("numeric", float("inf"), "row 1, is infinite"),
        ("numeric", [1], "row 1, is of type list, not a number"),
        ("categorical", ["a"], "row 1, is of type list, not a category"),
        ("date", "tomorrow", "row 1, is 'tomorrow', not a number or an ISO 8601 date"),
        ("date", 3.5, "row 1, is 3.5, not an ISO 8601 date"),
    ],
)
def test_invalid_values_name_the_column_and_the_row(role, value, message):
    with pytest.raises(DataError, match=message):
        TableConverter(**{role: ["a"]}).fit_transform({"a": [None, value]})


def test_a_missing_column_is_named():
    converter = TableConverter(**ROLES).fit(TABLE)
    with pytest.raises(DataError, match='no column "kind", which the model needs; its columns are'):
        converter.transform({"title": ["Soup"], "price": [1]})
    with pytest.raises(DataError, match="a table with named columns.*got a list"):
        converter.transform(["Soup"])


def test_columns_of_different_lengths():
    with pytest.raises(DataError, match='the column "price" has 1 rows'):
        TableConverter(text=["title"], numeric=["price"]).fit({"title": ["a", "b"], "price": [1]})


def test_invalid_parameters():
    with pytest.raises(ValueError, match="join_text must be True or False"):
        TableConverter(text=["title"], join_text=1).fit(TABLE)
    with pytest.raises(CordwoodError, match="named more than once"):
        TableConverter(text=["title"], categorical=["title"]).fit(TABLE)


@pytest.mark.parametrize(
    "check",
    [
        # The others fit a matrix, and the input is a table with named columns.
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_scikit_learn_checks(check):
    check("TableConverter", TableConverter(numeric=["price"]))


def test_a_fitted_converter_can_be_pickled():
    table = {"price": [1.5, None]}
    converter = TableConverter(numeric=["price"]).fit(table)
    copy = pickle.loads(pickle.dumps(converter))
    assert repr(copy.transform(table).tolist()) == repr(converter.transform(table).tolist())


def test_an_unfitted_converter_cannot_transform():
    with pytest.raises(NotFittedError):
        TableConverter(numeric=["price"]).transform({"price": [1.0]})
