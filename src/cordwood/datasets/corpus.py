"""Labelled rows as they come out of a file: documents or numbers, with what is known of each.

Records are immutable; everything after reading works on these and knows nothing of files.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.exceptions import DataError


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What is known of each row, whatever the row holds.

    Parameters
    ----------
    ids : tuple of str
        One for each row, in file order.
    labels : tuple of str, tuple of tuples of str, or None
        The label of each row; tuples where a row may have several labels, or none; None where
        the file has no labels.
    split : tuple of str, optional
        The official part that a row belongs to, such as "train" or "test".
    groups : tuple of str, optional
        Rows of one group must stay on one side of any split.
    skipped : tuple of str
        One sentence for each bad row that the reader left out because it was told to.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...] | tuple[tuple[str, ...], ...] | None = None
    split: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    skipped: tuple[str, ...] = ()

    _per_row: ClassVar[tuple[str, ...]] = ("ids", "labels", "split", "groups")

    def __post_init__(self) -> None:
        for name in self._per_row:
            column = getattr(self, name)
            if column is not None and (n_entries := _length(column)) != len(self.ids):
                raise ValueError(f"{name} has {n_entries} entries for {len(self.ids)} rows")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def multilabel(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.labels is not None and isinstance(next(iter(self.labels), None), tuple)

    def subset(self, name: str) -> Self:
        """Keep the rows of one part of the official split, such as "train"."""
        if self.split is None or name not in self.split:
            known = ", ".join(sorted(set(self.split or ()))) or "none"
            raise ValueError(f"there is no part {name!r} in the split; parts here: {known}")
        return self.select([row for row, part in enumerate(self.split) if part == name])

    def select(self, rows: Sequence[int] | NDArray[np.integer[Any]]) -> Self:
        """Keep the rows at these positions, in this order."""
        positions = np.asarray(rows)
        if positions.size and positions.dtype.kind not in "iu":
            raise TypeError(f"rows must be positions, not {positions.dtype} values")
        positions = positions.astype(np.intp)
        columns = {
            name: _take(column, positions)
            for name in self._per_row
            if (column := getattr(self, name)) is not None
        }
        return replace(self, **columns)

    def fingerprint(self) -> str:
        """Hash content and labels: equal fingerprints mean equal training data."""
        digest = hashlib.sha256()
        for piece in self._pieces():
            digest.update(len(piece).to_bytes(8, "little"))
            digest.update(piece)
        for label in self.labels or ():
            digest.update(repr(label).encode())
        return digest.hexdigest()

    def _pieces(self) -> Iterator[bytes]:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Corpus(Rows):
    """Documents, each with its label where there is one.

    Parameters
    ----------
    texts : tuple of str
        One document for each row; an empty document is legal.
    ids, labels, split, groups, skipped
        See `Rows`.

    Examples
    --------
    >>> corpus = Corpus(texts=("a cat", "a dog"), ids=("1", "2"), labels=("cat", "dog"))
    >>> corpus.select([1]).texts
    ('a dog',)
    """

    texts: tuple[str, ...]

    _per_row: ClassVar[tuple[str, ...]] = (*Rows._per_row, "texts")

    def _pieces(self) -> Iterator[bytes]:
        return (text.encode("utf-8", "surrogatepass") for text in self.texts)


@dataclass(frozen=True, kw_only=True)
class FeatureMatrix(Rows):
    """Rows of numbers, each with its label where there is one.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_rows, n_features)
        The values.
    feature_names : tuple of str, optional
        Names of the columns, where they are known.
    ids, labels, split, groups, skipped
        See `Rows`.
    """

    X: NDArray[Any] | sp.csr_array
    feature_names: tuple[str, ...] | None = None

    _per_row: ClassVar[tuple[str, ...]] = (*Rows._per_row, "X")

    def _pieces(self) -> Iterator[bytes]:
        if isinstance(self.X, np.ndarray):
            arrays = [self.X]
        else:
            arrays = [self.X.indptr, self.X.indices, self.X.data]
        yield f"{self.X.shape[0]} {self.X.shape[1]} {self.X.dtype.str}".encode()
        for array in arrays:
            yield np.ascontiguousarray(array).tobytes()


def _length(column: Any) -> int:
    return len(column) if isinstance(column, tuple) else int(column.shape[0])


def _take(column: Any, positions: NDArray[np.intp]) -> Any:
    if isinstance(column, tuple):
        return tuple(map(column.__getitem__, positions.tolist()))
    return column[positions]


DatasetT = TypeVar("DatasetT", bound=Rows)


def with_groups(corpus: DatasetT, pattern: str) -> DatasetT:
    """Return a copy whose groups are the first matches of a regular expression in the ids.

    Parameters
    ----------
    corpus : Corpus or FeatureMatrix
    pattern : str
        Regular expression; what it matches in the id of a sample is the group of the sample.

    Returns
    -------
    Corpus or FeatureMatrix

    Raises
    ------
    DataError
        If an id has no match.

    Examples
    --------
    >>> corpus = Corpus(texts=("a", "b", "c"), ids=("7:grain", "7:wheat", "8:oil"))
    >>> with_groups(corpus, "^[^:]*").groups
    ('7', '7', '8')
    """
    groups = []
    for sample_id in corpus.ids:
        match = re.search(pattern, sample_id)
        if match is None:
            raise DataError(f"group_pattern {pattern!r} does not match the id {sample_id!r}")
        groups.append(match.group(0))
    return replace(corpus, groups=tuple(groups))
