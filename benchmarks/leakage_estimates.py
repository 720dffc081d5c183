"""Is the leakage that the check of a stack measures true?

    python dev.py bench leakage_estimates [--sets maintainer r52 reut90] [--max-samples 6000]

Each data set is divided into two halves at random, but related samples, which are duplicates and
near-duplicates, are in the same half. The stack `quick` is fitted on the first one. For each of its
members, the table has the out-of-fold accuracy minus the accuracy on the other half, for samples
without related ones and for samples with related ones; the latter times their share, which is the
leakage; and the estimate of the check, `oof_optimism_`. Warnings are printed. "maintainer" and
"section" are one-line descriptions of Debian packages. The last line is the mean absolute
difference between estimates and leakage, in percentage points.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood import recipes
from cordwood.audit import find_near_duplicates
from cordwood.stacking.related_samples import find_related, merge_partitions
from corpora import load_single_label
from many_classes import CLASSES, load_descriptions
from options import at_least
from stopwatch import print_head, print_row, print_run

N_SEARCHES = 6  # each of 3,000 samples


def load(name: str, max_samples: int) -> tuple[NDArray[Any], NDArray[Any]]:
    if name in CLASSES:
        texts, labels = load_descriptions(name)
    else:
        corpus = load_single_label(name)
        texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    chosen = np.random.default_rng(0).permutation(len(labels))[:max_samples]
    return texts[chosen], labels[chosen]


def evaluate(name: str, max_samples: int, by_group: bool) -> list[float]:
    texts, labels = load(name, max_samples)
    rng = np.random.RandomState(0)
    found = [find_related(texts, None, rng).cluster for _ in range(N_SEARCHES)]
    cluster = merge_partitions(*found)
    is_related = np.bincount(cluster)[cluster] > 1
    is_train = (rng.permutation(cluster.max() + 1) % 2 == 0)[cluster]
    is_test = ~is_train & np.isin(labels, labels[is_train])
    stack = recipes.make("quick", random_state=0)[-1]
    groups = find_near_duplicates(texts[is_train]).cluster if by_group else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stack.fit(texts[is_train], labels[is_train], groups=groups)
    share = is_related[is_train].mean()
    print(f"\n{name}: {is_train.sum():,} training samples, {share:.1%} of them related")
    print(*(f"{each.message}\n" for each in caught))
    print_head("member", "accuracy", "others", "related", "leakage", "estimate")
    errors = []
    parts = ((is_train, stack.meta_features_), (is_test, stack.transform(texts[is_test])))
    correct, relations = [], []
    for mask, probas in parts:
        blocks = np.asarray(probas).reshape(len(probas), -1, len(stack.classes_))
        members = stack.classes_[blocks.argmax(axis=2)] == labels[mask, None]
        final = stack.final_estimator_.predict(probas) == labels[mask]
        correct.append(np.column_stack([members, final]))
        relations.append(is_related[mask])
    for i, member in enumerate([*stack.named_estimators_, "stack"]):
        others, related = (
            np.subtract(*(correct[k][relations[k] == value, i].mean() for k in (0, 1)))
            for value in (False, True)
        )
        estimate = stack.oof_optimism_.get(member, np.nan)
        errors += [] if member == "stack" else [abs(estimate - share * related)]
        figures = (others, related, share * related, estimate)
        accuracy = correct[0][:, i].mean()
        print_row(member, f"{accuracy:.3f}", *(f"{100 * figure:+.1f}" for figure in figures))
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare estimates of leakage with the truth.")
    parser.add_argument("--sets", nargs="+", default=["maintainer", "r52", "reut90"])
    parser.add_argument("--max-samples", type=at_least(1000), default=6000)
    parser.add_argument("--by-group", action="store_true", help="near-duplicates are groups")
    options = parser.parse_args()
    print_run()
    errors = [
        error
        for name in options.sets
        for error in evaluate(name, options.max_samples, options.by_group)
    ]
    print(f"\nmean error: {100 * np.mean(errors):.2f}")


if __name__ == "__main__":
    main()
