"""Are lazy forests a hundred times faster than the textbook way, and as accurate?

    python dev.py bench lazy_speed [--sets 20ng,webkb] [--neighbors 200] [--trees 200] [--whole]

The textbook way finds a query's neighbours with scikit-learn's brute force, slices them out, keeps
the columns that occur, and fits a forest of scikit-learn's. In turns with it, by the processor time
of one thread, the same queries, neighbours included: the mean of the textbook's times over the
queries, and the least of ours over the repeats. Then ours with five times the neighbours, which
should take about five times as long. With --whole: the whole test part and the leave-one-out
answers of the training part, by the clock, on two threads, and, on Linux, what the peak of memory
grew by with the first half of the test part, after a hundred queries, and with the other half. The
last line is the least quotient.
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
from neighbors_speed import weigh
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

FORESTS: dict[str, Any] = {"rf": RandomForestClassifier, "et": ExtraTreesClassifier}


def main(sets: list[str], k: int, n_trees: int, n_queries: int, whole: bool) -> None:
    print_run()
    quotients = []
    for name in sets:
        split = corpora.load_split(name)
        print(f"{split.describe()}; {n_queries} queries{load()}")
        print_head(
            f"{n_trees} trees, {k} neighbours",
            "ours, ms a query",
            "textbook, ms a query",
            "quotient",
            "mean difference of probabilities",
            f"{5 * k} neighbours, ms a query",
            "times longer",
        )
        for trees in FORESTS:
            quotients.append((compare(split, trees, k, n_trees, n_queries), f"{name} {trees}"))
        print()
        if whole:
            answer_all(split, k, n_trees)
    print("least quotient: {:.1f} ({})".format(*min(quotients)))


def compare(split: corpora.Split, trees: str, k: int, n_trees: int, n_queries: int) -> float:
    """Time the same queries in turns, ours and the textbook's, and print a row."""
    X, y = sp.csr_matrix(split.X, dtype=np.float32), split.y
    chosen = np.random.default_rng(0).permutation(len(split.y_test))[:n_queries]
    queries = sp.csr_matrix(split.X_test, dtype=np.float32)[chosen]
    model = LazyForestClassifier(k, n_trees, base=trees, random_state=0).fit(X, y)
    model.predict_proba(queries[0])  # compiles or loads kernels
    theirs = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute", n_jobs=1)
    theirs.fit(weigh(X, X))
    ours, textbook, differences = [], [], []
    for i in range(n_queries):
        seconds, votes = measure(model.predict_proba, queries)
        ours.append(seconds / n_queries)
        seconds, expected = measure(answer_by_textbook, theirs, X, y, queries[i], trees, n_trees)
        textbook.append(seconds)
        differences.append(np.abs(votes[i] - expected).sum() / 2)
    model.set_params(n_neighbors=5 * k)
    more = min(measure(model.predict_proba, queries)[0] for _ in range(3)) / n_queries
    quotient = float(np.mean(textbook)) / min(ours)
    print_row(
        trees,
        f"{1e3 * min(ours):.2f}",
        f"{1e3 * np.mean(textbook):.0f}",
        f"{quotient:.0f}",
        f"{np.mean(differences):.3f}",
        f"{1e3 * more:.2f}",
        f"{more / min(ours):.1f}",
    )
    return quotient


def answer_by_textbook(neighbors: Any, X: Any, y: Any, query: Any, trees: str, n_trees: int) -> Any:
    """Answer one query by a forest of scikit-learn's on its neighbours."""
    ids = neighbors.kneighbors(weigh(query, X), return_distance=False)[0]
    local = sp.vstack([X[ids], query]).tocsr()
    local = local[:, np.unique(local.indices)]
    forest = FORESTS[trees](n_trees, n_jobs=1, random_state=0).fit(local[:-1], y[ids])
    votes = np.zeros(y.max() + 1)
    votes[forest.classes_] = forest.predict_proba(local[-1])[0]
    return votes


def answer_all(split: corpora.Split, k: int, n_trees: int) -> None:
    """Answer the test part and leave each training row out, on two threads; print the times."""
    model = LazyForestClassifier(k, n_trees, n_jobs=2, random_state=0).fit(split.X, split.y)
    n = split.X_test.shape[0]
    peaks = []
    for queries in (split.X_test[:100], split.X_test[: n // 2], split.X_test):
        seconds, votes = measure(model.predict_proba, queries, clock=time.perf_counter)
        peaks.append(read_status("VmHWM") if STATUS.exists() else 0)
    right = (votes.argmax(axis=1) == split.y_test).mean()
    print(f"{n:,} test documents: {seconds:.0f} s, accuracy {right:.3f}")
    half, rest = (peaks[1] - peaks[0]) / 1e6, (peaks[2] - peaks[1]) / 1e6
    print(f"peak of memory: {half:.1f} MB more with the first half, {rest:.1f} MB with the other")
    seconds, votes = measure(model.loo_decision_function, clock=time.perf_counter)
    right = (votes.argmax(axis=1) == split.y).mean()
    print(f"{len(split.y):,} training documents left out: {seconds:.0f} s, accuracy {right:.3f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time lazy forests beside the textbook way.")
    parser.add_argument("--sets", default="20ng,webkb")
    parser.add_argument("--neighbors", type=at_least(1), default=200)
    parser.add_argument("--trees", type=at_least(1), default=200)
    parser.add_argument("--queries", type=at_least(1), default=20)
    parser.add_argument("--whole", action="store_true", help="also time whole parts")
    options = parser.parse_args()
    main(options.sets.split(","), options.neighbors, options.trees, options.queries, options.whole)
