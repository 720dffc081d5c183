"""How fast is `cordwood predict MODEL PARTS -o FOLDER/`, and in how much memory?

    python dev.py bench parts_speed [--texts 40000] [--classes 20]

Trains the recipe `quick` without encoder on generated lines of nine words, and predicts Parquet
files: in one process with all threads, in two processes of one thread each, and all texts as a
single file. CPU time is that of all processes, without the start of the command (a run that finds
all parts done); memory is that of the largest process. The last line is the ratio of the wall times
of one and two processes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from cordwood import TextClassifier
from corpora import generate_lines
from options import at_least
from stopwatch import print_head, print_row, print_run

N_PARTS = 8


def main(n_texts: int, n_classes: int) -> None:
    print_run()
    texts, y = generate_lines(n_classes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        TextClassifier(encoder=None).fit(texts[:4000], y[:4000]).save(folder / "m.cordwood")
        table = pa.table({"text": [texts[i % len(texts)] for i in range(n_texts)]})
        write(table, folder / "parts", N_PARTS)
        write(table, folder / "single", 1)
        print_head("run", "wall s", "CPU s", "texts / CPU s", "peak MB")
        walls = {}
        for title, parts, jobs in (
            ("8 parts, 1 process", "parts", 1),
            ("8 parts, 2 processes", "parts", 2),
            ("1 part, 1 process", "single", 1),
        ):
            out = f"{parts}-{jobs}"
            wall, cpu, peak = run(folder, parts, out, jobs)
            _, start, _ = run(folder, parts, out, 1)
            walls[title] = wall
            speed = n_texts / (cpu - start)
            print_row(title, f"{wall:.1f}", f"{cpu - start:.1f}", f"{speed:,.0f}", f"{peak:.0f}")
    print(f"{walls['8 parts, 1 process'] / walls['8 parts, 2 processes']:.2f}")


def write(table: pa.Table, folder: Path, n_parts: int) -> None:
    folder.mkdir()
    size = -(-len(table) // n_parts)
    for part in range(n_parts):
        rows = table.slice(part * size, size)
        pa.parquet.write_table(rows, folder / f"part-{part}.parquet")


def run(folder: Path, parts: str, out: str, jobs: int) -> tuple[float, float, float]:
    """Return wall time, CPU time and the peak memory in MB of the largest process."""
    arguments = ["m.cordwood", parts, "-o", f"{out}/", "--jobs", str(jobs), "--quiet"]
    start, before = time.perf_counter(), os.times()
    code = (
        "import resource, sys; from cordwood.cli.main import main; code = main(sys.argv[1:]);"
        "print(max(resource.getrusage(who).ru_maxrss for who in "
        "(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", *arguments],
        cwd=folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return time.perf_counter() - start, cpu, float(done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=at_least(8), default=40_000)
    parser.add_argument("--classes", type=at_least(2), default=20)
    args = parser.parse_args()
    main(args.texts, args.classes)
