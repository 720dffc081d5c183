"""How long does an audit of many short texts take?

    python dev.py bench audit_speed [--n-texts 50000] [--n-compared 20000] [--recipe quick]
        [--encoders none] [--set yelp] [--repeats 3]

The texts are lines of 40 to 140 characters of the newsgroup posts in 20ng, the labels are the
groups; or the texts of another data set. `find_near_duplicates` is compared with the best exact
alternative, the product of the sparse matrix of 4-grams and its transpose in blocks (the counting
of the 4-grams by scikit-learn, which is slower than our hashing, is not included), on fewer texts.
Both find the same clusters.

Then follow the CPU seconds of the training of a model, with each encoder, and of each step of
`audit_dataset`, in one thread, after a warm-up. The cache of the encoder has the vectors of the
training texts already, but not those of the explanations. The last line is the time of the audit
divided by that of the training, the largest over the encoders.
"""

import argparse
import os
import time
from tempfile import TemporaryDirectory
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


def select(name: str, n_texts: int) -> Corpus:
    corpus: Corpus = load_single_label(name)
    return corpus.select(np.random.default_rng(0).permutation(len(corpus))[:n_texts])


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


def time_steps(corpus: Corpus, recipe: str, encoder: str | None) -> float:
    """Print the CPU seconds of each step, and return those of the audit per one of training."""
    steps: dict[str, float] = {}
    current = [("training", 0.0)]

    def progress(step: str, done: int, total: int | None) -> None:
        name, start = current[0]
        if step != name:
            steps[name] = time.process_time() - start
            current[0] = (step, time.process_time())

    def fit(data: Corpus) -> TextClassifier:
        return TextClassifier(recipe, oof=True, encoder=encoder, n_jobs=1).fit(data)

    few = corpus.select(range(500))
    audit_dataset(few, model=fit(few))
    if encoder is not None:
        fit(corpus)  # Its texts are encoded once.
    current[0] = ("training", time.process_time())
    model = fit(corpus)
    progress("comparing texts", 0, None)
    found = audit_dataset(corpus, model=model, progress=progress)
    steps[current[0][0]] = time.process_time() - current[0][1]
    audit = sum(steps.values()) - steps["training"]
    print(f"\n{len(corpus):,} texts, recipe {recipe}, encoder {encoder or 'none'}{load()}")
    print_head("step", "CPU seconds")
    for step, seconds in {**steps, "audit": audit}.items():
        print_row(step, f"{seconds:.1f}")
    print(f"\n{found.counts}")
    return audit / steps["training"]


def compare_joins(texts: Any, n_repeats: int) -> None:
    X = count_ngrams(texts)
    least = np.full(2, np.inf)
    for _ in range(n_repeats):
        seconds, found = measure(find_near_duplicates, texts)
        other_seconds, expected = measure(join_by_product, X)
        least = np.minimum(least, [seconds, other_seconds])
    pairs = len({*zip(found.cluster.tolist(), expected.tolist(), strict=True)})
    assert pairs == len({*expected.tolist()}) == len({*found.cluster.tolist()})
    print(f"near-duplicates of {len(texts):,} texts{load()}")
    print_head("method", "CPU seconds")
    print_row("`find_near_duplicates`", f"{least[0]:.2f}")
    print_row("matrix product", f"{least[1]:.2f}")


def main(options: argparse.Namespace) -> None:
    print_run()
    n_texts = options.n_texts
    corpus = select(options.set, n_texts) if options.set else make_corpus(n_texts)
    compare_joins(corpus.texts[: options.n_compared], options.repeats)
    with TemporaryDirectory() as folder:
        os.environ["CORDWOOD_CACHE_DIR"] = folder
        encoders = [None if each == "none" else each for each in options.encoders]
        ratios = [time_steps(corpus, options.recipe, encoder) for encoder in encoders]
    print(f"\nratio: {max(ratios):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time an audit of short texts.")
    parser.add_argument("--n-texts", type=at_least(1000), default=50_000)
    parser.add_argument("--n-compared", type=at_least(100), default=20_000)
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--set")
    parser.add_argument("--encoders", nargs="+", default=["none"])
    parser.add_argument("--repeats", type=at_least(1), default=3)
    main(parser.parse_args())
