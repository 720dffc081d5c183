"""Time per round and accuracy of AdaBoost.M2 over stumps compared with scikit-learn's AdaBoost.

    python dev.py bench adaboost_speed [--sets webkb] [--rounds 200] [--repeats 3]

Fits stumps on all features by AdaBoost.M2, with resampling and with sample weights, and by
scikit-learn's AdaBoost (SAMME), which uses sample weights. Times are CPU times of one thread, the
minimum over the repeats, with the classifiers measured in turn: the time of a fit, preprocessing
included, divided by the number of rounds. Accuracy and macro F1 are those of the first repeat on
the test samples. The last line is the smallest speedup.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import accuracy_score, f1_score
from sklearn.tree import DecisionTreeClassifier

import corpora
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

REFERENCE = "scikit-learn, SAMME"


def main(sets: list[str], n_rounds: int, n_repeats: int) -> None:
    print_run()
    speedups = []
    for name in sets:
        split = corpora.load_split(name)
        print(f"{split.describe()}; {n_repeats} repeats of {n_rounds} rounds{load()}")
        speedups.append(compare(split, n_rounds, n_repeats))
        print()
    print(f"smallest speedup: {min(speedups):.1f}")


def compare(split: corpora.Split, n_rounds: int, n_repeats: int) -> float:
    """Print a table row per classifier; return the smaller speedup of the two variants."""
    AdaBoostM2Classifier(1).fit(split.X, split.y).predict(split.X_test)  # compiles or loads kernels
    times: dict[str, list[float]] = {}
    predictions = {}
    for seed in range(n_repeats):
        for name, model in make_models(n_rounds, seed).items():
            seconds, model = measure(model.fit, split.X, split.y)
            times.setdefault(name, []).append(seconds / count_rounds(model))
            if seed == 0:
                predictions[name] = model.predict(split.X_test)
    fastest = {name: min(seconds) for name, seconds in times.items()}
    print_head("stumps", "ms per round", "speedup", "accuracy", "macro F1")
    for name, predicted in predictions.items():
        print_row(
            name,
            f"{1e3 * fastest[name]:.1f}",
            f"{fastest[REFERENCE] / fastest[name]:.1f}",
            f"{accuracy_score(split.y_test, predicted):.3f}",
            f"{f1_score(split.y_test, predicted, average='macro'):.3f}",
        )
    return fastest.pop(REFERENCE) / max(fastest.values())


def make_models(n_rounds: int, seed: int) -> dict[str, Any]:
    return {
        "M2, resampling": AdaBoostM2Classifier(n_rounds, random_state=seed),
        "M2, sample weights": AdaBoostM2Classifier(n_rounds, bootstrap=False, random_state=seed),
        REFERENCE: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=1), n_estimators=n_rounds, random_state=seed
        ),
    }


def count_rounds(model: Any) -> int:
    return int(np.size(model.estimator_weights_[model.estimator_weights_ > 0]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Compare AdaBoost.M2 over stumps with scikit-learn."
    )
    parser.add_argument("--sets", default="webkb", help="comma-separated names")
    parser.add_argument("--rounds", type=at_least(1), default=200)
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.sets.split(","), options.rounds, options.repeats)
