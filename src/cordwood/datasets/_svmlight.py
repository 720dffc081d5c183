"""Rows of numbers in the format of svmlight and libsvm: ``label index:value index:value``."""

import codecs
import io
import re
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from cordwood.datasets._lines import PathLike, Progress, display_name, open_bytes
from cordwood.datasets._row_errors import BadRows, Fault
from cordwood.datasets.corpus import FeatureMatrix
from cordwood.exceptions import DataError

_SEVERAL_LABELS = re.compile(rb"^[ \t]*[-+.0-9eE]*,", re.MULTILINE)
_QUERY = re.compile(rb"^[ \t]*(?:[^\s#:]+[ \t]+)?qid:(\S+)", re.MULTILINE)
_LARGEST_WIDTH = int(np.iinfo(np.int32).max)
_LARGEST_VALUE = float(np.finfo(np.float32).max)
# Above this, two whole numbers may become the same float, and two classes one.
_LARGEST_LABEL = 2.0**53


def read_svmlight(
    path: PathLike,
    bad_rows: BadRows,
    *,
    labelled: bool,
    n_features: int | None = None,
    progress: Progress | None = None,
) -> FeatureMatrix:
    """Read a whole file into a sparse matrix of float32.

    Column ``j`` of the matrix is feature ``j`` of the file: indices are taken as they stand, so
    that any two files agree, and a file that counts from 1 has an empty column 0. Labels become
    strings, "1" for ``+1`` and ``1.0``, and tuples of strings where any row has several, with
    commas between. Where the rows have a ``qid``, it is their group.
    """
    name = display_name(path)
    width = _LARGEST_WIDTH if n_features is None else n_features
    with open_bytes(path, progress) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8)
    several = _SEVERAL_LABELS.search(content) is not None
    try:
        X, labels = _load(content, several, n_features)
        row_numbers = list(range(1, len(labels) + 1))
        each_label = np.fromiter(chain.from_iterable(labels) if several else labels, float)
        good = (
            X.shape[1] <= width
            and np.isfinite(X.data).all()
            and (np.abs(each_label) < _LARGEST_LABEL).all()
        )
    except (ValueError, OverflowError):
        good = False
    if not good:
        content, row_numbers = _leave_out_bad_lines(content, several, width, name, bad_rows)
        try:
            X, labels = _load(content, several, n_features)
        except (ValueError, OverflowError) as error:
            raise DataError(f"{name} cannot be read as svmlight: {error}") from error
    if not row_numbers and bad_rows.count:
        bad_rows.refuse_all(name)
    if not row_numbers:
        raise DataError(f"{name} is empty; it needs rows of label index:value")
    return FeatureMatrix(
        X=X,
        ids=tuple(map(str, row_numbers)),
        labels=tuple(map(_name_label, labels)) if labelled else None,
        groups=_groups(content, len(row_numbers), name),
        skipped=tuple(bad_rows.sentences),
    )


def _load(content: bytes, several: bool, n_features: int | None) -> tuple[sp.csr_array, list[Any]]:
    X, labels = load_svmlight_file(
        io.BytesIO(content),
        n_features=n_features,
        dtype=np.float32,
        multilabel=several,
        zero_based=True,
    )
    # The parser counts in 64 bits, and scipy leaves it at that.
    index = np.int32 if max(X.nnz, *X.shape) <= _LARGEST_WIDTH else np.int64
    arrays = (X.data, X.indices.astype(index), X.indptr.astype(index))
    return sp.csr_array(arrays, shape=X.shape), labels if several else labels.tolist()


def _name_label(label: Any) -> Any:
    if isinstance(label, tuple):
        return tuple(map(_name_label, label))
    return str(int(label)) if label.is_integer() else str(label)


def _groups(content: bytes, n_rows: int, name: str) -> tuple[str, ...] | None:
    queries = _QUERY.findall(content)
    if len(queries) not in (0, n_rows):
        raise DataError(
            f"{name} has a qid in {len(queries)} of its {n_rows} rows; give it to all or to none"
        )
    return tuple(query.decode("ascii", "backslashreplace") for query in queries) or None


def _leave_out_bad_lines(
    content: bytes, several: bool, width: int, name: str, bad_rows: BadRows
) -> tuple[bytes, list[int]]:
    kept: list[bytes] = []
    row_numbers: list[int] = []
    n_rows = 0
    for number, line in enumerate(content.split(b"\n"), start=1):
        words = line.partition(b"#")[0].decode("ascii", "backslashreplace").split()
        if not words:
            continue
        n_rows += 1
        if what := _label_fault(words, several) or _feature_fault(words, width):
            bad_rows.refuse(Fault(f"{name}, line {number}: {what}", "mend the line"))
        else:
            kept.append(line)
            row_numbers.append(n_rows)
    return b"\n".join(kept), row_numbers


def _label_fault(words: list[str], several: bool) -> str | None:
    """Take the label from the front of a row, and say what is wrong with it."""
    if several and ":" in words[0]:
        return None
    word = words.pop(0)
    for label in word.split(",") if several else [word]:
        if (value := _number(label)) is None or not abs(value) < _LARGEST_LABEL:
            return f'the label "{label}" is not a number below 2**53'
    return None


def _feature_fault(words: list[str], width: int) -> str | None:
    if words and words[0].startswith("qid:") and words.pop(0) == "qid:":
        return "the qid is empty"
    previous = -1
    for word in words:
        index, colon, value = word.partition(":")
        if not colon or not index.isdecimal():
            return f'"{word}" is not a feature as index:value'
        if int(index) >= width:
            return f"feature {index} is beyond the {width} features that there can be"
        if int(index) <= previous:
            return f"feature {index} comes after feature {previous}, but indices must rise"
        if (number := _number(value)) is None or not abs(number) <= _LARGEST_VALUE:
            return f'the value of feature {index} is "{value}", which is not a float32 number'
        previous = int(index)
    return None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
