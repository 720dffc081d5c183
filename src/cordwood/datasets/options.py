"""The options of reading a data set, in one record.

This module imports nothing heavy: the command line makes its options and their help from the record
and its docstring.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Literal, get_args

from cordwood.datasets.lines import MAX_ROW_LENGTH, check_encoding
from cordwood.exceptions import CordwoodError

Format = Literal[
    "csv",
    "tsv",
    "jsonl",
    "json",
    "parquet",
    "arrow",
    "excel",
    "sqlite",
    "huggingface",
    "folder",
    "svmlight",
]
FORMATS: tuple[Format, ...] = get_args(Format)
ExtraColumns = Sequence[str] | Literal["all", "other"]

COLUMN_OPTIONS = (
    *("text", "label", "id", "split", "group", "weight", "time"),
    *("label_separator", "extra_columns"),
)
"""Options about columns, which do not apply to formats without columns."""

_STRINGS = ("label", "id", "split", "group", "weight", "time", "sheet", "table", "query")
_LIMITS = ("n_features", "max_bytes", "max_row_length")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a data set: its columns, its format, and what to do with invalid rows.

    Parameters
    ----------
    text : str or sequence of str, default=None
        Column of the text. Several columns are joined by newlines. If None, "text".
    label : str, default=None
        Column of the label; a list is several labels. If None, "label", or else "labels" (in
        formats that have lists).
    label_separator : str, default=None
        String between the labels of a row, such as ";". If None, a string is one label.
    id : str, default=None
        Column of the id. If None, "id" if it exists, else the number of the row (from 1; in
        dataframes from 0).
    group : str, default=None
        Column of the group; the samples of a group are never divided between training and
        validation or test data. If None, "group" if it exists.
    split : str, default=None
        Column with the subset of a predefined split, such as "train" or "test". If None, "split"
        if it exists.
    weight : str, default=None
        Column of the sample weight, numbers of at least 0.
    time : str, default=None
        Column of the time, numbers or ISO 8601 dates.
    extra_columns : sequence of str, "all" or "other", default=()
        Further columns to read: those named; all columns; or those that are not the label, the id,
        the split, the group, the weight or the time. Only with these may `text` be empty.
    require_labels : bool, default=True
        Whether to read labels, and to raise an error if there are fewer than two classes.
        Otherwise, labels are read only if `label` is given.
    format : str, default=None
        Format of the file: csv, tsv, jsonl, json, parquet, arrow, excel, sqlite, huggingface,
        folder or svmlight. If None, from the suffix of its name, or else from its content.
    encoding : str, default=None
        Text encoding of the file; a byte order mark is removed. If None, that of the byte order
        mark, else UTF-8.
    delimiter : str, default=None
        Character between the fields of a CSV file. If None, a comma, semicolon, tab or bar,
        whichever separates the columns.
    header : bool, default=True
        Whether the first row of a CSV, TSV or Excel file has the names of the columns. Otherwise,
        columns are named by their numbers, "1" for the first one.
    sheet : str, default=None
        Sheet of an Excel file. If None, the first one.
    table : str, default=None
        Table or view of an SQLite database. If None, the only one.
    query : str, default=None
        SELECT statement for an SQLite database, which is opened read-only.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether invalid rows are an error, which names the first ten, or are skipped and counted.
        Empty texts are valid; blank lines are ignored.
    n_features : int, default=None
        Number of features of an svmlight file; larger indices are errors. If None, the largest
        index plus one.
    max_bytes : int, default=None
        Largest size of a compressed file after decompression. If None, 20 times its size, and at
        least 16 MiB.
    max_row_length : int, default=2**26
        Largest number of characters of a row, or of a file in a folder.

    See Also
    --------
    cordwood.read_dataset : Takes these options as keyword arguments.

    Examples
    --------
    >>> options = ReadOptions(text=["title", "body"], label="topic")
    >>> options.given
    {'text': ('title', 'body'), 'label': 'topic'}
    """

    text: str | Sequence[str] | None = None
    label: str | None = None
    label_separator: str | None = None
    id: str | None = None
    group: str | None = None
    split: str | None = None
    weight: str | None = None
    time: str | None = None
    extra_columns: ExtraColumns = ()
    require_labels: bool = True
    format: Format | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool = True
    sheet: str | None = None
    table: str | None = None
    query: str | None = None
    on_bad_rows: Literal["raise", "skip"] = "raise"
    n_features: int | None = None
    max_bytes: int | None = None
    max_row_length: int = MAX_ROW_LENGTH

    def __post_init__(self) -> None:
        # Tuples, because the record is immutable and hashable.
        object.__setattr__(self, "text", _to_names(self.text))
        if not isinstance(self.extra_columns, str):
            object.__setattr__(self, "extra_columns", tuple(self.extra_columns))
        elif self.extra_columns not in ("all", "other"):
            raise CordwoodError(
                f"extra_columns must be a list of columns, 'all' or 'other'; got "
                f"{self.extra_columns!r}"
            )
        if self.text == () and not self.extra_columns:
            raise CordwoodError("text must name at least one column; got none")
        for name in _STRINGS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise CordwoodError(f"{name} must be a string; got {value!r}")
        separator = self.label_separator
        if separator is not None and not (isinstance(separator, str) and separator.strip()):
            raise CordwoodError(f"label_separator must be a string such as ';'; got {separator!r}")
        for name in ("header", "require_labels"):
            if not isinstance(value := getattr(self, name), bool):
                raise CordwoodError(f"{name} must be true or false; got {value!r}")
        if self.format is not None and self.format not in FORMATS:
            raise CordwoodError(f"format must be one of {', '.join(FORMATS)}; got {self.format!r}")
        if self.encoding is not None:
            check_encoding(self.encoding)
        delimiter = self.delimiter
        if delimiter is not None and not _is_delimiter(delimiter):
            raise CordwoodError(
                "delimiter must be one character other than a quote or a line end (for tabs, use "
                f"format='tsv' / --format tsv); got {delimiter!r}"
            )
        if self.on_bad_rows not in ("raise", "skip"):
            raise CordwoodError(f"on_bad_rows must be 'raise' or 'skip'; got {self.on_bad_rows!r}")
        for name in _LIMITS:
            value = getattr(self, name)
            is_number = isinstance(value, Integral) and not isinstance(value, bool)
            if value is not None and not (is_number and int(value) >= 1):
                raise CordwoodError(f"{name} must be a positive integer; got {value!r}")

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        values = {option: getattr(self, option.name) for option in fields(ReadOptions)}
        return {option.name: value for option, value in values.items() if value != option.default}

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of the text."""
        return ("text",) if self.text is None else tuple(self.text)

    @property
    def labeled(self) -> bool:
        """Whether labels are read."""
        return self.require_labels or self.label is not None

    def list_extra(self, present: Iterable[str], used: Collection[str | None]) -> list[str]:
        """Return the further columns among those present; `used` are columns of other parts."""
        if not isinstance(self.extra_columns, str):
            return list(self.extra_columns)
        return [name for name in present if self.extra_columns == "all" or name not in used]


OPTION_NAMES = tuple(option.name for option in fields(ReadOptions))


def change_options(options: ReadOptions | None, changes: Mapping[str, Any]) -> ReadOptions:
    """Return a copy with changes; an unknown name raises a `TypeError` with the nearest one."""
    for name in changes:
        if name not in OPTION_NAMES:
            near = " or ".join(map(repr, get_close_matches(name, OPTION_NAMES, n=2)))
            hint = f"did you mean {near}?" if near else f"one of: {', '.join(OPTION_NAMES)}"
            raise TypeError(f"unexpected keyword argument {name!r}; {hint}")
    return replace(options or ReadOptions(), **changes)


def _to_names(text: Any) -> tuple[str, ...] | None:
    if text is None:
        return None
    is_list = isinstance(text, Iterable) and not isinstance(text, Mapping)
    names = (text,) if isinstance(text, str) or not is_list else tuple(text)
    if not all(isinstance(name, str) for name in names):
        raise CordwoodError(f"text must be a column or a list of columns; got {text!r}")
    return names


def _is_delimiter(delimiter: Any) -> bool:
    return isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\r\n'
