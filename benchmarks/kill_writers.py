"""Kill processes that write one ledger and one cache of vectors, and count what is lost.

Two processes append records to the ledger of a comparison and vectors to the cache of an encoder,
and confirm each write to the parent process, which kills them at random times (SIGKILL) and starts
others. In every tenth round, one of them is first stopped (SIGSTOP) for a moment, perhaps while it
holds a lock. In the end, every confirmed record and vector must be there, unchanged.

python dev.py bench kill_writers [--kills N] [--seed N]
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from cordwood.compare.runner.ledger import Ledger
from cordwood.encoders.embedding_cache import EmbeddingCache
from cordwood.encoders.encoder import EncodedTexts
from options import at_least

ENCODER: Any = SimpleNamespace(name="none", fingerprint="0" * 64, dimension=64, max_tokens=16)
"""What a cache knows of an encoder."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=at_least(1), default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        confirmed = run_rounds(Path(folder), args.kills, random.Random(args.seed))
        n_lost = count_lost(Path(folder), confirmed)
    print(f"{args.kills} kills, {len(confirmed)} confirmed writes, {n_lost} lost")
    sys.exit(n_lost > 0)


def run_rounds(folder: Path, n_kills: int, rng: random.Random) -> list[int]:
    """Kill writers, two of which run at any time; return the numbers of confirmed writes."""
    receiver, sender = os.pipe()
    os.set_blocking(receiver, False)
    confirmed = b""
    writers = [start_writer(folder, sender, 0), start_writer(folder, sender, 1)]
    try:
        for number in range(n_kills):
            time.sleep(rng.uniform(0.0, 0.2))
            victim = number % 2
            if number % 10 == 9:
                os.kill(writers[1 - victim], signal.SIGSTOP)
                time.sleep(0.1)
            end_writer(writers[victim])
            os.kill(writers[1 - victim], signal.SIGCONT)
            writers[victim] = start_writer(folder, sender, number + 2)
            with suppress(BlockingIOError):  # nothing was written in this time
                confirmed += os.read(receiver, 1 << 20)
        time.sleep(1.0)
    finally:
        for writer in writers:
            end_writer(writer)
    with suppress(BlockingIOError):
        confirmed += os.read(receiver, 1 << 20)
    numbers: list[int] = np.frombuffer(confirmed, np.int64).tolist()
    return numbers


def end_writer(writer: int) -> None:
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)


def start_writer(folder: Path, sender: int, number: int) -> int:
    """Fork a process that writes until it is killed."""
    child = os.fork()
    if child:
        return child
    ledger = Ledger(folder / "results.jsonl")
    cache = EmbeddingCache(folder / "vectors", ENCODER)
    for step in range(1_000_000):
        key = number * 1_000_000 + step
        with ledger.claim(str(key)) or nullcontext():
            ledger.append({"key": str(key), "filler": "x" * (key % 5000)})
        cache.write([(key, key)], EncodedTexts(make_vector(key), np.array([False])))
        os.write(sender, np.int64(key).tobytes())
    os._exit(0)


def make_vector(key: int) -> Any:
    return np.random.default_rng(key).normal(size=(1, 64)).astype(np.float16).astype(np.float32)


def count_lost(folder: Path, confirmed: list[int]) -> int:
    """Count the confirmed records that are missing, and vectors that are missing or different."""
    records = Ledger(folder / "results.jsonl").records()
    lengths = {record["key"]: len(record["filler"]) for record in records}
    n_lost = sum(lengths.get(str(key)) != key % 5000 for key in confirmed)
    cache = EmbeddingCache(folder / "vectors", ENCODER)
    found, encoded = cache.read([(key, key) for key in confirmed])
    expected = np.vstack([make_vector(confirmed[i]) for i in found])
    n_wrong = int((encoded.vectors != expected).any(axis=1).sum())
    return n_lost + len(confirmed) - len(found) + n_wrong


if __name__ == "__main__":
    main()
