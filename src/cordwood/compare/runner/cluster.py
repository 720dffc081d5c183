"""Run trials on a Dask cluster: each data set is sent to each worker once.

The client keeps the ledger, because workers may run on computers without a shared file system. If
a worker is lost, its trial is run again by another one.

Results of the workers are unpickled, so that clusters must be trusted.
"""

import logging
import platform
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self

from cordwood.compare.runner import dataset_cache
from cordwood.compare.runner.dataset_cache import DatasetKey, LoadedDataset
from cordwood.compare.runner.run_trial import TrialResult, run_trial
from cordwood.compare.runner.trials import Trial
from cordwood.exceptions import CordwoodError

# Seconds.
_CONNECT_TIMEOUT = 5.0
_POLL_INTERVAL = 1.0  # between checks for new and lost workers
_WORKER_TIMEOUT = 60.0  # without any worker; lost workers are often restarted

_MAX_WORKER_LOSSES = 4  # before a trial counts as failed
_WORKERS_LOST = "{} workers were lost while running this trial, possibly out of memory"


class Job(NamedTuple):
    """A trial and everything that is needed to run it."""

    key: str
    trial: Trial
    seed: int
    dataset: LoadedDataset


class Cluster:
    """The workers of a Dask cluster, as a context manager.

    Raises a CordwoodError if the cluster is not available, or if a worker has other versions of
    Python or of the libraries.
    """

    def __init__(self, address: str, versions: Mapping[str, str]) -> None:
        self._address = address
        self._versions = versions
        self._dask = _import_dask()
        self._client = self._connect()
        # Data set in the memory of each worker; only workers with the required versions.
        self._workers: dict[str, DatasetKey | None] = {}
        self._running: dict[Any, tuple[str, Job]] = {}  # by future
        self._done: SimpleQueue[Any] = SimpleQueue()  # futures, added by threads of Dask

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.push(self.__exit__)
            self._check_scheduler()
            self._wait_for_workers(timeout=0)
            stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, CordwoodError):  # else the connection may be lost
            with suppress(OSError):
                self._client.run(
                    dataset_cache.clear, workers=list(self._workers), on_error="ignore"
                )
        # The client logs that it stops reconnecting, and raises RuntimeError if a connection
        # attempt times out at that moment.
        with _silence_logger("distributed.client"), suppress(RuntimeError):
            self._client.close()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TrialResult]]:
        """Run jobs, and yield each with its result as soon as it has finished."""
        # Consumed as workers become idle, so that there are never more jobs than workers.
        waiting = iter(jobs)
        n_losses: Counter[str] = Counter()
        while True:
            self._wait_for_workers(_WORKER_TIMEOUT)
            self._submit(dict(zip(self._idle_workers(), waiting, strict=False)))
            if not self._running:
                return
            for job, result in self._collect():
                if result is not None:
                    yield job, result
                    continue
                n_losses[job.key] += 1
                if n_losses[job.key] < _MAX_WORKER_LOSSES:
                    waiting = chain([job], waiting)
                else:
                    yield job, TrialResult({"error": _WORKERS_LOST.format(n_losses[job.key])}, {})

    def _connect(self) -> Any:
        try:
            # First, because a client that fails during its construction cannot be closed.
            self._dask.comm.resolve_address(self._address)
            # A first client with a short timeout checks that there is a scheduler; the second has
            # Dask's longer timeout, because the scheduler may be busy later.
            self._dask.Client(self._address, timeout=_CONNECT_TIMEOUT, set_as_default=False).close()
            return self._dask.Client(self._address, set_as_default=False)
        except OSError as error:
            raise CordwoodError(
                f"there is no Dask scheduler at {self._address} ({error}); start one with: "
                "dask scheduler"
            ) from error
        except ValueError as error:
            raise CordwoodError(
                f"cluster must be the address of a Dask scheduler, such as tcp://host:8786; got "
                f"{self._address!r} ({error})"
            ) from error

    def _wait_for_workers(self, timeout: float) -> None:
        """Update the list of workers until there is at least one."""
        deadline = time.monotonic() + timeout
        while not self._update_workers():
            if time.monotonic() > deadline:
                raise CordwoodError(
                    f"the cluster at {self._address} has no workers; start some, each with: dask "
                    f"worker {self._address} --nthreads 1 --memory-limit 0; finished trials are in "
                    "the ledger"
                )
            time.sleep(_POLL_INTERVAL)

    def _update_workers(self) -> bool:
        """Add new workers and remove lost ones; return whether there are any."""
        with self._connection_errors():
            present = self._client.nthreads()
            self._workers = {
                worker: key for worker, key in self._workers.items() if worker in present
            }
            new = [worker for worker in present if worker not in self._workers]
            if new:
                self._workers.update(dict.fromkeys(self._check_versions(new)))
        return bool(self._workers)

    def _check_scheduler(self) -> None:
        """Import cordwood in the scheduler, which needs it to pass on tasks."""
        with self._connection_errors():
            try:
                self._client.run_on_scheduler(import_module, __name__)
            except ImportError as error:
                raise CordwoodError(
                    f"the scheduler at {self._address} cannot import cordwood ({error}); install "
                    "the same versions on all computers of the cluster"
                ) from error

    def _check_versions(self, workers: Sequence[str]) -> list[str]:
        """Check the versions of workers; return those that are still connected."""
        connected = list(workers)
        for library, expected in self._versions.items():
            # Functions of the standard library, because cordwood may not be installed.
            call = (platform.python_version,) if library == "python" else (version, library)
            found = self._client.run(*call, workers=connected, on_error="return")
            for worker, result in found.items():
                if isinstance(result, OSError):
                    connected.remove(worker)
                elif result != expected:
                    installed = result if isinstance(result, str) else "none"
                    raise CordwoodError(
                        f"results could differ: this process has {library} {expected}, but worker "
                        f"{worker} has {installed}; install the same versions on all computers of "
                        "the cluster"
                    )
        return connected

    def _idle_workers(self) -> list[str]:
        busy = {worker for worker, _ in self._running.values()}
        return [worker for worker in self._workers if worker not in busy]

    def _submit(self, jobs: Mapping[str, Job]) -> None:
        """Submit a job to each worker, after sending the data set to those that lack it."""
        datasets = {job.dataset.key: job.dataset for job in jobs.values()}
        with self._connection_errors():
            for key, dataset in datasets.items():
                receivers = [
                    worker
                    for worker, job in jobs.items()
                    if job.dataset.key == key != self._workers[worker]
                ]
                if receivers:
                    self._send(dataset, receivers)
            for worker, job in jobs.items():
                future = self._client.submit(
                    _run_in_worker,
                    job.trial,
                    job.seed,
                    job.dataset.key,
                    workers=[worker],
                    pure=False,
                )
                self._running[future] = worker, job
                future.add_done_callback(self._done.put)

    def _send(self, dataset: LoadedDataset, workers: Sequence[str]) -> None:
        # Not as the argument of a task and not with `scatter`: Dask drops replicas that no task is
        # waiting for, and sends them again later.
        results = self._client.run(dataset_cache.put, dataset, workers=workers, on_error="return")
        for worker, result in results.items():
            if result is None:
                self._workers[worker] = dataset.key
            elif not isinstance(result, OSError):  # an OSError means that the worker is lost
                raise CordwoodError(
                    f"worker {worker} could not receive the data: {type(result).__name__}: {result}"
                )

    def _collect(self) -> Iterator[tuple[Job, TrialResult | None]]:
        """Wait briefly and yield jobs with their results, or with None if their worker is lost."""
        done: Any = None
        with suppress(Empty):
            done = self._done.get(timeout=_POLL_INTERVAL)
        # Futures are cancelled when the connection is lost, before any other sign of it.
        if done in self._running and done.cancelled():
            raise self._connection_lost()
        # Finished results of a lost worker are lost with it.
        self._update_workers()
        for future, (worker, job) in list(self._running.items()):
            if worker not in self._workers:
                del self._running[future]
                with self._connection_errors():
                    self._client.cancel([future])
                yield job, None
        if done in self._running:
            with self._connection_errors():
                yield from self._fetch_result(done)

    def _fetch_result(self, future: Any) -> Iterator[tuple[Job, TrialResult | None]]:
        worker, job = self._running.pop(future)
        try:
            result = future.result(timeout=_WORKER_TIMEOUT)
        except (TimeoutError, self._dask.KilledWorker):
            yield job, None
            return
        if result is None:
            # The worker was restarted at the same address, or another client sent its own data.
            self._workers[worker] = None
            self._submit({worker: job})
        else:
            yield job, result

    @contextmanager
    def _connection_errors(self) -> Iterator[None]:
        """Convert the errors by which Dask reports a lost connection."""
        try:
            yield
        except (OSError, self._dask.CancelledError) as error:
            raise self._connection_lost() from error

    def _connection_lost(self) -> CordwoodError:
        return CordwoodError(
            f"the connection to the cluster at {self._address} was lost; finished trials are in "
            "the ledger: run the plan again when the cluster is available"
        )


def _import_dask() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise CordwoodError(
            "cluster needs the package distributed, which is not installed; install it with: "
            'pip install "cordwood[cluster]"'
        ) from error


@contextmanager
def _silence_logger(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)

    def reject(_: logging.LogRecord) -> bool:
        return False

    logger.addFilter(reject)
    try:
        yield
    finally:
        logger.removeFilter(reject)


# In the worker.

# CPU time, peak memory and thread limits of libraries are properties of a process.
_one_trial_at_a_time = threading.Lock()


def _run_in_worker(trial: Trial, seed: int, key: DatasetKey) -> TrialResult | None:
    """Run a trial on a data set that was sent before; None if the worker does not have it."""
    with _one_trial_at_a_time:
        loaded = dataset_cache.get(key)
        if loaded is None:
            return None
        return run_trial(trial, loaded.data, loaded.get_split(trial), seed)
