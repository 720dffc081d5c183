"""Are the forests ten times faster than scikit-learn's on text, and as accurate?

    python dev.py bench forest_speed [--sets 20ng,webkb] [--trees 20] [--repeats 5]

In turns, by the processor time of one thread: fits of one tree and of `--trees` trees, with
bootstrap and sqrt features. They give the time of a first tree, in which the data are prepared,
and of each further one; the "fit" columns put them together to a forest of 100 trees, which both
libraries grow by default (with --trees 100 nothing is extrapolated). scikit-learn's trees of all
repeats together are the forest that the predictions and the accuracy of the "test" columns come
from; ours is one of as many trees. Above a quotient of 1, ours is the faster. The ± of the
accuracy is the standard error of the difference over the test rows. The last lines are the least
quotients on text, and on dense data.
"""

import argparse
from statistics import median
from typing import Any, NamedTuple

import corpora
import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from stopwatch import load, measure, print_head, print_row, print_run

from cordwood.ensemble import forests

FOREST = 100
KINDS = ("RandomForestClassifier", "ExtraTreesClassifier")


class Seconds(NamedTuple):
    """What fitting and predicting take, in seconds of one repeat."""

    first: float
    further: float

    @property
    def forest(self) -> float:
        """Seconds of a forest of 100 trees."""
        return self.first + (FOREST - 1) * self.further


class Result(NamedTuple):
    """Quotients of one kind of forest on one set, theirs to ours."""

    name: str
    fit: float
    predict: float


def main(sets: list[str], n_trees: int | None, n_repeats: int) -> None:
    print_run()
    results = []
    for name in sets:
        split = corpora.load_split(name)
        per_fit = n_trees or (10 if name in corpora.TEXT else FOREST)
        print(f"{split.describe()}; {n_repeats} x {per_fit} trees{load()}")
        print_head(
            "forest",
            "first tree, s",
            "each further, s",
            f"fit {FOREST} trees, s",
            "quotient",
            "predict_proba, s",
            "quotient",
            "accuracy",
        )
        results += [compare(kind, split, per_fit, n_repeats) for kind in KINDS]
        print()
    report("text", [result for result in results if is_text(result)])
    report("dense", [result for result in results if not is_text(result)])


def compare(kind: str, split: corpora.Split, n_trees: int, n_repeats: int) -> Result:
    """Time one kind of forest, ours and scikit-learn's in turns, and print a row."""
    ours, theirs = getattr(forests, kind), getattr(ensemble, kind)
    ours(1).fit(split.X, split.y).predict_proba(split.X_test)  # compiles, or loads the kernels
    our_times, their_times, grown = [], [], []
    for seed in range(n_repeats):
        our_times.append(time_fit(ours, split, n_trees, seed)[0])
        seconds, model = time_fit(theirs, split, n_trees, seed)
        their_times.append(seconds)
        grown.append(model)
    their_forest = grown[0]
    their_forest.estimators_ = [tree for model in grown for tree in model.estimators_]
    our_forest = make(ours, n_trees * n_repeats, 0).fit(split.X, split.y)
    predicting = [
        (time_votes(our_forest, split), time_votes(their_forest, split)) for _ in range(n_repeats)
    ]
    our_predict, their_predict = (median(side) for side in zip(*predicting, strict=True))
    our_fit, their_fit = typical(our_times), typical(their_times)
    result = Result(
        f"{split.name} {kind}", their_fit.forest / our_fit.forest, their_predict / our_predict
    )
    print_row(
        kind,
        f"{our_fit.first:.3f} / {their_fit.first:.3f}",
        f"{our_fit.further:.4f} / {their_fit.further:.4f}",
        f"{our_fit.forest:.2f} / {their_fit.forest:.2f}",
        f"{result.fit:.1f}",
        f"{our_predict:.3f} / {their_predict:.3f}",
        f"{result.predict:.1f}",
        compare_answers(our_forest, their_forest, split),
    )
    return result


def make(forest: Any, n_trees: int, seed: int) -> Any:
    return forest(n_trees, bootstrap=True, max_features="sqrt", random_state=seed)


def time_fit(forest: Any, split: corpora.Split, n_trees: int, seed: int) -> tuple[Seconds, Any]:
    one, many = make(forest, 1, seed), make(forest, n_trees, seed)
    first, _ = measure(lambda: one.fit(split.X, split.y))
    whole, model = measure(lambda: many.fit(split.X, split.y))
    return Seconds(first, (whole - first) / (n_trees - 1)), model


def time_votes(model: Any, split: corpora.Split) -> float:
    return measure(lambda: model.predict_proba(split.X_test))[0]


def typical(times: list[Seconds]) -> Seconds:
    return Seconds(*(median(column) for column in zip(*times, strict=True)))


def compare_answers(ours: Any, theirs: Any, split: corpora.Split) -> str:
    """Set the accuracies side by side, with the standard error of their difference."""
    right = [answer(model, split) == split.y_test for model in (ours, theirs)]
    error = (right[0].astype(float) - right[1]).std() / len(split.y_test) ** 0.5
    return f"{right[0].mean():.3f} / {right[1].mean():.3f} ± {error:.3f}"


def answer(model: Any, split: corpora.Split) -> NDArray[np.int64]:
    return np.asarray(model.classes_[model.predict_proba(split.X_test).argmax(axis=1)])


def is_text(result: Result) -> bool:
    return result.name.split()[0] in corpora.TEXT


def report(kind: str, results: list[Result]) -> None:
    if results:
        fit = min(results, key=lambda result: result.fit)
        predict = min(results, key=lambda result: result.predict)
        print(f"least quotient on {kind} data, predict_proba: {predict.predict:.1f} ({predict.name})")
        print(f"least quotient on {kind} data, fit: {fit.fit:.1f} ({fit.name})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time forests beside scikit-learn's.")
    parser.add_argument("--sets", default=",".join((*corpora.DENSE, *corpora.TEXT)))
    parser.add_argument("--trees", type=int, help="of a fit; by default 10, on dense data 100")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    main(options.sets.split(","), options.trees, options.repeats)
