"""A Dask scheduler and its workers in processes of their own, for tests."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
psutil = pytest.importorskip("psutil")  # which distributed needs


class LocalCluster:
    """A scheduler and workers on loopback, each in its own process."""

    def __init__(self, folder, stack, preload=""):
        self._folder, self._stack = folder, stack
        (folder / "preload.py").write_text(preload)
        scheduler_file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", scheduler_file)
        deadline = time.monotonic() + 120
        while not scheduler_file.exists():
            assert time.monotonic() < deadline and self.scheduler.poll() is None, self._log()
            time.sleep(0.05)
        self.address = json.loads(scheduler_file.read_text())["address"]
        self.client = stack.enter_context(distributed.Client(self.address, set_as_default=False))

    def scale(self, n_workers):
        """Start or kill workers until there are `n_workers`; return their process ids."""
        while len(self.client.nthreads()) > n_workers:
            self.kill(next(iter(self.client.nthreads())))
        for number in range(len(self.client.nthreads()), n_workers):
            # One of them has several threads.
            threads = ["--nthreads", "4" if number == 0 else "1"]
            preload = ["--preload", self._folder / "preload.py"]
            self._start("worker", self.address, "--no-nanny", *threads, *preload)
        if n_workers:
            self.client.wait_for_workers(n_workers, timeout=120)
        return self.processes()

    def processes(self):
        """Return the process id of each worker by its address."""
        return self.client.run(os.getpid)

    def kill(self, worker):
        psutil.Process(self.processes()[worker]).kill()
        while worker in self.client.nthreads():
            time.sleep(0.01)

    def kill_scheduler(self, _=None):
        """Kill the scheduler process."""
        self.scheduler.kill()
        self.scheduler.wait()

    def events(self, process):
        path = self._folder / f"{process}.events"
        return Counter(path.read_text().split() if path.exists() else ())

    def _start(self, role, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments]
        command += ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        log = self._stack.enter_context(open(self._folder / f"{role}.log", "a"))
        environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(self._folder)}
        process = subprocess.Popen(
            command, cwd=self._folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def _log(self):
        return (self._folder / "scheduler.log").read_text()
