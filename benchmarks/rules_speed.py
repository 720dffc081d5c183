"""Are word rules found twenty times faster than stumps, and is the programme ten times faster warm?

    python dev.py bench rules_speed [--category earn] [--rounds 300] [--repeats 3]

On `reuters21578` (ModApte, text as in the ICML'03 paper), by the processor time of one thread.
First 300 rounds of AdaBoost with word rules beside scikit-learn's with stumps, in turns, on the
same sparse matrix, the least of the repeats; scikit-learn's are extrapolated from `--stumps`
rounds, since each costs the same. Then LPUBoost at its default settings without the folds of its
probabilities, as a whole; the parts of it in which the programme was solved from the last
solution; and what it would take to solve the programmes of all rounds anew by
`scipy.optimize.linprog`, timed on every `--every`-th of them: as the paper writes them, each row as
long as the collection, and with the short rows of `cordwood.rules`. The last lines are quotients.
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
from cordwood.rules import column_generation as generation
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.rules.master_lp import Master, Optimum
from cordwood.text.vectorizer import TextVectorizer
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"


class Category(NamedTuple):
    """Documents of one category and all others, in the paper's two parts."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


class TimedMaster(Master):
    """A master that notes how long solving took, and now and then what linprog would take."""

    every = 1
    warm: list[float] = []
    long: list[float] = []
    short: list[float] = []
    gaps: list[float] = []

    def solve(self) -> Optimum:
        """Solve, and note the time."""
        start = time.thread_time()
        optimum = super().solve()
        self.warm.append(time.thread_time() - start)
        if len(self.warm) % self.every == 0:
            for solve, times in ((solve_long, self.long), (solve_short, self.short)):
                seconds, value = measure(solve, self)
                times.append(seconds)
                self.gaps.append(abs(value - optimum.value))
        return optimum


def main(category: str, n_rounds: int, n_stumps: int, every: int, n_repeats: int) -> None:
    print_run("highspy", "scipy")
    data = load(category)
    print(f"{category}: {data.X.shape[0]:,} documents, {data.y.sum():,} of them positive\n")
    print_head("learner", "seconds", "F1 on the test part")
    boosting = compare_boosting(data, n_rounds, n_stumps, n_repeats)
    long, short = time_programme(data, every)
    print(f"\nboosting: {boosting:.1f} times faster than scikit-learn's")
    print(f"programme: {short:.1f} times faster than linprog anew in each round, with short rows")
    print(f"programme: {long:.1f} times faster than linprog anew in each round")


def load(category: str) -> Category:
    folder = None if os.environ.get(DATA_DIR_VARIABLE) else _FOLDER
    try:
        rows = load_dataset("reuters21578", data_dir=folder)
    except DataError as error:
        raise SystemExit(str(error)) from error
    words = TextVectorizer(preset="icml03")
    parts = [
        rows.select(np.flatnonzero(np.array(rows.split) == part)) for part in ("train", "test")
    ]
    X, X_test = words.fit_transform(parts[0].texts), words.transform(parts[1].texts)
    y, y_test = (np.array([category in labels for labels in part.labels]) for part in parts)
    return Category(X, y, X_test, y_test)


def compare_boosting(data: Category, n_rounds: int, n_stumps: int, n_repeats: int) -> float:
    seconds = []
    for _ in range(n_repeats):
        ours = AdaUBoostClassifier(beta=1, max_iter=n_rounds, calibration_folds=None)
        theirs = AdaBoostClassifier(n_estimators=n_stumps)
        seconds.append([measure(model.fit, data.X, data.y)[0] for model in (ours, theirs)])
    least = [min(times) for times in zip(*seconds, strict=True)]
    least[1] *= n_rounds / n_stumps
    print_row(f"{n_rounds} word rules", f"{least[0]:.2f}", score(ours, data))
    print_row(f"{n_rounds} stumps, from {n_stumps}", f"{least[1]:.2f}", score(theirs, data))
    return least[1] / least[0]


def time_programme(data: Category, every: int) -> tuple[float, float]:
    TimedMaster.every = every
    model = LPUBoostClassifier(calibration_folds=None)
    seconds, _ = measure(model.fit, data.X, data.y)
    print_row(f"LPUBoost, {model.n_iter_[0]} rounds", f"{seconds:.2f}", score(model, data))
    generation.Master = TimedMaster  # type: ignore[misc]
    LPUBoostClassifier(calibration_folds=None).fit(data.X, data.y)
    rounds, timed = len(TimedMaster.warm), len(TimedMaster.long)
    warm = sum(TimedMaster.warm)
    long, short = (sum(times) * rounds / timed for times in (TimedMaster.long, TimedMaster.short))
    print_row(f"its {rounds} programmes, warm", f"{warm:.2f}", "")
    print_row(f"by linprog, from {timed}", f"{long:.2f}", "")
    print_row(f"by linprog with short rows, from {timed}", f"{short:.2f}", "")
    print(f"\nlargest difference of the optima: {max(TimedMaster.gaps):.1e}")
    return long / warm, short / warm


def score(model: Any, data: Category) -> str:
    return f"{f1_score(data.y_test, model.predict(data.X_test)):.3f}"


def solve_long(master: Master) -> float:
    """Solve a master's programme by linprog; a row has an entry for each document."""
    task, rules = master.task, master.rules
    present = find_words(master).toarray()
    votes = np.where(present > 0, rules.present, rules.absent) * task.sign[:, None]
    n_docs, n_rules = votes.shape
    found = linprog(
        np.append(np.zeros(n_docs), 1.0),
        A_ub=np.hstack([votes.T, -np.ones((n_rules, 1))]),
        b_ub=np.zeros(n_rules),
        A_eq=np.append(np.ones(n_docs), 0.0)[None],
        b_eq=[1.0],
        bounds=[*zip(master.lower, master.upper, strict=True), (None, None)],
    )
    return float(found.fun)


def solve_short(master: Master) -> float:
    """Solve it with a row's entries for the documents with the word alone."""
    task, rules = master.task, master.rules
    present = find_words(master)
    n_docs, n_rules = present.shape
    swing = sp.diags(task.sign) @ present @ sp.diags(rules.present - rules.absent)
    balance = sp.csr_matrix(np.concatenate([task.sign, [-1.0, 0.0]]))
    total = sp.csr_matrix(np.concatenate([np.ones(n_docs), [0.0, 0.0]]))
    found = linprog(
        np.append(np.zeros(n_docs + 1), 1.0),
        A_ub=sp.hstack([swing.T, rules.absent[:, None], -np.ones((n_rules, 1))]),
        b_ub=np.zeros(n_rules),
        A_eq=sp.vstack([total, balance]),
        b_eq=[1.0, 0.0],
        bounds=[*zip(master.lower, master.upper, strict=True), (None, None), (None, None)],
    )
    return float(found.fun)


def find_words(master: Master) -> sp.csc_matrix:
    both = sp.hstack([master.task.plus, master.task.minus])
    return sp.csc_matrix(both.T)[:, master.rules.word]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time word rules beside stumps and linprog.")
    parser.add_argument("--category", default="earn")
    parser.add_argument("--rounds", type=at_least(1), default=300)
    parser.add_argument("--stumps", type=at_least(1), default=10, help="rounds of scikit-learn")
    parser.add_argument("--every", type=at_least(1), default=10, help="programmes solved anew")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.category, options.rounds, options.stumps, options.every, options.repeats)
