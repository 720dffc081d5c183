"""What does `cordwood train` take for long texts, compared with a linear SVM of scikit-learn?

    python dev.py bench long_texts [--texts 150] [--characters 160000] [--repeats 2]

Generates texts as long as books: sentences of words by Zipf's law, of which one in fifty is drawn
from the words of the class, one of three. `cordwood train` (recipe `quick`, without encoder) and
scikit-learn's `LinearSVC` on TF-IDF of word unigrams, bigrams and character n-grams of 3 to 5 read
the same CSV file, each in a new process of one thread, in turn. Prints the CPU time of the whole
process, imports included, as the minimum of the repeats, its peak memory, and last the ratio of the
CPU times. Needs Linux or macOS, which count the memory of a process.
"""

import argparse
import csv
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC

from options import at_least
from stopwatch import print_head, print_row, print_run

N_CLASSES = 3
# The most frequent words of English texts, which decide how their words are counted.
COMMON = """the of and to a in is that it was for on are as with his they be at one have this from
or had by not but what all were when we there can an your which their""".split()
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def generate(n_texts: int, n_characters: int) -> list[tuple[str, str]]:
    """Draw texts and their classes."""
    rng = np.random.default_rng(0)
    syllables = np.array([a + b for a in "bcdfghlmnprstvw" for b in ("a", "e", "in", "o", "er")])
    drawn = ("".join(rng.choice(syllables, size)) for size in rng.integers(1, 6, 250_000))
    words = np.array(list(dict.fromkeys([*COMMON, *drawn])))
    cumulative = np.cumsum(1 / np.arange(1, len(words) + 1))
    own = rng.choice(words[1_000:20_000], (N_CLASSES, 200))
    pairs = []
    for i in range(n_texts):
        n_words = n_characters // 5
        ranks = np.searchsorted(cumulative, rng.random(n_words) * cumulative[-1])
        chosen = np.where(
            rng.random(n_words) < 0.02, rng.choice(own[i % N_CLASSES], n_words), words[ranks]
        ).astype(object)
        chosen[rng.random(n_words) < 1 / 15] += "."
        text = " ".join(chosen)[:n_characters]
        pairs.append((text, f"class {i % N_CLASSES}"))
    return pairs


def fit_reference(path: str) -> None:
    """Fit the classifier of scikit-learn to a file, in this process."""
    csv.field_size_limit(2**30)
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    model = make_pipeline(make_union(words, characters), LinearSVC())
    model.fit([row["text"] for row in rows], [row["label"] for row in rows])


def run(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory in MB of a process."""
    pid = os.posix_spawn(
        command[0],
        command,
        {**os.environ, **dict.fromkeys(VARIABLES, "1")},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    unit = 1 if sys.platform == "darwin" else 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6


def main(n_texts: int, n_characters: int, n_repeats: int) -> None:
    print_run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.csv")
        pairs = generate(n_texts, n_characters)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *pairs])
        train = [sys.executable, "-m", "cordwood", "train", str(path), "--encoder", "none"]
        train += ["-o", str(Path(folder, "model.cordwood")), "--jobs", "1"]
        commands = {
            "scikit-learn": [sys.executable, __file__, "--reference", str(path)],
            "cordwood": train,
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(n_repeats):
            for name, command in commands.items():
                found[name].append(run(command))
    print(f"{n_texts} texts, {sum(len(text) for text, _ in pairs) / 1e6:.1f} MB\n")
    print_head("training", "CPU s", "peak, MB")
    least = {name: min(seconds for seconds, _ in runs) for name, runs in found.items()}
    for name, runs in found.items():
        print_row(name, f"{least[name]:.1f}", f"{max(memory for _, memory in runs):.0f}")
    print(f"\n{least['cordwood'] / least['scikit-learn']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train on long texts.")
    parser.add_argument("--texts", type=at_least(N_CLASSES), default=150)
    parser.add_argument("--characters", type=at_least(1_000), default=160_000)
    parser.add_argument("--repeats", type=at_least(1), default=2)
    parser.add_argument("--reference", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reference:
        fit_reference(options.reference)
    else:
        main(options.texts, options.characters, options.repeats)
