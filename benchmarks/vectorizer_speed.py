"""Is TextVectorizer as fast as scikit-learn's CountVectorizer with the same options?

    python dev.py bench vectorizer_speed [n_documents, 5000 by default]

Reads 20 newsgroups from the folder in CORDWOOD_DATA, or from ../shared/datasets beside the
repository; where neither has it, makes documents of words drawn by Zipf's law. Times both in
turns by the processor time of this thread and prints the quotient of the least times, which other
work on the machine disturbed least: above 1, TextVectorizer is the faster. The last line is the
quotient for plain counts.
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

from cordwood.text.stop_words import stop_list
from cordwood.text.vectorizer import TextVectorizer

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 5


def main(n_documents: int) -> None:
    documents = load(n_documents)
    print(f"{len(documents):,} documents, {sum(map(len, documents)) / 1e6:.1f} MB of text")
    # The same pattern for both: CountVectorizer's own finds the same words, but slower.
    words = {"token_pattern": r"\w\w+"}
    plain: dict[str, Any] = {"preset": "social", **words}
    smart = sorted(word for word in stop_list("smart") if "'" not in word)
    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "tfidf": (
            lambda: TfidfVectorizer(**words, sublinear_tf=True, dtype=np.float32),
            lambda: TextVectorizer(**plain, weighting="tfidf"),
        ),
        "stop words, min_df 6": (
            lambda: CountVectorizer(**words, stop_words=smart, min_df=6),
            lambda: TextVectorizer(**plain, stop_words="smart523", min_df=6),
        ),
        "words and bigrams": (
            lambda: CountVectorizer(**words, ngram_range=(1, 2)),
            lambda: TextVectorizer(**plain, ngram_range=(1, 2)),
        ),
        "characters in words": (
            lambda: CountVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
            lambda: TextVectorizer(preset="social", analyzer="char_wb", ngram_range=(3, 5)),
        ),
        "plain counts": (lambda: CountVectorizer(**words), lambda: TextVectorizer(**plain)),
    }
    time_stems(documents[: len(documents) // 10], plain)
    for name, (theirs, ours) in cases.items():
        fit, apply = zip(*(run(theirs, ours, documents) for _ in range(REPEATS)), strict=True)
        report(f"{name}, transform", apply)
        report(f"{name}, fit_transform", fit)


def run(
    theirs: Callable[[], Any], ours: Callable[[], Any], documents: list[str]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the seconds of (theirs, ours) for fit_transform and for transform."""
    models = theirs(), ours()
    fit = seconds(models[0].fit_transform, documents), seconds(models[1].fit_transform, documents)
    apply = seconds(models[0].transform, documents), seconds(models[1].transform, documents)
    return fit, apply


def time_stems(documents: list[str], plain: dict[str, Any]) -> None:
    stem = snowballstemmer.stemmer("porter").stemWord
    analyze = CountVectorizer().build_analyzer()
    theirs = CountVectorizer(analyzer=lambda text: [stem(word) for word in analyze(text)])
    ours = TextVectorizer(**plain, stemmer="porter")
    pair = seconds(theirs.fit_transform, documents), seconds(ours.fit_transform, documents)
    report("Porter stems, a tenth of the documents, once", [pair])


def seconds(call: Callable[[list[str]], Any], documents: list[str]) -> float:
    start = time.thread_time()
    call(documents)
    return time.thread_time() - start


def report(name: str, pairs: Any) -> None:
    theirs, ours = (min(times) for times in zip(*pairs, strict=True))
    print(f"{name}: {theirs:.2f} s / {ours:.2f} s = {theirs / ours:.2f}")


def load(n_documents: int) -> list[str]:
    folder = Path(os.environ.get("CORDWOOD_DATA") or ROOT.parent / "shared" / "datasets")
    path = folder / "20ng.jsonl.gz"
    if not path.exists():
        return generate(n_documents)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [
            json.loads(line)["text"] for _, line in zip(range(n_documents), lines, strict=False)
        ]


def generate(n_documents: int) -> list[str]:
    rng = np.random.default_rng(0)
    lengths = rng.geometric(1 / 280, size=n_documents)
    words = [f"{rank:x}word" for rank in range(100_000)]
    return [
        " ".join([words[rank] for rank in np.minimum(rng.zipf(1.3, length), 100_000) - 1])
        for length in lengths
    ]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000)
