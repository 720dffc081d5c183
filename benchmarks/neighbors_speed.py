"""Speed and agreement of the neighbor index compared with scikit-learn's brute force.

    python dev.py bench neighbors_speed [--sets 20ng,webkb] [--neighbors 200] [--queries 1000]

Finds the neighbors of test documents with the inverted index and with scikit-learn's brute force.
The latter gets the tf-idf weights of the documents in single precision, in which it is fastest, and
the computation of the weights is not measured. Times are CPU times of one thread, the minimum over
the repeats, with both methods measured in turn. Distances are equal if they differ by at most 1e-6;
the order of neighbors may differ where distances are equal. The last line is the smallest speedup.
"""

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

import corpora
from cordwood._base.csr import to_csr
from cordwood.neighbors.index import build_index, query_index
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run


def main(sets: list[str], k: int, n_queries: int, n_repeats: int) -> None:
    print_run()
    speedups = []
    print_head(
        f"data set, {k} neighbors",
        "build, s",
        "cordwood, ms per query",
        "scikit-learn, ms per query",
        "speedup",
        "equal distances",
        "equal order",
    )
    for name in sets:
        split = corpora.load_split(name)
        X = to_csr(sp.csr_matrix(split.X, dtype=np.float32))
        queries = to_csr(sp.csr_matrix(split.X_test, dtype=np.float32)[:n_queries])
        build_seconds, index = min(
            (measure(build_index, X, "tfidf_cosine") for _ in range(n_repeats)),
            key=lambda run: run[0],
        )
        reference = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute", n_jobs=1)
        reference.fit(tfidf(X, X))
        weighted = tfidf(queries, X)
        query_index(index, queries, k)  # compiles or loads kernels
        runs = [
            (measure(query_index, index, queries, k), measure(reference.kneighbors, weighted))
            for _ in range(n_repeats)
        ]
        seconds, reference_seconds = (min(run[i][0] for run in runs) for i in range(2))
        (neighbors, distances), (expected_distances, expected) = (run[1] for run in runs[-1])
        equal = np.isclose(distances, expected_distances, rtol=0, atol=1e-6)
        speedups.append((reference_seconds / seconds, name))
        per_query = 1e3 / queries.shape[0]
        print_row(
            f"{name}: {X.shape[0]:,} documents{load()}",
            f"{build_seconds:.2f}",
            f"{seconds * per_query:.3f}",
            f"{reference_seconds * per_query:.3f}",
            f"{reference_seconds / seconds:.1f}",
            f"{equal.mean():.2%}",
            f"{(neighbors == expected).mean():.2%}",
        )
    print("\nsmallest speedup: {:.1f} ({})".format(*min(speedups)))


def tfidf(X: Any, training_set: Any) -> Any:
    """Compute (1 + ln tf) * ln(n / df) in single precision."""
    n_samples, n_features = training_set.shape
    document_frequency = np.bincount(training_set.indices, minlength=n_features)
    idf = np.log(n_samples / np.maximum(document_frequency, 1))
    data = (1 + np.log(X.data)) * idf[X.indices]
    return sp.csr_matrix((data.astype(np.float32), X.indices, X.indptr), shape=X.shape)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the neighbor index with scikit-learn.")
    parser.add_argument("--sets", default="20ng,webkb,reut90")
    parser.add_argument("--neighbors", type=at_least(1), default=200)
    parser.add_argument("--queries", type=at_least(1), default=1000)
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.sets.split(","), options.neighbors, options.queries, options.repeats)
