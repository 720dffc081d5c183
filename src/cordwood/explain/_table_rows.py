"""Rows of tables: the features of their texts, and of their other columns."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from cordwood.columns.cells import MISSING, to_category
from cordwood.columns.converter import TableConverter, list_outputs
from cordwood.columns.frames import read_columns
from cordwood.columns.numeric import NumericEncoder
from cordwood.explain._term_spans import (
    Occurrences,
    Span,
    TermLocator,
    WordCache,
    split_vectorizer,
)


class Row(NamedTuple):
    """A row of a table; a text alone is a row without cells."""

    text: str  # its texts, joined by newlines
    n_texts: int
    cells: NDArray[np.object_]  # output of the TableConverter
    values: dict[str, str]  # of the columns that are not texts, for display


def iter_rows(converter: TableConverter | None, X: Any) -> Iterator[Row]:
    """Yield the rows of a table, or texts if nothing converts them."""
    if converter is None:
        yield from (Row(text, 1, np.empty(0, object), {}) for text in X)
        return
    cells = converter.transform(X)
    roles = converter.columns_
    n_texts = len(list_outputs(roles, join_text=converter.join_text)[1]["text"])
    names = roles.names[len(roles.text) :]
    shown = {name: list(map(_show, values)) for name, values in read_columns(X, names).items()}
    for i, row in enumerate(cells):
        values = {name: column[i] for name, column in shown.items()}
        yield Row("\n".join(row[:n_texts]), n_texts, row, values)


def _show(value: Any) -> str:
    """Return the value of a cell for display."""
    if isinstance(value, float):
        return MISSING if value != value else f"{value:.12g}"
    return value.isoformat() if isinstance(value, date) else to_category(value)


class ColumnLocator:
    """Finds the terms of the text of a row, and names the features of its other columns."""

    def __init__(self, transformer: ColumnTransformer, converter: TableConverter) -> None:
        _, _, sources = list_outputs(converter.columns_, join_text=converter.join_text)
        fitted = [each for each in transformer.transformers_ if not isinstance(each[1], str)]
        vectorizers = [each for _, each, columns in fitted if not isinstance(columns, list)]
        # Terms are located if there is one text, whose vectorizer is the first transformer.
        self._text = TermLocator(vectorizers[0]) if len(vectorizers) == 1 else None
        self._transformer = transformer
        self._names: list[str] = []
        self._is_column: list[bool] = []
        for _, each, columns in fitted:
            if isinstance(columns, list):
                names = [sources[columns[source]] for source in _list_sources(each)]
            elif self._text is not None:
                names = [""] * len(each.get_feature_names_out())
            else:
                names = [f"{sources[columns]}: {term}" for term in _list_terms(each)]
            self._names += names
            self._is_column += [isinstance(columns, list)] * len(names)

    def transform(self, cells: NDArray[np.object_]) -> list[sp.csr_matrix]:
        """Return the features of each row, as matrices of one row."""
        X = sp.csr_matrix(self._transformer.transform(cells), dtype=np.float32)
        X.sum_duplicates()
        X.eliminate_zeros()
        return [X[i] for i in range(X.shape[0])]

    def locate(self, text: str, cache: WordCache) -> Occurrences:
        """Return all occurrences of known terms."""
        return Occurrences() if self._text is None else self._text.locate(text, cache)

    def tokens(self, text: str, cache: WordCache) -> Iterator[Span]:
        """Yield the spans of the words."""
        return iter(()) if self._text is None else self._text.tokens(text, cache)

    def is_column(self, feature: int) -> bool:
        """Return whether a feature is of a column that is not a text."""
        return self._is_column[feature]

    def term(self, feature: int) -> str:
        """Return the column of a feature; the term if it is one of a text."""
        if self._names[feature] or self._text is None:
            return self._names[feature]
        return self._text.term(feature)


def _list_sources(encoder: Any) -> Sequence[int]:
    """Return the position of the column that each feature is made of."""
    if isinstance(encoder, NumericEncoder):
        return list(encoder.list_sources().tolist())
    assert isinstance(encoder, OneHotEncoder)
    sizes = [len(categories) for categories in encoder.categories_]
    return list(np.repeat(np.arange(len(sizes)), sizes).tolist())


def _list_terms(vectorizer: Any) -> list[str]:
    return [term for part in split_vectorizer(vectorizer) for term in sorted(part.vocabulary_)]


def is_explainable(transformer: Any) -> bool:
    """Return whether the features of a `ColumnTransformer` can be traced to its columns."""
    if not isinstance(transformer, ColumnTransformer):
        return False
    fitted = [each for _, each, _ in transformer.transformers_ if not isinstance(each, str)]
    return all(
        isinstance(each, NumericEncoder | OneHotEncoder) or split_vectorizer(each)
        for each in fitted
    )


class RowClassifier:
    """Classifier of texts that completes each text to a given row of the table.

    The texts of a row are its first cells, and are joined by newlines.
    """

    def __init__(self, model: Pipeline, cells: NDArray[np.object_], n_texts: int) -> None:
        self.classes_ = model.classes_
        self._model = model
        self._cells = cells
        n_lines = [1 + text.count("\n") for text in cells[:n_texts]]
        self._ends = np.cumsum(n_lines, dtype=np.intp).tolist()

    def predict_proba(self, texts: Sequence[str]) -> Any:
        """Predict the row with each of the texts, none of which has more lines than the row."""
        rows = np.tile(self._cells, (len(texts), 1))
        for row, text in zip(rows, texts, strict=True):
            lines, start = text.split("\n"), 0
            for position, end in enumerate(self._ends):
                row[position] = "\n".join(lines[start:end])
                start = end
        return self._model.predict_proba(rows)
