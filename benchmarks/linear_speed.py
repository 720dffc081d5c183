"""Are linear machines found as fast as by LIBLINEAR, and are they the same?

    python dev.py bench linear_speed [--sets ohsumed,20ng] [--repeats 3]

A fold of a data set, prepared as the recipes `svm`, `ngrams` and `nbsvm` have it and with their
tolerances, beside scikit-learn's `LinearSVC` in the dual, which has no evidence as `nbsvm` has it;
in turns, by the processor time of one thread, the least of the repeats. The last line is the least
quotient.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from cordwood import recipes
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner.cv_splits import split
from cordwood.datasets.registry import load_dataset
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run


def main(sets: list[str], n_repeats: int) -> None:
    print_run()
    quotients = []
    for name in sets:
        corpus = load_dataset(name)
        fold = split(corpus, Evaluation(), seed=42)[0]
        learnt, asked = corpus.select(fold.train), corpus.select(fold.test)
        print(f"{name}: {len(learnt):,} documents, {len(set(learnt.labels))} classes{load()}")
        print_head(
            "recipe", "features", "ours, s", "LinearSVC, s", "quotient", "answers that differ, %"
        )
        for recipe in ("svm", "svm_ngrams", "nbsvm"):
            text = {"text": {"preset": "sigir17"}} if recipe == "svm" else {}
            words, machine = recipes.make(recipe, n_jobs=1, random_state=0, slope=1.0, **text)
            X, X_asked = words.fit_transform(learnt.texts), words.transform(asked.texts)
            quotients.append(
                compare(recipe, machine, X, np.array(learnt.labels), X_asked, n_repeats)
            )
        print()
    print(f"least quotient: {min(quotients):.2f}")


def compare(
    recipe: str, machine: LinearSVMClassifier, X: Any, y: Any, X_asked: Any, n_repeats: int
) -> float:
    """Time both in turns, and print a row."""
    theirs = LinearSVC(C=machine.C, tol=machine.tol, dual=True, random_state=0, max_iter=10_000)
    some = slice(None, None, max(len(y) // 200, 1))  # of all classes, which may stand in order
    machine.fit(X[some], y[some])  # compiles or loads the kernel
    times = [
        (measure(machine.fit, X, y)[0], measure(theirs.fit, X, y)[0]) for _ in range(n_repeats)
    ]
    ours, textbook = np.min(times, axis=0)
    differ = np.mean(machine.predict(X_asked) != theirs.predict(X_asked))
    print_row(
        recipe,
        f"{X.shape[1]:,}",
        f"{ours:.2f}",
        f"{textbook:.2f}",
        f"{textbook / ours:.2f}",
        f"{100 * differ:.2f}",
    )
    return float(textbook / ours)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time linear machines beside LIBLINEAR's.")
    parser.add_argument("--sets", default="ohsumed,20ng")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.sets.split(","), options.repeats)
