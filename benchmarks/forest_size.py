"""Is a forest ten times smaller than scikit-learn's, in memory and pickled?

    python dev.py bench forest_size [--set 20ng] [--trees 200]

Fits the same forests with both libraries and compares the bytes of the trees' arrays and of the
pickled estimators. The last line is the smallest ratio.
"""

import argparse
import pickle
from typing import Any

from sklearn import ensemble

import corpora
from cordwood.ensemble import forests
from cordwood.ensemble.tree_engine.forest import Forest
from options import at_least
from stopwatch import print_head, print_row, print_run

KINDS = ("RandomForestClassifier", "ExtraTreesClassifier")


def main(name: str, n_trees: int) -> None:
    print_run()
    split = corpora.load_split(name)
    print(f"{split.describe()}; {n_trees} trees")
    print_head("forest", "nodes and leaves", "memory, MB", "ratio", "pickled, MB", "ratio")
    smallest = float("inf")
    for kind in KINDS:
        ours, theirs = (
            getattr(library, kind)(n_trees, bootstrap=True, random_state=0, n_jobs=2).fit(
                split.X, split.y
            )
            for library in (forests, ensemble)
        )
        memory = sum(array.nbytes for array in ours.forest_), count_bytes(theirs)
        pickled = [len(pickle.dumps(model)) for model in (ours, theirs)]
        nodes = count_nodes(ours), sum(tree.tree_.node_count for tree in theirs.estimators_)
        ratios = memory[1] / memory[0], pickled[1] / pickled[0]
        smallest = min(smallest, *ratios)
        print_row(
            kind,
            "{:,} / {:,}".format(*nodes),
            in_megabytes(*memory),
            f"{ratios[0]:.1f}",
            in_megabytes(*pickled),
            f"{ratios[1]:.1f}",
        )
    print(f"\nsmallest ratio: {smallest:.1f}")


def count_bytes(model: Any) -> int:
    """Return the bytes of the arrays in scikit-learn's trees."""
    states = (tree.tree_.__getstate__() for tree in model.estimators_)
    return sum(state["nodes"].nbytes + state["values"].nbytes for state in states)


def count_nodes(model: Any) -> int:
    """Return the number of nodes as scikit-learn counts them: leaves and splits."""
    forest: Forest = model.forest_
    return 2 * forest.n_leaves - forest.n_trees


def in_megabytes(ours: int, theirs: int) -> str:
    return f"{ours / 1e6:.1f} / {theirs / 1e6:.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the size of forests with scikit-learn's.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--trees", type=at_least(1), default=200)
    options = parser.parse_args()
    main(options.set, options.trees)
