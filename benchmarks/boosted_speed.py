"""Are boosted forests ten times faster than with scikit-learn's trees, with little overhead?

    python dev.py bench boosted_speed [--set 20ng] [--rounds 200] [--theirs 10] [--trees et]

CPU time of one fit on one thread, against the same algorithm with scikit-learn's trees. Half of the
`--theirs` rounds run before our fit and half after; the fastest is extrapolated to all rounds.
Overhead is the time of our rounds besides growing trees, as a fraction of growing; the preparation
before the first round, which is estimated from a fit of one round, is excluded. The last lines are
the size of the model, the overhead and the speedup.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import corpora
from cordwood.ensemble import _boosting_loop as boosting_loop
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.tree_engine.grower import grow_forest
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

TREES = 8
RATE = 0.1
THEIR_TREES = {"et": ExtraTreeClassifier, "rf": DecisionTreeClassifier}


class Peer:
    """The same boosting with scikit-learn's trees: aggregate update, out-of-bag votes."""

    def __init__(self, split: corpora.Split, tree: Any) -> None:
        self.X, self.y, self.tree = split.X.astype(np.float32).tocsc(), split.y, tree
        self.rows = self.X.tocsr()
        self.weights = np.full(len(self.y), 1 / len(self.y))
        self.random = np.random.RandomState(0)
        self.forests: list[tuple[float, list[Any]]] = []

    def boost(self) -> None:
        """Run one boosting round."""
        n, n_classes = len(self.y), len(np.unique(self.y))
        votes, trees = np.zeros((n, n_classes)), []
        for _ in range(TREES):
            counts = np.bincount(self.random.choice(n, n, p=self.weights), minlength=n)
            tree = self.tree(max_features="sqrt", random_state=self.random.randint(2**31))
            trees.append(tree.fit(self.X, self.y, sample_weight=counts, check_input=False))
            out = np.flatnonzero(counts == 0)
            votes[out] += tree.predict_proba(self.rows[out])
        has_votes = votes.any(axis=1)
        wrong = has_votes & (votes.argmax(axis=1) != self.y)
        error = self.weights[wrong].sum() / self.weights[has_votes].sum()
        weight = RATE * (np.log((1 - error) / error) + np.log(n_classes - 1))
        self.weights[wrong] *= np.exp(weight)
        self.weights /= self.weights.sum()
        self.forests.append((weight, trees))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the class with the largest weighted vote."""
        votes = [weight * tree.predict_proba(X) for weight, trees in self.forests for tree in trees]
        return np.asarray(np.sum(votes, axis=0).argmax(axis=1))


def clock(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """Return a function that appends the seconds of each call to `seconds`."""

    def clocked(*arguments: Any, **options: Any) -> Any:
        start = time.thread_time()
        result = function(*arguments, **options)
        seconds.append(time.thread_time() - start)
        return result

    return clocked


def main(name: str, n_rounds: int, n_theirs: int, trees: str) -> None:
    print_run()
    split = corpora.load_split(name)
    print(f"{split.describe()}; {n_rounds} rounds of {TREES} trees, {trees}{load()}")
    model = BoostedForestClassifier(
        1, trees_per_round=TREES, base=trees, update="aggregate", learning_rate=RATE, random_state=0
    )
    model.fit(split.X[:500], split.y[:500]).predict(split.X_test[:9])  # compiles or loads kernels
    first, _ = measure(model.fit, split.X, split.y)
    peer = Peer(split, THEIR_TREES[trees])
    theirs = [measure(peer.boost)[0] for _ in range(n_theirs // 2)]
    growing: list[float] = []
    with patch.object(boosting_loop, "grow_forest", clock(grow_forest, growing)):
        whole, _ = measure(model.set_params(n_estimators=n_rounds).fit, split.X, split.y)
    theirs += [measure(peer.boost)[0] for _ in range(n_theirs - len(theirs))]
    grown = sum(growing)
    prepared = first - whole / n_rounds
    overhead = (whole - prepared - grown) / grown
    speedup = min(theirs) * n_rounds / whole
    print_head("", f"{n_rounds} rounds, s", "of it growing, s", "a round, s", "accuracy")
    ours = (model.predict(split.X_test) == split.y_test).mean()
    print_row("cordwood", f"{whole:.1f}", f"{grown:.1f}", f"{whole / n_rounds:.3f}", f"{ours:.3f}")
    accuracy = (peer.predict(split.X_test) == split.y_test).mean()
    print_row(
        "scikit-learn's trees",
        f"{min(theirs) * n_rounds:.1f}, extrapolated",
        "",
        f"{min(theirs):.3f}",
        f"{accuracy:.3f} after {n_theirs} rounds",
    )
    n_bytes = sum(array.nbytes for array in model.forest_)
    print(f"\nstopped by: {model.stop_reason_}, after {len(model.estimator_weights_)} rounds")
    print(f"model: {n_bytes / 1e6:.0f} MB, {n_bytes / model.forest_.n_trees / 1e3:.0f} KB a tree")
    print(f"overhead: {overhead:.1%}")
    print(f"speedup: {speedup:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time boosted forests.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--rounds", type=at_least(2), default=200)
    parser.add_argument("--theirs", type=at_least(2), default=10)
    parser.add_argument("--trees", choices=tuple(THEIR_TREES), default="et")
    options = parser.parse_args()
    main(options.set, options.rounds, options.theirs, options.trees)
