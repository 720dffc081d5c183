"""Are the forests ten times faster than scikit-learn's on text, and as accurate?

    python dev.py bench forest_speed [--sets 20ng,webkb] [--trees 20] [--repeats 5]

In turns, by the processor time of one thread, with bootstrap and sqrt features: fits of one tree
and of `--trees` trees, the least of the repeats of each. They give the time of a first tree, in
which the data are prepared, and of each further one, and these the time of a forest of 100 trees,
which both libraries grow by default; with --trees 100 nothing is extrapolated. Then scikit-learn's
trees of all repeats are put together to one forest, ours is one of as many trees, and both predict
the test rows. Cells are ours / theirs, and above a quotient of 1 ours is the faster. The ± of the
accuracy is the standard error of the difference over the test rows. The last lines are the least
quotients.
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


class Quotient(NamedTuple):
    """How many times faster than scikit-learn's one kind of forest is on one set."""

    name: str
    fit: float
    predict: float


def main(sets: list[str], n_trees: int | None, n_repeats: int) -> None:
    print_run()
    text: list[Quotient] = []
    dense: list[Quotient] = []
    for name in sets:
        split = corpora.load_split(name)
        per_fit = n_trees or (10 if split.is_sparse else FOREST)
        print(f"{split.describe()}; {n_repeats} repeats of {per_fit} trees{load()}")
        print_head(
            "forest",
            "first tree, s",
            "each further, s",
            f"fit {FOREST} trees, s",
            "quotient",
            f"predict_proba, {n_repeats * per_fit} trees, s",
            "quotient",
            "accuracy",
        )
        quotients = [compare(kind, split, per_fit, n_repeats) for kind in KINDS]
        (text if split.is_sparse else dense).extend(quotients)
        print()
    report("dense data", dense)
    report("text", text)


def compare(kind: str, split: corpora.Split, n_trees: int, n_repeats: int) -> Quotient:
    """Time one kind of forest, ours and scikit-learn's in turns, and print a row."""
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
    quotient = Quotient(f"{split.name} {kind}", forest[1] / forest[0], predict[1] / predict[0])
    print_row(
        kind,
        "{:.3f} / {:.3f}".format(*first),
        "{:.4f} / {:.4f}".format(*further),
        "{:.2f} / {:.2f}".format(*forest),
        f"{quotient.fit:.1f}",
        "{:.3f} / {:.3f}".format(*predict),
        f"{quotient.predict:.1f}",
        compare_answers(ours, theirs, split),
    )
    return quotient


def fit(maker: Any, split: corpora.Split, n_trees: int, seed: int) -> tuple[float, Any]:
    model = maker(n_trees, bootstrap=True, max_features="sqrt", random_state=seed)
    return measure(model.fit, split.X, split.y)


def compare_answers(ours: Any, theirs: Any, split: corpora.Split) -> str:
    """Set the accuracies side by side, with the standard error of their difference."""
    right = [model.predict(split.X_test) == split.y_test for model in (ours, theirs)]
    error = (right[0].astype(float) - right[1]).std() / len(split.y_test) ** 0.5
    return f"{right[0].mean():.3f} / {right[1].mean():.3f} ± {error:.3f}"


def report(data: str, quotients: list[Quotient]) -> None:
    if quotients:
        predict = min(quotients, key=lambda quotient: quotient.predict)
        fit = min(quotients, key=lambda quotient: quotient.fit)
        print(f"least on {data}, predict_proba: {predict.predict:.1f} ({predict.name})")
        print(f"least on {data}, fit: {fit.fit:.1f} ({fit.name})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time our forests beside scikit-learn's.")
    parser.add_argument("--sets", default=",".join((*corpora.DENSE, *corpora.TEXT)))
    parser.add_argument(
        "--trees", type=at_least(2), help="of a fit; by default 10, on dense data 100"
    )
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.sets.split(","), options.trees, options.repeats)
