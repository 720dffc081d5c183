"""Which members, encoders and lexicons pay in the recipe `quick`?

    python dev.py bench stack_candidates [--sets tweets,yelp] [--encoders mpnet,minilm,use]
        [--lexicon vader] [--base mpnet] [--folds 3] [--max-texts 3000] [--folder FOLDER]

Fits every candidate once in each fold, of every second, third ... text of larger sets, and combines
its predictions as a stack does, with the members of `quick`. Predictions are kept in the folder, so
that a run with other options fits what is new. Classes of fewer than six texts are left out.

Prints accuracy / macro-F1 in percent and log loss, means over the data sets, and the difference of
the accuracy to `quick` with the encoders of `--base`, with its standard error over the data sets.
The last line is the largest difference.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from cordwood.stacking.combiners import LogarithmicPool
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = "amazon,bbc,debate,myspace,nyt,tweets,twitter,youtube,yelp,r52,webkb,ohsumed"
QUICK = recipes.find("quick").members
SIGIR17 = recipes.find("stack_sigir17").members
MIN_CLASS = 6


class FoldPredictions(NamedTuple):
    """Out-of-fold and test probabilities of a candidate."""

    oof: NDArray[np.float64]
    test: NDArray[np.float64]


class Fold(NamedTuple):
    """Labels of a fold, and the predictions of each candidate."""

    y: NDArray[Any]
    y_test: NDArray[Any]
    candidates: dict[str, FoldPredictions]


def main(options: argparse.Namespace) -> None:
    print_run()
    encoders = options.encoders.split(",") if options.encoders else []
    base = options.base.split(",") if options.base else []
    others = [name for name in SIGIR17 if name not in QUICK] if options.members else []
    lexicon = ["lexicon"] if options.lexicon else []
    stacks = list_stacks(others, [name for name in encoders if name not in base], lexicon, base)
    scores: dict[str, list[NDArray[np.float64]]] = {title: [] for title in stacks}
    for name in options.sets.split(","):
        found = list(fit_folds(name, [*QUICK, *others], encoders, options))
        for title, members in stacks.items():
            scores[title].append(
                np.mean([score(fold, members, encoders) for fold in found], axis=0)
            )
    n_sets = len(options.sets.split(","))
    print_head(f"means of {n_sets} sets", "accuracy / macro-F1", "log loss", "difference", "±")
    differences = {}
    for title, rows in scores.items():
        accuracy, macro, loss = np.mean(rows, axis=0)
        difference = (np.array(rows) - np.array(next(iter(scores.values()))))[:, 0]
        differences[title] = difference.mean()
        error = difference.std(ddof=1) / np.sqrt(n_sets) if n_sets > 1 else np.nan
        cells = f"{accuracy:.1f} / {macro:.1f}", f"{loss:.3f}", f"{difference.mean():+.2f}"
        print_row(title, *cells, f"{error:.2f}")
    best = max(differences, key=lambda title: differences[title])
    print(f"\nlargest difference: {best}, {differences[best]:+.2f}")


def list_stacks(
    others: Sequence[str], encoders: Sequence[str], lexicon: Sequence[str], base: Sequence[str]
) -> dict[str, list[str]]:
    """Return the members of each stack by title; the first is the reference."""
    quick = [*QUICK, *base]
    stacks = {" + ".join(["quick", *base]): quick, "nbsvm + base": ["nbsvm", *base]}
    additions = [[name] for name in (*others, *encoders, *lexicon)]
    additions += [list(others)] if len(others) > 1 else []
    additions += [list(encoders)] if len(encoders) > 1 else []
    additions += [[*encoders, *lexicon]] if encoders and lexicon else []
    stacks |= {"+ " + " + ".join(each): [*quick, *each] for each in additions}
    return stacks


def score(fold: Fold, members: Sequence[str], encoders: Sequence[str]) -> list[float]:
    """Return accuracy, macro-F1 (both in percent) and log loss of a stack."""
    anchors = [name for name in members if name in encoders] or ["nbsvm"]
    pool = LogarithmicPool(target=[(name in anchors) / len(anchors) for name in members])
    pool.fit(np.hstack([fold.candidates[name].oof for name in members]), fold.y)
    proba = pool.predict_proba(np.hstack([fold.candidates[name].test for name in members]))
    predicted = pool.classes_[proba.argmax(axis=1)]
    return [
        100 * accuracy_score(fold.y_test, predicted),
        100 * f1_score(fold.y_test, predicted, average="macro"),
        log_loss(fold.y_test, proba, labels=pool.classes_),
    ]


def fit_folds(
    name: str, members: Sequence[str], encoders: Sequence[str], options: argparse.Namespace
) -> Iterator[Fold]:
    """Yield the folds of a data set with the predictions of all candidates."""
    corpus = load_single_label(name)
    step = -(-len(corpus.texts) // options.max_texts)
    X, y = np.array(corpus.texts[::step], object), np.array(corpus.labels[::step])
    labels, counts = np.unique(y, return_counts=True)
    is_kept = np.isin(y, labels[counts >= MIN_CLASS])
    X, y = X[is_kept], y[is_kept]
    kinds: dict[str, dict[str, Any]] = {each: {"members": [each]} for each in members}
    kinds |= {each: {"members": ["nb"], "encoder": each} for each in encoders}
    if options.lexicon:
        kinds["lexicon"] = {"members": ["nb"], "lexicon": options.lexicon}
    splitter = StratifiedKFold(options.folds, shuffle=True, random_state=42)
    for number, (train, test) in enumerate(splitter.split(X, y)):
        size = f"{options.max_texts}-{number}-{options.folds}"
        candidates = {}
        for kind, params in kinds.items():
            path = options.folder / f"{name}-{size}-{kind}.npz"
            if not path.exists():
                candidates[kind] = fit_candidate(X[train], y[train], X[test], params)
                path.parent.mkdir(parents=True, exist_ok=True)
                np.savez(path, **candidates[kind]._asdict())
            with np.load(path, allow_pickle=False) as stored:
                candidates[kind] = FoldPredictions(stored["oof"], stored["test"])
        yield Fold(y[train], y[test], candidates)


def fit_candidate(X: Any, y: Any, X_test: Any, params: dict[str, Any]) -> FoldPredictions:
    """Fit a stack without pruning, and return the predictions of its last member."""
    model = recipes.make("quick", random_state=0, check_leakage=False, prune_tol=0.0, **params)
    stack = model.fit(X, y)["classifier"]
    n_classes = len(stack.classes_)
    return FoldPredictions(
        stack.meta_features_[:, -n_classes:], stack.transform(X_test)[:, -n_classes:]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare additions to the recipe quick.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--encoders", default="")
    parser.add_argument("--base", default="")
    parser.add_argument("--lexicon")
    parser.add_argument("--no-members", dest="members", action="store_false")
    parser.add_argument("--folds", type=at_least(2), default=3)
    parser.add_argument("--max-texts", type=at_least(100), default=3000)
    folder = Path(tempfile.gettempdir(), "cordwood-stack-candidates")
    parser.add_argument("--folder", type=Path, default=folder)
    main(parser.parse_args())
