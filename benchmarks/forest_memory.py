"""How much memory does growing a forest take, for each thread and in all?

    python dev.py bench forest_memory [--sets reut90,20ng] [--trees 20]

Counts the bytes of the table that all threads read and of the scratch that each thread has of its
own. Then new processes load the data and fit a forest; what their memory grew by at its peak
counts the model, the table and the scratch, but not the data or the libraries. The peak is read
from /proc, so it needs Linux. The last line is the least quotient of the peaks, scikit-learn's to
ours, on one thread.
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
from cordwood._csr import to_csc
from cordwood.ensemble._tree_engine.binning import encode
from cordwood.ensemble._tree_engine.workspace import allocate
from cordwood.ensemble.forests import RandomForestClassifier
from options import at_least
from stopwatch import print_head, print_row, print_run

STATUS = Path("/proc/self/status")
MAKERS: dict[str, Any] = {"cordwood": RandomForestClassifier, "scikit-learn": SklearnForest}


def main(sets: list[str], n_trees: int) -> None:
    if not STATUS.exists():
        raise SystemExit("the peak of a process is read from /proc/self/status; run this on Linux")
    print_run()
    quotients = []
    print_head(
        f"set, {n_trees} trees",
        "table, MB",
        "scratch of a thread, MB",
        "4 bytes x classes x words, MB",
        "peak, 1 thread, MB",
        "peak, 2 threads, MB",
        "scikit-learn, 1 thread, MB",
        "quotient",
    )
    for name in sets:
        split = corpora.load_split(name)
        n_classes = len(np.unique(split.y))
        table = encode(to_csc(split.X))
        scratch = allocate(table, n_classes)
        with tempfile.TemporaryDirectory() as folder:
            path = save(split, Path(folder))
            one, two = (measure_peak("cordwood", path, n_trees, n_jobs) for n_jobs in (1, 2))
            theirs = measure_peak("scikit-learn", path, n_trees, 1)
        quotients.append(theirs / one)
        bytes_ = (
            count_bytes(table),
            count_bytes(scratch),
            4 * n_classes * split.X.shape[1],
            one,
            two,
            theirs,
        )
        print_row(name, *(f"{number / 1e6:.1f}" for number in bytes_), f"{quotients[-1]:.1f}")
    print(f"\nleast quotient of the peaks: {min(quotients):.1f}")


def count_bytes(record: Any) -> int:
    return sum(field.nbytes for field in record if isinstance(field, np.ndarray))


def save(split: corpora.Split, folder: Path) -> Path:
    sp.save_npz(folder / "X.npz", split.X, compressed=False)
    np.save(folder / "y.npy", split.y)
    return folder


def measure_peak(library: str, folder: Path, n_trees: int, n_jobs: int) -> int:
    """Fit in a new process and return what its memory grew by, in bytes."""
    arguments = ["--child", library, str(folder), str(n_trees), str(n_jobs)]
    answer = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(answer.stdout)


def fit_and_report(library: str, folder: str, n_trees: int, n_jobs: int) -> None:
    """Print by how many bytes the peak of a fit is above what was there before."""
    X: Any = sp.load_npz(Path(folder) / "X.npz")
    y = np.load(Path(folder) / "y.npy")
    maker = MAKERS[library]
    maker(2, n_jobs=n_jobs).fit(X[:50], y[:50])  # so that code loaded at first use is not counted
    Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what there is now
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
