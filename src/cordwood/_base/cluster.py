"""Calls on the workers of a Dask cluster; what is large is sent to each worker once, by content.

joblib's own Dask backend is no alternative: it has no shared memory, which tasks in threads have;
it recognizes arguments by identity, not content; Dask drops copies of them that no task waits for
and sends them again; and it checks neither versions nor lost workers.

Results of the workers are unpickled, so that clusters must be trusted.
"""

import logging
import math
import pickle
import platform
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self, TypeVar

from sklearn import get_config
from threadpoolctl import threadpool_limits

from cordwood._base.cluster_worker import forget, put_object, run_in_worker
from cordwood._base.content_pickle import Sent, dump
from cordwood.exceptions import CordwoodError

Result = TypeVar("Result")

# Seconds.
_CONNECT_TIMEOUT = 5.0
_POLL_INTERVAL = 1.0  # between checks for new and lost workers
_WORKER_TIMEOUT = 60.0  # without any worker; lost workers are often restarted
_MIN_TASK = 0.2  # of a block of calls; a guess, which remains to be measured

_MAX_WORKER_LOSSES = 4  # before a call counts as failed

# What a worker keeps beyond the needs of its call.
_MAX_KEPT_BYTES = 2**30

_LIBRARIES = ("cordwood", "scikit-learn", "numpy", "scipy", "numba")

# Blocks for each worker, so that all of them finish at about the same time.
_BLOCKS_PER_WORKER = 4


class WorkersLost(CordwoodError):
    """A call whose workers were lost again and again, possibly because of it."""


class Call(NamedTuple):
    """A function without arguments, and how to call it in messages."""

    name: str
    run: Callable[[], Any]


class Traffic(NamedTuple):
    """Bytes between this process and the workers, and the calls that were run."""

    sent: int
    received: int
    n_calls: int
    seconds: float  # of the calls in the workers, in sum


class _Packed(NamedTuple):
    """A pickled call, and the objects that a worker must have by their digests."""

    number: int
    name: str
    payload: bytes
    needed: dict[str, Sent]


class Cluster:
    """The workers of a Dask cluster, as a context manager; each runs one call at a time.

    Raises a CordwoodError if the cluster is not available, or if a worker has other versions of
    Python or of the libraries. `advice` states what is left if it is lost, and `clean_up` is called
    in each worker at the end.
    """

    def __init__(
        self,
        address: str,
        versions: Mapping[str, str],
        advice: str,
        clean_up: Callable[[], None] | None = None,
    ) -> None:
        self._address = address
        self._dask = _import_dask()
        self._versions = {**versions, "cloudpickle": version("cloudpickle")}
        self._advice = advice
        self._clean_up = clean_up
        self._session = uuid.uuid4().hex
        self._client = self._connect()
        # Sizes of the objects that each worker has, the latest last; only workers with the
        # required versions.
        self._workers: dict[str, dict[str, int]] = {}
        self._running: dict[Any, tuple[str, _Packed]] = {}  # by future
        self._done: SimpleQueue[Any] = SimpleQueue()  # futures, added by threads of Dask
        self._sent: dict[int, Sent] = {}  # by the id of the object
        self._is_lost = False
        self.is_busy = False
        self.traffic = Traffic(0, 0, 0, 0.0)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.push(self.__exit__)
            self._check_scheduler()
            self._wait_for_workers(timeout=0)
            stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        if not self._is_lost:
            clean_up = forget, self._session, None, self._clean_up
            with suppress(OSError):
                self._client.run(*clean_up, workers=list(self._workers), on_error="ignore")
        # The client logs that it stops reconnecting, and raises RuntimeError if a connection
        # attempt times out at that moment.
        with _silence_logger("distributed.client"), suppress(RuntimeError):
            self._client.close()

    @property
    def n_workers(self) -> int:
        """Number of workers at the last look, or one."""
        return max(len(self._workers), 1)

    def run(self, calls: Iterable[Call]) -> Iterator[tuple[int, Any]]:
        """Run calls, and yield the position of each and its result as soon as it has finished.

        Calls are consumed as workers become idle, so that there are never more than workers. An
        exception of a call is raised here; a call that has lost several workers has a
        `WorkersLost` as its result. Whatever ends the iteration cancels the other calls.
        """
        waiting: Iterator[_Packed] = (self._pack(i, call) for i, call in enumerate(calls))
        n_losses: Counter[int] = Counter()
        self.is_busy = True
        try:
            while True:
                self._wait_for_workers(_WORKER_TIMEOUT)
                self._submit(self._assign(waiting))
                if not self._running:
                    return
                for call, result in self._collect():
                    if result is not None:
                        yield call.number, self._unpack(result)
                        continue
                    n_losses[call.number] += 1
                    n_lost = n_losses[call.number]
                    if n_lost < _MAX_WORKER_LOSSES:
                        waiting = chain([call], waiting)
                        continue
                    reason = f"{n_lost} workers were lost while running {call.name}"
                    yield call.number, WorkersLost(f"{reason}, possibly out of memory")
        finally:
            self.is_busy = False
            self._sent.clear()
            self._cancel()

    def run_in_order(self, calls: Iterable[Call]) -> Iterator[Any]:
        """Run calls and yield their results in order; `WorkersLost` is raised."""
        early: dict[int, Any] = {}
        n_yielded = 0
        for index, result in self.run(calls):
            if isinstance(result, WorkersLost):
                raise result
            early[index] = result
            while n_yielded in early:
                yield early.pop(n_yielded)
                n_yielded += 1

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
                    f"worker {self._address} --nthreads 1 --memory-limit 0; {self._advice}"
                )
            time.sleep(_POLL_INTERVAL)

    def _update_workers(self) -> bool:
        """Add new workers and remove lost ones; return whether there are any."""
        with self._connection_errors():
            present = self._client.nthreads()
            self._workers = {
                worker: kept for worker, kept in self._workers.items() if worker in present
            }
            new = [worker for worker in present if worker not in self._workers]
            if new:
                self._workers.update({worker: {} for worker in self._check_versions(new)})
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

    def _pack(self, index: int, call: Call) -> _Packed:
        return _Packed(index, call.name, *dump((call.run, get_config()), self._sent))

    def _assign(self, waiting: Iterator[_Packed]) -> dict[str, _Packed]:
        """Give each idle worker a call; the first call goes where the least must be sent for it."""
        busy = {worker for worker, _ in self._running.values()}
        idle = [worker for worker in self._workers if worker not in busy]
        assigned = {}
        while idle and (call := next(waiting, None)) is not None:
            missing = [
                sum(o.size for o in call.needed.values() if o.digest not in self._workers[worker])
                for worker in idle
            ]
            assigned[idle.pop(missing.index(min(missing)))] = call
        return assigned

    def _submit(self, assigned: Mapping[str, _Packed]) -> None:
        """Submit a call to each worker, after sending the objects that it lacks."""
        with self._connection_errors():
            objects = {sent.digest: sent for c in assigned.values() for sent in c.needed.values()}
            for digest, sent in objects.items():
                having = [worker for worker, call in assigned.items() if digest in call.needed]
                lacking = [worker for worker in having if digest not in self._workers[worker]]
                for worker in having:  # the latest last
                    self._workers[worker][digest] = self._workers[worker].pop(digest, sent.size)
                if lacking:
                    self._send(sent, lacking)
            for worker, call in assigned.items():
                self._drop_oldest(worker, call)
                future = self._client.submit(
                    run_in_worker,
                    self._session,
                    call.payload,
                    list(call.needed),
                    workers=[worker],
                    pure=False,
                )
                self._count(sent=len(call.payload))
                self._running[future] = worker, call
                future.add_done_callback(self._done.put)
        needed = {digest for _, call in self._running.values() for digest in call.needed}
        self._sent = {key: sent for key, sent in self._sent.items() if sent.digest in needed}

    def _send(self, sent: Sent, workers: Sequence[str]) -> None:
        # Not as the argument of a task and not with `scatter`: Dask drops replicas that no task is
        # waiting for, and sends them again later.
        content, _ = dump(sent.content, self._sent, root=sent.content)
        put = put_object, self._session, sent.digest, content
        results = self._client.run(*put, workers=workers, on_error="return")
        self._count(sent=len(content) * len(workers))
        for worker, result in results.items():
            if result is not None:
                self._workers[worker].pop(sent.digest, None)
                if not isinstance(result, OSError):  # an OSError means that the worker is lost
                    raise CordwoodError(
                        f"worker {worker} could not receive the data: {type(result).__name__}: "
                        f"{result}"
                    )

    def _drop_oldest(self, worker: str, call: _Packed) -> None:
        """Drop objects that the worker has for earlier calls if it has too many."""
        kept = self._workers[worker]
        unused = {digest: size for digest, size in kept.items() if digest not in call.needed}
        excess = sum(unused.values()) - _MAX_KEPT_BYTES
        dropped = []
        for digest in unused:
            if excess > 0:
                excess -= kept.pop(digest)
                dropped.append(digest)
        if dropped:
            drop = forget, self._session, dropped, None
            self._client.run(*drop, workers=[worker], on_error="ignore")

    def _collect(self) -> Iterator[tuple[_Packed, bytes | None]]:
        """Wait briefly and yield calls with their results, or with None if their worker is lost."""
        done: Any = None
        with suppress(Empty):
            done = self._done.get(timeout=_POLL_INTERVAL)
        # Futures are cancelled when the connection is lost, before any other sign of it.
        if done in self._running and done.cancelled():
            raise self._connection_lost()
        # Finished results of a lost worker are lost with it.
        self._update_workers()
        for future, (worker, call) in list(self._running.items()):
            if worker not in self._workers:
                del self._running[future]
                with self._connection_errors():
                    self._client.cancel([future])
                yield call, None
        if done in self._running:
            yield from self._fetch_result(done)

    def _fetch_result(self, future: Any) -> Iterator[tuple[_Packed, bytes | None]]:
        worker, call = self._running.pop(future)
        failure = None
        with self._connection_errors():
            try:
                result = future.result(timeout=_WORKER_TIMEOUT)
            except (TimeoutError, self._dask.KilledWorker):
                yield call, None
                return
            except Exception as error:
                if future.status != "error":
                    raise
                failure = error  # of the call, even if it is an OSError
        if failure is not None:
            raise failure
        if result is None:
            # The worker was restarted at the same address, or has forgotten an idle client.
            self._workers[worker] = {}
            self._submit({worker: call})
        else:
            yield call, result

    def _unpack(self, packed: bytes) -> Any:
        """Return the result of a call, after issuing the warnings of the worker here."""
        result, seconds, caught = pickle.loads(packed)
        self._count(received=len(packed), n_calls=1, seconds=seconds)
        for warning in caught:
            warnings.warn_explicit(*warning)
        return result

    def _count(self, **more: float) -> None:
        old = self.traffic._asdict()
        self.traffic = Traffic(**{name: old[name] + more.get(name, 0) for name in old})

    def _cancel(self) -> None:
        """Cancel all calls; a worker finishes the one that it has begun."""
        futures = list(self._running)
        self._running.clear()
        if futures and not self._is_lost:
            with suppress(OSError, self._dask.CancelledError):
                self._client.cancel(futures)

    @contextmanager
    def _connection_errors(self) -> Iterator[None]:
        """Convert the errors by which Dask reports a lost connection."""
        try:
            yield
        except (OSError, self._dask.CancelledError) as error:
            raise self._connection_lost() from error

    def _connection_lost(self) -> CordwoodError:
        self._is_lost = True
        return CordwoodError(
            f"the connection to the cluster at {self._address} was lost; {self._advice}: run it "
            "again when the cluster is available"
        )


_active: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Fit on the workers of a Dask cluster.

    Members of stacks, folds, boosting runs, blocks of trees, of one-vs-rest problems and of lazy
    queries are distributed to the workers if they take long enough; training samples are sent to
    each worker once. Models are the same as those of one thread, to the bit if the computers have
    processors of the same kind. Only the thread of the block uses the cluster.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``"tcp://host:8786"``. The cluster must be trusted:
        results of the workers are unpickled. All computers must have the same versions of Python
        and of the libraries.

    Yields
    ------
    Cluster
        The connection; its `traffic` counts calls and bytes.

    Raises
    ------
    CordwoodError
        If the cluster is not available or is lost.

    Examples
    --------
    >>> with cordwood.cluster("tcp://host:8786"):  # doctest: +SKIP
    ...     model = TextClassifier().fit(texts, labels)
    """
    connection = Cluster(address, library_versions(), "nothing was saved")
    # Products of matrices round differently in several threads.
    with connection as workers, threadpool_limits(1, user_api="blas"):
        token = _active.set(workers)
        try:
            yield workers
        finally:
            _active.reset(token)


def active_cluster() -> Cluster | None:
    """Return the cluster of the enclosing ``with cluster(...)`` block, if it is not in use."""
    workers = _active.get()
    return None if workers is None or workers.is_busy else workers


def map_blocks(
    function: Callable[[int, int], list[Result]], n_items: int, workers: Cluster
) -> Iterator[Result]:
    """Yield the results of ``function(first, last)`` for blocks of items, in order.

    The first item is computed here, which shows how long the others take, and so whether they
    are worth sending.
    """
    start = time.perf_counter()
    yield from function(0, min(1, n_items))
    seconds = time.perf_counter() - start
    n_left = n_items - 1
    size = max(
        math.ceil(n_left / (_BLOCKS_PER_WORKER * workers.n_workers)),
        math.ceil(_MIN_TASK / max(seconds, 1e-6)),
    )
    if size >= n_left:
        yield from function(1, n_items) if n_left > 0 else []
        return
    calls = (
        Call(
            f"items {first} to {first + size}", partial(function, first, min(first + size, n_items))
        )
        for first in range(1, n_items, size)
    )
    for block in workers.run_in_order(calls):
        yield from block


def library_versions(*extra: str) -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in (*_LIBRARIES, *extra)},
    }


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
