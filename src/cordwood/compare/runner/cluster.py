"""Units on a Dask cluster: each worker is sent a data set once, and does one unit at a time.

Whoever uses this keeps the ledger: workers may be on machines that share no disk. A worker that
is lost half-way costs the unit that it was doing, which another one does again.

A worker does one unit at a time however many threads it has, because processor time, peak memory
and the limits on the threads of libraries are those of a process; so start a worker for each core,
with one thread, and without Dask's limit on memory, which would make it pause:
``dask worker tcp://host:8786 --nthreads 1 --memory-limit 0``. Processor times include what Dask
does in the worker meanwhile: a twentieth of a core, and less than half of that without its profiler
(``DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False``).

The cluster must be one that you trust: what its workers answer is unpickled. A client that is
killed leaves the data set at hand in the workers, until another is sent or they are stopped.
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

from cordwood.compare.runner import dataset_cache as shelf
from cordwood.compare.runner.dataset_cache import Material
from cordwood.compare.runner.run_trial import TrialResult, carry_out
from cordwood.compare.runner.trials import Trial
from cordwood.exceptions import CordwoodError

# Seconds.
_KNOCKING = 5.0
_LOOKING = 1.0  # before looking again for workers that have come or gone
_PATIENCE = 60.0  # without any worker; those that were lost are often started again

_MOST_LOSSES = 4  # of workers, before a unit is blamed for it
_DEADLY = "{} workers were lost while they did this unit, perhaps for want of memory"


class Job(NamedTuple):
    """A unit, and all that it takes to carry it out."""

    key: str
    trial: Trial
    seed: int
    material: Material


class Cluster:
    """The workers of a Dask cluster, to be used in a `with` block.

    Parameters
    ----------
    address : str
        Of the scheduler, such as "tcp://host:8786".
    versions : mapping of str to str
        What workers must have: the version of "python", and those of libraries.

    Raises
    ------
    CordwoodError
        If Dask is not installed, if there is no scheduler or no worker, or if a worker has other
        versions.
    """

    def __init__(self, address: str, versions: Mapping[str, str]) -> None:
        self._address = address
        self._versions = versions
        self._dask = _import_dask()
        self._client = self._connect()
        # What each worker has at hand; only those with the right versions are here.
        self._workers: dict[str, shelf.Name | None] = {}
        self._under_way: dict[Any, tuple[str, Job]] = {}  # by future
        self._done: SimpleQueue[Any] = SimpleQueue()  # futures, put here by other threads

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.push(self.__exit__)
            self._examine_scheduler()
            self._await_workers(patience=0)
            stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, CordwoodError):  # after which there is nobody to talk to
            with suppress(OSError):
                self._client.run(shelf.put_away, workers=list(self._workers), on_error="ignore")
        # It logs that it no longer tries to connect again; and trips over an attempt that is just
        # running out of time.
        with _hushed("distributed.client"), suppress(RuntimeError):
            self._client.close()

    def carry_out(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, TrialResult]]:
        """Carry out jobs, and yield each with its trial as soon as it is done.

        Parameters
        ----------
        jobs : iterable of Job
            Taken one by one as workers become free, so that no more are begun than there are
            workers.

        Raises
        ------
        CordwoodError
            If the cluster or all of its workers are lost, or if a worker that has come lately has
            other versions.
        """
        waiting = iter(jobs)
        losses: Counter[str] = Counter()
        while True:
            self._await_workers(_PATIENCE)
            self._hand_out(dict(zip(self._idle(), waiting, strict=False)))
            if not self._under_way:
                return
            for job, result in self._collect():
                if result is not None:
                    yield job, result
                    continue
                losses[job.key] += 1
                if losses[job.key] < _MOST_LOSSES:
                    waiting = chain([job], waiting)
                else:
                    yield job, TrialResult({"error": _DEADLY.format(losses[job.key])}, {})

    def _connect(self) -> Any:
        try:
            # First, because a client that fails at once is not closed.
            self._dask.comm.resolve_address(self._address)
            # One client to see whether the scheduler is there, and another with more patience, for
            # a scheduler may be busy with other things later on.
            self._dask.Client(self._address, timeout=_KNOCKING, set_as_default=False).close()
            return self._dask.Client(self._address, set_as_default=False)
        except OSError as error:
            raise CordwoodError(
                f"there is no Dask scheduler at {self._address} ({error}); start one with: "
                "dask scheduler"
            ) from error
        except ValueError as error:
            raise CordwoodError(
                f"cluster {self._address!r} is not an address ({error}); give that of a Dask "
                "scheduler, such as tcp://host:8786"
            ) from error

    def _await_workers(self, patience: float) -> None:
        """Notice workers that have come or gone, until there is one."""
        deadline = time.monotonic() + patience
        while not self._look_around():
            if time.monotonic() > deadline:
                raise CordwoodError(
                    f"the cluster at {self._address} has no workers; start some, each with: dask "
                    f"worker {self._address} --nthreads 1 --memory-limit 0; what was finished is "
                    "in the ledger"
                )
            time.sleep(_LOOKING)

    def _look_around(self) -> bool:
        with self._talking():
            present = self._client.nthreads()
            self._workers = {
                worker: name for worker, name in self._workers.items() if worker in present
            }
            new = [worker for worker in present if worker not in self._workers]
            if new:
                self._workers.update(dict.fromkeys(self._examine(new)))
        return bool(self._workers)

    def _examine_scheduler(self) -> None:
        """Let it import what it needs to pass units on, now and not when it has work."""
        with self._talking():
            try:
                self._client.run_on_scheduler(import_module, __name__)
            except ImportError as error:
                raise CordwoodError(
                    f"the scheduler at {self._address} cannot import cordwood ({error}); install "
                    "the same versions on all machines of the cluster"
                ) from error

    def _examine(self, workers: Sequence[str]) -> list[str]:
        """Compare versions, and give the workers that are still there."""
        there = list(workers)
        for library, ours in self._versions.items():
            call = (platform.python_version,) if library == "python" else (version, library)
            # By functions of Python's own: a worker may lack ours.
            answers = self._client.run(*call, workers=there, on_error="return")
            for worker, answer in answers.items():
                if isinstance(answer, OSError):
                    there.remove(worker)
                elif answer != ours:
                    has = answer if isinstance(answer, str) else "none"
                    raise CordwoodError(
                        f"results could differ: this process has {library} {ours}, and worker "
                        f"{worker} has {has}; install the same versions on all machines of the "
                        "cluster"
                    )
        return there

    def _idle(self) -> list[str]:
        busy = {worker for worker, _ in self._under_way.values()}
        return [worker for worker in self._workers if worker not in busy]

    def _hand_out(self, assigned: Mapping[str, Job]) -> None:
        """Start a job at each worker, after sending the data to those that lack them."""
        materials = {job.material.name: job.material for job in assigned.values()}
        with self._talking():
            for name, material in materials.items():
                lacking = [
                    worker
                    for worker, job in assigned.items()
                    if job.material.name == name != self._workers[worker]
                ]
                if lacking:
                    self._send(material, lacking)
            for worker, job in assigned.items():
                future = self._client.submit(
                    _carry_out,
                    job.trial,
                    job.seed,
                    job.material.name,
                    workers=[worker],
                    pure=False,
                )
                self._under_way[future] = worker, job
                future.add_done_callback(self._done.put)

    def _send(self, material: Material, workers: Sequence[str]) -> None:
        # Not as the argument of a task nor by `scatter`: of data that many workers have, Dask drops
        # copies that no task waits for at the moment, and sends them again later.
        answers = self._client.run(shelf.keep, material, workers=workers, on_error="return")
        for worker, answer in answers.items():
            if answer is None:
                self._workers[worker] = material.name
            elif not isinstance(answer, OSError):  # by which the worker is lost
                raise CordwoodError(
                    f"worker {worker} could not take the data: {type(answer).__name__}: {answer}"
                )

    def _collect(self) -> Iterator[tuple[Job, TrialResult | None]]:
        """Wait a little, and yield jobs with their trials, or with None if their worker is lost."""
        done: Any = None
        with suppress(Empty):
            done = self._done.get(timeout=_LOOKING)
        if done in self._under_way and done.cancelled():  # with the connection, and sooner told
            raise self._lost()
        # What a lost worker had finished is lost as well.
        self._look_around()
        for future, (worker, job) in list(self._under_way.items()):
            if worker not in self._workers:
                del self._under_way[future]
                with self._talking():
                    self._client.cancel([future])
                yield job, None
        if done in self._under_way:
            with self._talking():
                yield from self._finish(done)

    def _finish(self, future: Any) -> Iterator[tuple[Job, TrialResult | None]]:
        worker, job = self._under_way.pop(future)
        try:
            result = future.result(timeout=_PATIENCE)
        except (TimeoutError, self._dask.KilledWorker):
            yield job, None
            return
        if result is None:
            # It was started anew at the same address, or has been sent the data of another client.
            self._workers[worker] = None
            self._hand_out({worker: job})
        else:
            yield job, result

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Say in one sentence that the connection was lost, in whatever way Dask tells it."""
        try:
            yield
        except (OSError, self._dask.CancelledError) as error:
            raise self._lost() from error

    def _lost(self) -> CordwoodError:
        return CordwoodError(
            f"the connection to the cluster at {self._address} was lost; what was finished is in "
            "the ledger: run the plan again when the cluster is there"
        )


def _import_dask() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        raise CordwoodError(
            "a cluster needs the package distributed, which is not installed; install it with: "
            'pip install "cordwood[cluster]"'
        ) from error


@contextmanager
def _hushed(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)

    def refuse(_: logging.LogRecord) -> bool:
        return False

    logger.addFilter(refuse)
    try:
        yield
    finally:
        logger.removeFilter(refuse)


# In the worker.

_one_at_a_time = threading.Lock()


def _carry_out(trial: Trial, seed: int, name: shelf.Name) -> TrialResult | None:
    """Carry out a unit on data that were sent before; None if they are not there."""
    with _one_at_a_time:
        material = shelf.find(name)
        if material is None:
            return None
        return carry_out(trial, material.rows, material.divide(trial), seed)
