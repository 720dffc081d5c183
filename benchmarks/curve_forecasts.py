"""How far are forecasts of learning curves off? Forecast twice the samples, and look.

    python dev.py bench curve_forecasts [--sets youtube webkb] [--recipe quick] [--limit 2000]

A third of a random sample of each data set is the test set, and half of the rest the available
samples. `cordwood.inspection.estimate_learning_curve` sees only these, and forecasts the accuracy
after training on twice as many, all of the rest; a model that is trained on them shows the truth. A
forecast is covered if it differs by at most 1.96 times the standard error: that of the forecast,
from the width of its interval, and that of the test set, added in quadrature. The forecast that
nothing changes, the accuracy after training on the available samples, is the alternative. The last
line is the ratio of the mean absolute errors of the forecasts and of the alternative.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from cordwood import recipes
from cordwood._sklearn import take_rows
from cordwood.datasets.corpus import Corpus
from cordwood.inspection import estimate_learning_curve
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    *("youtube", "tweets", "amazon", "debate", "twitter", "nyt"),
    *("r8", "yelp", "webkb", "20ng", "ohsumed", "spambase"),
)


def measure(
    model: Any, X: Any, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp]
) -> float:
    """Return the accuracy on the test samples after training on others."""
    fitted = clone(model).fit(take_rows(X, train), y[train])
    return float(np.mean(fitted.predict(take_rows(X, test)) == y[test]))


def main(names: Sequence[str], recipe: str, limit: int, seeds: Sequence[int]) -> None:
    print_run()
    print(f"recipe {recipe}, at most {limit:,} samples\n")
    print_head("data set", "available", "now", "forecast", "interval", "truth", "error", "covered")
    errors, alternatives, covered = [], [], []
    for name in names:
        dataset = load_single_label(name)
        is_text = isinstance(dataset, Corpus)
        for seed in seeds:
            kept = np.sort(np.random.RandomState(seed).permutation(len(dataset))[:limit])
            part = dataset.select(kept)
            X, y = part.texts if is_text else part.X, np.asarray(part.labels)
            rest, test = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=seed)
            available = np.sort(rest[: len(rest) // 2])
            params = {"check_leakage": False} if recipes.find(recipe).members else {}
            model = recipes.make(
                recipe, input="text" if is_text else "numeric", random_state=0, **params
            )
            curve = estimate_learning_curve(
                model, take_rows(X, available), y[available], random_state=seed
            )
            forecast = curve.forecast(2 * len(available))
            now = measure(model, X, y, available, test)
            truth = measure(model, X, y, np.sort(rest[: 2 * len(available)]), test)
            standard_error = np.hypot(
                (forecast.high - forecast.low) / 3.92, np.sqrt(truth * (1 - truth) / len(test))
            )
            errors.append(forecast.value - truth)
            alternatives.append(now - truth)
            covered.append(abs(errors[-1]) <= 1.96 * standard_error)
            print_row(
                name,
                f"{len(available):,}",
                *(f"{value:.3f}" for value in (now, forecast.value)),
                f"{forecast.low:.3f} to {forecast.high:.3f}",
                f"{truth:.3f}",
                f"{errors[-1]:+.3f}",
                "yes" if covered[-1] else "no",
            )
    print(f"\ncovered {sum(covered)} of {len(covered)}; mean error {np.mean(errors):+.4f}")
    mean, alternative = np.mean(np.abs(errors)), np.mean(np.abs(alternatives))
    print(f"mean absolute error {mean:.4f}, of no change {alternative:.4f}")
    print(f"ratio {mean / alternative:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--limit", type=at_least(300), default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    main(arguments.sets, arguments.recipe, arguments.limit, arguments.seeds)
