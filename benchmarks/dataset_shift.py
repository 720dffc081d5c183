"""Detection of shift between the training texts and new texts: false alarms, and power.

    python dev.py bench dataset_shift [--splits 200] [--draws 10] [--samples 2000] [--parts power]

False alarms: random splits of a data set into training texts and new texts, of several sizes.
Prints how many of the splits are found to differ, which should be at most 1 %.

Power: a model is trained on texts of one time or source, and texts of the same and of another one
are drawn at random. Prints the accuracy that is expected from training and the accuracy that is
found, in how many draws of 100, 300 and 1,000 texts a shift is detected, the time of the detection
for all new texts (a random sample of 2,000) relative to their prediction, and the first words that
differ. The university of a page of webkb is read from its id.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood import TextClassifier
from cordwood.confidence.shift import shift_p_values
from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import count_terms
from cordwood.text.vectorizer import TextVectorizer
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

_SENTIMENT = ("amazon", "bbc", "debate", "myspace", "nyt", "tweets", "twitter", "yelp", "youtube")
_UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
_LEVEL = 0.01
_SIZES = (100, 300, 1000)
Part = tuple[NDArray[Any], NDArray[Any]]  # texts and labels


def main(parts: list[str], n_splits: int, n_draws: int, n_samples: int) -> None:
    print_run()
    if "alarms" in parts:
        print_head("data set, training texts", *(f"alarms, {n:,} new" for n in (100, 500, 3000)))
        for name in (*_SENTIMENT, "r8", "r52", "ohsumed", "webkb", "20ng"):
            print_alarms(name, n_splits)
    if "power" in parts:
        sizes = [f"{size:,}" for size in _SIZES]
        print_head("training, new texts", "expected", "found", *sizes, "time", "words")
        for training, name, tests in list_shifts(n_samples):
            print_power(training, name, tests, n_draws)


def print_alarms(name: str, n_splits: int) -> None:
    texts = load_single_label(name).texts
    params = TextVectorizer(auto_for="neighbors").fit(texts[:3000]).resolved_params_
    X = count_terms(texts, build_analyzer(params)).counts
    random = np.random.RandomState(0)
    for n_training in (200, 1000, 4000):
        cells = []
        for n_new in (100, 500, 3000):
            if n_training + n_new > len(texts):
                cells.append("")
                continue
            is_alarm = []
            for _ in range(n_splits):
                order = random.permutation(len(texts))
                before, after = (
                    np.bincount(X[np.sort(part)].indices, minlength=X.shape[1])
                    for part in (order[:n_training], order[n_training : n_training + n_new])
                )
                is_known = before >= params.min_df
                before[~is_known] = params.min_df - 1
                kept = is_known | (after > 0)
                share = n_new / (n_training + n_new)
                p = shift_p_values(before[kept], after[kept], share, is_known[kept])
                is_alarm.append(p.min() <= _LEVEL)
            cells.append(f"{sum(is_alarm)} of {n_splits}")
        print_row(f"{name}, {n_training:,}", *cells)


def list_shifts(n_samples: int) -> Iterator[tuple[Part, str, dict[str, Part]]]:
    """Yield training texts, their name, and new texts of the same and of other sources."""
    random = np.random.RandomState(0)
    for name in ("20ng", "r8", "r52", "ohsumed"):
        corpus = load_single_label(name)
        is_test = np.array(corpus.split) == "test"
        yield divide(to_arrays(corpus), is_test, name, "official test set", n_samples, random)
    corpus = load_single_label("webkb")
    for university in _UNIVERSITIES:
        is_test = np.array([f"/{university}/" in each for each in corpus.ids])
        name = f"webkb without {university}"
        yield divide(to_arrays(corpus), is_test, name, university, n_samples, random)
    sources = {name: to_arrays(load_single_label(name)) for name in _SENTIMENT}
    for name, (texts, labels) in sources.items():
        order = random.permutation(len(texts))
        size = min(n_samples, 2 * len(texts) // 3)
        others = {each: part for each, part in sources.items() if each != name}
        same = {"same": (texts[order[size:]], labels[order[size:]])}
        yield (texts[order[:size]], labels[order[:size]]), name, same | others


def divide(
    part: Part,
    is_test: NDArray[Any],
    name: str,
    other: str,
    n_samples: int,
    random: np.random.RandomState,
) -> tuple[Part, str, dict[str, Part]]:
    """Divide texts into those of another source, training texts, and the rest of their source."""
    texts, labels = part
    order = random.permutation(np.flatnonzero(~is_test))
    size = min(n_samples, 2 * len(order) // 3)
    train, same, test = order[:size], order[size:][:n_samples], np.flatnonzero(is_test)
    tests = {"same": (texts[same], labels[same]), other: (texts[test], labels[test])}
    return (texts[train], labels[train]), name, tests


def to_arrays(corpus: Any) -> Part:
    return np.array(corpus.texts, object), np.array(corpus.labels)


def print_power(training: Part, name: str, tests: dict[str, Part], n_draws: int) -> None:
    model = TextClassifier(encoder=None).fit(*training)
    assert model.evaluation_ is not None
    random = np.random.RandomState(1)
    for other, (texts, labels) in tests.items():
        start = time.perf_counter()
        accuracy = model.score(texts, labels)
        middle = time.perf_counter()
        found = model.detect_shift(texts)
        ratio = (time.perf_counter() - middle) / (middle - start)
        cells = []
        for size in _SIZES:
            drawn = [random.permutation(len(texts))[:size] for _ in range(n_draws)]
            is_found = [model.detect_shift(texts[each]) is not None for each in drawn]
            cells.append(f"{sum(is_found)} of {n_draws}" if size <= len(texts) else "")
        expected = float(model.evaluation_.accuracy)
        words = [] if found is None else [each.term for each in found.terms[:3]]
        cells += [f"{ratio:.0%}", ", ".join(words)]
        print_row(f"{name}, {other}", f"{expected:.3f}", f"{accuracy:.3f}", *cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=["alarms", "power"])
    parser.add_argument("--splits", type=at_least(1), default=200)
    parser.add_argument("--draws", type=at_least(1), default=10)
    parser.add_argument("--samples", type=at_least(100), default=2000)
    arguments = parser.parse_args()
    main(arguments.parts, arguments.splits, arguments.draws, arguments.samples)
