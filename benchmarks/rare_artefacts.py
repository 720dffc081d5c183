"""Do words that occur in a few texts by accident rule the words of a class?

    python dev.py bench rare_artefacts [--sets twitter r8 yelp] [--samples 1500]

Random ids are added to 3 and to 5 texts of each of the two largest classes, ten of each. `quick`
is trained on all texts. Prints the share of the ids among the first 10 and 50 words for their
class, and the median of their ranks:

- alone: words of the vocabulary as texts of their own, by their contribution;
- shrunk: the same, ranked as by `explain_classes()`, by contribution times n / (n + 10);
- training: mean contribution over the training texts, by the model that was trained on them;
- sum: the sum instead of the mean, as by `explain_classes(texts)`;
- out of fold: the sum over texts that are explained by models that were not trained on them, as by
  `explain_classes(texts, labels)`.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood import TextClassifier
from cordwood.explain import ClassWords
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

N_IDS = 10
SIZES = (3, 5)
ALL = 10**9
LETTERS = "bcdfghjklm"


def plant(texts: list[str], labels: NDArray[Any]) -> dict[str, Any]:
    """Add ids to texts; return the class of each."""
    rng = np.random.default_rng(0)
    classes, counts = np.unique(labels, return_counts=True)
    ids = {}
    for label in classes[np.argsort(-counts)[:2]]:
        for size in SIZES:
            for _ in range(N_IDS):
                name = f"{rng.integers(10**9):09d}".translate(str.maketrans("0123456789", LETTERS))
                ids[name] = label.item()
                chosen = rng.choice(np.flatnonzero(labels == label), size, replace=False)
                for i in chosen.tolist():
                    texts[i] += f" {name}"
    return ids


def find_ranks(found: ClassWords, ids: dict[str, Any], by: str) -> NDArray[np.float64]:
    """Return the rank of each id among the words for its class, from 1."""
    ranks = []
    for name, label in ids.items():
        words = found.words_for(label)
        if by == "mean":
            words = tuple(sorted(words, key=lambda word: -word.contribution))
        names = [word.word for word in words]
        ranks.append(names.index(name) + 1 if name in names else np.inf)
    return np.array(ranks)


def evaluate(name: str, n_samples: int) -> None:
    corpus = load_single_label(name)
    kept = np.sort(np.random.default_rng(0).permutation(len(corpus))[:n_samples])
    texts, labels = list(corpus.select(kept).texts), np.asarray(corpus.select(kept).labels)
    ids = plant(texts, labels)
    model = TextClassifier(encoder=None, oof=False).fit(texts, labels)
    vocabulary = model.explain_classes(n_words=ALL)
    training = model.explain_classes(texts, n_words=ALL)
    out_of_fold = model.explain_classes(texts, labels, n_words=ALL)
    found = {
        "alone": find_ranks(vocabulary, ids, "mean"),
        "shrunk": find_ranks(vocabulary, ids, "given"),
        "training": find_ranks(training, ids, "mean"),
        "sum": find_ranks(training, ids, "given"),
        "out of fold": find_ranks(out_of_fold, ids, "given"),
    }
    sizes = np.tile(np.repeat(SIZES, N_IDS), 2)
    for size in SIZES:
        for how, ranks in found.items():
            here = ranks[sizes == size]
            cells = (f"{100 * np.mean(here <= n):.0f}" for n in (10, 50))
            print_row(f"{name}, {size} texts", how, *cells, f"{np.median(here):.0f}")


def main(names: Sequence[str], n_samples: int) -> None:
    print_run()
    print_head("data set", "words", "first 10, %", "first 50, %", "median rank")
    for name in names:
        evaluate(name, n_samples)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=["twitter", "r8", "yelp"], metavar="NAME")
    parser.add_argument("--samples", type=at_least(200), default=1500)
    arguments = parser.parse_args()
    main(arguments.sets, arguments.samples)
