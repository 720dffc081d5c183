"""Conversion of a table to an array whose columns are texts, categories and numbers."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from cordwood._base.param_validation import BOOLEAN
from cordwood.columns.cells import DATE_PARTS, to_category, to_date_parts, to_number, to_text
from cordwood.columns.frames import read_columns
from cordwood.columns.roles import ROLES, ColumnRoles, check_columns
from cordwood.datasets.values import InvalidValue
from cordwood.exceptions import DataError


class TableConverter(TransformerMixin, BaseEstimator):
    """Select the columns of a table by name and convert their values.

    The output is an array of objects, whose columns a `ColumnTransformer` selects by position:
    first the texts, then the categories, the numbers, and the parts of the dates.

    Parameters
    ----------
    text : sequence of str, default=()
        Columns with texts; a missing text is empty.
    categorical : sequence of str, default=()
        Columns with categories, which are converted to strings. A missing or empty value is the
        category "(missing)".
    numeric : sequence of str, default=()
        Columns with numbers, or strings of numbers. A missing value is NaN; so are strings such as
        "", "NA" and "?".
    date : sequence of str, default=()
        Columns with dates, dates and times, or strings in ISO 8601 format. Each becomes five
        numbers: year, month, weekday (Monday is 0), day of the year, and days since 1970-01-01.
    join_text : bool, default=True
        Whether all texts of a row are joined by newlines to a single column.

    Attributes
    ----------
    columns_ : ColumnRoles
        Columns by role.

    See Also
    --------
    cordwood.columns.detect_columns : Guess the role of each column.
    sklearn.compose.ColumnTransformer : Applies transformers to the columns of the output.

    Examples
    --------
    >>> table = {"title": ["Soup", None], "price": ["4.5", "NA"], "kind": ["hot", 2.0]}
    >>> converter = TableConverter(text=["title"], categorical=["kind"], numeric=["price"])
    >>> converter.fit_transform(table)
    array([['Soup', 'hot', 4.5],
           ['', '2', nan]], dtype=object)
    """

    def __init__(
        self,
        *,
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        date: Sequence[str] = (),
        join_text: bool = True,
    ) -> None:
        self.text = text
        self.categorical = categorical
        self.numeric = numeric
        self.date = date
        self.join_text = join_text

    def fit(self, X: Any, y: Any = None) -> Self:
        """Validate the parameters and the names of the columns; nothing is learned from values.

        Parameters
        ----------
        X : dataframe, mapping of names to columns, or Corpus
            Table with the columns.
        y : None
            Ignored.

        Returns
        -------
        TableConverter
            The converter itself.
        """
        roles = self._validate_params()
        read_columns(X, roles.names)
        self.columns_ = roles
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Convert the rows of a table.

        Parameters
        ----------
        X : dataframe, mapping of names to columns, or Corpus
            Table with the columns, in any order; others are ignored.

        Returns
        -------
        X_new : ndarray of objects, shape (n_samples, n_columns)
            Columns in the order of `get_feature_names_out`.

        Raises
        ------
        DataError
            If a column is missing or a value cannot be converted.
        """
        check_is_fitted(self)
        roles = self.columns_
        columns = read_columns(X, roles.names)
        texts = [_convert(columns, name, to_text) for name in roles.text]
        if self.join_text and len(texts) > 1:
            texts = [["\n".join(parts) for parts in zip(*texts, strict=True)]]
        converted = [
            *texts,
            *(_convert(columns, name, to_category) for name in roles.categorical),
            *(_share_nan(_convert(columns, name, to_number)) for name in roles.numeric),
        ]
        n_samples = len(columns[roles.names[0]])
        for name in roles.date:
            parts = np.array(_convert(columns, name, to_date_parts)).reshape(n_samples, -1)
            converted += [_share_nan(part) for part in parts.T.tolist()]
        array = np.empty((n_samples, len(converted)), dtype=object)
        for position, values in enumerate(converted):
            array[:, position] = values
        return array

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns of the output.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        feature_names_out : ndarray of str objects, shape (n_columns,)
            Names of joined texts are joined by " + "; that of a part of a date is that of the
            date, followed by the part.
        """
        check_is_fitted(self)
        return np.array(list_outputs(self.columns_, join_text=self.join_text)[0], dtype=object)

    def _validate_params(self) -> ColumnRoles:
        BOOLEAN.check("join_text", self.join_text)
        return check_columns({role: getattr(self, role) for role in ROLES})

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def list_outputs(
    roles: ColumnRoles, *, join_text: bool
) -> tuple[list[str], dict[str, list[int]], list[str]]:
    """Return the names of the output of a `TableConverter`, their positions, and their sources."""
    texts = list(roles.text)
    if join_text and len(texts) > 1:
        texts = [" + ".join(texts)]
    dates = [(name, f"{name} {part}") for name in roles.date for part in DATE_PARTS]
    names = [*texts, *roles.categorical, *roles.numeric, *(part for _, part in dates)]
    ends = np.cumsum([len(texts), len(roles.categorical), len(roles.numeric) + len(dates)])
    starts = [0, *ends[:-1]]
    positions = {
        role: list(range(int(start), int(end)))
        for role, start, end in zip(("text", "categorical", "numeric"), starts, ends, strict=True)
    }
    sources = [*texts, *roles.categorical, *roles.numeric, *(name for name, _ in dates)]
    return names, positions, sources


def _convert(columns: dict[str, list[Any]], name: str, convert: Callable[[Any], Any]) -> list[Any]:
    converted = []
    for row, value in enumerate(columns[name]):
        try:
            converted.append(convert(value))
        except InvalidValue as error:
            raise DataError(
                f'the column "{name}", row {row}, {error}; correct the value, or give the column '
                "another role"
            ) from None
    return converted


def _share_nan(values: list[float]) -> list[float]:
    """Replace each NaN by the same object, so that rows with missing values can be equal."""
    return [value if value == value else np.nan for value in values]
