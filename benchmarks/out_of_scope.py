"""Detection of out-of-scope texts: AUROC of the combined score against the maximum probability.

    python dev.py bench out_of_scope [--datasets 20ng r52] [--draws 5] [--samples 1500]
    python dev.py bench out_of_scope --encoder use [--datasets r8] [--draws 1]

A quarter of the classes, drawn at random, is left out; the recipe `quick` is trained on random
samples of the others. Up to 1,000 texts of known classes and 1,000 of the left-out classes are
scored. Prints the area under the ROC curve (%) of one minus the maximum probability, of the entropy
of the probabilities, and of the combined score of `cordwood.confidence`, without and with the
distance by the sentence encoder, if the model has one; then the share (%) of texts of known classes
that `classify` with ``unknown=0.05`` loses, and the share of the others that it finds. In the rows
"other texts", the texts of another data set replace those of left-out classes. The last columns are
the differences of the combined score to the maximum probability, and to the one without encoder.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from sklearn.metrics import roc_auc_score

from cordwood import TextClassifier
from cordwood.confidence.scope import out_of_scope_score, scope_p_values
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

_OTHER = {
    "20ng": "yelp",
    "r52": "20ng",
    "r8": "20ng",
    "webkb": "ohsumed",
    "ohsumed": "r8",
    "reut90": "webkb",
}
_N_TEST = 1000
_MIN_CLASS_SIZE = 5
_RATE = 0.05


def main(names: list[str], encoder: str | None, n_draws: int, n_samples: int) -> None:
    print_run()
    measures = ("max. prob.", "entropy", "no encoder", "score", "lost %", "found %")
    print_head("data set", *measures, "score - max. prob.", "score - no encoder")
    for name in names:
        draws = [run(name, encoder, seed, n_samples) for seed in range(n_draws)]
        for position, kind in enumerate(("left-out classes", "other texts")):
            rows = 100 * np.array([draw[position] for draw in draws])
            cells = [f"{each:.1f}" for each in rows.mean(axis=0)]
            for base in (0, 2):
                gains = rows[:, 3] - rows[:, base]
                deviation = np.std(gains, ddof=1) if n_draws > 1 else np.nan
                cells.append(f"{gains.mean():+.1f} ± {deviation:.1f}")
            print_row(f"{name}, {kind}", *cells)


def run(name: str, encoder: str | None, seed: int, n_samples: int) -> list[list[float]]:
    """Return the measures for left-out classes and for texts of another data set."""
    corpus = load_single_label(name)
    if corpus.groups is not None:  # one sample of each group
        corpus = corpus.select(np.unique(corpus.groups, return_index=True)[1].tolist())
    labels = np.array(corpus.labels)
    random = np.random.RandomState(seed)
    classes = np.unique(labels)
    left_out = random.choice(classes, len(classes) // 4, replace=False)
    is_left_out = np.isin(labels, left_out)
    known = random.permutation(np.flatnonzero(~is_left_out))
    train = known[:n_samples]
    kept, counts = np.unique(labels[train], return_counts=True)
    kept = kept[counts >= _MIN_CLASS_SIZE]
    train = train[np.isin(labels[train], kept)]
    test = known[n_samples:]
    test = test[np.isin(labels[test], kept)][:_N_TEST]
    outside = random.permutation(np.flatnonzero(is_left_out))[:_N_TEST]
    texts = [corpus.select(part).texts for part in (train, test, outside)]
    other = load_single_label(_OTHER[name]).texts
    texts.append([other[i] for i in random.permutation(len(other))[:_N_TEST]])
    model = TextClassifier(encoder=encoder).fit(texts[0], labels[train])
    scored = [score(model, each) for each in texts[1:]]
    return [compare(scored[0], each) for each in scored[1:]]


def score(model: TextClassifier, texts: Sequence[str]) -> list[NDArray[Any]]:
    """Return one minus the maximum probability, the entropy, the two scores and the p-value."""
    proba = model.predict_proba(texts)
    assert model.scope_ is not None
    n_others = sum(signal != "encoder_distance" for signal in model.scope_.signals)
    others = replace(
        model.scope_,
        signals=model.scope_.signals[:n_others],
        values=model.scope_.values[:n_others],
        vectors=None,
    )
    return [
        1 - proba.max(axis=1),
        entr(proba).sum(axis=1),
        out_of_scope_score(others, model.view, texts, proba),
        out_of_scope_score(model.scope_, model.view, texts, proba),
        scope_p_values(model.scope_, model.view, texts, proba),
    ]


def compare(inside: list[NDArray[Any]], outside: list[NDArray[Any]]) -> list[float]:
    is_outside = np.repeat([False, True], [len(inside[0]), len(outside[0])])
    areas = [
        float(roc_auc_score(is_outside, np.concatenate(pair)))
        for pair in zip(inside[:4], outside[:4], strict=True)
    ]
    return [*areas, float((inside[4] <= _RATE).mean()), float((outside[4] <= _RATE).mean())]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["20ng", "r52"], choices=list(_OTHER))
    parser.add_argument("--encoder")
    parser.add_argument("--draws", type=at_least(1), default=5)
    parser.add_argument("--samples", type=at_least(100), default=1500)
    arguments = parser.parse_args()
    main(arguments.datasets, arguments.encoder, arguments.draws, arguments.samples)
