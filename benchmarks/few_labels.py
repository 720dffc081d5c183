"""How good is a model of 4 to 64 labelled texts per class, and does it know it?

    python dev.py bench few_labels [--sets tweets,r8] [--draws 5] [--per-class 4,8,16,32,64]
        [--encoder use] [--ledger FILE]

Draws equally many training texts of each class, and as many others of each class for testing, and
compares `TextClassifier`, with and without an encoder, with logistic regression on TF-IDF of words
and pairs of words, and on the vectors of the encoder (C=10). "20ng:subject", "r8:title" and
"ohsumed:title" are short texts: the first line of each. Results are appended to the ledger, if
there is one, and not computed again.

Prints the mean accuracy in percent by number of texts per class; in how many draws the model with
the encoder is better than, equal to and worse than the better of the two others; then, for each
data set, its mean difference to the better of the two in percentage points with its standard error.
Next, the expected minus the measured accuracy in percentage points, and how often the interval
contains the measured accuracy (that has noise, too: its variance is added). The last line is the
largest mean deficit of a data set, in standard errors.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cordwood import TextClassifier, recipes
from corpora import load_single_label
from options import at_least
from small_training_sets import make_tfidf
from stopwatch import print_head, print_row, print_run

SETS = (
    "amazon,debate,nyt,tweets,twitter,yelp,youtube,"
    "20ng,20ng:subject,r8,r8:title,webkb,ohsumed,ohsumed:title"
)
MIN_CLASS, MAX_TEST = 100, 1000
OURS, OURS_ENCODED, TFIDF = "quick", "quick + encoder", "TF-IDF + LR"
ENCODED = "encoder + LR"


def main(options: argparse.Namespace) -> None:
    print_run()
    sizes = [int(size) for size in options.per_class.split(",")]
    runs = list(run_all(options.sets.split(","), sizes, options))
    names = [OURS, OURS_ENCODED, TFIDF, ENCODED]
    print_head("per class", *names)
    for size in sizes:
        found = [run["accuracy"] for run in runs if run["per_class"] == size]
        print_row(str(size), *(f"{100 * np.mean([each[n] for each in found]):.1f}" for n in names))
    worst = 0.0
    for ours, peers in ((OURS_ENCODED, (TFIDF, ENCODED)), (OURS, (TFIDF,))):
        print(f"\n{ours} against the better of {', '.join(peers)}")
        worst = min(worst, compare(runs, ours, peers, sizes))
    for ours in (OURS, OURS_ENCODED):
        print(f"\nexpected accuracy of {ours}: difference, share of intervals that cover")
        for size in sizes:
            of_size = [run for run in runs if run["per_class"] == size]
            errors = [100 * (r["expected"][ours][0] - r["accuracy"][ours]) for r in of_size]
            covered = np.mean([is_covered(run, ours) for run in of_size])
            error = np.std(errors) / np.sqrt(len(errors))
            print_row(str(size), f"{np.mean(errors):+.1f} ± {error:.1f}", f"{covered:.0%}")
    print(f"\nlargest deficit of a data set, in standard errors: {worst:.1f}")


def compare(
    runs: list[dict[str, Any]], ours: str, peers: tuple[str, ...], sizes: list[int]
) -> float:
    """Print the differences to the better peer; return the lowest mean in standard errors."""
    differences = defaultdict(list)
    for run in runs:
        accuracy = run["accuracy"]
        best = max(accuracy[peer] for peer in peers)
        differences[run["set"], run["per_class"]].append(100 * (accuracy[ours] - best))
    flat = np.concatenate(list(differences.values()))
    print(f"won, tied, lost: {(flat > 0).sum()}, {(flat == 0).sum()}, {(flat < 0).sum()}")
    print_head("data set", *map(str, sizes), "all")
    lowest = 0.0
    for name in dict.fromkeys(run["set"] for run in runs):
        rows = [differences[name, size] for size in sizes]
        everything = np.concatenate(rows)
        error = everything.std() / np.sqrt(len(everything))
        lowest = min(lowest, everything.mean() / max(error, 1e-9))
        print_row(
            name,
            *(f"{np.mean(row):+.1f}" for row in rows),
            f"{everything.mean():+.1f} ± {error:.1f}",
        )
    return lowest


def is_covered(run: dict[str, Any], ours: str) -> bool:
    """Return whether the measured accuracy is in the interval, widened by its own noise."""
    value, low, high = run["expected"][ours]
    measured = run["accuracy"][ours]
    noise = 1.96 * np.sqrt(measured * (1 - measured) / run["n_test"])
    lower, upper = np.hypot(value - low, noise), np.hypot(high - value, noise)
    return bool(value - lower <= measured <= value + upper)


def run_all(
    names: list[str], sizes: list[int], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the results of all draws, from the ledger or computed now."""
    ledger = Path(options.ledger) if options.ledger else None
    known = {}
    if ledger is not None and ledger.exists():
        for line in ledger.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            known[run["set"], run["per_class"], run["draw"], run["encoder"]] = run
    for name in names:
        texts, labels = load_texts(name)
        for draw in range(options.draws):
            for size in sizes:
                key = name, size, draw, options.encoder
                run = known.get(key)
                if run is None:
                    run = dict(zip(("set", "per_class", "draw", "encoder"), key, strict=True))
                    run |= run_draw(texts, labels, size, draw, options.encoder)
                    if ledger is not None:
                        with ledger.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(run) + "\n")
                yield run


def run_draw(texts: Any, labels: Any, size: int, draw: int, encoder: str) -> dict[str, Any]:
    """Return the accuracies of all models, and what ours expected."""
    train, test = draw_samples(labels, size, draw)
    models: dict[str, Callable[[], Any]] = {
        TFIDF: make_tfidf,
        ENCODED: lambda: recipes.make("embeddings", encoder=encoder, C=10),
        OURS: lambda: TextClassifier(encoder=None),
        OURS_ENCODED: lambda: TextClassifier(encoder=encoder),
    }
    found: dict[str, Any] = {"n_test": len(test), "accuracy": {}, "expected": {}}
    for name, make in models.items():
        model = make().fit(texts[train].tolist(), labels[train].tolist())
        predicted = np.asarray(model.predict(texts[test].tolist()))
        found["accuracy"][name] = float((predicted == labels[test]).mean())
        if isinstance(model, TextClassifier):
            accuracy = model.evaluation_.accuracy
            found["expected"][name] = [float(accuracy), accuracy.low, accuracy.high]
    return found


def draw_samples(labels: Any, size: int, draw: int) -> tuple[Any, Any]:
    """Return the positions of `size` training texts of each class, and those of test texts."""
    classes = np.unique(labels)
    order = np.random.RandomState(draw).permutation(len(labels))
    # The first texts of each class are for training, so that small draws are part of larger ones.
    rank = np.empty(len(labels), int)
    for label in classes:
        members = order[labels[order] == label]
        rank[members] = np.arange(len(members))
    n_test = min(MAX_TEST // len(classes), np.unique(labels, return_counts=True)[1].min() - 64)
    is_test = (rank >= 64) & (rank < 64 + n_test)
    return np.flatnonzero(rank < size), np.flatnonzero(is_test)


def load_texts(name: str) -> tuple[Any, Any]:
    """Return distinct texts and their labels, of the classes that are large enough."""
    corpus = load_single_label(name.split(":")[0])
    texts = [_shorten(text, name) for text in corpus.texts]
    first = {text: i for i, text in reversed(list(enumerate(texts))) if text.strip()}
    rows = sorted(first.values())
    kept, labels = np.array(texts, object)[rows], np.array(corpus.labels)[rows]
    classes, counts = np.unique(labels, return_counts=True)
    is_large = np.isin(labels, classes[counts >= MIN_CLASS])
    return kept[is_large], labels[is_large]


def _shorten(text: str, name: str) -> str:
    if name.endswith(":subject"):
        found = re.search(r"^Subject:(?: *Re:)*(.*)$", text, re.MULTILINE | re.IGNORECASE)
        return found[1].strip() if found else ""
    return text.split("\n")[0] if name.endswith(":title") else text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=5)
    parser.add_argument("--per-class", default="4,8,16,32,64")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--ledger", help="file of results, to go on with")
    main(parser.parse_args())
