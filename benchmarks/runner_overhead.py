"""Overhead of the comparison runner over scikit-learn's `cross_validate`.

    python dev.py bench runner_overhead [--recipes nb,svm,rf] [--folds 5] [--repeats 5]

The data set is a file with the docstrings of the installed libraries. Runner and `cross_validate`
alternate, with the same folds, pipelines and seeds, in one thread; their scores must be equal. Both
read the file. The runner also warms up each recipe once per process, and writes all predictions to
a new ledger. Seconds are CPU time, medians of the repeats. Each recipe is measured in a plan of its
own, then all of them in one plan, whose learners share vectorized texts. The last lines are the
ratio of the sums of the single plans, and the ratio of the common plan.
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
from cordwood.compare.runner import run_trial
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
    print_head("recipe", "runner, s", "cross_validate, s", "ratio", "overhead, ms per trial")
    single = np.zeros(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "docstrings.csv")
        pd.DataFrame({"text": corpus.texts, "label": corpus.labels}).to_csv(path, index=False)
        for name in names:
            single += report(make_plan(path, [name], n_folds), n_repeats)
        common = report(make_plan(path, names, n_folds), n_repeats)
    print(f"\nrunner / cross_validate, one plan per recipe: {single[0] / single[1]:.3f}")
    print(f"runner / cross_validate, one plan for all: {common[0] / common[1]:.3f}")


def report(plan: Plan, n_repeats: int) -> NDArray[np.float64]:
    """Print a row of the table, and return the median seconds of both."""
    run_cross_validate(plan)  # compiles or loads kernels
    ours, theirs = np.median([compare(plan, repeat) for repeat in range(n_repeats)], axis=0)
    overhead = 1000 * (ours - theirs) / (plan.evaluation.folds * len(plan.learners))
    names = ", ".join(learner.recipe for learner in plan.learners)
    print_row(names, f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.3f}", f"{overhead:.0f}")
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
            "vectorizer": {"preset": "sigir17"},
            "learners": learners,
        }
    )


def compare(plan: Plan, repeat: int) -> tuple[float, float]:
    """Time both, and check that their scores are equal."""
    run_trial._warmed_up.clear()

    functions = (run_runner, run_cross_validate)
    timed = {
        function: measure(function, plan, clock=time.process_time)
        for function in (functions if repeat % 2 else reversed(functions))
    }
    ours, records = timed[run_runner]
    theirs, scores = timed[run_cross_validate]
    for name, scoring in scores.items():
        learner_scores = [r["scores"] for r in records if r["trial"]["recipe"] == name]
        for metric in SCORINGS:
            values = [scores[metric] for scores in learner_scores]
            np.testing.assert_allclose(values, scoring[f"test_{metric}"], rtol=1e-12)
    return ours, theirs


def run_runner(plan: Plan) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return run(plan, Ledger(Path(folder, "ledger.jsonl"))).records


def run_cross_validate(plan: Plan) -> dict[str, dict[str, np.ndarray]]:
    corpus = plan.datasets[0].load()
    folds = split(corpus, plan.evaluation, plan.seed)
    labels = np.array(corpus.labels)
    scores = {}
    with threadpool_limits(1):
        for learner in plan.learners:
            model = recipes.make(
                learner.recipe, vectorizer_params=plan.vectorizer, random_state=0, n_jobs=1
            )
            scores[learner.recipe] = cross_validate(
                model, corpus.texts, labels, cv=folds, scoring=SCORINGS
            )
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the runner with cross_validate.")
    parser.add_argument("--recipes", default="nb,svm,rf")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    main(options.recipes.split(","), options.folds, options.repeats)
