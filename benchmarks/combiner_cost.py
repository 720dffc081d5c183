"""What does each combination strategy cost? Table 6 of SIGIR'17.

    python dev.py bench combiner_cost [--set webkb] [--fold 0] [--folder FOLDER]

CPU seconds of training and test on one fold, in one thread, with warm kernels. A strategy is the
sum of its parts, each of which is measured once, because all strategies share the nine members:
vectorizers, fits on all training samples, predictions of the test samples, out-of-fold predictions
(none for voting; as in the stack, or by cross-validation of all members), and the combiner. The
cross-validation of a member whose predictions are out-of-bag or leave-one-out in the stack is
measured in the first of five folds, times five. Writes reproduction/figures; the last line is
the ratio of cross-validation of all members to the stack, with the combiner `rf`.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cordwood import recipes
from reproduction.figure_files import add_figures
from reproduction.member_fits import DEFAULT_FOLDER, SplitFits, fit_members
from reproduction.published import PAPER_NAMES
from reproduction.published_sigir17 import STRATEGY_SECONDS
from stopwatch import measure, print_head, print_row, print_run

COMBINERS = ("rf", "mlr", "templates", "scann", "vig", "voting", "class_pool")


def main(name: str, number: int, folder: Path, seed: int) -> None:
    print_run()
    fits = fit_members(name, folder, number=number, time_cv=True)
    combiners = {combiner: time_combiner(fits, combiner, seed) for combiner in COMBINERS}
    vectorizers = {fit.vectorizer: fit.seconds.vectorize for fit in fits.members.values()}
    parts = {
        "vectorize": sum(vectorizers.values()),
        **{
            step: sum(getattr(fit.seconds, step) for fit in fits.members.values())
            for step in ("fit", "predict", "oof", "cv")
        },
    }
    voting = parts["vectorize"] + parts["fit"] + parts["predict"]
    totals = {
        "stack, rf": voting + parts["oof"] + combiners["rf"],
        "stack, class_pool": voting + parts["oof"] + combiners["class_pool"],
        **{
            f"stack, {combiner}, CV": voting + parts["cv"] + combiners[combiner]
            for combiner in COMBINERS
            if combiner != "voting"
        },
        "stack, voting": voting + combiners["voting"],
    }
    published = STRATEGY_SECONDS.get(name, {})
    strategies = compare_strategies(totals, published)
    print_head("strategy", "CPU s (paper)", "ratio (paper)")
    for strategy, entry in strategies.items():
        print_row(strategy, entry["seconds"], entry["ratio"])
    figures = {
        "fold": number,
        "strategies": strategies,
        "stack over voting": f"{totals['stack, rf'] / totals['stack, voting']:.1f}",
        "stack over voting, paper": f"{published['stack, rf'] / published['stack, voting']:.1f}"
        if published
        else "",
        "combiners": {combiner: f"{seconds:.1f}" for combiner, seconds in combiners.items()},
        "members": {
            PAPER_NAMES[member]: {
                "source": fit.source,
                **{step: f"{seconds:.1f}" for step, seconds in fit.seconds._asdict().items()},
            }
            for member, fit in fits.members.items()
        },
    }
    print(f"\nwrote {add_figures('sigir17-combiner-cost', name, figures)}")
    print(f"cross-validation: {totals['stack, rf, CV'] / totals['stack, rf']:.2f} times the stack")


def compare_strategies(
    ours: Mapping[str, float], paper: Mapping[str, float]
) -> dict[str, dict[str, str]]:
    """Return seconds and their ratios to those of the stack, with the paper's in brackets."""
    strategies = {}
    for name, seconds in ours.items():
        entry = {
            "our seconds": f"{seconds:,.0f}",
            "our ratio": f"{seconds / ours['stack, rf']:.1f}",
        }
        if name in paper:
            entry["paper's seconds"] = f"{paper[name]:,}"
            entry["paper's ratio"] = f"{paper[name] / paper['stack, rf']:.1f}"
        for unit in ("seconds", "ratio"):
            published = entry.get(f"paper's {unit}")
            entry[unit] = entry[f"our {unit}"] + (f" ({published})" if published else "")
        strategies[name] = entry
    return strategies


def time_combiner(fits: SplitFits, combiner: str, seed: int) -> float:
    """Return the seconds of fit and predict of a combiner."""
    members = list(fits.members)
    train, test = fits.stack_oof(members), fits.stack_test(members)
    stack = recipes.make("stack_sigir17", combiner=combiner, random_state=seed, n_jobs=1)
    estimator = stack["classifier"].final_estimator
    # Compile the kernels on a few samples, with at least one of each class.
    few = np.union1d(np.unique(fits.y_train, return_index=True)[1], np.arange(0, len(train), 20))
    estimator.fit(train[few], fits.y_train[few]).predict(test)
    with threadpool_limits(1):
        fit_seconds, _ = measure(estimator.fit, train, fits.y_train, clock=time.process_time)
        predict_seconds, _ = measure(estimator.predict, test, clock=time.process_time)
    return float(fit_seconds + predict_seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the time of combination strategies.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--fold", type=int, choices=range(5), default=0)
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    main(options.set, options.fold, options.folder, options.seed)
