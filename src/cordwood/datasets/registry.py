"""Load data sets by name: built-in ones, those of scikit-learn, and files of a data folder."""

import difflib
import math
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    fetch_20newsgroups,
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)

from cordwood._base.labels import check_n_classes
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.docstrings import collect_docstrings
from cordwood.datasets.lines import MAX_EXPANSION, Progress, default_max_bytes
from cordwood.datasets.readers import read_dataset
from cordwood.exceptions import DataError

DATA_DIR_VARIABLE = "CORDWOOD_DATA"
"""Environment variable with the data folder, which is used if `data_dir` is None."""

NEGATIVE_LABEL = "(others)"
"""Label of the negative class in `binarize_labels`; sorts before the names of most classes."""

_KINDS: Mapping[str, Literal["text", "numeric"]] = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".jsonl": "text",
    ".ndjson": "text",
    ".parquet": "text",
    ".xlsx": "text",
    ".svm": "numeric",
    ".svmlight": "numeric",
    ".libsvm": "numeric",
    ".npz": "numeric",
}
# Suffixes of files that are not read if they are compressed.
_UNCOMPRESSED = (".npz", ".parquet", ".xlsx")


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """Description of a data set that has not been loaded.

    Parameters
    ----------
    name : str
        Name for `load_dataset`.
    kind : {"text", "numeric"}
        Whether the data set is loaded as a `Corpus` or as a `FeatureMatrix`.
    source : {"embedded", "scikit-learn", "folder"}
        Where it comes from.
    description : str
        A short description.
    needs_download : bool, default=False
        Whether it is downloaded when it is first loaded.
    path : Path or None, default=None
        The file, if it is in a data folder.
    """

    name: str
    kind: Literal["text", "numeric"]
    source: Literal["embedded", "scikit-learn", "folder"]
    description: str
    needs_download: bool = False
    path: Path | None = None


def list_datasets(data_dir: str | os.PathLike[str] | None = None) -> tuple[DatasetInfo, ...]:
    """List the built-in data sets, followed by those of the data folder sorted by name.

    Parameters
    ----------
    data_dir : path, default=None
        A folder of data files. The name of a data set is the name of its file without suffixes.
        Text: .csv, .tsv, .tab, .jsonl, .ndjson, .parquet and .xlsx. Numeric: .svm, .svmlight and
        .libsvm, and .npz with arrays ``X`` and ``y``. Those of text files may be compressed (.gz).
        Other files are ignored. If None, the folder in the environment variable CORDWOOD_DATA, if
        it is set.

    Returns
    -------
    tuple of DatasetInfo
        Names are not unique if files of the folder share a name.

    Raises
    ------
    DataError
        If the folder does not exist or has no data sets.

    See Also
    --------
    load_dataset : Load one of them.

    Examples
    --------
    >>> [info.name for info in list_datasets() if info.source != "folder"][:2]
    ['docstrings', 'sklearn:20newsgroups']
    """
    return (*(info for info, _ in _BUILT_IN), *_list_folder(data_dir))


def load_dataset(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    group: str | None = None,
    progress: Progress | None = None,
) -> Corpus | FeatureMatrix:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        A name that is listed by `list_datasets`, and not shared by two data sets.
    data_dir : path, default=None
        A folder of data files, as for `list_datasets`. If None, the folder in the environment
        variable CORDWOOD_DATA, if it is set.
    group : str, default=None
        Column of the group, for data sets that are text files of the data folder. If None, the
        column "group" if there is one.
    progress : callable, default=None
        Called repeatedly with the amount done and the total, in bytes of a file or in number of
        files. Not called for numeric data sets of scikit-learn and .npz files.

    Returns
    -------
    Corpus or FeatureMatrix

    Raises
    ------
    DataError
        If there is no such data set, or if it cannot be loaded.

    See Also
    --------
    list_datasets : List the names.
    cordwood.datasets.read_dataset : Read a file, with options for its format.
    cordwood.datasets.with_groups : Derive groups from ids.

    Examples
    --------
    >>> load_dataset("sklearn:iris")
    <FeatureMatrix: 150 samples, 4 features, 3 classes>
      labels: setosa (50), versicolor (50), virginica (50)
      X: ndarray of float64
    """
    known = list_datasets(data_dir)
    found = [info for info in known if info.name == name]
    if not found:
        raise DataError(_unknown_name_message(name, [info.name for info in known]))
    if len(found) > 1:
        places = " and ".join(str(info.path or f"a built-in ({info.source})") for info in found)
        raise DataError(f"the name {name!r} is shared by {places}; rename a file")
    path = found[0].path
    if path is not None and path.suffix.lower() != ".npz":
        return read_dataset(path, group=group, progress=progress)
    if group is not None:
        raise DataError(f"the data set {name!r} has no columns to use as group; leave out group")
    if path is not None:
        return _read_npz(path)
    return next(load for info, load in _BUILT_IN if info.name == name)(progress)


def binarize_labels(dataset: Corpus | FeatureMatrix, positive_label: str) -> Corpus | FeatureMatrix:
    """Convert labels to two classes: one label against all others.

    Examples
    --------
    >>> corpus = Corpus(texts=("", "", ""), ids=("1", "2", "3"), labels=(("a", "b"), ("b",), ()))
    >>> binarize_labels(corpus, "a").labels
    ('a', '(others)', '(others)')
    """
    sets = [{label} if isinstance(label, str) else set(label) for label in dataset.labels or ()]
    known = sorted(set().union(*sets))
    if positive_label not in known:
        similar = difflib.get_close_matches(positive_label, known, n=3) or known[:10]
        raise DataError(
            f"no sample has the label {positive_label!r}; labels are: {', '.join(similar)}"
        )
    binary = tuple(
        positive_label if positive_label in labels else NEGATIVE_LABEL for labels in sets
    )
    check_n_classes(binary, "the data set")
    return replace(dataset, labels=binary)


def _unknown_name_message(name: str, names: Sequence[str]) -> str:
    # difflib does not match "wine" with "sklearn:wine", which is the most likely mistake.
    similar = [known for known in names if name.casefold() == known.rpartition(":")[2].casefold()]
    similar = similar or difflib.get_close_matches(name.casefold(), names, n=3)
    heading = "similar names" if similar else "the names"
    return (
        f"there is no data set {name!r}; {heading}: {', '.join(similar or names)} (to add one, put "
        "a file such as reviews.csv into a folder and set the folder with data_dir= / --data-dir "
        f"or the environment variable {DATA_DIR_VARIABLE})"
    )


def _list_folder(data_dir: str | os.PathLike[str] | None) -> list[DatasetInfo]:
    """List the data files of `data_dir`, or of the folder in the environment variable."""
    origin = "data_dir= / --data-dir"
    if data_dir is None:
        data_dir = os.environ.get(DATA_DIR_VARIABLE, "")
        origin = f"the environment variable {DATA_DIR_VARIABLE}"
        if not data_dir:
            return []
    folder = Path(data_dir)
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise DataError(f"the data folder {folder} {problem}; correct {origin}")
    infos = [info for path in folder.iterdir() if (info := _describe_file(path)) is not None]
    if not infos:
        raise DataError(
            f"the data folder {folder} has no data sets, which are files with a suffix of "
            f"{', '.join(_KINDS)} (those of text files optionally with .gz); correct {origin}"
        )
    return sorted(infos, key=lambda info: (info.name, str(info.path)))


def _describe_file(path: Path) -> DatasetInfo | None:
    """Return the description of a data file; None for other files."""
    name, suffix = os.path.splitext(path.name)
    if suffix.lower() == ".gz" and not name.lower().endswith(_UNCOMPRESSED):
        name, suffix = os.path.splitext(name)
    kind = _KINDS.get(suffix.lower())
    if kind is None or name.startswith(".") or not path.is_file():
        return None
    return DatasetInfo(
        name=name,
        kind=kind,
        source="folder",
        description=f"{path.name}, {math.ceil(path.stat().st_size / 1000):,} kB",
        path=path,
    )


def _read_npz(path: Path) -> FeatureMatrix:
    """Read the arrays X and y, without unpickling anything."""
    arrays = _open_npz(path)
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"{path}: X must be a numeric array of shape (n_samples, n_features); got an array of "
            f"{X.dtype} of shape {X.shape}"
        )
    if y.shape != X.shape[:1] or y.dtype.kind not in "Uiu":
        raise DataError(
            f"{path}: y must be an array of strings or integers, one for each of the "
            f"{X.shape[0]} rows of X; got an array of {y.dtype} of shape {y.shape}"
        )
    _check_values(path, X, y)
    return FeatureMatrix(
        X=X,
        ids=tuple(str(number) for number in range(1, X.shape[0] + 1)),
        labels=tuple(map(str, y.tolist())),
    )


def _open_npz(path: Path) -> dict[str, NDArray[Any]]:
    advice = "save X and y with numpy.savez, y as an array of strings"
    # numpy.load would try to read anything else as a single array or as a pickle.
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not an archive of numpy arrays; {advice}")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > default_max_bytes(path.stat().st_size):
            raise ValueError(
                f"its arrays have {size:,} bytes, more than {MAX_EXPANSION} times the size of the "
                "file; if it is not malicious, save them without compression"
            )
        with np.load(path, allow_pickle=False) as file:
            names = set(file)
            arrays = {name: np.asarray(file[name]) for name in names & {"X", "y"}}
    except Exception as error:  # numpy and zipfile raise a dozen types for corrupt files
        raise DataError(f"{path} cannot be read: {error}; {advice}") from error
    for name in ("X", "y"):
        if name not in arrays:
            found = ", ".join(sorted(names)) or "none"
            raise DataError(f"{path} has no array {name!r} among its arrays ({found}); {advice}")
    return arrays


def _check_values(path: Path, X: NDArray[Any], y: NDArray[Any]) -> None:
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        row, column = bad[0]
        raise DataError(
            f"{path}: X is {X[row, column]} in row {row + 1}, column {column + 1}; "
            "impute or remove missing and infinite values"
        )
    labels = y.tolist()
    if "" in labels:
        raise DataError(
            f"{path}: the label in row {labels.index('') + 1} of y is empty; add a label"
        )
    check_n_classes(labels, str(path))


def _load_newsgroups(progress: Progress | None) -> Corpus:
    subsets = []
    for done, name in enumerate(("train", "test"), start=1):
        try:
            with warnings.catch_warnings():
                # scikit-learn warns at each retry, in addition to the error at the end.
                warnings.simplefilter("ignore")
                subsets.append((name, fetch_20newsgroups(subset=name, shuffle=False)))
        except OSError as error:
            raise DataError(
                f"the download of the data set 'sklearn:20newsgroups' failed ({error}); connect to "
                "the network, or load a copy from a data folder"
            ) from error
        if progress is not None:
            progress(done, 2)
    return Corpus(
        texts=tuple(text for _, bunch in subsets for text in bunch.data),
        ids=tuple(
            "/".join((name, *Path(file).parts[-2:]))
            for name, bunch in subsets
            for file in bunch.filenames
        ),
        labels=tuple(bunch.target_names[code] for _, bunch in subsets for code in bunch.target),
        split=tuple(name for name, bunch in subsets for _ in bunch.data),
    )


def _load_numeric(load: Callable[[], Any]) -> FeatureMatrix:
    """Convert the result of a numeric loader of scikit-learn."""
    bunch = load()
    return FeatureMatrix(
        X=bunch.data,
        ids=tuple(str(number) for number in range(1, len(bunch.data) + 1)),
        labels=tuple(str(bunch.target_names[code]) for code in bunch.target),
    )


_NUMERIC = (
    ("breast_cancer", load_breast_cancer, "measurements of cell nuclei, 2 classes"),
    ("digits", load_digits, "images of handwritten digits, 10 classes"),
    ("iris", load_iris, "measurements of iris flowers, 3 classes"),
    ("wine", load_wine, "chemical analyses of wines, 3 classes"),
)
_BUILT_IN: tuple[tuple[DatasetInfo, Callable[[Progress | None], Corpus | FeatureMatrix]], ...] = (
    (
        DatasetInfo(
            name="docstrings",
            kind="text",
            source="embedded",
            description="docstrings of installed libraries, 22 subjects",
        ),
        lambda progress: collect_docstrings(progress=progress),
    ),
    (
        DatasetInfo(
            name="sklearn:20newsgroups",
            kind="text",
            source="scikit-learn",
            description="newsgroup posts with their headers, 20 groups",
            needs_download=True,
        ),
        _load_newsgroups,
    ),
    *(
        (
            DatasetInfo(
                name=f"sklearn:{name}",
                kind="numeric",
                source="scikit-learn",
                description=description,
            ),
            lambda _, load=load: _load_numeric(load),
        )
        for name, load, description in _NUMERIC
    ),
)
