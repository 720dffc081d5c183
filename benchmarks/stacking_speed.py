"""What does stacking by out-of-bag rows save, and how far is it ahead of scikit-learn's stack?

    python dev.py bench stacking_speed [--set 20ng] [--members stack|five] [--peer cv|sklearn]

Fit and predict of one fold, texts included, by the processor time of one thread, in turns. With
``--peer cv`` the same members, with meta-features by cross-validation in the place of their own;
with ``--peer sklearn`` scikit-learn's `StackingClassifier` over its own forests, extra-trees,
linear machine, naive Bayes and neighbours (the recipe `sk_stack`), beside the same five of ours.
Both have five folds and a random forest for a combiner. The last line is the quotient.
"""

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.resources import PeakMemory
from cordwood.datasets.registry import load_dataset
from stopwatch import load, measure, print_head, print_row, print_run

FIVE = ["rf", "et", "svm", "nb", "knn"]


def main(name: str, members: str, peer: str, seed: int) -> None:
    print_run()
    corpus = load_dataset(name)
    fold = split(corpus, Evaluation(), seed)[0]
    learnt, asked = corpus.select(fold.train), corpus.select(fold.test)
    print(f"{name}: {len(learnt):,} rows to learn from, {len(asked):,} to answer{load()}\n")
    text = {"preset": "sigir17"}
    chosen: dict[str, Any] = {} if members == "stack_sigir17" else {"members": FIVE}
    common: dict[str, Any] = {"text": text, "seed": seed, "n_jobs": 1, "combiner": "rf", **chosen}
    ours = recipes.make("stack_sigir17", check_leakage=False, **common)
    if peer == "cv":
        theirs = recipes.make("stack_sigir17", check_leakage=False, use_oob=False, **common)
    else:
        theirs = recipes.make("sk_stack", vectorizer_params=text, random_state=seed)
    few = np.linspace(0, len(learnt) - 1, 300, dtype=int)
    ours.fit(learnt.select(few).texts, learnt.select(few).labels)  # compiles or loads kernels
    print_head("stack_sigir17", "fit, s", "predict, s", "micro-F1")
    seconds = {}
    memory = PeakMemory()
    for title, model in (("own rows", ours), (peer, theirs)):
        fitting, _ = measure(model.fit, learnt.texts, np.array(learnt.labels))
        predicting, found = measure(model.predict, asked.texts)
        seconds[title] = fitting + predicting
        right = float(np.mean(found == np.array(asked.labels)))
        print_row(title, f"{fitting:.1f}", f"{predicting:.1f}", f"{100 * right:.2f}")
    print(f"\npeak memory of the process: {(memory.read() or 0) / 1e6:,.0f} MB")
    print(f"{peer} over own rows: {seconds[peer] / seconds['own rows']:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time a stack beside another.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--members", choices=("stack_sigir17", "five"), default="stack_sigir17")
    parser.add_argument("--peer", choices=("cv", "sklearn"), default="cv")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    with threadpool_limits(1):
        main(options.set, options.members, options.peer, options.seed)
