"""Data sets of the benchmarks: real ones by name, and texts drawn from a Zipf distribution."""

import os
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from cordwood.datasets.corpus import Corpus, with_groups
from cordwood.datasets.registry import DATA_DIR_VARIABLE, load_dataset
from cordwood.exceptions import DataError
from cordwood.text.vectorizer import TextVectorizer

TEXT = ("20ng", "webkb", "reut90", "ohsumed")
DENSE = ("spambase", "gems_prostate_tumor")

# Ids are <story>:<topic>. A story with several topics is contained once for each of them.
_GROUP_PATTERNS = {"reut90": "^[^:]*"}
_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"
_MIN_DF = 6


class Split(NamedTuple):
    """A data set with 80 % of the samples for training; labels are integers from 0."""

    name: str
    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse, as for texts."""
        return bool(sp.issparse(self.X))

    def describe(self) -> str:
        """Return the sizes as text."""
        n, d = self.X.shape
        kind = "dense" if not self.is_sparse else f"{self.X.nnz / n:.0f} non-zeros per sample"
        n_classes = len(np.unique(self.y))
        return f"{self.name}: {n:,} + {len(self.y_test):,} x {d:,}, {kind}, {n_classes} classes"


def load_split(name: str) -> Split:
    """Load a data set, split it randomly and vectorize texts with the preset "sigir17".

    Groups are not divided. The vocabulary is fitted on the training texts.
    """
    dataset = load_single_label(name)
    y = np.unique(dataset.labels, return_inverse=True)[1]
    splitter = ShuffleSplit if dataset.groups is None else GroupShuffleSplit
    splits = splitter(1, test_size=0.2, random_state=0).split(y, groups=dataset.groups)
    train, test = next(splits)
    if isinstance(dataset, Corpus):
        vectorizer = TextVectorizer(preset="sigir17", weighting="tf")
        X = vectorizer.fit_transform(dataset.select(train).texts)
        X_test = vectorizer.transform(dataset.select(test).texts)
    else:
        X, X_test = dataset.X[train], dataset.X[test]
    return Split(name, X, y[train], X_test, y[test])


def load_multilabel(name: str) -> tuple[Corpus, Corpus, list[str]]:
    """Load the training and test set of a corpus, with the labels that occur in both."""
    corpus = _load(name)
    parts = [corpus.subset(subset) for subset in ("train", "test")]
    labels = sorted(set.intersection(*(set(chain(*part.labels)) for part in parts)))
    known = set(labels)

    def restrict(part: Corpus) -> Corpus:
        kept = [tuple(label for label in each if label in known) for each in part.labels or ()]
        restricted = replace(part, labels=tuple(kept))
        return restricted.select([i for i, each in enumerate(kept) if each])

    training, test = map(restrict, parts)
    return training, test, labels


def load_single_label(name: str, *, group: str | None = None) -> Any:
    """Load a data set from the folder in CORDWOOD_DATA, or from ../shared/datasets."""
    dataset = _load(name, group)
    if dataset.multilabel or dataset.labels is None:
        raise SystemExit(f"{name} must have one label per sample; choose another data set")
    if name in _GROUP_PATTERNS:
        return with_groups(dataset, _GROUP_PATTERNS[name])
    return dataset


def _load(name: str, group: str | None = None) -> Any:
    folder = None if os.environ.get(DATA_DIR_VARIABLE) else _FOLDER
    if folder is not None and not folder.is_dir():
        raise SystemExit(
            f"set the environment variable {DATA_DIR_VARIABLE} to the folder that contains {name}, "
            "or put the folder at ../shared/datasets beside the repository"
        )
    try:
        dataset = load_dataset(name, data_dir=folder, group=group)
    except DataError as error:
        raise SystemExit(str(error)) from error
    return dataset


def generate(n_samples: int) -> Split:
    """Draw word counts of 20 classes, with 150 words per sample on average.

    A quarter of the words are drawn from a Zipf distribution of the class, the others from one that
    all classes share. The distributions do not depend on `n_samples`; there are no test samples.
    """
    n_classes, n_features = 20, 200_000
    distribution_rng = np.random.default_rng(0)
    cumulative = np.cumsum(1 / np.arange(1, n_features + 1) ** 1.1)
    class_features = [distribution_rng.permutation(n_features) for _ in range(n_classes)]
    rng = np.random.default_rng(1)
    y = rng.integers(n_classes, size=n_samples)
    lengths = rng.geometric(1 / 150, size=n_samples)
    rows = np.repeat(np.arange(n_samples), lengths)
    columns = np.searchsorted(cumulative, rng.random(len(rows)) * cumulative[-1])
    of_class = rng.random(len(rows)) < 0.25
    for code in range(n_classes):
        chosen = of_class & (y[rows] == code)
        columns[chosen] = class_features[code][columns[chosen]]
    counts = sp.csr_matrix(
        (np.ones(len(rows), np.float32), (rows, columns)),
        shape=(n_samples, n_features),
        dtype=np.float32,
    )
    return Split("generated", keep_frequent(counts), y, counts[:0], y[:0])


def keep_frequent(X: Any) -> Any:
    """Drop the features of fewer than six samples, like the preset "sigir17"."""
    return X[:, np.bincount(X.indices, minlength=X.shape[1]) >= _MIN_DF]


def generate_lines(
    n_classes: int, n_texts: int = 15_000
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Draw short texts and their labels, such as requests to an assistant.

    A text has 9 words on average. A third of them are drawn from the 30 words of its class, the
    others from a Zipf distribution over 5,000 words that all classes share.
    """
    rng = np.random.default_rng(0)
    syllables = np.array([a + b for a in "bdfgklmnprstvw" for b in "aeiou"])
    words = np.unique(
        ["".join(rng.choice(syllables, size)) for size in rng.integers(1, 5, size=20_000)]
    )
    common = rng.choice(words, 5_000, replace=False)
    share = 1 / np.arange(1, 5_001)
    own = rng.choice(words, (n_classes, 30))
    codes = rng.integers(n_classes, size=n_texts)
    texts = np.empty(n_texts, object)
    for i, (code, length) in enumerate(zip(codes, 2 + rng.poisson(7, n_texts), strict=True)):
        drawn = rng.choice(common, length, p=share / share.sum())
        texts[i] = " ".join(
            np.where(rng.random(length) < 1 / 3, rng.choice(own[code], length), drawn)
        )
    return texts, codes.astype(str).astype(object)
