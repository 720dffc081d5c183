"""Reader of files in svmlight and libsvm format: ``label index:value index:value``."""

import codecs
import io
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from cordwood._base.wording import shorten
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.corpus import FeatureMatrix
from cordwood.datasets.lines import PathLike, Progress, display_name, open_bytes
from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import DataError

_MULTILABEL = re.compile(rb"^[ \t]*[-+.0-9eE]*,", re.MULTILINE)
_QUERY = re.compile(rb"^[ \t]*(?:[^\s#:]+[ \t]+)?qid:(\S+)", re.MULTILINE)
_MAX_INT32 = int(np.iinfo(np.int32).max)
_MAX_VALUE = float(np.finfo(np.float32).max)
# Above this, two integers may be converted to the same float, which would merge two classes.
_MAX_LABEL = 2.0**53
# Python does not convert numbers of thousands of digits to integers.
_MAX_DIGITS = 20


def read_svmlight(
    path: PathLike,
    options: ReadOptions,
    bad_rows: BadRowHandler,
    progress: Progress | None,
    check: Callable[[io.BufferedIOBase], None],  # of the open file, before it is read
) -> FeatureMatrix:
    """Read a file into a sparse matrix of float32; the ``qid`` of a row is its group.

    Column ``j`` of the matrix is feature ``j`` of the file. Indices are not shifted, so that the
    columns of any two files agree; in a file that counts from 1, column 0 is empty.
    """
    name = display_name(path)
    n_features = options.n_features
    max_features = _MAX_INT32 if n_features is None else n_features
    with open_bytes(path, progress, max_bytes=options.max_bytes) as file:
        check(file)
        content = file.read().removeprefix(codecs.BOM_UTF8)
    multilabel = _MULTILABEL.search(content) is not None
    try:
        X, labels = _load(content, multilabel, n_features)
        row_numbers: Sequence[int] = range(1, len(labels) + 1)
        all_labels = np.fromiter(chain.from_iterable(labels) if multilabel else labels, float)
        is_valid = (
            X.shape[1] <= max_features
            and np.isfinite(X.data).all()
            and (np.abs(all_labels) < _MAX_LABEL).all()
        )
    except (ValueError, OverflowError):
        is_valid = False
    if not is_valid:
        content, row_numbers = _remove_bad_lines(content, multilabel, max_features, name, bad_rows)
        try:
            X, labels = _load(content, multilabel, n_features)
        except (ValueError, OverflowError) as error:
            raise DataError(f"{name} cannot be read as svmlight: {error}") from error
    if not row_numbers and bad_rows.n_skipped:
        bad_rows.raise_all_skipped(name)
    if not row_numbers:
        raise DataError(f"{name} is empty; it must have rows of label index:value")
    return FeatureMatrix(
        X=X,
        ids=tuple(map(str, row_numbers)),
        labels=tuple(map(cache(_format_label), labels)) if options.labeled else None,
        groups=_find_groups(content, len(row_numbers), name),
        skipped=tuple(bad_rows.messages),
    )


def _load(
    content: bytes, multilabel: bool, n_features: int | None
) -> tuple[sp.csr_array, Sequence[Any]]:
    X, labels = load_svmlight_file(
        io.BytesIO(content),
        n_features=n_features,
        dtype=np.float32,
        multilabel=multilabel,
        zero_based=True,
    )
    # The parser returns 64-bit indices.
    index_dtype = np.int32 if max(X.nnz, *X.shape) <= _MAX_INT32 else np.int64
    arrays = (X.data, X.indices.astype(index_dtype), X.indptr.astype(index_dtype))
    return sp.csr_array(arrays, shape=X.shape), labels


def _format_label(label: Any) -> Any:
    # If any row has several labels, all labels are tuples; +1 and 1.0 are the label "1".
    if isinstance(label, tuple):
        return tuple(map(_format_label, label))
    return str(int(label)) if label.is_integer() else str(label)


def _find_groups(content: bytes, n_samples: int, name: str) -> tuple[str, ...] | None:
    queries = _QUERY.findall(content)
    if len(queries) not in (0, n_samples):
        raise DataError(
            f"{name} has a qid in {len(queries)} of its {n_samples} rows; add it to all rows or "
            "to none"
        )
    return tuple(query.decode("ascii", "backslashreplace") for query in queries) or None


def _remove_bad_lines(
    content: bytes, multilabel: bool, max_features: int, name: str, bad_rows: BadRowHandler
) -> tuple[bytes, list[int]]:
    kept: list[bytes] = []
    row_numbers: list[int] = []
    row_number = 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        fields = line.partition(b"#")[0].decode("ascii", "backslashreplace").split()
        if not fields:
            continue
        row_number += 1
        problem = _pop_label(fields, multilabel) or _check_features(fields, max_features)
        if problem:
            bad_rows.handle(RowIssue(f"{name}, line {number}: {problem}", "correct the line"))
        else:
            kept.append(line)
            row_numbers.append(row_number)
    return b"\n".join(kept), row_numbers


def _pop_label(fields: list[str], multilabel: bool) -> str | None:
    """Remove the label from the fields of a row; return what is wrong with it, or None."""
    if multilabel and ":" in fields[0]:
        return None
    field = fields.pop(0)
    for label in field.split(",") if multilabel else [field]:
        if (value := _parse_number(label)) is None or not abs(value) < _MAX_LABEL:
            return f'the label "{shorten(label)}" is not a number below 2**53'
    return None


def _check_features(fields: list[str], max_features: int) -> str | None:
    """Return what is wrong with the features of a row, or None."""
    if fields and fields[0].startswith("qid:") and fields.pop(0) == "qid:":
        return "the qid is empty"
    previous = -1
    for field in fields:
        digits, colon, value = field.partition(":")
        if not colon or not digits.isdecimal():
            return f'"{shorten(field)}" is not of the form index:value'
        index = int(digits) if len(digits.lstrip("0")) <= _MAX_DIGITS else max_features
        if index >= max_features:
            return f"feature {shorten(digits)} is out of range for {max_features} features"
        if index <= previous:
            return f"feature {index} follows feature {previous}, but indices must increase"
        if (number := _parse_number(value)) is None or not abs(number) <= _MAX_VALUE:
            return (
                f'the value of feature {index} is "{shorten(value)}", which is not a float32 number'
            )
        previous = index
    return None


def _parse_number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None
