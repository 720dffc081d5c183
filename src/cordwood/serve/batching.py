"""Bounded pool of threads that predicts the samples of many requests together.

A batch takes a share of every waiting request in turn, so that a request with thousands of samples
delays one with a single sample by one batch at most. While a thread is free, no sample waits for
others to fill its batch: batches form by themselves while all threads are busy.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from cordwood.serve.errors import RequestError
from cordwood.serve.limits import Limits
from cordwood.serve.metrics import Metrics

Function = Callable[[list[Any]], Sequence[Any]]

# Samples that a request adds to a batch while others wait, and characters of a batch.
_SHARE = 16
_MAX_CHARACTERS = 100_000


class Work(NamedTuple):
    """What to do with samples: calls with the same key are made together.

    `is_exclusive` work uses one thread at a time, so that slow work leaves the others free.
    """

    key: Hashable
    function: Function
    max_batch: int
    is_exclusive: bool = False


@dataclass(eq=False)
class _Job:
    """The samples of a request, of which the first `n_started` are done or in work."""

    work: Work
    samples: list[Any]
    future: asyncio.Future[list[Any]]
    results: list[Any] = field(init=False)
    n_started: int = 0
    n_done: int = 0
    seconds: float = 0.0  # in threads

    def __post_init__(self) -> None:
        self.results = [None] * len(self.samples)

    @property
    def n_waiting(self) -> int:
        return 0 if self.future.done() else len(self.samples) - self.n_started


class _Part(NamedTuple):
    """Samples of a job in a batch."""

    job: _Job
    start: int
    stop: int

    @property
    def samples(self) -> list[Any]:
        return self.job.samples[self.start : self.stop]


class Batcher:
    """Runs functions on batches of samples in threads."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="predict")
        self._n_free = limits.workers
        self._waiting: deque[_Job] = deque()
        self._exclusive: set[Hashable] = set()

    @property
    def n_waiting(self) -> int:
        """Number of samples that wait for a thread."""
        return sum(job.n_waiting for job in self._waiting)

    async def run(self, work: Work, samples: list[Any]) -> tuple[list[Any], float]:
        """Return the result of each sample, and the seconds in threads."""
        if not samples:
            return [], 0.0
        if self.n_waiting + len(samples) > self._limits.queued_samples:
            raise RequestError(
                503,
                f"more than {self._limits.queued_samples:,} samples wait already; try again later",
                retry_after=1,
            )
        job = _Job(work, samples, asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._start_batches()
        try:
            return await job.future, job.seconds
        finally:
            job.future.cancel()  # after a timeout, the rest is not predicted

    def close(self) -> None:
        """Stop the threads after their batches."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start_batches(self) -> None:
        while self._n_free:
            parts = self._take_batch()
            if not parts:
                return
            self._n_free -= 1
            work = parts[0].job.work
            if work.is_exclusive:
                self._exclusive.add(work.key)
            self._metrics.batch_size.observe(sum(part.stop - part.start for part in parts))
            loop = asyncio.get_running_loop()
            running = loop.run_in_executor(self._pool, _run_parts, work, parts)
            running.add_done_callback(partial(self._finish, work))

    def _take_batch(self) -> list[_Part]:
        """Take shares of waiting jobs with the same key, in turn."""
        self._waiting = deque(job for job in self._waiting if job.n_waiting)
        parts: list[_Part] = []
        first: _Job | None = None
        n_samples = n_characters = 0
        for job in list(self._waiting):
            if job.work.key in self._exclusive or (first and job.work.key != first.work.key):
                continue
            first = first or job
            n_free = min(job.work.max_batch, self._limits.batch_samples) - n_samples
            share = n_free if len(self._waiting) == 1 else min(_SHARE, n_free)
            start = job.n_started
            while job.n_waiting and share and n_characters < _MAX_CHARACTERS:
                n_characters += count_characters(job.samples[job.n_started])
                job.n_started += 1
                n_samples, share = n_samples + 1, share - 1
            if job.n_started > start:
                parts.append(_Part(job, start, job.n_started))
                self._waiting.remove(job)
                if job.n_waiting:
                    self._waiting.append(job)
        return parts

    def _finish(
        self, work: Work, done: asyncio.Future[tuple[list[tuple[_Part, Any]], float]]
    ) -> None:
        self._n_free += 1
        self._exclusive.discard(work.key)
        if done.cancelled():
            return
        results, seconds = done.result()
        for (job, start, stop), found in results:
            job.seconds += seconds
            if job.future.done():
                continue
            if isinstance(found, Exception):
                job.future.set_exception(found)
                continue
            job.results[start:stop] = found
            job.n_done += stop - start
            if job.n_done == len(job.samples):
                job.future.set_result(job.results)
        self._start_batches()


def _run_parts(work: Work, parts: list[_Part]) -> tuple[list[tuple[_Part, Any]], float]:
    """Run a batch in a thread; if it fails, each request alone, so that one cannot fail others."""
    start = time.perf_counter()
    results: list[tuple[_Part, Any]] = []
    try:
        found = work.function([sample for part in parts for sample in part.samples])
        position = 0
        for part in parts:
            n_samples = part.stop - part.start
            results.append((part, found[position : position + n_samples]))
            position += n_samples
    except Exception as error:
        if len(parts) == 1:
            results = [(parts[0], error)]
        else:
            results = [_run_parts(work, [part])[0][0] for part in parts]
    return results, time.perf_counter() - start


def count_characters(sample: Any) -> int:
    """Return the number of characters of a text, or of the texts in a row of a table."""
    if isinstance(sample, str):
        return len(sample)
    values = sample.values() if isinstance(sample, dict) else ()
    return sum(len(value) for value in values if isinstance(value, str))
