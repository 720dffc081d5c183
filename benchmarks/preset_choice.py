"""How do stop words and rare terms affect each kind of classifier?

    python dev.py bench preset_choice [--sets yelp 20ng] [--limit 2000] [--all]

The table behind the preset "auto" of `TextVectorizer`; see docs/presets.md. Prints micro-F1
in percent, the mean over 5 stratified folds of at most `--limit` texts of each data set: with the
preset `sigir17`, with the changes of `sigir17` that "auto" makes for the classifier, and with
`social`. With `--all`, for every combination of stop words and `min_df`. The last line is the mean
gain of the changes for the linear SVM, on the data sets for which "auto" chooses `sigir17`.
"""

import argparse
from collections.abc import Callable, Sequence
from statistics import median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from cordwood.text.presets import AUTO_PARAMS, choose_preset
from cordwood.text.vectorizer import TextVectorizer
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    *("youtube", "myspace", "tweets", "amazon", "debate", "twitter", "nyt", "bbc"),
    *("r8", "r52", "yelp", "webkb", "20ng", "ohsumed"),
)
# The temperature does not affect predictions, and a fixed one saves three fits.
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "svm": {"temperature": 0.25},
    "rf": {},
    "nb": {},
    "knn": {},
}
N_FOLDS = 5

Variant = dict[str, Any]


def list_variants(recipe: str) -> list[Variant]:
    """List the presets to compare: `sigir17`, `sigir17` as "auto" changes it, and `social`."""
    changes = AUTO_PARAMS[recipes.find(recipe).auto_for]
    return [{"preset": "sigir17"}, {"preset": "sigir17", **changes}, {"preset": "social"}]


def list_all_variants(recipe: str) -> list[Variant]:
    """List all combinations of stop words and `min_df`."""
    return [
        {"preset": preset, "stop_words": stop_words, "min_df": min_df}
        for preset, stop_words in (("sigir17", "smart"), ("sigir17", False), ("social", False))
        for min_df in (1, 2, 6)
    ]


def load_texts(name: str, limit: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return texts and labels of a random sample, in the order of the data set."""
    corpus = load_single_label(name)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    kept = np.sort(np.random.RandomState(0).permutation(len(labels))[:limit])
    return texts[kept], labels[kept]


def score(recipe: str, texts: NDArray[Any], labels: NDArray[Any], variant: Variant) -> float:
    """Return the micro-F1 of a recipe, which is the accuracy, in percent."""
    classifier = recipes.make(recipe, random_state=0, **CLASSIFIERS[recipe])["classifier"]
    correct = []
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(texts, labels):
        vectorizer = TextVectorizer(weighting=recipes.find(recipe).weighting, **variant)
        classifier.fit(vectorizer.fit_transform(texts[train]), labels[train])
        predictions = classifier.predict(vectorizer.transform(texts[test]))
        correct.append(np.mean(predictions == labels[test]))
    return 100 * float(np.mean(correct))


def main(names: Sequence[str], limit: int, make_variants: Callable[[str], list[Variant]]) -> None:
    print_run()
    print("columns: " + "; ".join(f"{name}: {make_variants(name)}" for name in CLASSIFIERS) + "\n")
    print_head("data set", "median length", *CLASSIFIERS)
    gains = []
    for name in names:
        texts, labels = load_texts(name, limit)
        scores = {
            recipe: [score(recipe, texts, labels, variant) for variant in make_variants(recipe)]
            for recipe in CLASSIFIERS
        }
        cells = (" / ".join(f"{value:.1f}" for value in values) for values in scores.values())
        print_row(name, f"{median_low(map(len, texts)):,}", *cells)
        if choose_preset(texts)[0] == "sigir17":
            gains.append(scores["svm"][1] - scores["svm"][0])
    if gains and make_variants is list_variants:
        print(f"\npoints: {np.mean(gains):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the presets of TextVectorizer.")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--limit", type=at_least(50), default=2000)
    parser.add_argument("--all", action="store_true", help="all combinations of parameters")
    options = parser.parse_args()
    main(options.sets, options.limit, list_all_variants if options.all else list_variants)
