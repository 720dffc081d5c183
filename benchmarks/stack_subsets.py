"""Which members of a stack pay? All 502 subsets of the nine, scored from what they answered once.

    python dev.py bench stack_subsets [--set webkb] [--combiner class_pool] [--fold 0] [--plot FILE]

The nine members of SIGIR'17 are fitted on one fold; then the combiner learns anew for each subset
of two and more. Prints the Pareto front of diversity and macro-F1 (the paper's figure 3), the best
subsets and the whole stack, and draws them if asked to. The last line tells what the subsets took.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from cordwood import recipes
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.report import _figure as canvas
from cordwood.compare.runner.cv_splits import split
from cordwood.datasets.registry import load_dataset
from cordwood.stacking.diversity import pareto_front
from reproduction.pareto_plot import draw_subsets
from reproduction.subsets import SubsetScore, score_subsets
from stopwatch import load, measure, print_head, print_row, print_run

N_BEST = 5


def main(name: str, combiner: str, number: int, plot: Path | None, seed: int) -> None:
    print_run()
    corpus = load_dataset(name)
    fold = split(corpus, Evaluation(), seed)[number]
    learnt, asked = corpus.select(fold.train), corpus.select(fold.test)
    print(f"{name}: {len(learnt):,} rows to learn from, {len(asked):,} to answer{load()}")
    print("fitting the nine members", flush=True)
    model = recipes.make(
        "stack_sigir17", random_state=seed, combiner=combiner, check_leakage=False, n_jobs=-1
    )
    labels, truth = np.array(learnt.labels), np.array(asked.labels)
    fitting, _ = measure(model.fit, learnt.texts, labels, clock=time.perf_counter)
    asking, meta_test = measure(model.transform, asked.texts, clock=time.perf_counter)
    stack = model["classifier"]
    print(f"nine members: {fitting:.0f} s to fit them, {asking:.0f} s to ask them\n")
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("subsets", total=None)
        scoring, found = measure(
            lambda: score_subsets(
                stack.meta_features_,
                labels,
                meta_test,
                truth,
                stack.final_estimator_,
                members=list(stack.oof_source_),
                n_jobs=-1,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            ),
            clock=time.perf_counter,
        )
    print_head("members", "err together, %", "micro-F1", "macro-F1", "")
    points = np.array([(subset.double_fault, subset.macro_f1) for subset in found])
    for i in sorted(pareto_front(points, ["min", "max"]), key=lambda i: points[i, 0]):
        print_subset(found[i], "Pareto front")
    for subset in sorted(found, key=lambda subset: -subset.macro_f1)[:N_BEST]:
        print_subset(subset, "best")
    print_subset(found[-1], "all")
    if plot is not None:
        canvas.save(draw_subsets(found, title=name), plot)
    print(f"\n{len(found)} subsets: {scoring:.0f} s")


def print_subset(subset: SubsetScore, note: str) -> None:
    shares = (subset.double_fault, subset.micro_f1, subset.macro_f1)
    print_row(" ".join(subset.members), *(f"{100 * share:.1f}" for share in shares), note)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Score all subsets of a stack's members.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--combiner", default="class_pool")
    parser.add_argument("--fold", type=int, choices=range(5), default=0)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    if options.plot is not None and options.plot.suffix != ".svg":  # not after minutes of work
        parser.error(f"--plot {options.plot}: plots are SVG; end the name in .svg")
    main(options.set, options.combiner, options.fold, options.plot, options.seed)
