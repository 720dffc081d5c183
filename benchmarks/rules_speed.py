"""Speed of AdaUBoost and LPUBoost compared with scikit-learn's AdaBoost and scipy's linprog.

    python dev.py bench rules_speed [--category earn] [--rounds 300] [--repeats 3]

Uses `reuters21578` (ModApte split, preprocessing of the ICML'03 paper) and CPU times of one thread.
First, 300 rounds of AdaBoost with rules and with scikit-learn's stumps on the same sparse matrix,
measured in turn, the minimum over the repeats; scikit-learn's time is extrapolated from `--stumps`
rounds, which all cost the same. Then LPUBoost with default parameters and without calibration, the
part of its time that is spent in the warm-started linear program, and the time that
`scipy.optimize.linprog` would need to solve the linear programs of all iterations from scratch,
extrapolated from every `--every`-th: with dense constraints as in the paper, and with the sparse
constraints of `cordwood.rules`. The last lines are the speedups.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import f1_score

from cordwood.datasets.registry import DATA_DIR_VARIABLE, load_dataset
from cordwood.exceptions import DataError
from cordwood.rules import AdaUBoostClassifier, LPUBoostClassifier, column_generation
from cordwood.rules.master_lp import LPSolution, MasterLP
from cordwood.text.vectorizer import TextVectorizer
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"


class Category(NamedTuple):
    """Training and test set of one category against all others."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


class TimedMasterLP(MasterLP):
    """Records the times of `solve`, and of linprog on every n-th linear program."""

    every = 1
    warm: list[float] = []
    dense: list[float] = []
    sparse: list[float] = []
    differences: list[float] = []

    def solve(self) -> LPSolution:
        """Solve the linear program and record the time."""
        start = time.thread_time()
        solution = super().solve()
        self.warm.append(time.thread_time() - start)
        if len(self.warm) % self.every == 0:
            for solve, times in ((solve_dense, self.dense), (solve_sparse, self.sparse)):
                seconds, value = measure(solve, self)
                times.append(seconds)
                self.differences.append(abs(value - solution.value))
        return solution


def main(category: str, n_rounds: int, n_stumps: int, every: int, n_repeats: int) -> None:
    print_run("highspy", "scipy")
    data = load(category)
    print(f"{category}: {data.X.shape[0]:,} documents, {data.y.sum():,} of them positive\n")
    print_head("learner", "seconds", "test F1")
    boosting = compare_boosting(data, n_rounds, n_stumps, n_repeats)
    dense, sparse = time_linear_program(data, every)
    print(f"\nspeedup over scikit-learn's AdaBoost: {boosting:.1f}")
    print(f"speedup over linprog with sparse constraints: {sparse:.1f}")
    print(f"speedup over linprog with dense constraints: {dense:.1f}")


def load(category: str) -> Category:
    folder = None if os.environ.get(DATA_DIR_VARIABLE) else _FOLDER
    try:
        corpus = load_dataset("reuters21578", data_dir=folder)
    except DataError as error:
        raise SystemExit(str(error)) from error
    vectorizer = TextVectorizer(preset="icml03")
    parts = [
        corpus.select(np.flatnonzero(np.array(corpus.split) == part)) for part in ("train", "test")
    ]
    X = vectorizer.fit_transform(parts[0].texts)
    X_test = vectorizer.transform(parts[1].texts)
    y, y_test = (np.array([category in labels for labels in part.labels]) for part in parts)
    return Category(X, y, X_test, y_test)


def compare_boosting(data: Category, n_rounds: int, n_stumps: int, n_repeats: int) -> float:
    seconds = []
    for _ in range(n_repeats):
        rules = AdaUBoostClassifier(beta=1, max_iter=n_rounds, calibration_folds=None)
        stumps = AdaBoostClassifier(n_estimators=n_stumps)
        seconds.append([measure(model.fit, data.X, data.y)[0] for model in (rules, stumps)])
    fastest = [min(times) for times in zip(*seconds, strict=True)]
    fastest[1] *= n_rounds / n_stumps
    print_row(f"AdaBoost, {n_rounds} rules", f"{fastest[0]:.2f}", score(rules, data))
    extrapolated = f"scikit-learn, {n_rounds} stumps (from {n_stumps})"
    print_row(extrapolated, f"{fastest[1]:.2f}", score(stumps, data))
    return fastest[1] / fastest[0]


def time_linear_program(data: Category, every: int) -> tuple[float, float]:
    TimedMasterLP.every = every
    model = LPUBoostClassifier(calibration_folds=None)
    seconds, _ = measure(model.fit, data.X, data.y)
    print_row(f"LPUBoost, {model.n_iter_[0]} iterations", f"{seconds:.2f}", score(model, data))
    column_generation.MasterLP = TimedMasterLP  # type: ignore[misc]
    LPUBoostClassifier(calibration_folds=None).fit(data.X, data.y)
    n_solved, n_timed = len(TimedMasterLP.warm), len(TimedMasterLP.dense)
    warm = sum(TimedMasterLP.warm)
    dense, sparse = (
        sum(times) * n_solved / n_timed for times in (TimedMasterLP.dense, TimedMasterLP.sparse)
    )
    print_row(f"its {n_solved} linear programs, warm-started", f"{warm:.2f}", "")
    print_row(f"linprog, dense constraints (from {n_timed})", f"{dense:.2f}", "")
    print_row(f"linprog, sparse constraints (from {n_timed})", f"{sparse:.2f}", "")
    print(f"\nlargest difference of the optima: {max(TimedMasterLP.differences):.1e}")
    return dense / warm, sparse / warm


def score(model: Any, data: Category) -> str:
    return f"{f1_score(data.y_test, model.predict(data.X_test)):.3f}"


def solve_dense(master: MasterLP) -> float:
    """Solve the linear program with linprog; constraints have an entry for every sample."""
    problem, rules = master.problem, master.rules
    present = rule_features(master).toarray()
    votes = np.where(present > 0, rules.present, rules.absent) * problem.sign[:, None]
    n_samples, n_rules = votes.shape
    result = linprog(
        np.append(np.zeros(n_samples), 1.0),
        A_ub=np.hstack([votes.T, -np.ones((n_rules, 1))]),
        b_ub=np.zeros(n_rules),
        A_eq=np.append(np.ones(n_samples), 0.0)[None],
        b_eq=[1.0],
        bounds=[*zip(master.lower, master.upper, strict=True), (None, None)],
    )
    return float(result.fun)


def solve_sparse(master: MasterLP) -> float:
    """Solve the linear program with linprog; constraints are as sparse as the features."""
    problem, rules = master.problem, master.rules
    present = rule_features(master)
    n_samples, n_rules = present.shape
    difference = sp.diags(problem.sign) @ present @ sp.diags(rules.present - rules.absent)
    balance = sp.csr_matrix(np.concatenate([problem.sign, [-1.0, 0.0]]))
    total = sp.csr_matrix(np.concatenate([np.ones(n_samples), [0.0, 0.0]]))
    result = linprog(
        np.append(np.zeros(n_samples + 1), 1.0),
        A_ub=sp.hstack([difference.T, rules.absent[:, None], -np.ones((n_rules, 1))]),
        b_ub=np.zeros(n_rules),
        A_eq=sp.vstack([total, balance]),
        b_eq=[1.0, 0.0],
        bounds=[*zip(master.lower, master.upper, strict=True), (None, None), (None, None)],
    )
    return float(result.fun)


def rule_features(master: MasterLP) -> sp.csc_matrix:
    by_feature = sp.hstack([master.problem.positive, master.problem.negative])
    return sp.csc_matrix(by_feature.T)[:, master.rules.feature]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Compare AdaUBoost and LPUBoost with scikit-learn and linprog."
    )
    parser.add_argument("--category", default="earn")
    parser.add_argument("--rounds", type=at_least(1), default=300)
    parser.add_argument("--stumps", type=at_least(1), default=10, help="rounds of scikit-learn")
    parser.add_argument(
        "--every", type=at_least(1), default=10, help="measure linprog on every n-th linear program"
    )
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.category, options.rounds, options.stumps, options.every, options.repeats)
