"""Is a stack as accurate as its best member, on each data set?

    python dev.py bench stack_members [--learner "stack, class_pool"]

Reads the scores of the stack and of its members alone, on the same folds, from the ledgers; nothing
is fitted. Parameters of the members are tuned where the papers tune them. The best member is chosen
on the test folds, which is optimistic; members without results on a data set are left out. p values
are of two-sided paired t-tests over the folds, without correction for multiple tests. The last line
counts the data sets.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.stats.statistics import paired_t_test
from cordwood.recipes import RECIPES
from reproduction.published import PAPER_NAMES
from stopwatch import print_head, print_row

LEDGERS = Path(__file__).parent / "reproduction" / "ledgers"
SCORES = ("micro_f1", "macro_f1")

# Scores of a learner on a data set, by repeat and fold.
Scores = dict[tuple[int, int], dict[str, float]]


def read_ledgers() -> tuple[dict[tuple[str, str], dict[str, Scores]], dict[str, list[str]]]:
    """Return scores by data set, type of folds and learner, and the members of each learner."""
    found: dict[tuple[str, str], dict[str, Scores]] = defaultdict(lambda: defaultdict(dict))
    members = {}
    paths = [path for start in ("sigir17", "quick") for path in LEDGERS.glob(f"{start}-*.jsonl")]
    for path in sorted(paths, reverse=True):
        for record in Ledger(path).records():
            trial = record["trial"]
            if "scores" in record:
                key = trial["dataset"], trial["evaluation"]["kind"]
                found[key][trial["learner"]][trial["repeat"], trial["fold"]] = record["scores"]
                usual = RECIPES[trial["recipe"]].members if "recipe" in trial else ()
                names = trial["params"].get("members", usual)
                members[trial["learner"]] = [PAPER_NAMES.get(name, name) for name in names]
    return found, members


def main(learner: str) -> None:
    found, members_of = read_ledgers()
    if not any(learner in learners for learners in found.values()):
        raise SystemExit(f"--learner must be a learner of docs/results.md; got {learner!r}")
    print_head("data set", "folds", learner, "best member", "micro-F1", "p", "macro-F1", "p")
    outcomes = {"better": 0, "not significant": 0, "worse": 0}
    for (name, kind), learners in found.items():
        stack_scores = learners.get(learner)
        members = {
            member: scores
            for member in members_of[learner]
            if (scores := learners.get(member))
            and stack_scores
            and stack_scores.keys() <= scores.keys()
        }
        if not stack_scores or not members:
            continue
        folds = sorted(stack_scores)
        values = {
            title: np.array([[100 * scores[fold][score] for score in SCORES] for fold in folds])
            for title, scores in [("", stack_scores), *members.items()]
        }
        best = max(members, key=lambda member: float(values[member][:, 0].mean()))
        tests = [paired_t_test(values[""][:, i], values[best][:, i]) for i in range(len(SCORES))]
        cells = [
            cell for test in tests for cell in (f"{test.difference:+.2f}", f"{test.p_value:.3f}")
        ]
        means = ["{:.1f} / {:.1f}".format(*values[title].mean(axis=0)) for title in ("", best)]
        title = f"{name}, grouped" if kind == "grouped" else name
        print_row(title, str(len(folds)), means[0], f"{best} {means[1]}", *cells)
        if tests[0].p_value >= 0.05:
            outcomes["not significant"] += 1
        else:
            outcomes["better" if tests[0].difference > 0 else "worse"] += 1
    print("\n" + ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare stacks with their members.")
    parser.add_argument("--learner", default="stack, class_pool")
    main(parser.parse_args().learner)
