"""Is TextVectorizer as fast as scikit-learn's CountVectorizer with the same options?

    python dev.py bench vectorizer_speed [n_texts, default 5000]

Reads 20 newsgroups from the folder in CORDWOOD_DATA, or from ../shared/datasets beside the
repository; without it, generates texts of words drawn from a Zipf distribution. Runs both
alternately, measures the CPU time of this thread, and prints the ratio of the minimum times, which
are the least affected by other processes: above 1, TextVectorizer is faster. The last line is the
ratio for plain counts.
"""

import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import snowballstemmer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from cordwood.text.stop_words import get_stop_words
from cordwood.text.vectorizer import TextVectorizer

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 5


def main(n_texts: int) -> None:
    texts = load(n_texts)
    print(f"{len(texts):,} texts, {sum(map(len, texts)) / 1e6:.1f} MB")
    # The same pattern for both: the default of CountVectorizer finds the same words more slowly.
    pattern = {"token_pattern": r"\w\w+"}
    plain: dict[str, Any] = {"preset": "social", **pattern}
    smart = sorted(word for word in get_stop_words("smart") if "'" not in word)
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "tfidf": (
            lambda: TfidfVectorizer(**pattern, sublinear_tf=True, dtype=np.float32),
            lambda: TextVectorizer(**plain, weighting="tfidf"),
        ),
        "stop words, min_df 6": (
            lambda: CountVectorizer(**pattern, stop_words=smart, min_df=6),
            lambda: TextVectorizer(**plain, stop_words="smart523", min_df=6),
        ),
        "words and bigrams": (
            lambda: CountVectorizer(**pattern, ngram_range=(1, 2)),
            lambda: TextVectorizer(**plain, ngram_range=(1, 2)),
        ),
        "characters in words": (
            lambda: CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
            lambda: TextVectorizer(preset="social", analyzer="char_wb", ngram_range=(3, 5)),
        ),
        "plain counts": (lambda: CountVectorizer(**pattern), lambda: TextVectorizer(**plain)),
    }
    time_stemming(texts[: len(texts) // 10], plain)
    for name, (theirs, ours) in cases.items():
        fit, transform = zip(*(run(theirs, ours, texts) for _ in range(REPEATS)), strict=True)
        report(f"{name}, transform", transform)
        report(f"{name}, fit_transform", fit)


def run(
    theirs: Callable[[], Any], ours: Callable[[], Any], texts: list[str]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the seconds of (theirs, ours) for fit_transform and for transform."""
    models = theirs(), ours()
    fit = seconds(models[0].fit_transform, texts), seconds(models[1].fit_transform, texts)
    transform = seconds(models[0].transform, texts), seconds(models[1].transform, texts)
    return fit, transform


def time_stemming(texts: list[str], plain: dict[str, Any]) -> None:
    stem = snowballstemmer.stemmer("porter").stemWord
    analyze = CountVectorizer().build_analyzer()
    theirs = CountVectorizer(analyzer=lambda text: [stem(word) for word in analyze(text)])
    ours = TextVectorizer(**plain, stemmer="porter")
    pair = seconds(theirs.fit_transform, texts), seconds(ours.fit_transform, texts)
    report("Porter stemmer, a tenth of the texts, one repeat", [pair])


def seconds(function: Callable[[list[str]], Any], texts: list[str]) -> float:
    start = time.thread_time()
    function(texts)
    return time.thread_time() - start


def report(name: str, pairs: Any) -> None:
    theirs, ours = (min(times) for times in zip(*pairs, strict=True))
    print(f"{name}: {theirs:.2f} s / {ours:.2f} s = {theirs / ours:.2f}")


def load(n_texts: int) -> list[str]:
    folder = Path(os.environ.get("CORDWOOD_DATA") or ROOT.parent / "shared" / "datasets")
    path = folder / "20ng.jsonl.gz"
    if not path.exists():
        return generate(n_texts)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for _, line in zip(range(n_texts), lines, strict=False)]


def generate(n_texts: int) -> list[str]:
    rng = np.random.default_rng(0)
    lengths = rng.geometric(1 / 280, size=n_texts)
    words = [f"{rank:x}word" for rank in range(100_000)]
    return [
        " ".join([words[rank] for rank in np.minimum(rng.zipf(1.3, length), 100_000) - 1])
        for length in lengths
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
