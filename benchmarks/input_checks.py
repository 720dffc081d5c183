"""What does the validation of sparse input cost?

    python dev.py bench input_checks [--repeats 7]

The index arrays of a generated corpus of 10,000 documents are validated, and estimators are fitted
and predict with the validation and without it, in turn. Ratios of CPU times, of the medians, with
the validation to without it; the last line is the largest.
"""

import argparse
from contextlib import contextmanager
from statistics import median
from unittest import mock

import corpora
from cordwood._base import csr as _csr
from cordwood._base import voting_classifier as _base_classifier
from cordwood.ensemble import RandomForestClassifier
from cordwood.linear_model import LinearSVMClassifier, linear_svm
from cordwood.neighbors import NeighborsClassifier
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

ESTIMATORS = [
    RandomForestClassifier(10, random_state=0),
    NeighborsClassifier(30),
    LinearSVMClassifier(temperature=1.0, random_state=0),
]


@contextmanager
def without_validation():
    with (
        mock.patch.object(_base_classifier, "check_sparse", lambda X: X),
        mock.patch.object(linear_svm, "check_sparse", lambda X: X),
    ):
        yield


def main(n_repeats: int) -> None:
    print_run()
    split = corpora.generate(10_000)
    X, y, queries = split.X, split.y, split.X[:1000]
    seconds = [measure(_csr.check_sparse, X)[0] for _ in range(n_repeats)]
    print(f"check_sparse, {X.nnz:,} entries: {1e3 * median(seconds):.2f} ms\n")
    print_head("estimator", "fit, s", "ratio", "predict_proba, s", "ratio")
    largest = 0.0
    for estimator in ESTIMATORS:
        estimator.fit(X, y).predict_proba(queries)  # compiles the kernels
        times: dict[str, list[float]] = {"fit": [], "fit*": [], "predict": [], "predict*": []}
        for _ in range(n_repeats):
            times["fit"].append(measure(estimator.fit, X, y)[0])
            times["predict"].append(measure(estimator.predict_proba, queries)[0])
            with without_validation():
                times["fit*"].append(measure(estimator.fit, X, y)[0])
                times["predict*"].append(measure(estimator.predict_proba, queries)[0])
        medians = {name: median(values) for name, values in times.items()}
        fit_ratio = medians["fit"] / medians["fit*"]
        predict_ratio = medians["predict"] / medians["predict*"]
        largest = max(largest, fit_ratio, predict_ratio)
        print_row(
            type(estimator).__name__,
            f"{medians['fit']:.3f}",
            f"{fit_ratio:.3f}",
            f"{medians['predict']:.3f}",
            f"{predict_ratio:.3f}",
        )
    print(f"\nlargest ratio of the time with validation to the time without: {largest:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the cost of the validation of input.")
    parser.add_argument("--repeats", type=at_least(1), default=7)
    main(parser.parse_args().repeats)
