"""How much memory does growing a forest take, per thread and in total?

    python dev.py bench forest_memory [--sets reut90,20ng] [--trees 20]

Measures the binned matrix that all threads share and the workspace of each thread. Then new
processes load the data and fit a forest; the increase of their memory to its peak includes the
model, the binned matrix and the workspaces, but neither the data nor the libraries. The peak is
read from /proc, which needs Linux. The last line is the smallest ratio of the peaks, scikit-learn's
to ours, with one thread.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier as SklearnForest

import corpora
from cordwood._base.csr import csc_arrays, to_csc
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.grower import allocate_grow_workspace
from options import at_least
from stopwatch import print_head, print_row, print_run

STATUS = Path("/proc/self/status")
MAKERS: dict[str, Any] = {"cordwood": RandomForestClassifier, "scikit-learn": SklearnForest}


def main(sets: list[str], n_trees: int) -> None:
    if not STATUS.exists():
        raise SystemExit("the peak memory is read from /proc/self/status, which needs Linux")
    print_run()
    ratios = []
    print_head(
        f"set, {n_trees} trees",
        "binned matrix, MB",
        "workspace per thread, MB",
        "4 bytes x classes x features, MB",
        "peak, 1 thread, MB",
        "peak, 2 threads, MB",
        "scikit-learn, 1 thread, MB",
        "ratio",
    )
    for name in sets:
        split = corpora.load_split(name)
        n_classes = len(np.unique(split.y))
        table = bin_matrix(csc_arrays(to_csc(split.X)))
        scratch = allocate_grow_workspace(table, n_classes)
        with tempfile.TemporaryDirectory() as folder:
            path = save(split, Path(folder))
            one, two = (measure_peak("cordwood", path, n_trees, n_jobs) for n_jobs in (1, 2))
            theirs = measure_peak("scikit-learn", path, n_trees, 1)
        ratios.append(theirs / one)
        bytes_ = (
            count_bytes(table),
            count_bytes(scratch),
            4 * n_classes * split.X.shape[1],
            one,
            two,
            theirs,
        )
        print_row(name, *(f"{number / 1e6:.1f}" for number in bytes_), f"{ratios[-1]:.1f}")
    print(f"\nsmallest ratio of the peaks: {min(ratios):.1f}")


def count_bytes(record: Any) -> int:
    return sum(field.nbytes for field in record if isinstance(field, np.ndarray))


def save(split: corpora.Split, folder: Path) -> Path:
    sp.save_npz(folder / "X.npz", split.X, compressed=False)
    np.save(folder / "y.npy", split.y)
    return folder


def measure_peak(library: str, folder: Path, n_trees: int, n_jobs: int) -> int:
    """Fit in a new process and return the increase of its peak memory, in bytes."""
    arguments = ["--child", library, str(folder), str(n_trees), str(n_jobs)]
    process = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(process.stdout)


def fit_and_report(library: str, folder: str, n_trees: int, n_jobs: int) -> None:
    """Print the increase of the peak memory by a fit, in bytes."""
    X: Any = sp.load_npz(Path(folder) / "X.npz")
    y = np.load(Path(folder) / "y.npy")
    maker = MAKERS[library]
    maker(2, n_jobs=n_jobs).fit(X[:50], y[:50])  # excludes code that is loaded at first use
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = read_status("VmRSS")
    maker(n_trees, n_jobs=n_jobs, random_state=0).fit(X, y)
    print(read_status("VmHWM") - before)


def read_status(field: str) -> int:
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return 1024 * int(lines[field].split()[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the memory of fits.")
    parser.add_argument("--sets", default="reut90,20ng")
    parser.add_argument("--trees", type=at_least(1), default=20)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        library, folder, *numbers = options.child
        fit_and_report(library, folder, *map(int, numbers))
    else:
        main(options.sets.split(","), options.trees)
