"""Is the recipe `quick` ever less accurate than its best member, and which members does it keep?

    python dev.py bench stack_vs_member [--sets twitter,yelp,...] [--folds 1] [--max-train 3000]

Fits `quick` with all members and with pruning on two thirds of each data set, at most `--max-train`
texts, and compares both with the member that is most accurate on the test texts, which only they
show. `name@official` uses the predefined split of a data set. The last line is the smallest
difference of the pruned stack from its best member in standard errors.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from corpora import load_single_label
from count_ratio_share import load_texts
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    "twitter,yelp,bbc,myspace,youtube,debate,amazon,nyt,tweets,ohsumed,section,maintainer,"
    "20ng@official,r52@official"
)


def main(names: list[str], n_folds: int, max_train: int) -> None:
    print_run()
    print_head(
        "data set", "best member", "all members", "pruned", "difference", "standard errors", "kept"
    )
    errors = []
    for name in names:
        for texts, labels, test_texts, test_labels in list_splits(name, n_folds, max_train):
            correct = {}
            for prune_tol in (0.0, 0.001):
                model = recipes.make("quick", random_state=0, check_leakage=False)
                model.set_params(classifier__prune_tol=prune_tol).fit(texts, labels)
                correct[prune_tol] = model.predict(test_texts) == test_labels
                if not prune_tol:
                    correct["best"] = find_best_member(model["classifier"], test_texts, test_labels)
            difference = correct[0.001].astype(float) - correct["best"]
            error = difference.std() / np.sqrt(len(difference))
            errors.append(difference.mean() / error if error else 0.0)
            weights = model["classifier"].estimator_weights_
            print_row(
                name,
                *(f"{100 * correct[key].mean():.2f}" for key in ("best", 0.0, 0.001)),
                f"{100 * difference.mean():+.2f}",
                f"{errors[-1]:+.1f}",
                ", ".join(member for member, weight in weights.items() if weight),
            )
    print(f"\nsmallest difference in standard errors: {min(errors):.1f}")


def find_best_member(stack, texts, labels):
    """Return for each text whether the most accurate member classifies it correctly."""
    probas = stack.transform(texts).reshape(len(texts), -1, len(stack.classes_))
    correct = stack.classes_[probas.argmax(axis=2)] == labels[:, None]
    return correct[:, correct.mean(axis=0).argmax()]


def list_splits(name, n_folds, max_train):
    """Return training and test texts with their labels, once for each fold."""
    name, _, official = name.partition("@")
    if official:
        corpus = load_single_label(name)
        texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
        parts = np.array(corpus.split)
        splits = [(np.flatnonzero(parts != "test"), np.flatnonzero(parts == "test"))]
    else:
        texts, labels = load_texts(name)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splitter = StratifiedKFold(3, shuffle=True, random_state=42)
            splits = list(splitter.split(labels, labels))[:n_folds]
    for train, test in splits:
        train = np.random.default_rng(0).permutation(train)[:max_train]
        test = test[np.isin(labels[test], labels[train])]
        yield texts[train], labels[train], texts[test], labels[test]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare quick with its best member.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=at_least(1), default=1)
    parser.add_argument("--max-train", type=at_least(100), default=3000)
    options = parser.parse_args()
    main(options.sets.split(","), options.folds, options.max_train)
