"""In-memory data sets: texts or feature matrices, with ids, labels, splits and groups."""

from __future__ import annotations  # `help` shows the short names

import hashlib
import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.labels import is_missing
from cordwood._base.wording import shorten
from cordwood.datasets.values import split_labels, to_list
from cordwood.exceptions import CordwoodError, DataError

_MAX_SHOWN_CLASSES = 5
_MAX_SHOWN_TEXT = 70


@dataclass(frozen=True, kw_only=True, repr=False)
class Dataset:
    """Base of `Corpus` and `FeatureMatrix`: what is known about each sample except its features."""

    ids: tuple[str, ...]
    labels: tuple[str, ...] | tuple[tuple[str, ...], ...] | None = None
    split: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    weights: tuple[float, ...] | None = None
    times: tuple[float, ...] | tuple[datetime, ...] | None = None
    columns: Mapping[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    # Fields with one entry per sample. Those that are not arrays are stored as tuples.
    _sample_fields: ClassVar[tuple[str, ...]] = (
        "ids", "labels", "split", "groups", "weights", "times",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in self._sample_fields:
            values = getattr(self, name)
            if values is None:
                continue
            if name != "X" and not isinstance(values, tuple):
                values = _to_tuple(name, values)
                object.__setattr__(self, name, values)
            if (n_entries := _length(values)) != len(self.ids):
                raise DataError(f"{name} has {n_entries} entries for {len(self.ids)} samples")
        object.__setattr__(self, "columns", self._check_columns())
        _check_labels(self.labels or ())
        _check_weights(self.weights or ())
        _check_times(self.times or ())

    def _check_columns(self) -> dict[str, tuple[Any, ...]]:
        columns = {
            name: values if isinstance(values, tuple) else tuple(to_list(values))
            for name, values in self.columns.items()
        }
        for name, values in columns.items():
            if len(values) != len(self.ids):
                raise DataError(
                    f'the column "{name}" has {len(values)} entries for {len(self.ids)} samples'
                )
        return columns

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        details = [f"  {name}: {value}" for name, value in self._list_details()]
        return "\n".join([f"<{self._title()}>", *details])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align: left">{html.escape(name)}</th>'
            f'<td style="text-align: left">{html.escape(value)}</td></tr>'
            for name, value in self._list_details()
        )
        return f"<table><caption>{html.escape(self._title())}</caption>{rows}</table>"

    @property
    def multilabel(self) -> bool:
        """Whether the label of a sample is a tuple of labels."""
        return self.labels is not None and isinstance(next(iter(self.labels), None), tuple)

    def subset(self, name: str) -> Self:
        """Select the samples of one subset of the predefined split.

        Parameters
        ----------
        name : str
            The subset, such as "train".

        Returns
        -------
        Corpus or FeatureMatrix

        Raises
        ------
        DataError
            If there is no such subset.
        """
        if self.split is None:
            raise DataError(f"there is no subset {name!r}: the data set has no predefined split")
        if name not in self.split:
            known = ", ".join(sorted(set(self.split)))
            raise DataError(f"there is no subset {name!r} in the split; its subsets are: {known}")
        return self.select([index for index, subset in enumerate(self.split) if subset == name])

    def select(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> Self:
        """Select samples by their indices, in the given order.

        Parameters
        ----------
        indices : sequence of int or array of int
            Indices of samples.

        Returns
        -------
        Corpus or FeatureMatrix
        """
        array = np.asarray(indices)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers; got an array of {array.dtype}")
        array = array.astype(np.intp)
        selected = {
            name: _take(values, array)
            for name in self._sample_fields
            if (values := getattr(self, name)) is not None
        }
        columns = {name: _take(values, array) for name, values in self.columns.items()}
        return replace(self, columns=columns, **selected)

    def fingerprint(self, columns: Sequence[str] = ()) -> str:
        """Return a SHA-256 hash of features and labels; equal training data have equal hashes.

        Parameters
        ----------
        columns : sequence of str, default=()
            Names of the further columns that are features.

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        digest = hashlib.sha256()
        for content in self._iter_content():
            digest.update(len(content).to_bytes(8, "little"))
            digest.update(content)
        for label in self.labels or ():
            digest.update(repr(label).encode())
        for name in columns:
            digest.update(repr((name, self.columns[name])).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _iter_content(self) -> Iterator[bytes]:
        """Yield the features as bytes."""
        raise NotImplementedError

    def _list_sizes(self) -> list[str]:
        """Return the size of the data, for the title of the repr."""
        raise NotImplementedError

    def _title(self) -> str:
        sizes = self._list_sizes()
        if self.labels is not None:
            n_classes = len({label for each in self.labels for label in _as_tuple(each)})
            sizes.append(f"{n_classes:,} {'labels (multilabel)' if self.multilabel else 'classes'}")
        return f"{type(self).__name__}: {', '.join(sizes)}"

    def _list_details(self) -> Iterator[tuple[str, str]]:
        """Yield names and short values, for the repr."""
        if self.labels is not None:
            yield "labels", _show_counts(label for each in self.labels for label in _as_tuple(each))
        if self.split is not None:
            yield "split", _show_counts(self.split)
        if self.groups is not None:
            yield "groups", f"{len(set(self.groups)):,}"
        if self.weights is not None:
            yield "weights", f"{min(self.weights, default=0):g} to {max(self.weights, default=0):g}"
        if self.times:
            yield "times", f"{min(self.times)} to {max(self.times)}"
        if self.columns:
            yield "columns", shorten(", ".join(self.columns), _MAX_SHOWN_TEXT)
        if self.skipped:
            yield "skipped rows", f"{len(self.skipped):,}"


@dataclass(frozen=True, kw_only=True, repr=False)
class Corpus(Dataset):
    """Texts with ids, labels, splits and groups.

    Sequences of any kind (lists, arrays, columns of dataframes) are converted to tuples.

    Parameters
    ----------
    texts : sequence of str
        The text of each sample; it may be empty.
    ids : sequence of str
        The id of each sample.
    labels : sequence of str, sequence of tuples of str, or None, default=None
        The label of each sample; a tuple of labels, which may be empty, in multilabel data; None
        if the data are unlabeled.
    split : sequence of str or None, default=None
        The subset of a predefined split that contains each sample, such as "train" or "test".
    groups : sequence of str or None, default=None
        The group of each sample. Samples of one group must not be divided between training and
        test data.
    weights : sequence of float or None, default=None
        The sample weights, which are not negative.
    times : sequence of float, sequence of datetime, or None, default=None
        The time of each sample, all numbers or all dates and times without a time zone.
    columns : mapping of str to sequence, default={}
        Further columns by their names, with one value per sample: str, numbers, and None for
        missing values.
    skipped : tuple of str, default=()
        One message for each invalid row that was skipped while reading.
    notes : tuple of str, default=()
        What was determined from the content of the file, such as its delimiter.

    See Also
    --------
    cordwood.read_dataset : Read a corpus from a file or a dataframe.
    FeatureMatrix : Numeric features instead of texts.

    Examples
    --------
    >>> corpus = Corpus(
    ...     texts=["it purrs", "it barks", "it meows"],
    ...     ids=["1", "2", "3"],
    ...     labels=["cat", "dog", "cat"],
    ... )
    >>> corpus
    <Corpus: 3 texts, 2 classes>
      labels: cat (2), dog (1)
      first text: 'it purrs'
    >>> corpus.select([1]).texts
    ('it barks',)
    """

    texts: tuple[str, ...]

    _sample_fields: ClassVar[tuple[str, ...]] = (*Dataset._sample_fields, "texts")

    def __post_init__(self) -> None:
        super().__post_init__()
        for index, text in enumerate(self.texts):
            if not isinstance(text, str):
                raise DataError(f"texts[{index}] must be a string; got {shorten(repr(text))}")

    def _iter_content(self) -> Iterator[bytes]:
        return (text.encode("utf-8", "surrogatepass") for text in self.texts)

    def _list_sizes(self) -> list[str]:
        return [f"{len(self):,} texts"]

    def _list_details(self) -> Iterator[tuple[str, str]]:
        yield from super()._list_details()
        if self.texts:
            yield "first text", repr(shorten(self.texts[0], _MAX_SHOWN_TEXT))


@dataclass(frozen=True, kw_only=True, repr=False)
class FeatureMatrix(Dataset):
    """Numeric features with ids, labels, splits and groups.

    Sequences of any kind (lists, arrays, columns of dataframes) are converted to tuples.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        The features.
    ids : sequence of str
        The id of each sample.
    labels : sequence of str, sequence of tuples of str, or None, default=None
        The label of each sample; a tuple of labels, which may be empty, in multilabel data; None
        if the data are unlabeled.
    split : sequence of str or None, default=None
        The subset of a predefined split that contains each sample, such as "train" or "test".
    groups : sequence of str or None, default=None
        The group of each sample. Samples of one group must not be divided between training and
        test data.
    weights : sequence of float or None, default=None
        The sample weights, which are not negative.
    times : sequence of float, sequence of datetime, or None, default=None
        The time of each sample, all numbers or all dates and times without a time zone.
    columns : mapping of str to sequence, default={}
        Further columns by their names, with one value per sample: str, numbers, and None for
        missing values.
    skipped : tuple of str, default=()
        One message for each invalid row that was skipped while reading.
    notes : tuple of str, default=()
        What was determined from the content of the file, such as its delimiter.

    See Also
    --------
    cordwood.read_dataset : Read a sparse matrix from a file in svmlight format.
    Corpus : Texts instead of numeric features.

    Examples
    --------
    >>> FeatureMatrix(X=np.eye(2), ids=["1", "2"], labels=["a", "b"])
    <FeatureMatrix: 2 samples, 2 features, 2 classes>
      labels: a (1), b (1)
      X: ndarray of float64
    """

    X: NDArray[Any] | sp.csr_array

    _sample_fields: ClassVar[tuple[str, ...]] = (*Dataset._sample_fields, "X")

    def _iter_content(self) -> Iterator[bytes]:
        if isinstance(self.X, np.ndarray):
            arrays = [self.X]
        else:
            arrays = [self.X.indptr, self.X.indices, self.X.data]
        yield f"{self.X.shape[0]} {self.X.shape[1]} {self.X.dtype.str}".encode()
        for array in arrays:
            yield np.ascontiguousarray(array).tobytes()

    def _list_sizes(self) -> list[str]:
        n_samples, n_features = self.X.shape
        return [f"{n_samples:,} samples", f"{n_features:,} features"]

    def _list_details(self) -> Iterator[tuple[str, str]]:
        yield from super()._list_details()
        stored = "" if isinstance(self.X, np.ndarray) else f", {self.X.nnz:,} stored values"
        yield "X", f"{type(self.X).__name__} of {self.X.dtype}{stored}"


AnyDataset = TypeVar("AnyDataset", bound=Dataset)


def with_groups(dataset: AnyDataset, pattern: str) -> AnyDataset:
    """Derive groups from the ids of samples, by a regular expression that is searched in each.

    The group is the match or, if the pattern has a capturing group, that part of the match.

    Examples
    --------
    A story that has several topics is in the corpus once for each topic:

    >>> corpus = Corpus(texts=["a", "a", "b"], ids=["1:oil", "1:gas", "2:oil"])
    >>> with_groups(corpus, "^[^:]*").groups
    ('1', '1', '2')
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise CordwoodError(
            f"pattern must be a valid regular expression ({error}); got {pattern!r}"
        ) from None
    if compiled.groups > 1:
        raise CordwoodError(
            f"pattern must have at most one capturing group; got {pattern!r} with "
            f"{compiled.groups}, so write the others as (?:...)"
        )
    groups = []
    for id in dataset.ids:
        match = compiled.search(id)
        if match is None or not match[compiled.groups]:
            raise DataError(f"pattern {pattern!r} matches no characters of the id {id!r}")
        groups.append(match[compiled.groups])
    return replace(dataset, groups=tuple(groups))


def with_split_labels(dataset: AnyDataset, separator: str) -> AnyDataset:
    """Split the label of each sample into a tuple of labels without duplicates.

    Examples
    --------
    >>> corpus = Corpus(texts=["a", "b"], ids=["1", "2"], labels=["oil; gas", "oil"])
    >>> with_split_labels(corpus, ";").labels
    (('oil', 'gas'), ('oil',))
    """
    if not separator:
        raise CordwoodError("separator must not be empty; give a string such as ';'")
    if dataset.labels is None:
        raise DataError("there are no labels to split; read the data with a label column")
    if dataset.multilabel:
        raise DataError("the labels are lists already; omit the separator")
    labels = tuple(split_labels(str(label), separator) for label in dataset.labels)
    return replace(dataset, labels=labels)


def _to_tuple(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError(
            f"{name} must be a sequence with one entry per sample; got {shorten(repr(values))}"
        )
    return tuple(tuple(entry) if isinstance(entry, list) else entry for entry in to_list(values))


def _check_labels(labels: Sequence[Any]) -> None:
    for index, label in enumerate(labels):
        if not isinstance(label, str) and any(map(is_missing, _as_tuple(label))):
            raise DataError(
                f"labels[{index}] is {label!r}; label every sample, or leave the sample out"
            )


def _check_weights(weights: Sequence[Any]) -> None:
    for index, weight in enumerate(weights):
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise DataError(
                f"weights[{index}] must be a number of at least 0; got {shorten(repr(weight))}"
            )


def _check_times(times: Sequence[Any]) -> None:
    is_date = isinstance(next(iter(times), None), datetime)
    for index, time in enumerate(times):
        if not isinstance(time, datetime if is_date else int | float) or is_missing(time):
            raise DataError(
                f"times[{index}] must be {'a date' if is_date else 'a number'}, as times[0] is; "
                f"got {shorten(repr(time))}"
            )
        if isinstance(time, datetime) and time.tzinfo is not None:
            raise DataError(f"times[{index}] has a time zone; convert all times to UTC without one")


def _as_tuple(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def _length(values: Any) -> int:
    return len(values) if isinstance(values, tuple) else int(values.shape[0])


def _take(values: Any, indices: NDArray[np.intp]) -> Any:
    if isinstance(values, tuple):
        return tuple(map(values.__getitem__, indices.tolist()))
    return values[indices]


def _show_counts(values: Iterable[Any]) -> str:
    """Return the most frequent values with their counts."""
    counts = Counter(values)
    shown = [
        f"{shorten(str(value))} ({n:,})" for value, n in counts.most_common(_MAX_SHOWN_CLASSES)
    ]
    n_more = len(counts) - len(shown)
    return ", ".join(shown) + (f" and {n_more:,} more" if n_more else "")
