"""Cost matrices in CSV files."""

import numpy as np
import pytest

from cordwood.cli.cost_file import read_cost_matrix
from cordwood.exceptions import DataError


def test_rows_and_columns_may_be_in_any_order(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("true,b,a\nb,0,2\na,5,1\n")
    np.testing.assert_array_equal(read_cost_matrix(file, ["a", "b"]), [[1, 5], [2, 0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("true,a,b\na,0,1\n", "no row for the class 'b'"),
        ("true,a\na,0\nb,1\n", "no column for the class 'b'"),
        ("true,a,b,c\na,0,1,2\nb,1,0,2\n", "column 'c' is not a class"),
        ("true,a,b\na,0,1\na,0,1\nb,1,0\n", "row 'a' occurs more than once"),
        ("true,a,b\na,0\nb,1,0\n", "row 2: expected 2 costs; got 1"),
        ("true,a,b\na,0,much\nb,1,0\n", "row 2: the cost in column 'b' must be a number"),
        ("true,a,b\na,0,inf\nb,1,0\n", "row 2: the cost in column 'b' must be a number"),
    ],
)
def test_invalid_cost_files(content, message, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=message):
        read_cost_matrix(file, ["a", "b"])


def test_a_missing_cost_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot read the cost matrix"):
        read_cost_matrix(tmp_path / "none.csv", ["a", "b"])
