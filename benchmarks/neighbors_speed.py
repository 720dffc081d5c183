"""Are the neighbours of documents found three times faster than by scikit-learn, and the same?

    python dev.py bench neighbors_speed [--sets 20ng,webkb] [--neighbors 200] [--queries 1000]

In turns, by the processor time of one thread, the least of the repeats of each: the neighbours of
test documents by the index, and by scikit-learn's brute force. That is given the index's weighted
rows, in single precision, in which it is fastest, and nothing else is timed of it. Neighbours are
the same if the distances agree to 1e-6; their order may differ among those at one distance. The
last line is the least quotient.
"""

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

import corpora
from cordwood._csr import to_csr
from cordwood.neighbors.index import build, query
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run


def main(sets: list[str], k: int, n_queries: int, n_repeats: int) -> None:
    print_run()
    quotients = []
    print_head(
        f"set, {k} neighbours",
        "build, s",
        "ours, ms a query",
        "scikit-learn, ms a query",
        "quotient",
        "same distances",
        "same order",
    )
    for name in sets:
        split = corpora.load_split(name)
        X = to_csr(sp.csr_matrix(split.X, dtype=np.float32))
        queries = to_csr(sp.csr_matrix(split.X_test, dtype=np.float32)[:n_queries])
        building, index = min(
            (measure(build, X, "words") for _ in range(n_repeats)), key=lambda run: run[0]
        )
        theirs = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute", n_jobs=1)
        theirs.fit(weigh(X, X))
        weighted = weigh(queries, X)
        query(index, queries, k)  # compiles or loads kernels
        runs = [
            (measure(query, index, queries, k), measure(theirs.kneighbors, weighted))
            for _ in range(n_repeats)
        ]
        ours, other = (min(run[i][0] for run in runs) for i in range(2))
        (ids, distances), (their_distances, their_ids) = (run[1] for run in runs[-1])
        same = np.isclose(distances, their_distances, rtol=0, atol=1e-6)
        quotients.append((other / ours, name))
        per_query = 1e3 / queries.shape[0]
        print_row(
            f"{name}: {X.shape[0]:,} documents{load()}",
            f"{building:.2f}",
            f"{ours * per_query:.3f}",
            f"{other * per_query:.3f}",
            f"{other / ours:.1f}",
            f"{same.mean():.2%}",
            f"{(ids == their_ids).mean():.2%}",
        )
    print("\nleast quotient: {:.1f} ({})".format(*min(quotients)))


def weigh(X: Any, like: Any) -> Any:
    """Weigh rows by the definition: (1 + ln tf) * ln(n / df), in single precision."""
    idf = np.log(like.shape[0] / np.maximum(np.bincount(like.indices, minlength=like.shape[1]), 1))
    data = (1 + np.log(X.data)) * idf[X.indices]
    return sp.csr_matrix((data.astype(np.float32), X.indices, X.indptr), shape=X.shape)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time our neighbours beside scikit-learn's.")
    parser.add_argument("--sets", default="20ng,webkb,reut90")
    parser.add_argument("--neighbors", type=at_least(1), default=200)
    parser.add_argument("--queries", type=at_least(1), default=1000)
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.sets.split(","), options.neighbors, options.queries, options.repeats)
