"""How fast are predictions of one short text, and of a thousand?

    python dev.py bench predict_speed [--classes 6,77,150] [--texts 1000] [--encoder use]

Trains the recipe `quick` without encoder on generated lines of nine words, loads it from a model
file, and compares it with two pipelines of scikit-learn on the same texts: TF-IDF of words and
`LinearSVC`; and TF-IDF of word unigrams and bigrams and of character n-grams of 3 to 5 and
`LinearSVC`. With `--encoder`, it also predicts single texts by a model with
this sentence encoder, whose vectors are not cached. Times are CPU times of one thread, measured in
turn: of single texts the median and the 99th percentile, of all texts the minimum. The last line is
the largest ratio of `quick` to the second pipeline, over the numbers of classes, for all texts.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

import cordwood
from corpora import generate_lines
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

REPEATS = 5
N_SINGLE = 200


def main(class_counts: list[int], n_texts: int, encoder: str | None) -> None:
    print_run()
    print_head("classes", "model", "one text, p50 ms", "p99 ms", f"{n_texts:,} texts, s", "ratio")
    ratios = []
    for n_classes in class_counts:
        texts, y = generate_lines(n_classes)
        order = np.random.default_rng(0).permutation(len(texts))
        n_test = min(n_texts, len(texts) // 5)
        test, train = texts[order[:n_test]].tolist(), texts[order[n_test:]].tolist()
        y_train = y[order[n_test:]]
        quick = cordwood.TextClassifier("quick", encoder=None, oof=False)
        models = {
            "quick": save_and_load(quick.fit(train, y_train)),
            "TF-IDF of words": make_pipeline(TfidfVectorizer(), LinearSVC()).fit(train, y_train),
            "TF-IDF of words and characters": make_pipeline(
                make_union(
                    TfidfVectorizer(ngram_range=(1, 2)),
                    TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)),
                ),
                LinearSVC(),
            ).fit(train, y_train),
        }
        many = (test * -(-n_texts // n_test))[:n_texts]
        single = time_single(models, test)
        least = time_many(models, many)
        theirs = least["TF-IDF of words and characters"]
        for name in models:
            print_times(f"{n_classes}", name, single[name], least[name], least[name] / theirs)
        ratios.append(least["quick"] / theirs)
        if encoder is not None:
            model = cordwood.TextClassifier("quick", encoder=encoder, oof=False)
            model = save_and_load(model.fit(train[:2000], y_train[:2000]))
            # Texts that no run before has encoded.
            new = [f"{text} {np.random.default_rng().integers(2**40)}" for text in test]
            print_times(f"{n_classes}", f"quick, {encoder}", time_single({"": model}, new)[""])
    print(f"\nratio: {max(ratios):.2f}{load()}")


def save_and_load(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.cordwood")
        model.save(path)
        return cordwood.load(path)


def time_single(models: dict[str, Any], texts: list[str]) -> dict[str, np.ndarray]:
    """Return the milliseconds of the prediction of each of some texts, by each model."""
    for model in models.values():
        model.predict(texts[:5])  # compiles or loads kernels, and loads the encoder
    times = [
        [measure(model.predict, [text])[0] for model in models.values()]
        for text in texts[5:N_SINGLE]
    ]
    return dict(zip(models, 1e3 * np.array(times).T, strict=True))


def time_many(models: dict[str, Any], texts: list[str]) -> dict[str, float]:
    times = [
        [measure(model.predict, texts)[0] for model in models.values()] for _ in range(REPEATS)
    ]
    return dict(zip(models, np.min(times, axis=0).tolist(), strict=True))


def print_times(
    n_classes: str, name: str, single: np.ndarray, many: float | None = None, ratio: float = 1.0
) -> None:
    p50, p99 = np.percentile(single, [50, 99])
    rest = ["", ""] if many is None else [f"{many:.3f}", f"{ratio:.2f}"]
    print_row(n_classes, name, f"{p50:.2f}", f"{p99:.2f}", *rest)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the time of predictions.")
    parser.add_argument("--classes", default="6,77,150")
    parser.add_argument("--texts", type=at_least(10), default=1000)
    parser.add_argument("--encoder")
    options = parser.parse_args()
    main([int(number) for number in options.classes.split(",")], options.texts, options.encoder)
