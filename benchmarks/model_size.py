"""How large are model files, how long do they take to load, and do predictions stay the same?

    python dev.py bench model_size [--sets debian 20ng] [--max-samples 30000]

Trains the recipe "quick", saves it with compact and with full precision, and compares the files
with a pickle of the same model and with a pickle (joblib) of scikit-learn's TF-IDF of words and
characters with LinearSVC. The set "debian" consists of the one-line descriptions of packages by
section, from `apt-cache dumpavail`; the others are read from the folder in CORDWOOD_DATA. Sets that
are not available are skipped. The last line is the smallest ratio of the pickle of the same model
to the compact file.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

import corpora
from cordwood import persist, recipes
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

SETS = ("debian", "20ng", "webkb", "reut90", "ohsumed", "tweets", "amazon", "yelp")

# Sections with fewer packages are left out.
_MIN_PACKAGES = 20
_N_TEST = 5000
_N_LOADS = 3


class Texts(NamedTuple):
    """Texts and labels, in random order."""

    texts: list[str]
    labels: list[str]


def main(names: list[str], max_samples: int) -> None:
    print_run()
    print_head(
        "data",
        "samples, classes",
        "compact, MB",
        "full, MB",
        "pickle, MB",
        "load, s",
        "accuracy, saved / loaded",
        "largest difference",
        "same label, %",
        "scikit-learn: MB",
        "load, s",
        "accuracy",
    )
    ratios = []
    for name in names:
        data = load_texts(name)
        if data is None:
            print_row(name, "not available", *[""] * 10)
            continue
        ratios.append(compare(name, data, max_samples))
    if ratios:
        print(f"\nsmallest ratio of the pickle to the compact file: {min(ratios):.1f}")


def compare(name: str, data: Texts, max_samples: int) -> float:
    """Print the row of one data set; return the ratio of the pickle to the compact file."""
    n_train = min(max_samples, len(data.texts) * 4 // 5)
    texts, labels = data.texts[:n_train], data.labels[:n_train]
    queries = data.texts[n_train : n_train + _N_TEST]
    y = np.array(data.labels[n_train : n_train + _N_TEST])
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model = recipes.make("quick", random_state=0, n_jobs=-1, check_leakage=False)
        model.fit(texts, labels)
        compact = persist.save(model, Path(folder, "compact"))
        full = persist.save(model, Path(folder, "full"), precision="full")
        pickled = Path(folder, "pickle")
        joblib.dump(model, pickled)
        expected = model.predict_proba(queries)
        seconds, loaded = time_load(persist.load, compact)
        proba = loaded.predict_proba(queries)
        exact = persist.load(full).predict_proba(queries)
        if exact.tobytes() != expected.tobytes():
            raise SystemExit(f"{name}: predictions of the file with full precision differ")
        peer = make_peer().fit(texts, labels)
        peer_file = Path(folder, "peer")
        joblib.dump(peer, peer_file)
        peer_seconds, _ = time_load(joblib.load, peer_file)
        best, loaded_best = expected.argmax(axis=1), proba.argmax(axis=1)
        sizes = [file.stat().st_size / 1e6 for file in (compact, full, pickled, peer_file)]
        print_row(
            name,
            f"{n_train:,}, {len(model.classes_)}",
            *(f"{size:.1f}" for size in sizes[:3]),
            f"{seconds:.2f}",
            f"{np.mean(model.classes_[best] == y):.4f} / "
            f"{np.mean(model.classes_[loaded_best] == y):.4f}",
            f"{np.abs(proba - expected).max():.5f}",
            f"{100 * np.mean(best == loaded_best):.2f}",
            f"{sizes[3]:.1f}",
            f"{peer_seconds:.2f}",
            f"{peer.score(queries, y):.4f}",
        )
    return sizes[2] / sizes[0]


def time_load(load: Callable[[Path], Any], file: Path) -> tuple[float, Any]:
    """Return the shortest CPU time of several loads, and the model."""
    results = [measure(load, file, clock=time.process_time) for _ in range(_N_LOADS)]
    return min(seconds for seconds, _ in results), results[0][1]


def make_peer() -> Any:
    """Make scikit-learn's linear SVM on words and characters, with the n-grams of `nbsvm`."""
    return make_pipeline(
        make_union(
            TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
            TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2, sublinear_tf=True),
        ),
        LinearSVC(),
    )


def load_texts(name: str) -> Texts | None:
    """Return a data set in random order, or None if it is not available."""
    if name == "debian":
        rows = read_packages()
    else:
        try:
            dataset = corpora.load_single_label(name)
        except SystemExit:
            return None
        rows = list(zip(dataset.texts, dataset.labels, strict=True))
    if not rows:
        return None
    order = np.random.default_rng(0).permutation(len(rows))
    return Texts([rows[i][0] for i in order], [str(rows[i][1]) for i in order])


def read_packages() -> list[tuple[str, str]]:
    """Return the descriptions and sections of the packages that apt knows, if there is apt."""
    if shutil.which("apt-cache") is None:
        return []
    command = ["apt-cache", "dumpavail"]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = set()
    for paragraph in output.split("\n\n"):
        fields = dict(re.findall(r"^(Section|Description)(?:-en)?: (.*)$", paragraph, re.MULTILINE))
        if len(fields) == 2:
            rows.add((fields["Description"], fields["Section"]))
    counts = Counter(section for _, section in rows)
    return sorted(row for row in rows if counts[row[1]] >= _MIN_PACKAGES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--max-samples", type=at_least(100), default=30_000)
    arguments = parser.parse_args()
    main(arguments.sets, arguments.max_samples)
