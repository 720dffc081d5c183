"""Kill `cordwood predict MODEL PARTS -o FOLDER/` at random moments, and compare what is left.

A process that predicts a folder of Parquet, CSV and JSON lines files is killed (SIGKILL) at a
random time, and started again on the same folder, every tenth time with two worker processes. When
all parts are done, they must be those of a run without interruption, byte by byte and row by row;
then it starts over in an empty folder, until there were enough kills.

python dev.py bench kill_predict [--kills N] [--seed N]
"""

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from cordwood import TextClassifier
from cordwood.cli.main import main as run_command
from options import at_least

N_PARTS, N_SAMPLES = 24, 1500
WORDS = {"food": "bread soup salt cheese apple", "sport": "goal team match player ball"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=at_least(1), default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = kill_and_resume(Path(folder), args.kills, random.Random(args.seed))
    print(
        f"{args.kills} kills, {counts['resumed']} of them with finished parts, "
        f"{counts['compared']} folders compared, {counts['different']} different"
    )
    sys.exit(counts["different"] > 0)


def kill_and_resume(
    folder: Path, n_kills: int, rng: random.Random, *, n_parts: int = N_PARTS, job_rounds: int = 10
) -> dict[str, int]:
    """Kill and resume runs; every `job_rounds`-th has two processes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cordwood.cli.predict", "cordwood.cli.predict_parts"])
    make_files(folder, n_parts, rng)

    def start(out: str, jobs: int = 1) -> Any:
        arguments = [
            "predict",
            folder / "model.cordwood",
            folder / "parts",
            "-o",
            f"{folder}/{out}/",
        ]
        process = context.Process(
            target=run_command, args=([*map(str, arguments), "--quiet", f"--jobs={jobs}"],)
        )
        process.start()
        return process

    begin = time.perf_counter()
    start("whole").join()
    seconds = (time.perf_counter() - begin) / n_parts  # of a part
    whole = read_outputs(folder / "whole")
    assert len(whole) == n_parts
    counts = {"kills": 0, "resumed": 0, "compared": 0, "different": 0}
    while counts["kills"] < n_kills:
        out = folder / f"killed{counts['compared']}"
        is_done = False
        while not is_done:
            jobs = 2 if job_rounds and counts["kills"] % job_rounds == job_rounds - 1 else 1
            process = start(out.name, jobs)
            if counts["kills"] < n_kills:
                # From its start on, or while or after it writes one of the next parts.
                n_awaited = count_outputs(out) + rng.randrange(4)
                while process.is_alive() and count_outputs(out) < n_awaited:
                    time.sleep(0.001)
                process.join(rng.uniform(0.0, seconds))
            else:
                process.join()
            is_done = process.exitcode is not None
            if not is_done:
                process.kill()
                process.join()
                counts["kills"] += 1
                counts["resumed"] += count_outputs(out) > 0
        counts["compared"] += 1
        counts["different"] += read_outputs(out) != whole
    assert sum(len(rows) for rows, _ in whole.values()) == n_parts * N_SAMPLES
    return counts


def count_outputs(folder: Path) -> int:
    return len(list(folder.glob("part*"))) if folder.exists() else 0


def make_files(folder: Path, n_parts: int, rng: random.Random) -> None:
    """Write a model and the parts, of three formats."""
    labels = ["food", "sport"] * 20
    texts = [" ".join(rng.choices(WORDS[label].split(), k=5)) for label in labels]
    TextClassifier("svm").fit(texts, labels).save(folder / "model.cordwood")
    (folder / "parts").mkdir()
    every = " ".join(WORDS.values()).split()
    for part in range(n_parts):
        rows = {
            "key": list(range(part * N_SAMPLES, (part + 1) * N_SAMPLES)),
            "text": [" ".join(rng.choices(every, k=6)) for _ in range(N_SAMPLES)],
        }
        name = folder / "parts" / f"part-{part:03}"
        if part % 3 == 0:
            pa.parquet.write_table(pa.table(rows), f"{name}.parquet")
        elif part % 3 == 1:
            pa.csv.write_csv(pa.table(rows), f"{name}.csv")
        else:
            lines = [json.dumps(row) for row in pa.table(rows).to_pylist()]
            Path(f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_outputs(folder: Path) -> dict[str, tuple[list[dict[str, Any]], bytes]]:
    """Return the rows and the bytes of each output; temporary files would be among them."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("_cordwood"):
            continue
        if path.suffix == ".parquet":
            rows = pa.parquet.read_table(path).to_pylist()
        elif path.suffix == ".csv":
            rows = pa.csv.read_csv(path).to_pylist()
        else:
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found[path.name] = rows, path.read_bytes()
    return found


if __name__ == "__main__":
    main()
