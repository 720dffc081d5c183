"""Are the forests ten times faster than scikit-learn's on text, and as accurate?

    python dev.py bench forest_speed [--sets 20ng,webkb] [--trees 20] [--repeats 5]

Interleaved fits of one tree and of `--trees` trees, with bootstrap and sqrt features: minimum CPU
time of one thread over the repeats. These give the time of the first tree, which includes the
preparation of the data, and of each further one, and thus of a forest of 100 trees, the default of
both libraries; with --trees 100 nothing is extrapolated. Then scikit-learn's trees of all repeats
are merged into one forest, ours has as many trees, and both predict the test samples. Cells are
ours / theirs; a speedup above 1 means that ours is faster. The ± of the accuracy is the standard
error of the difference over the test samples. The last lines are the smallest speedups.
"""

import argparse
from typing import Any, NamedTuple

from sklearn import ensemble

import corpora
from cordwood.ensemble import forests
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

FOREST = 100
KINDS = ("RandomForestClassifier", "ExtraTreesClassifier")


class Speedup(NamedTuple):
    """Speedup over scikit-learn of one kind of forest on one data set."""

    name: str
    fit: float
    predict: float


def main(sets: list[str], n_trees: int | None, n_repeats: int) -> None:
    print_run()
    text: list[Speedup] = []
    dense: list[Speedup] = []
    for name in sets:
        split = corpora.load_split(name)
        per_fit = n_trees or (10 if split.is_sparse else FOREST)
        print(f"{split.describe()}; {n_repeats} repeats of {per_fit} trees{load()}")
        print_head(
            "forest",
            "first tree, s",
            "each further, s",
            f"fit {FOREST} trees, s",
            "speedup",
            f"predict_proba, {n_repeats * per_fit} trees, s",
            "speedup",
            "accuracy",
        )
        speedups = [compare(kind, split, per_fit, n_repeats) for kind in KINDS]
        (text if split.is_sparse else dense).extend(speedups)
        print()
    report("dense data", dense)
    report("text", text)


def compare(kind: str, split: corpora.Split, n_trees: int, n_repeats: int) -> Speedup:
    """Time one kind of forest, ours and scikit-learn's interleaved, and print a row."""
    makers = getattr(forests, kind), getattr(ensemble, kind)
    makers[0](1).fit(split.X, split.y).predict_proba(split.X_test)  # compiles or loads kernels
    ones, wholes, their_trees = [], [], []
    for seed in range(n_repeats):
        ones.append([fit(maker, split, 1, seed)[0] for maker in makers])
        seconds, models = zip(*(fit(maker, split, n_trees, seed) for maker in makers), strict=True)
        wholes.append(seconds)
        their_trees += models[1].estimators_
    theirs = models[1]
    theirs.estimators_ = their_trees
    ours = fit(makers[0], split, n_trees * n_repeats, seed=0)[1]
    votes = [
        [measure(model.predict_proba, split.X_test)[0] for model in (ours, theirs)]
        for _ in range(n_repeats)
    ]
    first, whole, predict = (
        list(map(min, zip(*times, strict=True))) for times in (ones, wholes, votes)
    )
    further = [(all_ - one) / (n_trees - 1) for one, all_ in zip(first, whole, strict=True)]
    forest = [one + (FOREST - 1) * each for one, each in zip(first, further, strict=True)]
    speedup = Speedup(f"{split.name} {kind}", forest[1] / forest[0], predict[1] / predict[0])
    print_row(
        kind,
        "{:.3f} / {:.3f}".format(*first),
        "{:.4f} / {:.4f}".format(*further),
        "{:.2f} / {:.2f}".format(*forest),
        f"{speedup.fit:.1f}",
        "{:.3f} / {:.3f}".format(*predict),
        f"{speedup.predict:.1f}",
        compare_accuracy(ours, theirs, split),
    )
    return speedup


def fit(maker: Any, split: corpora.Split, n_trees: int, seed: int) -> tuple[float, Any]:
    model = maker(n_trees, bootstrap=True, max_features="sqrt", random_state=seed)
    return measure(model.fit, split.X, split.y)


def compare_accuracy(ours: Any, theirs: Any, split: corpora.Split) -> str:
    """Return both accuracies, with the standard error of their difference."""
    correct = [model.predict(split.X_test) == split.y_test for model in (ours, theirs)]
    error = (correct[0].astype(float) - correct[1]).std() / len(split.y_test) ** 0.5
    return f"{correct[0].mean():.3f} / {correct[1].mean():.3f} ± {error:.3f}"


def report(data: str, speedups: list[Speedup]) -> None:
    if speedups:
        predict = min(speedups, key=lambda speedup: speedup.predict)
        fit = min(speedups, key=lambda speedup: speedup.fit)
        print(f"smallest on {data}, predict_proba: {predict.predict:.1f} ({predict.name})")
        print(f"smallest on {data}, fit: {fit.fit:.1f} ({fit.name})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare our forests with scikit-learn's.")
    parser.add_argument("--sets", default=",".join((*corpora.DENSE, *corpora.TEXT)))
    parser.add_argument(
        "--trees", type=at_least(2), help="of a fit; by default 10, on dense data 100"
    )
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.sets.split(","), options.trees, options.repeats)
