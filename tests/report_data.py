"""Data of the tests of reports, with texts, labels and names that look like markup."""

import numpy as np

from cordwood import Corpus
from cordwood.compare.stats.comparison import compare, learning_curves

MARKUP = '<script>alert("x")</script></style><img src=x onerror=alert(1)>&amp;'

WORDS = {
    "animals": "cat dog horse bird fish",
    "plants": "oak rose fern grass moss",
    f"metals {MARKUP}": "iron zinc tin copper lead",
}


def make_corpus(n_samples=90, seed=0, *, noise=0.1):
    """Texts of three classes, some with wrong labels, one with markup, one that is empty."""
    rng = np.random.default_rng(seed)
    labels = list(WORDS)
    texts, given = [], []
    for i in range(n_samples):
        label = labels[i % len(labels)]
        own = rng.choice(WORDS[label].split(), 3)
        other = rng.choice(" ".join(WORDS.values()).split(" "), 1)
        texts.append(f"the {' '.join(own)} and {other[0]} number {i}")
        given.append(labels[rng.integers(3)] if rng.random() < noise else label)
    texts[1] = f"oak and {MARKUP} rose"
    texts[4] = ""
    ids = [f"id{i}" for i in range(n_samples)]
    ids[1] = MARKUP
    return Corpus(texts=texts, ids=ids, labels=given)


def make_comparison(
    n_datasets=3, n_learners=4, n_folds=5, fractions=(0.5, 1.0), seed=0, missing=()
):
    """A comparison with its learning curves; the first learner is the best.

    Parameters
    ----------
    missing : collection of (int, int, int)
        Data sets, learners and folds of planned trials without a record.
    """
    rng = np.random.default_rng(seed)
    records, planned = [], []
    for d in range(n_datasets):
        for i in range(n_learners):
            for fold in range(n_folds):
                for fraction in fractions:
                    score = 0.9 - 0.05 * i + 0.05 * fraction + rng.normal(scale=0.01)
                    name = f"learner {i} {MARKUP}" if i == 1 else f"learner {i}"
                    trial = {
                        "dataset": f"set {d}",
                        "learner": name,
                        "repeat": 0,
                        "fold": fold,
                        "train_fraction": fraction,
                    }
                    key = f"{d}-{i}-{fold}-{fraction}"
                    planned.append((key, trial))
                    if (d, i, fold) in missing:
                        continue
                    records.append(
                        {
                            "key": key,
                            "trial": trial,
                            "scores": {"micro_f1": score, "macro_f1": score - 0.1},
                            "fit_cpu_seconds": 2.0**i,
                            "predict_cpu_seconds": 0.1,
                            "n_train": 100,
                            "n_test": 20,
                        }
                    )
    comparison = compare(records, planned)
    curves = {
        metric: learning_curves(records, planned, metric=metric) for metric in comparison.metrics
    }
    return comparison, curves
