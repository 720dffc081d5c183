"""Speed and accuracy of lazy forests compared with a straightforward implementation.

    python dev.py bench lazy_speed [--sets 20ng,webkb] [--neighbors 200] [--trees 200] [--whole]

The straightforward implementation finds the neighbors of a query with scikit-learn's brute force,
selects their samples and nonzero features, and fits a scikit-learn forest to them. Both predict the
same queries in turn, the search for neighbors included. Times are CPU times of one thread: the mean
over the queries for the straightforward implementation, the minimum over the repeats for cordwood.
The time with five times as many neighbors should be about five times as long. With --whole, the
benchmark also predicts the whole test set and the leave-one-out probabilities of the training set
in two threads, and prints wall-clock times and, on Linux, the growth of the peak memory with the
first half of the test set (after a hundred queries) and with the second half. The last line is the
smallest speedup.
"""

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import NearestNeighbors

import corpora
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from forest_memory import STATUS, read_status
from neighbors_speed import tfidf
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

FORESTS: dict[str, Any] = {"rf": RandomForestClassifier, "et": ExtraTreesClassifier}


def main(sets: list[str], k: int, n_trees: int, n_queries: int, whole: bool) -> None:
    print_run()
    speedups = []
    for name in sets:
        split = corpora.load_split(name)
        print(f"{split.describe()}; {n_queries} queries{load()}")
        print_head(
            f"{n_trees} trees, {k} neighbors",
            "cordwood, ms per query",
            "straightforward, ms per query",
            "speedup",
            "mean difference of probabilities",
            f"{5 * k} neighbors, ms per query",
            "ratio",
        )
        for base in FORESTS:
            speedups.append((compare(split, base, k, n_trees, n_queries), f"{name} {base}"))
        print()
        if whole:
            predict_all(split, k, n_trees)
    print("smallest speedup: {:.1f} ({})".format(*min(speedups)))


def compare(split: corpora.Split, base: str, k: int, n_trees: int, n_queries: int) -> float:
    """Measure both implementations on the same queries, print a table row, return the speedup."""
    X, y = sp.csr_matrix(split.X, dtype=np.float32), split.y
    chosen = np.random.default_rng(0).permutation(len(split.y_test))[:n_queries]
    queries = sp.csr_matrix(split.X_test, dtype=np.float32)[chosen]
    model = LazyForestClassifier(k, n_trees, base=base, random_state=0).fit(X, y)
    model.predict_proba(queries[0])  # compiles or loads kernels
    neighbors = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute", n_jobs=1)
    neighbors.fit(tfidf(X, X))
    seconds, reference_seconds, differences = [], [], []
    for i in range(n_queries):
        elapsed, proba = measure(model.predict_proba, queries)
        seconds.append(elapsed / n_queries)
        arguments = (neighbors, X, y, queries[i], base, n_trees)
        elapsed, expected = measure(predict_straightforwardly, *arguments)
        reference_seconds.append(elapsed)
        differences.append(np.abs(proba[i] - expected).sum() / 2)
    model.set_params(n_neighbors=5 * k)
    more = min(measure(model.predict_proba, queries)[0] for _ in range(3)) / n_queries
    speedup = float(np.mean(reference_seconds)) / min(seconds)
    print_row(
        base,
        f"{1e3 * min(seconds):.2f}",
        f"{1e3 * np.mean(reference_seconds):.0f}",
        f"{speedup:.0f}",
        f"{np.mean(differences):.3f}",
        f"{1e3 * more:.2f}",
        f"{more / min(seconds):.1f}",
    )
    return speedup


def predict_straightforwardly(
    neighbors: Any, X: Any, y: Any, query: Any, base: str, n_trees: int
) -> Any:
    """Predict one query by a scikit-learn forest on its neighbors."""
    ids = neighbors.kneighbors(tfidf(query, X), return_distance=False)[0]
    local = sp.vstack([X[ids], query]).tocsr()
    local = local[:, np.unique(local.indices)]
    forest = FORESTS[base](n_trees, n_jobs=1, random_state=0).fit(local[:-1], y[ids])
    proba = np.zeros(y.max() + 1)
    proba[forest.classes_] = forest.predict_proba(local[-1])[0]
    return proba


def predict_all(split: corpora.Split, k: int, n_trees: int) -> None:
    """Predict the test set and leave-one-out probabilities in two threads; print the times."""
    model = LazyForestClassifier(k, n_trees, n_jobs=2, random_state=0).fit(split.X, split.y)
    n = split.X_test.shape[0]
    peaks = []
    for queries in (split.X_test[:100], split.X_test[: n // 2], split.X_test):
        seconds, proba = measure(model.predict_proba, queries, clock=time.perf_counter)
        peaks.append(read_status("VmHWM") if STATUS.exists() else 0)
    accuracy = (proba.argmax(axis=1) == split.y_test).mean()
    print(f"{n:,} test samples: {seconds:.0f} s, accuracy {accuracy:.3f}")
    first, second = (peaks[1] - peaks[0]) / 1e6, (peaks[2] - peaks[1]) / 1e6
    print(f"growth of peak memory: {first:.1f} MB in the first half, {second:.1f} MB in the second")
    seconds, proba = measure(model.loo_decision_function, clock=time.perf_counter)
    accuracy = (proba.argmax(axis=1) == split.y).mean()
    print(f"{len(split.y):,} leave-one-out samples: {seconds:.0f} s, accuracy {accuracy:.3f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare lazy forests with scikit-learn forests.")
    parser.add_argument("--sets", default="20ng,webkb")
    parser.add_argument("--neighbors", type=at_least(1), default=200)
    parser.add_argument("--trees", type=at_least(1), default=200)
    parser.add_argument("--queries", type=at_least(1), default=20)
    parser.add_argument(
        "--whole", action="store_true", help="also predict the whole test and training set"
    )
    options = parser.parse_args()
    main(options.sets.split(","), options.neighbors, options.trees, options.queries, options.whole)
