"""What does the experiment runner cost over calling scikit-learn's `cross_validate` by hand?

    python dev.py bench runner_overhead [--recipes nb,svm,rf] [--folds 5] [--repeats 5]

The texts are the documentation strings of the installed libraries, in a file. In turns, from the
same folds, preparation and learners, in one thread: the runner on a new ledger, which it writes
with all predictions; and the same by hand, which reads the file too and keeps nothing but scores.
That the runner warms up each recipe, once in a process, counts against it. Both draw from the same
seed, and their scores must be equal. Seconds are of the processor, medians of the repeats. Each
recipe is measured in a plan of its own, and then all of them in one plan, whose learners share
prepared texts: by hand everyone prepares them again. The last lines are the quotient of the sums of
the plans of one recipe, and that of the common plan.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import cross_validate
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.compare.config.plan import Plan, parse_plan
from cordwood.compare.runner import run_trial as trial
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.datasets.registry import load_dataset
from stopwatch import measure, print_head, print_row, print_run

SCORINGS = {"micro_f1": "accuracy", "macro_f1": "f1_macro"}


def main(names: list[str], n_folds: int, n_repeats: int) -> None:
    print_run()
    corpus = load_dataset("docstrings")
    print(f"docstrings: {len(corpus):,} texts, {n_folds} folds, {n_repeats} repeats\n")
    print_head("recipe", "runner, s", "by hand, s", "quotient", "over, ms a unit")
    alone = np.zeros(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docstrings.csv")
        pd.DataFrame({"text": corpus.texts, "label": corpus.labels}).to_csv(path, index=False)
        for name in names:
            alone += report(make_plan(path, [name], n_folds), n_repeats)
        together = report(make_plan(path, names, n_folds), n_repeats)
    print(f"\nrunner over cross_validate, a plan for each: {alone[0] / alone[1]:.3f}")
    print(f"runner over cross_validate, one plan for all: {together[0] / together[1]:.3f}")


def report(plan: Plan, n_repeats: int) -> NDArray[np.float64]:
    """Print a row, and give the medians of both ways."""
    call_by_hand(plan)  # compiles or loads kernels
    ours, theirs = np.median([compare(plan, turn) for turn in range(n_repeats)], axis=0)
    over = 1000 * (ours - theirs) / (plan.evaluation.folds * len(plan.learners))
    names = ", ".join(learner.recipe for learner in plan.learners)
    print_row(names, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.3f}", f"{over:.0f}")
    return np.array([ours, theirs])


def make_plan(path: Path, names: list[str], n_folds: int) -> Plan:
    learners = []
    for name in names:
        seeded = "classifier__random_state" in recipes.make(name).get_params()
        learners.append({"recipe": name, "params": {"random_state": 0} if seeded else {}})
    return parse_plan(
        {
            "datasets": [{"path": str(path)}],
            "evaluation": {"folds": n_folds},
            "text": {"preset": "sigir17"},
            "learners": learners,
        }
    )


def compare(plan: Plan, turn: int) -> tuple[float, float]:
    """Time both ways, and make sure that they did the same."""
    trial._warm.clear()

    ways = (call_the_runner, call_by_hand)
    found = {
        way: measure(way, plan, clock=time.process_time)
        for way in (ways if turn % 2 else reversed(ways))
    }
    ours, records = found[call_the_runner]
    theirs, scores = found[call_by_hand]
    for name, scoring in scores.items():
        of_learner = [r["scores"] for r in records if r["trial"]["recipe"] == name]
        for metric in SCORINGS:
            values = [scores[metric] for scores in of_learner]
            np.testing.assert_allclose(values, scoring[f"test_{metric}"], rtol=1e-12)
    return ours, theirs


def call_the_runner(plan: Plan) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return run(plan, Ledger(Path(folder, "ledger.jsonl"))).records


def call_by_hand(plan: Plan) -> dict[str, dict[str, np.ndarray]]:
    rows = plan.datasets[0].load()
    folds = split(rows, plan.evaluation, plan.seed)
    labels = np.array(rows.labels)
    scores = {}
    with threadpool_limits(1):
        for learner in plan.learners:
            model = recipes.make(
                learner.recipe, vectorizer_params=plan.text, random_state=0, n_jobs=1
            )
            scores[learner.recipe] = cross_validate(
                model, rows.texts, labels, cv=folds, scoring=SCORINGS
            )
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the runner beside cross_validate.")
    parser.add_argument("--recipes", default="nb,svm,rf")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    main(options.recipes.split(","), options.folds, options.repeats)
