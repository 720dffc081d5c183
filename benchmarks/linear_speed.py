"""Speed and agreement of `LinearSVMClassifier` compared with scikit-learn's `LinearSVC`.

    python dev.py bench linear_speed [--sets ohsumed,20ng] [--repeats 3]

Fits one training fold of each data set, vectorized as in the recipes `svm`, `svm_ngrams` and
`nbsvm` and with their tolerances. `LinearSVC` uses its dual solver and no NB-SVM scaling, so its
predictions differ from those of `nbsvm`. Times are CPU times of one thread, the minimum over the
repeats, with both classifiers measured in turn. The last line is the smallest speedup.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

from cordwood import recipes
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import split
from cordwood.datasets.registry import load_dataset
from cordwood.linear_model import LinearSVMClassifier
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run


def main(sets: list[str], n_repeats: int) -> None:
    print_run()
    speedups = []
    for name in sets:
        corpus = load_dataset(name)
        fold = split(corpus, EvaluationConfig(), seed=42)[0]
        train, test = corpus.select(fold.train), corpus.select(fold.test)
        print(f"{name}: {len(train):,} documents, {len(set(train.labels))} classes{load()}")
        print_head(
            "recipe",
            "features",
            "cordwood, s",
            "LinearSVC, s",
            "speedup",
            "different predictions, %",
        )
        for recipe in ("svm", "svm_ngrams", "nbsvm"):
            preset = {"vectorizer_params": {"preset": "sigir17"}} if recipe == "svm" else {}
            vectorizer, svm = recipes.make(
                recipe, n_jobs=1, random_state=0, temperature=1.0, **preset
            )
            X, X_test = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
            speedups.append(compare(recipe, svm, X, np.array(train.labels), X_test, n_repeats))
        print()
    print(f"smallest speedup: {min(speedups):.2f}")


def compare(
    recipe: str, svm: LinearSVMClassifier, X: Any, y: Any, X_test: Any, n_repeats: int
) -> float:
    """Measure both classifiers in turn, print a table row, and return the speedup."""
    reference = LinearSVC(C=svm.C, tol=svm.tol, dual=True, random_state=0, max_iter=10_000)
    some = slice(None, None, max(len(y) // 200, 1))  # of all classes, also if sorted by class
    svm.fit(X[some], y[some])  # compiles or loads the kernel
    times = [(measure(svm.fit, X, y)[0], measure(reference.fit, X, y)[0]) for _ in range(n_repeats)]
    seconds, reference_seconds = np.min(times, axis=0)
    different = np.mean(svm.predict(X_test) != reference.predict(X_test))
    print_row(
        recipe,
        f"{X.shape[1]:,}",
        f"{seconds:.2f}",
        f"{reference_seconds:.2f}",
        f"{reference_seconds / seconds:.2f}",
        f"{100 * different:.2f}",
    )
    return float(reference_seconds / seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare LinearSVMClassifier with LinearSVC.")
    parser.add_argument("--sets", default="ohsumed,20ng")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.sets.split(","), options.repeats)
