"""How do time, memory and file size grow with the collection, up to a million texts?

    python dev.py bench large_collections [--recipes nbsvm,quick] [--shape short]
        [--texts 10000,100000,1000000] [--jobs 1] [--timeout 3600] [--results FILE]

Texts are generated once (see `resampled`). Each measurement is a new process: it reads them, fits a
`TextClassifier` without encoder, saves it and predicts 10,000 more texts. The peak is that of the
resident memory of the whole process, libraries and texts included. A line is added to the results
file for each measurement, and those that are there already are not repeated. Prints a table, and
last the exponents of growth of CPU time and memory from the first to the last size. Needs Linux or
macOS, which count the peak of a process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import resampled
from cordwood import TextClassifier
from cordwood._base.resources import PeakMemory
from options import at_least
from stopwatch import load, print_head, print_row

_N_TEST = 10_000


def write_texts(shape: str, n_texts: int, path: Path) -> None:
    """Write labels and texts, one line for each."""
    originals = resampled.read_originals(resampled.SHAPES[shape])
    with path.open("w", encoding="utf-8") as file:
        for text, label in resampled.generate(originals, n_texts):
            file.write(f"{label}\t{text}\n")


def measure(recipe: str, n_texts: int, n_jobs: int, path: str) -> dict[str, Any]:
    """Fit one model in this process, and return what it took."""
    with Path(path).open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line in islice(file, n_texts + _N_TEST)]
    labels, texts = map(list, zip(*rows, strict=True))
    expected, test = labels[n_texts:], texts[n_texts:]
    del rows, labels[n_texts:], texts[n_texts:]
    memory = PeakMemory()
    cpu, wall = time.process_time(), time.perf_counter()
    model = TextClassifier(recipe, encoder=None, n_jobs=n_jobs).fit(texts, labels)
    fitted = {"fit_cpu_s": time.process_time() - cpu, "fit_s": time.perf_counter() - wall}
    peak = memory.read()
    if peak is None:
        raise SystemExit("the operating system does not tell the peak of the memory")
    with tempfile.TemporaryDirectory() as folder:
        file_path = Path(folder, "model.cordwood")
        model.save(file_path)
        size = file_path.stat().st_size
    cpu = time.process_time()
    predicted = model.predict(test)
    return {
        **fitted,
        "predict_cpu_s": time.process_time() - cpu,
        "peak_mb": peak / 1e6,
        "text_mb": sum(map(len, texts)) / 1e6,
        "file_mb": size / 1e6,
        "accuracy": float(np.mean(predicted == np.array(expected))),
        "load": load(),
    }


def run(key: dict[str, Any], path: Path, timeout: float, results: Path) -> dict[str, Any]:
    """Return the stored measurement of this key, or measure in a new process and store it."""
    lines = results.read_text().splitlines() if results.exists() else []
    for line in map(json.loads, lines):
        if line.items() >= key.items():
            return dict(line)
    given = {name: value for name, value in key.items() if name != "shape"}
    command = [sys.executable, __file__, "--measure", json.dumps({**given, "path": str(path)})]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=os.environ
        )
        last = done.stdout.splitlines()[-1] if done.stdout else ""
        found = json.loads(last) if done.returncode == 0 else {"error": done.stderr[-500:]}
    except subprocess.TimeoutExpired:
        found = {"error": f"not finished in {timeout:g} s"}
    with results.open("a") as file:
        file.write(json.dumps({**key, **found}) + "\n")
    return {**key, **found}


def main(options: argparse.Namespace, path: Path) -> None:
    write_texts(options.shape, max(options.texts) + _N_TEST, path)
    print_head(
        "recipe, texts",
        "MB of text",
        "fit, s",
        "fit, CPU s",
        "peak, MB",
        f"{_N_TEST:,} predictions, CPU s",
        "file, MB",
        "accuracy",
    )
    exponents = []
    for recipe in options.recipes:
        rows = []
        for n_texts in options.texts:
            key = {
                "recipe": recipe,
                "shape": options.shape,
                "n_texts": n_texts,
                "n_jobs": options.jobs,
            }
            row = run(key, path, options.timeout, options.results)
            if "error" in row:
                print_row(f"{recipe}, {n_texts:,}", row["error"], *[""] * 6)
                continue
            rows.append(row)
            print_row(
                f"{recipe}, {n_texts:,}",
                *(f"{row[name]:.1f}" for name in ("text_mb", "fit_s", "fit_cpu_s", "peak_mb")),
                *(f"{row[name]:.1f}" for name in ("predict_cpu_s", "file_mb")),
                f"{row['accuracy']:.4f}",
            )
        if len(rows) > 1:
            growth = np.log(rows[-1]["n_texts"] / rows[0]["n_texts"])
            exponents.append(
                f"{recipe}: "
                + ", ".join(
                    f"{name} {np.log(rows[-1][name] / rows[0][name]) / growth:.2f}"
                    for name in ("fit_cpu_s", "predict_cpu_s", "peak_mb", "file_mb")
                )
            )
    print("\nexponents of growth\n" + "\n".join(exponents))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipes", type=lambda text: text.split(","), default=["nbsvm", "quick"])
    parser.add_argument("--shape", choices=list(resampled.SHAPES), default="short")
    parser.add_argument(
        "--texts",
        type=lambda text: list(map(int, text.split(","))),
        default=[10_000, 100_000, 1_000_000],
    )
    parser.add_argument("--jobs", type=at_least(1), default=1)
    parser.add_argument("--timeout", type=float, default=3600.0)
    parser.add_argument("--results", type=Path, default=Path("large-collections.jsonl"))
    parser.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(**options.measure)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(options, Path(folder, "texts.tsv"))
