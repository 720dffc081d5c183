"""Are scores from the training data alone right, and do their intervals cover the test score?

    python dev.py bench oof_scores [--sets youtube webkb] [--recipe quick] [--cv 3 10]

A random sample of each data set is split into folds. A model is trained on all folds but one; its
scores are estimated as in `evaluation_` of a `TextClassifier`, and measured on the remaining fold.
The difference of both has two sources of noise, the training samples and the test samples: a fold
is covered if the difference is at most 1.96 times the square root of the sum of the two bootstrap
variances, which happens in 95 % of the folds if the estimate is unbiased and its variance is right.

Prints the mean estimate and test score of each data set, their difference, the share of folds that
are covered, and the CPU time of training. The last lines are the means over all data sets. With
several values of `--cv`, the number of folds inside a stack, all of them are trained on the same
samples, one after another.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from cordwood import recipes
from cordwood.datasets.corpus import Corpus
from cordwood.metrics._sums import sum_one_label
from cordwood.oof.fit import fit_with_oof
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    *("youtube", "myspace", "tweets", "amazon", "debate", "twitter", "nyt", "bbc"),
    *("r8", "r52", "yelp", "webkb", "20ng", "reut90", "ohsumed", "spambase"),
)
SCORES = ("accuracy", "macro_f1", "log_loss", "calibration_error")
N_RESAMPLES = 500

Record = dict[str, Any]


def load(name: str, limit: int) -> tuple[Any, NDArray[Any], Any]:
    """Return a random sample of a data set, its labels and its groups."""
    dataset = load_single_label(name)
    kept = np.sort(np.random.RandomState(0).permutation(len(dataset))[:limit])
    dataset = dataset.select(kept)
    labels = np.asarray(dataset.labels)
    # A class of one sample can be either trained on or tested.
    sizes = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    dataset = dataset.select(np.flatnonzero([sizes[label] >= 5 for label in labels.tolist()]))
    return dataset, np.asarray(dataset.labels), dataset.groups


def measure_fold(
    dataset: Any,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    seed: int,
    recipe: str,
    params: dict[str, Any],
) -> Record:
    """Train on a part of the samples; return the estimated and the measured scores."""
    training_set, test_set = dataset.select(train), dataset.select(test)
    is_text = isinstance(dataset, Corpus)
    model = recipes.make(
        recipe, input="text" if is_text else "numeric", random_state=seed, **params
    )
    X = training_set.texts if is_text else training_set.X
    start = time.process_time()
    labels = np.asarray(training_set.labels)
    model, oof = fit_with_oof(model, X, labels, groups=training_set.groups)
    seconds = time.process_time() - start
    codes = np.searchsorted(oof.classes, np.asarray(test_set.labels))
    test_proba = model.predict_proba(test_set.texts if is_text else test_set.X)
    parts = {"oof": (oof.proba, oof.y, oof.groups), "test": (test_proba, codes, None)}
    record: Record = {"seconds": seconds}
    for part, (proba, y_true, part_groups) in parts.items():
        sums = sum_one_label(proba, y_true)
        point = sums.compute()
        resampled = sums.resample(part_groups, N_RESAMPLES, np.random.default_rng(0))
        for name in SCORES:
            record[f"{part} {name}"] = float(point[name][0])
            record[f"{part} {name} sd"] = float(resampled[name].std())
    return record


def is_covered(record: Record, name: str) -> bool:
    """Return whether the interval of the difference contains zero."""
    error = record[f"oof {name}"] - record[f"test {name}"]
    sd = np.hypot(record[f"oof {name} sd"], record[f"test {name} sd"])
    return bool(abs(error) <= 1.96 * sd)


def main(
    names: Sequence[str],
    recipe: str,
    n_inner_folds: Sequence[int],
    limit: int,
    n_folds: int,
    ledger: Path | None,
) -> None:
    print_run()
    settings: list[dict[str, Any]] = [{}]
    if recipes.find(recipe).members:
        default = {"check_leakage": False}  # does not affect predictions
        settings = [{**default, "cv": cv} for cv in n_inner_folds] or [default]
    print(f"recipe {recipe}, at most {limit:,} samples, {n_folds} folds of five\n")
    print_head(
        "data set",
        *("samples", "accuracy", "test", "difference", "covered"),
        *("macro F1: difference", "covered", "log loss: test", "difference", "covered", "seconds"),
    )
    records = []
    for name in names:
        dataset, labels, groups = load(name, limit)
        splitter = StratifiedGroupKFold if groups is not None else StratifiedKFold
        folds = list(splitter(5, shuffle=True, random_state=0).split(labels, labels, groups))
        found = [
            {
                "dataset": name,
                "recipe": recipe,
                "cv": params.get("cv"),
                "n": len(train),
                "fold": number,
                **measure_fold(dataset, train, test, number, recipe, params),
            }
            for number, (train, test) in enumerate(folds[:n_folds])
            for params in settings
        ]
        if ledger is not None:
            with ledger.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in found)
        records += found
        _print_rows(name, f"{len(labels) * 4 // 5:,}", found)
    _print_rows("all", "", records)


def _print_rows(name: str, n_samples: str, records: Sequence[Record]) -> None:
    """Print one row for each number of folds inside the stack."""
    for cv in dict.fromkeys(record["cv"] for record in records):
        same = [record for record in records if record["cv"] == cv]
        print_row(name if cv is None else f"{name}, cv={cv}", n_samples, *_summarize(same))


def _summarize(records: Sequence[Record]) -> list[str]:
    cells = []
    for name in SCORES[:3]:
        estimate = np.mean([record[f"oof {name}"] for record in records])
        truth = np.mean([record[f"test {name}"] for record in records])
        covered = f"{sum(is_covered(record, name) for record in records)}/{len(records)}"
        shown = {"accuracy": [f"{estimate:.3f}", f"{truth:.3f}"], "log_loss": [f"{truth:.3f}"]}
        cells += [*shown.get(name, []), f"{estimate - truth:+.3f}", covered]
    return [*cells, f"{np.mean([record['seconds'] for record in records]):.2f}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--recipe", default="quick")
    parser.add_argument(
        "--cv", nargs="+", type=at_least(2), default=[], help="folds inside a stack"
    )
    parser.add_argument("--limit", type=at_least(100), default=2000)
    parser.add_argument("--folds", type=at_least(1), default=5)
    parser.add_argument("--ledger", type=Path, help="append the scores of each fold to this file")
    arguments = parser.parse_args()
    main(
        arguments.sets,
        arguments.recipe,
        arguments.cv,
        arguments.limit,
        arguments.folds,
        arguments.ledger,
    )
