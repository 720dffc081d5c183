"""Data sets by name: the embedded one, scikit-learn's own, and the files of a data folder."""

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

from cordwood.datasets._docstrings import collect_docstrings
from cordwood.datasets._lines import Progress
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.readers import read_dataset
from cordwood.exceptions import DataError

VARIABLE = "CORDWOOD_DATA"
"""The environment variable that names the data folder where `data_dir` does not."""

OTHERS = "(others)"
"""The label of rows that are not of a category; it sorts before names, so that ties go to it."""

_KINDS: Mapping[str, Literal["text", "numeric"]] = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".jsonl": "text",
    ".ndjson": "text",
    ".svm": "numeric",
    ".svmlight": "numeric",
    ".libsvm": "numeric",
    ".npz": "numeric",
}

# A Reuters story with several topics is there once for each, as `<story>:<topic>`. webkb has no
# rule: its one large group would be the half of the pages that belong to no university.
_GROUP_OF_ID: Mapping[str, Callable[[str], str]] = {"reut90": lambda id: id.partition(":")[0]}


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    Parameters
    ----------
    name : str
        The name that `load_dataset` takes.
    kind : {"text", "numeric"}
        Whether it loads as a `Corpus` or as a `FeatureMatrix`.
    source : {"embedded", "scikit-learn", "folder"}
        Where it comes from.
    description : str
        A few words for a person.
    needs_download : bool
        Whether the first use downloads it.
    path : Path, optional
        The file, where it is in a data folder.
    """

    name: str
    kind: Literal["text", "numeric"]
    source: Literal["embedded", "scikit-learn", "folder"]
    description: str
    needs_download: bool = False
    path: Path | None = None


def list_datasets(data_dir: str | os.PathLike[str] | None = None) -> tuple[DatasetInfo, ...]:
    """List the built-in data sets, then those of the data folder in the order of their names.

    Parameters
    ----------
    data_dir : path, optional
        A folder of data files, each a data set named as the file without its suffixes: .jsonl,
        .csv, .tsv (text), .svm (numbers), all also with .gz, and what else `cordwood.datasets.readers`
        knows; .npz with arrays X, y and perhaps feature_names. Other files are passed over. By
        default the folder in the environment variable CORDWOOD_DATA, if that is set.

    Returns
    -------
    tuple of DatasetInfo
        One for each data set, so that a name comes twice where two share it.

    Raises
    ------
    DataError
        If the folder does not exist or holds no data set.

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
    progress: Progress | None = None,
) -> Corpus | FeatureMatrix:
    """Load a data set by its name.

    Official splits and several labels of a row are kept. In `reut90`, where a story comes once for
    each of its topics, the rows of a story form a group.

    Parameters
    ----------
    name : str
        A name that `list_datasets` gives. A name that two data sets share is refused.
    data_dir : path, optional
        The data folder; see `list_datasets`.
    progress : callable, optional
        Called with how much is done and how much there is, in bytes of a file or in files;
        not called for tables of numbers, which are there at once.

    Returns
    -------
    Corpus or FeatureMatrix
        Documents or numbers, with what is known of each.

    Raises
    ------
    DataError
        If there is no such data set, or if it cannot be loaded.

    Examples
    --------
    >>> iris = load_dataset("sklearn:iris")
    >>> iris.X.shape, iris.labels[0]
    ((150, 4), 'setosa')
    """
    known = list_datasets(data_dir)
    found = [info for info in known if info.name == name]
    if not found:
        raise DataError(_describe_unknown(name, [info.name for info in known]))
    if len(found) > 1:
        places = " and ".join(str(info.path or f"a built-in ({info.source})") for info in found)
        raise DataError(f"the name {name!r} is shared by {places}; rename a file")
    path = found[0].path
    if path is not None:
        return _load_file(name, path, progress)
    return next(load for info, load in _BUILT_IN if info.name == name)(progress)


def set_against_rest(rows: Corpus | FeatureMatrix, category: str) -> Corpus | FeatureMatrix:
    """Make two classes of many: the rows that have a label, and all the others.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        With one label for each row, or several, or none.
    category : str
        One of the labels.

    Returns
    -------
    Corpus or FeatureMatrix
        The same rows, labelled `category` or `OTHERS`.

    Raises
    ------
    DataError
        If no row has the label, or if all have it.

    Examples
    --------
    >>> corpus = Corpus(texts=("", "", ""), ids=("1", "2", "3"), labels=(("a", "b"), ("b",), ()))
    >>> set_against_rest(corpus, "a").labels
    ('a', '(others)', '(others)')
    """
    sets = [{label} if isinstance(label, str) else set(label) for label in rows.labels or ()]
    known = sorted(set().union(*sets))
    if category not in known:
        near = difflib.get_close_matches(category, known, n=3) or known[:10]
        raise DataError(f"no row has the label {category!r}; there are: {', '.join(near)}")
    if all(category in each for each in sets):
        raise DataError(f"every row has the label {category!r}, which leaves no others")
    return replace(rows, labels=tuple(category if category in each else OTHERS for each in sets))


def _describe_unknown(name: str, names: Sequence[str]) -> str:
    # "wine" is too far from "sklearn:wine" for the matcher, and the likeliest slip.
    near = [known for known in names if name.casefold() == known.rpartition(":")[2].casefold()]
    near = near or difflib.get_close_matches(name.casefold(), names, n=3)
    heading = "similar names" if near else "the names"
    return (
        f"there is no data set {name!r}; {heading}: {', '.join(near or names)} (to add your own, "
        "put a file such as reviews.csv into a folder and name the folder with data_dir= / "
        f"--data-dir or the environment variable {VARIABLE})"
    )


def _list_folder(data_dir: str | os.PathLike[str] | None) -> list[DatasetInfo]:
    """List the data files of the folder that was asked for, if one was."""
    origin = "data_dir= / --data-dir"
    if data_dir is None:
        data_dir = os.environ.get(VARIABLE, "")
        origin = f"the environment variable {VARIABLE}"
        if not data_dir:
            return []
    folder = Path(data_dir)
    if not folder.is_dir():
        problem = "is not a folder" if folder.exists() else "does not exist"
        raise DataError(f"the data folder {folder} {problem}; correct {origin}")
    infos = [info for path in folder.iterdir() if (info := _describe_file(path)) is not None]
    if not infos:
        raise DataError(
            f"the data folder {folder} holds no data set, which is a file that ends in one of "
            f"{', '.join(_KINDS)} (all but .npz also with .gz); correct {origin}"
        )
    return sorted(infos, key=lambda info: (info.name, str(info.path)))


def _describe_file(path: Path) -> DatasetInfo | None:
    """Describe a data file, or nothing if it is something else."""
    name, suffix = os.path.splitext(path.name)
    if suffix.lower() == ".gz" and not name.lower().endswith(".npz"):
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


def _load_file(name: str, path: Path, progress: Progress | None) -> Corpus | FeatureMatrix:
    rows = (
        _read_npz(path) if path.suffix.lower() == ".npz" else read_dataset(path, progress=progress)
    )
    group = _GROUP_OF_ID.get(name)
    if group is None or rows.groups is not None:
        return rows
    return replace(rows, groups=tuple(map(group, rows.ids)))


def _read_npz(path: Path) -> FeatureMatrix:
    """Read arrays X, y and perhaps feature_names, without unpickling anything."""
    arrays = _open_npz(path)
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
        raise DataError(
            f"{path}: X is an array of {X.dtype} of shape {X.shape}; "
            "make it numbers of shape (rows, features)"
        )
    if y.shape != X.shape[:1] or y.dtype.kind not in "Uiu":
        raise DataError(
            f"{path}: y is an array of {y.dtype} of shape {y.shape}; "
            f"make it strings or whole numbers, one for each of the {X.shape[0]} rows of X"
        )
    names = arrays.get("feature_names")
    if names is not None and (names.shape != X.shape[1:] or names.dtype.kind != "U"):
        raise DataError(
            f"{path}: feature_names is an array of {names.dtype} of shape {names.shape}; "
            f"make it strings, one for each of the {X.shape[1]} columns of X"
        )
    _check_values(path, X, y)
    return FeatureMatrix(
        X=X,
        ids=tuple(str(row) for row in range(1, X.shape[0] + 1)),
        labels=tuple(map(str, y.tolist())),
        feature_names=None if names is None else tuple(names.tolist()),
    )


def _open_npz(path: Path) -> dict[str, NDArray[Any]]:
    advice = "save X and y with numpy.savez, y as an array of strings"
    # Anything else numpy would take for a single array or for a pickle.
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not an archive of numpy arrays; {advice}")
    try:
        with np.load(path, allow_pickle=False) as file:
            names = set(file)
            wanted = names & {"X", "y", "feature_names"}
            arrays = {name: np.asarray(file[name]) for name in wanted}
    except Exception as error:  # numpy and zipfile raise a dozen kinds for damaged files
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
            f"{path}: X holds {X[row, column]} in row {row + 1}, column {column + 1}; "
            "fill in or leave out missing and infinite values"
        )
    classes = np.unique(y)
    if "" in classes.tolist():
        raise DataError(
            f"{path}: the label in row {np.argmax(y == '') + 1} of y is empty; fill it in"
        )
    if len(classes) < 2:
        raise DataError(f"{path}: all rows have the label {str(classes[0])!r}; two are needed")


def _load_newsgroups(progress: Progress | None) -> Corpus:
    parts = []
    for done, part in enumerate(("train", "test"), start=1):
        try:
            with warnings.catch_warnings():
                # scikit-learn warns at each retry; one sentence at the end is enough.
                warnings.simplefilter("ignore")
                parts.append((part, fetch_20newsgroups(subset=part, shuffle=False)))
        except OSError as error:
            raise DataError(
                f"the data set 'sklearn:20newsgroups' is downloaded at its first use, which failed "
                f"({error}); connect to the network, or load a copy from a data folder"
            ) from error
        if progress is not None:
            progress(done, 2)
    return Corpus(
        texts=tuple(text for _, bunch in parts for text in bunch.data),
        ids=tuple(
            "/".join((part, *Path(file).parts[-2:]))
            for part, bunch in parts
            for file in bunch.filenames
        ),
        labels=tuple(bunch.target_names[code] for _, bunch in parts for code in bunch.target),
        split=tuple(part for part, bunch in parts for _ in bunch.data),
    )


def _convert_bunch(bunch: Any) -> FeatureMatrix:
    """Convert what scikit-learn's own loaders return."""
    return FeatureMatrix(
        X=bunch.data,
        ids=tuple(str(row) for row in range(1, len(bunch.data) + 1)),
        labels=tuple(str(bunch.target_names[code]) for code in bunch.target),
        feature_names=tuple(map(str, bunch.feature_names)),
    )


_BUILT_IN: tuple[tuple[DatasetInfo, Callable[[Progress | None], Corpus | FeatureMatrix]], ...] = (
    (
        DatasetInfo(
            name="docstrings",
            kind="text",
            source="embedded",
            description="documentation strings of the installed libraries, by subject",
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
    (
        DatasetInfo(
            name="sklearn:breast_cancer",
            kind="numeric",
            source="scikit-learn",
            description="measures of cell nuclei, 2 classes",
        ),
        lambda _: _convert_bunch(load_breast_cancer()),
    ),
    (
        DatasetInfo(
            name="sklearn:digits",
            kind="numeric",
            source="scikit-learn",
            description="images of handwritten digits, 10 classes",
        ),
        lambda _: _convert_bunch(load_digits()),
    ),
    (
        DatasetInfo(
            name="sklearn:iris",
            kind="numeric",
            source="scikit-learn",
            description="measures of iris flowers, 3 classes",
        ),
        lambda _: _convert_bunch(load_iris()),
    ),
    (
        DatasetInfo(
            name="sklearn:wine",
            kind="numeric",
            source="scikit-learn",
            description="chemical analyses of wines, 3 classes",
        ),
        lambda _: _convert_bunch(load_wine()),
    ),
)
