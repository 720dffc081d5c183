"""Is a stack as good as the best of its members, set by set?

    python dev.py bench stack_members [--learner "stack, class_pool"]

Reads the ledgers, and runs nothing: scores of the stack in the plans of stacks, and of its members
alone on the same folds, with their own parameters chosen by the protocol where the papers tune
them. The member is that which is best on the test parts, which favours it; one that was not run
alone on a set is not asked there. p is of a paired t-test over the folds, two-sided, without
correction. The last line counts the sets.
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

# Scores of a learner on a set by the numbers of repeat and fold.
Scores = dict[tuple[int, int], dict[str, float]]


def read_ledgers() -> tuple[dict[tuple[str, str], dict[str, Scores]], dict[str, list[str]]]:
    """Give scores by set and kind of folds, then by learner; and the members of learners."""
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
        raise SystemExit(f"no ledger has a learner {learner!r}; docs/results.md lists them")
    print_head("set", "folds", learner, "best member", "micro-F1", "p", "macro-F1", "p")
    outcomes = {"above": 0, "level": 0, "below": 0}
    for (name, kind), learners in found.items():
        ours = learners.get(learner)
        members = {
            member: scores
            for member in members_of[learner]
            if (scores := learners.get(member)) and ours and ours.keys() <= scores.keys()
        }
        if not ours or not members:
            continue
        folds = sorted(ours)
        values = {
            title: np.array([[100 * scores[fold][score] for score in SCORES] for fold in folds])
            for title, scores in [("", ours), *members.items()]
        }
        best = max(members, key=lambda member: float(values[member][:, 0].mean()))
        tests = [paired_t_test(values[""][:, i], values[best][:, i]) for i in range(len(SCORES))]
        cells = [
            cell for test in tests for cell in (f"{test.difference:+.2f}", f"{test.p_value:.3f}")
        ]
        means = ["{:.1f} / {:.1f}".format(*values[title].mean(axis=0)) for title in ("", best)]
        title = f"{name}, grouped" if kind == "grouped" else name
        print_row(title, str(len(folds)), means[0], f"{best} {means[1]}", *cells)
        clear = tests[0].p_value < 0.05
        outcomes["level" if not clear else "above" if tests[0].difference > 0 else "below"] += 1
    print("\n" + ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare stacks with their members.")
    parser.add_argument("--learner", default="stack, class_pool")
    main(parser.parse_args().learner)
