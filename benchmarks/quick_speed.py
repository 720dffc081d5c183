"""How long does the default classifier take to fit, compared with a linear SVM of scikit-learn?

    python dev.py bench quick_speed [--sets 20ng,150] [--repeats 2]

Fits `TextClassifier` with the recipe `quick`, out-of-fold scores and leakage check included, and
scikit-learn's `LinearSVC` on TF-IDF of word unigrams, bigrams and character n-grams of 3 to 5, to
80 % of the texts. A number as data set stands for 15,000 generated lines of so many classes. Times
are CPU times of one thread, the minimum over the repeats, measured in turn. The last line is the
largest ratio.
"""

import argparse
import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from cordwood import TextClassifier
from corpora import generate_lines, load_single_label
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

SETS = "20ng,r52,reut90,yelp,tweets,10,50,150"


def main(sets: list[str], n_repeats: int) -> None:
    print_run()
    # What the leakage check finds, and classes with one text, are no matter here.
    warnings.simplefilter("ignore", UserWarning)
    make_quick().fit(*generate_lines(5, n_texts=1600))  # compiles or loads the kernels
    print_head(
        "data",
        "texts",
        "classes",
        "scikit-learn, s",
        "cordwood, s",
        "accuracy, %",
        "out-of-fold, %",
        "ratio",
    )
    ratios = []
    for name in sets:
        texts, labels = load_texts(name)
        order = np.random.default_rng(0).permutation(len(texts))
        test, train = np.split(order, [len(texts) // 5])
        least: dict[str, float] = {}
        accuracy = {}
        for _ in range(n_repeats):
            models = {"reference": make_reference(), "quick": make_quick()}
            for key, model in models.items():
                with threadpool_limits(1):
                    seconds, _ = measure(
                        model.fit, texts[train], labels[train], clock=time.process_time
                    )
                least[key] = min(seconds, least.get(key, np.inf))
                if key not in accuracy:
                    accuracy[key] = np.mean(model.predict(texts[test]) == labels[test])
        ratios.append(least["quick"] / least["reference"])
        print_row(
            f"{name}{load()}",
            f"{len(train):,}",
            str(len(set(labels))),
            f"{least['reference']:.1f}",
            f"{least['quick']:.1f}",
            f"{100 * accuracy['reference']:.1f} / {100 * accuracy['quick']:.1f}",
            f"{100 * models['quick'].evaluation_.accuracy:.1f}",
            f"{ratios[-1]:.2f}",
        )
    print(f"\nlargest ratio: {max(ratios):.2f}")


def load_texts(name: str) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    if name.isdigit():
        return generate_lines(int(name))
    corpus = load_single_label(name)
    return np.array(corpus.texts, object), np.array(corpus.labels, object)


def make_quick() -> TextClassifier:
    return TextClassifier(encoder=None, n_jobs=1)


def make_reference() -> Pipeline:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    return make_pipeline(make_union(words, characters), LinearSVC())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the default classifier with LinearSVC.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--repeats", type=at_least(1), default=2)
    options = parser.parse_args()
    main(options.sets.split(","), options.repeats)
