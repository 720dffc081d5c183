"""Which members does a stack need? Scores of all 502 subsets of the nine members of SIGIR'17.

    python dev.py bench stack_subsets [--set webkb] [--combiner class_pool] [--fold 0]
        [--samples 5000] [--plot FILE] [--folder FOLDER]

The members are fitted once, on one fold, with the parameters of the plans of stacks; the final
estimator is fitted for each subset of at least two members, on at most `--samples` training
samples. Prints the Pareto front of double fault and macro-F1 (figure 3 of the paper), the best
subsets and the whole stack, plots them with ``--plot``, and writes the front and how often each
member is on it to reproduction/figures. The last line is the time of the subsets.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from sklearn.model_selection import train_test_split

from cordwood import recipes
from cordwood.stacking.diversity import pareto_front
from options import at_least
from reproduction import canvas
from reproduction.figure_files import add_figures
from reproduction.member_fits import DEFAULT_FOLDER, SplitFits, fit_members
from reproduction.pareto_plot import draw_subsets
from reproduction.published import PAPER_NAMES
from reproduction.published_sigir17 import PARETO_FRONTS
from reproduction.subsets import SubsetScore, score_subsets
from stopwatch import load, measure, print_head, print_row, print_run

N_BEST = 5
N_COUNTED = 50  # subsets with the highest macro-F1, whose members are counted
NINE = recipes.find("stack_sigir17").members


def main(options: argparse.Namespace) -> None:
    print_run()
    name, seed = options.set, options.seed
    fits = fit_members(name, options.folder, number=options.fold)
    rows = draw_samples(fits, options.samples, seed)
    print(f"{name}: {len(rows):,} training samples of the final estimator{load()}")
    combiner = recipes.make("stack_sigir17", combiner=options.combiner, random_state=seed)
    members = list(fits.members)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("subsets", total=None)
        seconds, subsets = measure(
            lambda: score_subsets(
                fits.stack_oof(members)[rows],
                fits.y_train[rows],
                fits.stack_test(members),
                fits.y_test,
                combiner["classifier"].final_estimator,
                members=[PAPER_NAMES[member] for member in members],
                n_jobs=options.jobs,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            ),
            clock=time.perf_counter,
        )
    points = np.array([(subset.double_fault, subset.macro_f1) for subset in subsets])
    front = [
        subsets[i] for i in sorted(pareto_front(points, ["min", "max"]), key=lambda i: points[i, 0])
    ]
    best = sorted(subsets, key=lambda subset: -subset.macro_f1)
    print_head("members", "double fault, %", "micro-F1", "macro-F1", "")
    for subset, note in [
        *((subset, "Pareto front") for subset in front),
        *((subset, "best") for subset in best[:N_BEST]),
        (subsets[-1], "all"),
    ]:
        print_subset(subset, note)
    if options.plot is not None:
        canvas.save(draw_subsets(subsets, title=name), options.plot)
    figures = {
        "fold": options.fold,
        "combiner": options.combiner,
        "n_samples": len(rows),
        "n_front": len(front),
        "front": [" + ".join(subset.members) for subset in front],
        "on front": count_members(front),
        "on the paper's front": count_members(PARETO_FRONTS.get(name, ())),
        "n_best": N_COUNTED,
        "in the best": count_members(best[:N_COUNTED]),
        "best": " + ".join(best[0].members),
        "best scores": format_scores(best[0]),
        "all scores": format_scores(subsets[-1]),
    }
    print(f"\nwrote {add_figures('sigir17-subsets', name, figures)}")
    print(f"{len(subsets)} subsets: {seconds:.0f} s")


def draw_samples(fits: SplitFits, n_samples: int, seed: int) -> np.ndarray:
    """Return the training samples of the final estimator, stratified if they are not all."""
    rows = np.arange(len(fits.y_train))
    if n_samples >= len(rows):
        return rows
    drawn, _ = train_test_split(
        rows, train_size=n_samples, stratify=fits.y_train, random_state=seed
    )
    return np.sort(drawn)


def count_members(subsets: Sequence[SubsetScore | str]) -> dict[str, int]:
    """Return how many of the subsets each member is in."""
    members = [s.split() if isinstance(s, str) else s.members for s in subsets]
    return {PAPER_NAMES[name]: sum(PAPER_NAMES[name] in m for m in members) for name in NINE}


def format_scores(subset: SubsetScore) -> str:
    return " / ".join(f"{100 * score:.1f}" for score in (subset.micro_f1, subset.macro_f1))


def print_subset(subset: SubsetScore, note: str) -> None:
    scores = (subset.double_fault, subset.micro_f1, subset.macro_f1)
    print_row(" ".join(subset.members), *(f"{100 * score:.1f}" for score in scores), note)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Score all subsets of the members of a stack.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--combiner", default="class_pool")
    parser.add_argument("--fold", type=int, choices=range(5), default=0)
    parser.add_argument("--samples", type=at_least(100), default=5000)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=42)
    parsed = parser.parse_args()
    if parsed.plot is not None and parsed.plot.suffix != ".svg":  # before the minutes of fitting
        parser.error(f"--plot must be a path that ends in .svg; got {parsed.plot}")
    main(parsed)
