"""Why does an audit compare texts by character 4-grams, and outliers by two scores?

    python dev.py bench audit_choices [--max-samples 1000]

Near-duplicates: 200 texts of each data set are edited: a typing error, a removed word, an added
URL, an added user name. The table has the share of the edited texts whose cosine to their originals
reaches a threshold, for sets of words and of character n-grams; and how often the labels agree in
the pairs of other texts that reach it, with the number of pairs. Pairs that are similar by chance
agree less often.

Outliers: 30 texts of another data set, of at most 300 characters, are added to each data set. The
table has the area under the ROC curve of scores: the mean distance of the 50 nearest texts, the
rarity of the words, and the larger of both, which an audit uses. The last line is the mean of the
latter divided by that of the distances.
"""

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score

from cordwood._base.csr import to_csr
from cordwood.audit._outliers import score_outliers
from cordwood.audit.near_duplicates import normalize_text
from cordwood.neighbors.index import CosineIndex, build_index
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = ("tweets", "youtube", "20ng", "webkb")
THRESHOLDS = (0.7, 0.8, 0.9)
N_EDITED = 200
MAX_CHARS = 2000
VECTORIZERS: dict[str, dict[str, Any]] = {
    "words": {"token_pattern": r"\w+|[^\w\s]+"},
    "3-grams": {"analyzer": "char", "ngram_range": (3, 3)},
    "4-grams": {"analyzer": "char", "ngram_range": (4, 4)},
    "5-grams": {"analyzer": "char", "ngram_range": (5, 5)},
}
FOREIGN = (
    ("tweets", "ohsumed"),
    ("tweets", "youtube"),
    ("yelp", "20ng"),
    ("r8", "yelp"),
    ("20ng", "yelp"),
    ("ohsumed", "r8"),
    ("amazon", "tweets"),
    ("nyt", "ohsumed"),
    ("webkb", "r8"),
)


def select(name: str, n_samples: int) -> Any:
    corpus = load_single_label(name)
    return corpus.select(np.random.default_rng(0).permutation(len(corpus))[:n_samples])


def edit(text: str, rng: np.random.Generator) -> list[str]:
    """Return a text with a typing error, without a word, with a URL and with a user name."""
    letters = "".join(rng.choice(list("abcdefghijklmnop"), 6))
    words = text.split()
    position = int(rng.integers(len(text)))
    removed = int(rng.integers(len(words)))
    return [
        text[:position] + letters[0] + text[position + 1 :],
        " ".join(words[:removed] + words[removed + 1 :]),
        f"{text} http://t.co/{letters}",
        f"RT @{letters}: {text}",
    ]


def compare_features(max_samples: int) -> None:
    print_head("features", "threshold", "typing error", "word", "URL", "user name", "agreement")
    shares: dict[Any, list[Any]] = {}
    for name in SETS:
        corpus = select(name, max_samples)
        texts = [f" {normalize_text(text)[:MAX_CHARS]} " for text in corpus.texts]
        y = np.asarray(corpus.labels)
        rng = np.random.default_rng(0)
        chosen = [i for i, text in enumerate(texts) if len(text.split()) > 3][:N_EDITED]
        edited = [each for i in chosen for each in edit(texts[i], rng)]
        for features, params in VECTORIZERS.items():
            X = CountVectorizer(binary=True, dtype=np.float64, **params).fit_transform(
                [*texts, *edited]
            )
            X = sp.csr_matrix(X)
            X.data /= np.sqrt(np.repeat(np.diff(X.indptr), np.diff(X.indptr)))
            originals, copies = X[: len(texts)], X[len(texts) :]
            cosines = originals[np.repeat(chosen, 4)].multiply(copies).sum(axis=1)
            cosines = np.asarray(cosines).reshape(-1, 4)
            pairs = sp.triu(originals @ originals.T, 1).tocoo()
            is_other = np.array([texts[i] != texts[j] for i, j in zip(*pairs.coords, strict=True)])
            for threshold in THRESHOLDS:
                is_near = is_other & (pairs.data >= threshold)
                n_agreeing = (y[pairs.row[is_near]] == y[pairs.col[is_near]]).sum()
                row = [*(cosines >= threshold).mean(axis=0), n_agreeing, is_near.sum()]
                shares.setdefault((features, threshold), []).append(row)
    for (features, threshold), rows in shares.items():
        *recall, n_agreeing, n_pairs = np.mean(rows, axis=0)
        agreement = f"{n_agreeing / n_pairs:.3f} of {len(SETS) * n_pairs:.0f}"
        print_row(features, f"{threshold}", *(f"{share:.3f}" for share in recall), agreement)


def compare_scores(max_samples: int) -> float:
    print_head("data set", "texts of", "distance", "rarity", "larger")
    areas = []
    for name, other in FOREIGN:
        texts = [*select(name, max_samples).texts, *(t[:300] for t in select(other, 30).texts)]
        X = to_csr(CountVectorizer(token_pattern=r"\b\w+\b", dtype=np.float32).fit_transform(texts))
        index = build_index(X, "tfidf_cosine")
        assert isinstance(index, CosineIndex)
        everything = np.arange(len(texts))
        found = score_outliers(X, index, everything, everything)
        is_foreign = everything >= len(texts) - 30
        scores = (found.distance, found.rarity, found.score)
        areas.append([roc_auc_score(is_foreign, np.maximum(score, -99)) for score in scores])
        print_row(name, other, *(f"{area:.3f}" for area in areas[-1]))
    mean = np.mean(areas, axis=0)
    print_row("mean", "", *(f"{area:.3f}" for area in mean))
    return float(mean[2] / mean[0])


def main(max_samples: int) -> None:
    print_run()
    compare_features(max_samples)
    print()
    print(f"\nratio: {compare_scores(max_samples):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the choices of an audit.")
    parser.add_argument("--max-samples", type=at_least(300), default=1000)
    main(parser.parse_args().max_samples)
