"""Balanced sample weights: is a stack better with members that use them, or without these members?

    python dev.py bench weighted_members [--sets webkb r52 myspace] [--max-samples 4000]

Fits `quick` on 80 % of each data set (classes of fewer than ten samples are left out) and prints
the macro-F1 / accuracy on the others, with balanced sample weights in all members, with balanced
weights and without the members `nb` and `knn`, and without weights. The last line is the mean
difference in macro-F1 between the first two.
"""

import argparse

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight

from cordwood import recipes
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

MIN_CLASS_SIZE = 10
FEWER_MEMBERS = ("nbsvm", "rf")


def main(names: list[str], max_samples: int) -> None:
    print_run()
    print_head("macro-F1 / accuracy", "all weighted", "without nb, knn", "no weights")
    differences = []
    for name in names:
        scores = score_variants(name, max_samples)
        print_row(name, *(f"{100 * f1:.1f} / {100 * accuracy:.1f}" for f1, accuracy in scores))
        differences.append(scores[0][0] - scores[1][0])
    mean = 100 * np.mean(differences)
    print(f"\nmacro-F1 with nb and knn, weighted: {mean:+.1f} points")


def score_variants(name: str, max_samples: int) -> list[tuple[float, float]]:
    """Return the macro-F1 and the accuracy of the three stacks."""
    corpus = load_single_label(name)
    order = np.random.default_rng(0).permutation(len(corpus))[:max_samples]
    y = np.array(corpus.labels)[order]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= MIN_CLASS_SIZE])
    texts = np.array(corpus.texts, dtype=object)[order][kept]
    X, X_test, y, y_test = train_test_split(
        texts, y[kept], test_size=0.2, stratify=y[kept], random_state=0
    )
    weights = compute_sample_weight("balanced", y)
    scores = []
    for members, params in (
        (None, {"classifier__sample_weight": weights}),
        (FEWER_MEMBERS, {"classifier__sample_weight": weights}),
        (None, {}),
    ):
        chosen = {} if members is None else {"members": list(members)}
        model = recipes.make("quick", random_state=0, **chosen)
        predicted = model.fit(list(X), y, **params).predict(list(X_test))
        macro_f1 = f1_score(y_test, predicted, average="macro")
        scores.append((float(macro_f1), float(accuracy_score(y_test, predicted))))
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["webkb", "r52", "myspace"])
    parser.add_argument("--max-samples", type=at_least(100), default=4000)
    arguments = parser.parse_args()
    main(arguments.sets, arguments.max_samples)
