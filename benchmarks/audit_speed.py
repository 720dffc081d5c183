"""How long does an audit of many short texts take?

    python dev.py bench audit_speed [--n-texts 50000] [--n-compared 20000] [--recipe quick]
        [--repeats 3]

The texts are lines of 40 to 140 characters of the newsgroup posts in 20ng, the labels are the
groups. The first table has the CPU seconds of the training of a model and of each step of
`audit_dataset`, in one thread, after a warm-up. The second one compares `find_near_duplicates` with
the best exact alternative, the product of the sparse matrix of 4-grams and its transpose in blocks
(the counting of the 4-grams by scikit-learn, which is slower than our hashing, is not included), on
fewer texts. Both find the same clusters. The last line is the time of the alternative divided by
ours.
"""

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from cordwood import TextClassifier
from cordwood.audit import audit_dataset, find_near_duplicates
from cordwood.audit.near_duplicates import THRESHOLD, normalize_text
from cordwood.datasets.corpus import Corpus
from corpora import load_single_label
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

BLOCK_SIZE = 500


def make_corpus(n_texts: int) -> Corpus:
    posts = load_single_label("20ng")
    lines = [
        (line.strip(), label)
        for text, label in zip(posts.texts, posts.labels, strict=True)
        for line in text.splitlines()
        if 40 <= len(line.strip()) <= 140
    ]
    order = np.random.default_rng(0).permutation(len(lines))[:n_texts]
    texts, labels = zip(*(lines[i] for i in order), strict=True)
    return Corpus(texts=texts, labels=labels, ids=[str(i) for i in range(len(texts))])


def join_by_product(X: sp.csr_matrix) -> Any:
    """Cluster samples of unit length by all cosines, in blocks."""
    transposed = X.T.tocsr()
    rows, columns = [], []
    for first in range(0, X.shape[0], BLOCK_SIZE):
        cosines = (X[first : first + BLOCK_SIZE] @ transposed).tocoo()
        is_near = cosines.data >= THRESHOLD - 1e-9
        rows.append(cosines.row[is_near] + first)
        columns.append(cosines.col[is_near])
    pairs = (np.concatenate(rows), np.concatenate(columns))
    graph = sp.coo_matrix((np.ones(len(pairs[0])), pairs), shape=(X.shape[0],) * 2)
    return connected_components(graph, directed=False)[1]


def count_ngrams(texts: Any) -> sp.csr_matrix:
    vectorizer = CountVectorizer(
        analyzer="char", ngram_range=(4, 4), binary=True, lowercase=False, dtype=np.float64
    )
    X = sp.csr_matrix(vectorizer.fit_transform(f" {normalize_text(text)} " for text in texts))
    X.data /= np.sqrt(np.repeat(np.diff(X.indptr), np.diff(X.indptr)))
    return X


def time_steps(corpus: Corpus, recipe: str) -> None:
    steps: dict[str, float] = {}
    current = [("training", time.process_time())]

    def progress(step: str, done: int, total: int | None) -> None:
        name, start = current[0]
        if step != name:
            steps[name] = time.process_time() - start
            current[0] = (step, time.process_time())

    start = time.process_time()
    model = TextClassifier(recipe, oof=True, n_jobs=1).fit(corpus)
    progress("comparing texts", 0, None)
    found = audit_dataset(corpus, model=model, progress=progress)
    steps[current[0][0]] = time.process_time() - current[0][1]
    print_head("step", "CPU seconds")
    for step, seconds in {**steps, "all": time.process_time() - start}.items():
        print_row(step, f"{seconds:.1f}")
    print(f"\n{found.counts}")


def main(n_texts: int, n_compared: int, recipe: str, n_repeats: int) -> None:
    print_run()
    corpus = make_corpus(n_texts)
    few = corpus.select(range(500))
    audit_dataset(few, model=TextClassifier(recipe, oof=True).fit(few))
    print(f"{len(corpus):,} texts, recipe {recipe}{load()}")
    time_steps(corpus, recipe)
    texts = corpus.texts[:n_compared]
    X = count_ngrams(texts)
    least = np.full(2, np.inf)
    for _ in range(n_repeats):
        seconds, found = measure(find_near_duplicates, texts)
        other_seconds, expected = measure(join_by_product, X)
        least = np.minimum(least, [seconds, other_seconds])
    pairs = len({*zip(found.cluster.tolist(), expected.tolist(), strict=True)})
    assert pairs == len({*expected.tolist()}) == len({*found.cluster.tolist()})
    print(f"\nnear-duplicates of {len(texts):,} texts{load()}")
    print_head("method", "CPU seconds")
    print_row("`find_near_duplicates`", f"{least[0]:.2f}")
    print_row("matrix product", f"{least[1]:.2f}")
    print(f"\nratio: {least[1] / least[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time an audit of short texts.")
    parser.add_argument("--n-texts", type=at_least(1000), default=50_000)
    parser.add_argument("--n-compared", type=at_least(100), default=20_000)
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.n_texts, options.n_compared, options.recipe, options.repeats)
