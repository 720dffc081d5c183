"""Which members does a stack need? Scores of all 502 subsets of the nine members of SIGIR'17.

    python dev.py bench stack_subsets [--set webkb] [--combiner class_pool] [--fold 0] [--plot FILE]

The members are fitted once, on one fold; the final estimator is fitted for each subset of at least
two members. Prints the Pareto front of double fault and macro-F1 (figure 3 of the paper), the best
subsets and the whole stack, and plots them with ``--plot``. The last line is the time of the
subsets.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from cordwood import recipes
from cordwood.compare.config.schema import EvaluationConfig
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
    fold = split(corpus, EvaluationConfig(), seed)[number]
    train, test = corpus.select(fold.train), corpus.select(fold.test)
    print(f"{name}: {len(train):,} training documents, {len(test):,} test documents{load()}")
    print("fitting the nine members", flush=True)
    model = recipes.make(
        "stack_sigir17", random_state=seed, combiner=combiner, check_leakage=False, n_jobs=-1
    )
    y_train, y_test = np.array(train.labels), np.array(test.labels)
    fit_seconds, _ = measure(model.fit, train.texts, y_train, clock=time.perf_counter)
    predict_seconds, meta_test = measure(model.transform, test.texts, clock=time.perf_counter)
    stack = model["classifier"]
    print(f"nine members: fit {fit_seconds:.0f} s, predict {predict_seconds:.0f} s\n")
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("subsets", total=None)
        subset_seconds, subsets = measure(
            lambda: score_subsets(
                stack.meta_features_,
                y_train,
                meta_test,
                y_test,
                stack.final_estimator_,
                members=list(stack.oof_source_),
                n_jobs=-1,
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            ),
            clock=time.perf_counter,
        )
    print_head("members", "double fault, %", "micro-F1", "macro-F1", "")
    points = np.array([(subset.double_fault, subset.macro_f1) for subset in subsets])
    for i in sorted(pareto_front(points, ["min", "max"]), key=lambda i: points[i, 0]):
        print_subset(subsets[i], "Pareto front")
    for subset in sorted(subsets, key=lambda subset: -subset.macro_f1)[:N_BEST]:
        print_subset(subset, "best")
    print_subset(subsets[-1], "all")
    if plot is not None:
        canvas.save(draw_subsets(subsets, title=name), plot)
    print(f"\n{len(subsets)} subsets: {subset_seconds:.0f} s")


def print_subset(subset: SubsetScore, note: str) -> None:
    scores = (subset.double_fault, subset.micro_f1, subset.macro_f1)
    print_row(" ".join(subset.members), *(f"{100 * score:.1f}" for score in scores), note)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Score all subsets of the members of a stack.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--combiner", default="class_pool")
    parser.add_argument("--fold", type=int, choices=range(5), default=0)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    if options.plot is not None and options.plot.suffix != ".svg":  # before the minutes of fitting
        parser.error(f"--plot must be a path that ends in .svg; got {options.plot}")
    main(options.set, options.combiner, options.fold, options.plot, options.seed)
