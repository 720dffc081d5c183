"""How far are forecasts of learning curves off? Forecast twice the samples, and look.

    python dev.py bench curve_forecasts [--sets youtube webkb] [--recipe quick] [--limit 2000]

A third of a random sample of each data set is the test set, and half of the rest the available
samples. `cordwood.metrics.estimate_learning_curve` sees only these, and forecasts the accuracy
after training on twice as many, all of the rest, and the gain over training on the available ones.
Two models that are trained on these samples show the truth. A forecast is covered if it differs
from the truth by at most 1.96 standard errors: that of the forecast, from the width of its
interval, and that of the test set, added in quadrature. The last line is the ratio of the root mean
squared error of the forecast gain to that of the alternative, the forecast that nothing changes.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from cordwood import recipes
from cordwood._base.sklearn_private import take_rows
from cordwood.datasets.corpus import Corpus
from cordwood.metrics import Score, estimate_learning_curve
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    *("youtube", "tweets", "amazon", "debate", "twitter", "nyt"),
    *("r8", "yelp", "webkb", "20ng", "ohsumed", "spambase"),
)


def is_correct(
    model: Any, X: Any, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return which test samples are predicted correctly after training on others, as 0 and 1."""
    fitted = clone(model).fit(take_rows(X, train), y[train])
    return np.asarray(fitted.predict(take_rows(X, test)) == y[test], np.float64)


def is_covered(forecast: Score, truth: NDArray[np.float64]) -> bool:
    """Return whether a forecast differs from the mean of test samples by chance only."""
    variance = ((forecast.high - forecast.low) / 3.92) ** 2 + truth.var() / len(truth)
    return bool(abs(forecast - truth.mean()) <= 1.96 * np.sqrt(variance))


def main(names: Sequence[str], recipe: str, limit: int, seeds: Sequence[int]) -> None:
    print_run()
    print(f"recipe {recipe}, at most {limit:,} samples\n")
    head = ("available", "accuracy", "forecast", "truth", "covered", "gain", "truth", "covered")
    print_head("data set", *head)
    levels, gains = [], []
    for name, seed in product(names, seeds):
        dataset = load_single_label(name)
        is_text = isinstance(dataset, Corpus)
        part = dataset.select(
            np.sort(np.random.RandomState(seed).permutation(len(dataset))[:limit])
        )
        X, y = part.texts if is_text else part.X, np.asarray(part.labels)
        rest, test = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=seed)
        n = len(rest) // 2
        params = {"check_leakage": False} if recipes.find(recipe).members else {}
        model = recipes.make(
            recipe, input="text" if is_text else "numeric", random_state=0, **params
        )
        curve = estimate_learning_curve(
            model, take_rows(X, rest[:n]), y[rest[:n]], random_state=seed
        )
        now, doubled = (is_correct(model, X, y, rest[:size], test) for size in (n, 2 * n))
        forecast, gain = curve.forecast(2 * n), curve.gain(2 * n)
        levels.append((forecast - doubled.mean(), is_covered(forecast, doubled)))
        change = (doubled - now).mean()
        gains.append((gain - change, change, is_covered(gain, doubled - now)))
        print_row(
            name,
            f"{n:,}",
            f"{now.mean():.3f}",
            f"{forecast:.3f} ({forecast.low:.3f} to {forecast.high:.3f})",
            f"{doubled.mean():.3f}",
            "yes" if levels[-1][1] else "no",
            f"{gain:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
            f"{change:+.3f}",
            "yes" if gains[-1][2] else "no",
        )
    for what, found in (("accuracy", levels), ("gain", gains)):
        errors = np.array([each[0] for each in found])
        covered = sum(each[-1] for each in found)
        print(
            f"\n{what}: mean error {errors.mean():+.4f}, root mean squared error "
            f"{np.sqrt((errors**2).mean()):.4f}, covered {covered} of {len(found)}"
        )
    no_change = np.sqrt(np.mean([each[1] ** 2 for each in gains]))
    ratio = np.sqrt(np.mean([each[0] ** 2 for each in gains])) / no_change
    print(f"\nratio of the errors of the gain, forecast to no change: {ratio:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--recipe", default="quick")
    parser.add_argument("--limit", type=at_least(300), default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    main(arguments.sets, arguments.recipe, arguments.limit, arguments.seeds)
