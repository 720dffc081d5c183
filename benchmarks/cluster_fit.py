"""Fit on a Dask cluster against threads of one process on the same cores, and a projection.

Starts a real scheduler and worker processes of one thread on loopback. The bar is 10 % more wall
time than threads take. The projection schedules the measured calls on more workers, longest first:
what is computed in the client stays there, and the link of the scheduler, through which everything
is sent, carries the data once for each worker. It leaves out latency and slow workers.

    python benchmarks/cluster_fit.py --workers 2,4 --recipes quick,rf,boosted_rf,lazy_rf
"""

import argparse
import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from threadpoolctl import threadpool_limits

import cordwood
from cordwood import TextClassifier
from cordwood._base import cluster as module
from cordwood.datasets import load_dataset
from stopwatch import print_head, print_row, print_run

NETWORKS = {"1 Gbit/s": 125e6, "10 Gbit/s": 1250e6}
PROJECTED = (8, 64, 512)


@contextmanager
def start_cluster(n_workers: int) -> Iterator[tuple[str, Client]]:
    """Start a scheduler and workers, each in its own process."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        file = Path(folder, "scheduler.json")
        environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": folder}

        def start(role: str, *arguments: str) -> None:
            command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments]
            command += [
                "--host",
                "127.0.0.1",
                "--no-dashboard",
                "--dashboard-address",
                "127.0.0.1:0",
            ]
            log = stack.enter_context(open(Path(folder, f"{role}.log"), "a"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)

        start("scheduler", "--port", "0", "--scheduler-file", str(file))
        while not file.exists():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        for _ in range(n_workers):
            start("worker", address, "--no-nanny", "--nthreads", "1", "--memory-limit", "0")
        client = stack.enter_context(Client(address, set_as_default=False))
        client.wait_for_workers(n_workers)
        yield address, client


class Recorder:
    """Seconds and bytes of each call, in one list for each run of calls."""

    def __init__(self) -> None:
        self.runs: list[list[tuple[float, int]]] = []
        self.seconds = 0.0  # that this process waited for calls
        run, unpack = module.Cluster.run, module.Cluster._unpack

        def record_run(cluster: Any, calls: Any) -> Iterator[Any]:
            self.runs.append([])
            start = time.perf_counter()
            yield from run(cluster, calls)
            self.seconds += time.perf_counter() - start

        def record_result(cluster: Any, packed: bytes) -> Any:
            before = cluster.traffic.seconds
            result = unpack(cluster, packed)
            self.runs[-1].append((cluster.traffic.seconds - before, len(packed)))
            return result

        module.Cluster.run, module.Cluster._unpack = record_run, record_result


def fit(
    recipe: str, X: list[str], y: list[Any], n_jobs: int
) -> tuple[TextClassifier, float, float]:
    """Return a fitted model, and the wall and CPU seconds of this process."""
    model = TextClassifier(recipe, encoder=None, n_jobs=n_jobs, oof=True)
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, time.perf_counter() - wall, time.process_time() - cpu


def makespan(seconds: list[float], n_workers: int) -> float:
    """Return the time of calls on idle workers, the longest first."""
    ends = [0.0] * n_workers
    for each in sorted(seconds, reverse=True):
        heapq.heappush(ends, heapq.heappop(ends) + each)
    return max(ends)


def project(
    runs: list[list[tuple[float, int]]], here: float, data: float, n: int, rate: float
) -> float:
    """Return the seconds of a fit on `n` workers: `data` bytes go to each, `here` is not shared."""
    calls = sum(makespan([seconds for seconds, _ in run], n) for run in runs)
    busy = max((min(len(run), n) for run in runs), default=0)
    results = sum(size for run in runs for _, size in run)
    return here + calls + (busy * data + results) / rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--recipes", default="quick,rf,boosted_rf,lazy_rf")
    parser.add_argument("--samples", type=int, default=None)
    args = parser.parse_args()
    print_run("distributed")
    corpus = load_dataset("docstrings")
    texts, labels = list(corpus.texts[: args.samples]), list((corpus.labels or ())[: args.samples])
    recorder, ratios, projections = Recorder(), [], []
    print_head("recipe", "workers", "threads, wall s (CPU s)", "cluster, wall s (CPU s)", "calls",
               "MB sent", "MB received", "same bits", "wall ratio", "CPU ratio")  # fmt: skip
    for n_workers in map(int, args.workers.split(",")):
        with start_cluster(n_workers) as (address, client):
            for recipe in args.recipes.split(","):
                with cordwood.cluster(address):  # compiles kernels, in all processes
                    fit(recipe, texts[::10], labels[::10], 1)
                with threadpool_limits(1):
                    here, wall, cpu = fit(recipe, texts, labels, n_workers)
                recorder.runs.clear()
                recorder.seconds = 0.0
                before = sum(client.run(time.process_time).values())
                with cordwood.cluster(address) as connection:
                    there, wall_there, cpu_there = fit(recipe, texts, labels, 1)
                cpu_there += sum(client.run(time.process_time).values()) - before
                traffic = connection.traffic
                same = np.array_equal(here.oof_.proba, there.oof_.proba)
                ratios.append((wall_there / wall, cpu_there / cpu))
                print_row(
                    recipe, str(n_workers), f"{wall:.1f} ({cpu:.1f})",
                    f"{wall_there:.1f} ({cpu_there:.1f})", str(traffic.n_calls),
                    f"{traffic.sent / 1e6:.1f}", f"{traffic.received / 1e6:.1f}",
                    "yes" if same else "NO", *(f"{ratio:.2f}" for ratio in ratios[-1]),
                )  # fmt: skip
                waiting = wall_there - recorder.seconds
                runs = [list(run) for run in recorder.runs if run]
                per_worker = traffic.sent / n_workers
                projections.append((recipe, n_workers, runs, waiting, per_worker))
    print("\nProjected seconds of a fit, from the calls above:\n")
    print_head("recipe, calls of", "network", *(f"{n} workers" for n in PROJECTED))
    for recipe, n_workers, runs, waiting, per_worker in projections:
        for network, rate in NETWORKS.items():
            seconds = [project(runs, waiting, per_worker, n, rate) for n in PROJECTED]
            print_row(f"{recipe}, {n_workers}", network, *(f"{each:.1f}" for each in seconds))
    print(f"\nwall ratio {max(wall for wall, _ in ratios):.2f}, CPU ratio at most "
          f"{max(cpu for _, cpu in ratios):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
