"""The data that the benchmarks run on: real sets by name, and documents drawn by Zipf's law."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import VARIABLE, load_dataset
from cordwood.exceptions import DataError
from cordwood.text.vectorizer import TextVectorizer

TEXT = ("20ng", "webkb", "reut90", "ohsumed")
DENSE = ("spambase", "gems_prostate_tumor")

_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"
_MIN_DF = 6


class Split(NamedTuple):
    """A data set, four fifths of it to learn from; labels are codes from zero."""

    name: str
    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]

    @property
    def is_sparse(self) -> bool:
        """Whether it is text, and the matrix sparse."""
        return bool(sp.issparse(self.X))

    def describe(self) -> str:
        """Say how large it is."""
        n, d = self.X.shape
        kind = "dense" if not self.is_sparse else f"{self.X.nnz / n:.0f} non-zero each"
        n_classes = len(np.unique(self.y))
        return f"{self.name}: {n:,} + {len(self.y_test):,} x {d:,}, {kind}, {n_classes} classes"


def load_split(name: str) -> Split:
    """Load a set, split it at random and prepare its texts as the SIGIR'17 paper did.

    Rows of one group stay on one side. The columns are those of the training part.
    """
    rows = load_rows(name)
    codes = np.unique(rows.labels, return_inverse=True)[1]
    splitter = ShuffleSplit if rows.groups is None else GroupShuffleSplit
    splits = splitter(1, test_size=0.2, random_state=0).split(codes, groups=rows.groups)
    train, test = next(splits)
    if isinstance(rows, Corpus):
        vectorizer = TextVectorizer(preset="sigir17", weighting="tf")
        X = vectorizer.fit_transform(rows.select(train).texts)
        X_test = vectorizer.transform(rows.select(test).texts)
    else:
        X, X_test = rows.X[train], rows.X[test]
    return Split(name, X, codes[train], X_test, codes[test])


def load_rows(name: str) -> Any:
    """Load a set from the folder in CORDWOOD_DATA, or from ../shared/datasets."""
    folder = None if os.environ.get(VARIABLE) else _FOLDER
    if folder is not None and not folder.is_dir():
        raise SystemExit(
            f"there is no data: name the folder that holds {name} in the environment variable "
            f"{VARIABLE}, or put it at ../shared/datasets beside the repository"
        )
    try:
        rows = load_dataset(name, data_dir=folder)
    except DataError as error:
        raise SystemExit(str(error)) from error
    if rows.multilabel or rows.labels is None:
        raise SystemExit(f"{name} has not one label for each row; choose another set")
    return rows


def generate(n_docs: int) -> Split:
    """Draw documents of 20 classes, of about 150 words, a quarter by a Zipf law of the class.

    The words and their laws are the same for every `n_docs`; there is no test part.
    """
    n_classes, n_words = 20, 200_000
    laws = np.random.default_rng(0)
    shares = np.cumsum(1 / np.arange(1, n_words + 1) ** 1.1)
    own = [laws.permutation(n_words) for _ in range(n_classes)]
    rng = np.random.default_rng(1)
    y = rng.integers(n_classes, size=n_docs)
    lengths = rng.geometric(1 / 150, size=n_docs)
    docs = np.repeat(np.arange(n_docs), lengths)
    words = np.searchsorted(shares, rng.random(len(docs)) * shares[-1])
    special = rng.random(len(docs)) < 0.25
    for code in range(n_classes):
        chosen = special & (y[docs] == code)
        words[chosen] = own[code][words[chosen]]
    counts = sp.csr_matrix(
        (np.ones(len(docs), np.float32), (docs, words)), shape=(n_docs, n_words), dtype=np.float32
    )
    return Split("generated", keep_frequent(counts), y, counts[:0], y[:0])


def keep_frequent(X: Any) -> Any:
    """Leave out the words that fewer than six documents hold, as the preparation does."""
    return X[:, np.bincount(X.indices, minlength=X.shape[1]) >= _MIN_DF]
