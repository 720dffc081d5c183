"""Does marking the words after a negation help on short texts?

    python dev.py bench negation_marking [--sets amazon,tweets,...] [--folds 3] [--encoder use]

Compares the recipe `quick` with and without `mark_negation` on the same folds of five. The last
line is the mean difference in accuracy, in percentage points.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from count_ratio_share import load_texts
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = "amazon,bbc,debate,myspace,nyt,tweets,twitter,youtube"
VECTORIZERS = ("nbsvm__vectorizer__word", "nb__vectorizer", "knn__vectorizer", "rf__vectorizer")


def main(names: list[str], n_folds: int, encoder: str | None) -> None:
    print_run()
    print_head("data set", "without marks", "log loss", "with marks", "log loss")
    differences = []
    for name in names:
        texts, labels = load_texts(name)
        folds = StratifiedKFold(5, shuffle=True, random_state=42).split(labels, labels)
        scores = np.mean(
            [
                [evaluate(texts, labels, fold, mark, encoder) for mark in (False, True)]
                for fold in list(folds)[:n_folds]
            ],
            axis=0,
        )
        differences.append(scores[1, 0] - scores[0, 0])
        cells = [(f"{a:.2f} / {b:.2f}", f"{loss:.4f}") for a, b, loss in scores]
        print_row(name, *cells[0], *cells[1])
    print(f"\nmean difference: {np.mean(differences):+.2f}")


def evaluate(
    texts: Any, labels: Any, fold: tuple[Any, Any], mark: bool, encoder: str | None
) -> tuple[float, float, float]:
    """Return accuracy and macro-F1 in percent, and the log loss."""
    train, test = fold
    params = {f"{name}__mark_negation": mark for name in VECTORIZERS}
    model = recipes.make("quick", random_state=0, check_leakage=False, encoder=encoder, **params)
    model.fit(texts[train].tolist(), labels[train])
    proba = model.predict_proba(texts[test].tolist())
    predicted = model.classes_[proba.argmax(axis=1)]
    accuracy = (predicted == labels[test]).mean()
    macro = f1_score(labels[test], predicted, average="macro")
    return 100 * accuracy, 100 * macro, log_loss(labels[test], proba)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=at_least(1), default=3)
    parser.add_argument("--encoder")
    options = parser.parse_args()
    main(options.sets.split(","), options.folds, options.encoder)
