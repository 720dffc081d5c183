"""What does the experiment runner cost over calling scikit-learn's `cross_validate` by hand?

    python dev.py bench runner_overhead [--recipes nb,svm,rf] [--folds 5] [--repeats 5]

The texts are the documentation strings of the installed libraries, in a file. In turns, from the
same folds, preparation and learners, in one thread: the runner on a new ledger, which it writes
with all predictions; and the same by hand, which reads the file too and keeps nothing but scores.
That the runner warms up each recipe, once in a process, counts against it. Both draw from the same
seed, and their scores must be equal. Seconds are of the processor, the least of the repeats. The
last line is the quotient of the sums.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_validate
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.experiment import trial
from cordwood.experiment.datasets import load_dataset
from cordwood.experiment.ledger import Ledger
from cordwood.experiment.plan import Plan, parse_plan
from cordwood.experiment.run import run
from cordwood.experiment.splits import split
from stopwatch import measure, print_head, print_row, print_run

SCORINGS = {"micro_f1": "accuracy", "macro_f1": "f1_macro"}


def main(names: list[str], n_folds: int, n_repeats: int) -> None:
    print_run()
    corpus = load_dataset("docstrings")
    print(f"docstrings: {len(corpus):,} texts, {n_folds} folds, {n_repeats} repeats\n")
    print_head("recipe", "runner, s", "by hand, s", "quotient", "over, ms a unit")
    sums = np.zeros(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docstrings.csv")
        pd.DataFrame({"text": corpus.texts, "label": corpus.labels}).to_csv(path, index=False)
        for name in names:
            plan = make_plan(path, name, n_folds)
            call_by_hand(plan)  # compiles or loads kernels
            seconds = [compare(plan, Path(folder, f"{name}{n}.jsonl")) for n in range(n_repeats)]
            ours, theirs = np.min(seconds, axis=0)
            sums += ours, theirs
            over = f"{1000 * (ours - theirs) / n_folds:.0f}"
            print_row(name, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.3f}", over)
    print(f"\nrunner over cross_validate: {sums[0] / sums[1]:.3f}")


def make_plan(path: Path, recipe: str, n_folds: int) -> Plan:
    seeded = "classifier__random_state" in recipes.make(recipe).get_params()
    return parse_plan(
        {
            "datasets": [{"path": str(path)}],
            "evaluation": {"folds": n_folds},
            "text": {"preset": "sigir17"},
            "learners": [{"recipe": recipe, "params": {"random_state": 0} if seeded else {}}],
        }
    )


def compare(plan: Plan, path: Path) -> tuple[float, float]:
    """Time both ways, and make sure that they did the same."""
    trial._warm.clear()
    ours, summary = measure(run, plan, Ledger(path), clock=time.process_time)
    theirs, scores = measure(call_by_hand, plan, clock=time.process_time)
    for name in SCORINGS:
        found = [record["scores"][name] for record in summary.records]
        np.testing.assert_allclose(found, scores[f"test_{name}"], rtol=1e-12)
    return ours, theirs


def call_by_hand(plan: Plan) -> dict[str, np.ndarray]:
    rows = plan.datasets[0].load()
    model = recipes.make(plan.learners[0].recipe, text=plan.text, seed=0, n_jobs=1)
    folds = split(rows, plan.evaluation, plan.seed)
    with threadpool_limits(1):
        return cross_validate(model, rows.texts, np.array(rows.labels), cv=folds, scoring=SCORINGS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the runner beside cross_validate.")
    parser.add_argument("--recipes", default="nb,svm,rf")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    main(options.recipes.split(","), options.folds, options.repeats)
