"""Do columns beside the text help? Sections of Debian packages by description and other columns.

    python dev.py bench mixed_table [--packages 6000] [--folds 3] [--learners NAME ...]

The table is the index of binary packages that apt has downloaded: the short description and the
names of the dependencies are texts; the priority, the architecture, Multi-Arch and the maintainer
are categories; the sizes and the number of dependencies are numbers. The label is the section. The
name, the source and the tags of a package, which often contain the section, are left out. Packages
of the same source are not divided between training and test set.

Learners: the recipe `quick` on the texts alone and with all columns; LightGBM on everything, with
TF-IDF of words and one-hot codes ("words") or their 100 singular vectors and native categories
("SVD"); logistic regression in a `ColumnTransformer` of scikit-learn. CPU times are of fit and
prediction. p values are of exact McNemar tests on all test samples; the differences to the first
learner are printed last.
"""

import argparse
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
)

from cordwood import recipes
from cordwood.columns import ColumnRoles
from cordwood.columns.converter import TableConverter, list_outputs
from options import at_least
from stopwatch import print_head, print_row, print_run

ROLES = ColumnRoles(
    text=("description", "depends"),
    categorical=("priority", "architecture", "multi_arch", "maintainer"),
    numeric=("size", "installed_size", "n_depends"),
)
_MIN_CLASS_SIZE = 15

Columns = dict[str, NDArray[np.object_]]


class Packages(NamedTuple):
    """A table of packages, their sections and their sources."""

    columns: Columns
    sections: NDArray[Any]
    sources: NDArray[Any]


def load_packages(n_packages: int, seed: int = 0) -> Packages:
    """Draw packages at random; sections with fewer than 15 of them are dropped."""
    if shutil.which("apt-cache") is None:
        raise SystemExit("this benchmark needs a Debian system with apt")
    records = {record["Package"]: record for record in _iter_records()}
    if len(records) < n_packages:
        raise SystemExit("apt has no package index; run apt-get update")
    names = sorted(records)
    drawn = np.random.default_rng(seed).choice(len(names), n_packages, replace=False)
    rows = [_make_row(records[names[i]]) for i in drawn.tolist()]
    sections = np.array([row["section"] for row in rows])
    known, counts = np.unique(sections, return_counts=True)
    is_kept = np.isin(sections, known[counts >= _MIN_CLASS_SIZE])
    columns = {
        name: np.array([row[name] for row in rows], dtype=object)[is_kept] for name in ROLES.names
    }
    sources = np.array([row["source"] for row in rows])
    return Packages(columns, sections[is_kept], sources[is_kept])


def _iter_records() -> Iterator[dict[str, str]]:
    command = ["apt-cache", "dumpavail"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for block in output.split("\n\n"):
        fields = (line.partition(": ") for line in block.split("\n") if line[:1].strip())
        record = {name: value.strip() for name, _, value in fields}
        if "Section" in record and "Size" in record:
            yield record


def _make_row(record: dict[str, str]) -> dict[str, Any]:
    depends = [
        re.split(r"[ (|:]", each.strip())[0] for each in record.get("Depends", "").split(",")
    ]
    depends = [name for name in depends if name]
    return {
        "description": record.get("Description", ""),
        "depends": " ".join(depends),
        "priority": record.get("Priority"),
        "architecture": record.get("Architecture"),
        "multi_arch": record.get("Multi-Arch"),
        "maintainer": record.get("Maintainer", "").partition("<")[0].strip() or None,
        "size": float(record["Size"]),
        "installed_size": float(record.get("Installed-Size", "nan")),
        "n_depends": len(depends),
        "section": record["Section"].rpartition("/")[2],
        "source": record.get("Source", record["Package"]).partition(" ")[0],
    }


def make_quick(roles: ColumnRoles) -> Any:
    return recipes.make("quick", columns=roles, random_state=0)


def make_converter() -> TableConverter:
    return TableConverter(**ROLES._asdict())


def make_logistic() -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median"), QuantileTransformer(n_quantiles=100))
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        make_converter(),
        ColumnTransformer(
            [
                ("text", TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True), 0),
                ("categorical", encoder, _POSITIONS["categorical"]),
                ("numeric", numbers, _POSITIONS["numeric"]),
            ]
        ),
        LogisticRegression(C=10.0, max_iter=500),
    )


def make_lightgbm(*, use_svd: bool) -> Any:
    """Make LightGBM with the best of five settings on the words of the first fold.

    With its default parameters, the accuracy is 2.5 points lower.
    """
    lightgbm = import_module("lightgbm")
    words = TfidfVectorizer(min_df=5, sublinear_tf=True)
    categories: Any = OneHotEncoder(handle_unknown="ignore", min_frequency=2)
    text: Any = words
    if use_svd:
        text = make_pipeline(words, TruncatedSVD(100, random_state=0))
        categories = OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=2
        )
    return make_pipeline(
        make_converter(),
        ColumnTransformer(
            [
                ("categorical", categories, _POSITIONS["categorical"]),
                ("numeric", FunctionTransformer(np.float64), _POSITIONS["numeric"]),
                ("text", text, 0),
            ],
            sparse_threshold=0.0 if use_svd else 1.0,
        ),
        lightgbm.LGBMClassifier(
            n_estimators=200,
            learning_rate=0.05,
            num_leaves=15,
            min_child_samples=5,
            min_sum_hessian_in_leaf=0.1,
            reg_lambda=1.0,
            verbosity=-1,
            n_jobs=1,
            random_state=0,
        ),
    )


_POSITIONS = list_outputs(ROLES, join_text=True)[1]

SVD_FIT_PARAMS = {"lgbmclassifier__categorical_feature": list(range(len(ROLES.categorical)))}

LEARNERS: dict[str, Callable[[], Any]] = {
    "quick, all columns": partial(make_quick, ROLES),
    "quick, texts": partial(make_quick, ColumnRoles(text=ROLES.text)),
    "quick, description": partial(make_quick, ColumnRoles(text=ROLES.text[:1])),
    "LightGBM, words": partial(make_lightgbm, use_svd=False),
    "LightGBM, SVD": partial(make_lightgbm, use_svd=True),
    "logistic regression": make_logistic,
}


def main(n_packages: int, n_folds: int, names: list[str]) -> None:
    print_run("lightgbm")
    packages = load_packages(n_packages)
    y = packages.sections
    print(f"{len(y):,} packages, {len(np.unique(y))} sections, {n_folds} folds\n")
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=0)
    folds = list(splitter.split(y, y, packages.sources))
    is_correct = {}
    print_head("learner", "accuracy", "macro-F1", "CPU seconds per fold")
    for name in names:
        predicted = np.empty_like(y)
        start = time.process_time()
        for train, test in folds:
            # LightGBM takes the positions of the categories as a parameter of `fit`.
            params = SVD_FIT_PARAMS if name == "LightGBM, SVD" else {}
            model = LEARNERS[name]().fit(take_rows(packages.columns, train), y[train], **params)
            predicted[test] = model.predict(take_rows(packages.columns, test))
        seconds = (time.process_time() - start) / n_folds
        is_correct[name] = predicted == y
        scores = is_correct[name].mean(), f1_score(y, predicted, average="macro")
        print_row(name, *(f"{100 * score:.1f}" for score in scores), f"{seconds:.1f}")
    first = names[0]
    print()
    for name in names[1:]:
        n_wins = int((is_correct[first] & ~is_correct[name]).sum())
        n_losses = int((is_correct[name] & ~is_correct[first]).sum())
        p_value = binomtest(n_wins, max(n_wins + n_losses, 1)).pvalue
        difference = 100 * (n_wins - n_losses) / len(y)
        print(f"{first} - {name}: {difference:+.1f} points of accuracy, p = {p_value:.2g}")


def take_rows(columns: Columns, rows: NDArray[np.intp]) -> Columns:
    """Select rows of all columns."""
    return {name: values[rows] for name, values in columns.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare learners on a table of packages.")
    parser.add_argument("--packages", type=at_least(100), default=6000)
    parser.add_argument("--folds", type=at_least(2), default=3)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    arguments = parser.parse_args()
    main(arguments.packages, arguments.folds, arguments.learners)
