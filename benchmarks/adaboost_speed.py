"""What does a round of boosted stumps cost, beside scikit-learn's, and how good are they?

    python dev.py bench adaboost_speed [--sets webkb] [--rounds 200] [--repeats 3]

Fits stumps on all features by AdaBoost.M2, on drawn rows and on weighted ones, and by
scikit-learn's AdaBoost (SAMME), which weighs rows: in turns, by the processor time of one thread,
the least of the repeats. Time is that of a fit divided by its rounds, so that preparing the data is
in it. Accuracy and macro F1 are those of the first repeat on the test rows. The last line is the
least quotient of scikit-learn's time and ours.
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

THEIRS = "scikit-learn, SAMME"


def main(sets: list[str], n_rounds: int, n_repeats: int) -> None:
    print_run()
    quotients = []
    for name in sets:
        split = corpora.load_split(name)
        print(f"{split.describe()}; {n_repeats} repeats of {n_rounds} rounds{load()}")
        quotients.append(compare(split, n_rounds, n_repeats))
        print()
    print(f"least quotient: {min(quotients):.1f}")


def compare(split: corpora.Split, n_rounds: int, n_repeats: int) -> float:
    """Print a row for each kind; return how many times faster than theirs our slowest is."""
    AdaBoostM2Classifier(1).fit(split.X, split.y).predict(split.X_test)  # compiles or loads kernels
    times: dict[str, list[float]] = {}
    answers = {}
    for seed in range(n_repeats):
        for kind, model in make_models(n_rounds, seed).items():
            seconds, model = measure(model.fit, split.X, split.y)
            times.setdefault(kind, []).append(seconds / count_rounds(model))
            if seed == 0:
                answers[kind] = model.predict(split.X_test)
    least = {kind: min(of_kind) for kind, of_kind in times.items()}
    print_head("stumps", "a round, ms", "quotient", "accuracy", "macro F1")
    for kind, answer in answers.items():
        print_row(
            kind,
            f"{1e3 * least[kind]:.1f}",
            f"{least[THEIRS] / least[kind]:.1f}",
            f"{accuracy_score(split.y_test, answer):.3f}",
            f"{f1_score(split.y_test, answer, average='macro'):.3f}",
        )
    return least.pop(THEIRS) / max(least.values())


def make_models(n_rounds: int, seed: int) -> dict[str, Any]:
    return {
        "M2, drawn rows": AdaBoostM2Classifier(n_rounds, random_state=seed),
        "M2, weighted rows": AdaBoostM2Classifier(n_rounds, bootstrap=False, random_state=seed),
        THEIRS: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=1), n_estimators=n_rounds, random_state=seed
        ),
    }


def count_rounds(model: Any) -> int:
    return int(np.size(model.estimator_weights_[model.estimator_weights_ > 0]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the time of a round of boosted stumps.")
    parser.add_argument("--sets", default="webkb", help="names, with commas between them")
    parser.add_argument("--rounds", type=at_least(1), default=200)
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.sets.split(","), options.rounds, options.repeats)
