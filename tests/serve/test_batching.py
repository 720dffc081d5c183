"""The pool of threads: order, fairness, errors and limits."""

import asyncio
import threading
import time

import pytest

from cordwood.serve.batching import Batcher, Work
from cordwood.serve.errors import RequestError
from cordwood.serve.limits import Limits
from cordwood.serve.metrics import Metrics


class Recorder:
    """Doubles samples, and records the batches."""

    def __init__(self, seconds=0.002):
        self.batches, self.seconds = [], seconds

    def __call__(self, samples):
        self.batches.append(list(samples))
        time.sleep(self.seconds)
        if "bad" in samples:
            raise ValueError("bad sample")
        return [each * 2 for each in samples]


def run(main, **limits):
    async def start():
        batcher = Batcher(Limits(**limits), Metrics())
        try:
            return await main(batcher)
        finally:
            batcher.close()

    return asyncio.run(start())


def test_every_request_gets_its_own_results():
    function = Recorder()

    async def main(batcher):
        jobs = [batcher.run(Work("k", function, 64), [f"{i},"] * (i % 7)) for i in range(200)]
        return await asyncio.gather(*jobs)

    found = run(main, workers=3)
    assert [results for results, _ in found] == [[f"{i},{i},"] * (i % 7) for i in range(200)]
    assert max(map(len, function.batches)) <= 64
    assert len(function.batches) < 100  # of 193 requests with samples


def test_large_request_delays_others_by_a_batch():
    function, done = Recorder(), []

    async def main(batcher):
        async def call(name, samples):
            await batcher.run(Work("k", function, 64), samples)
            done.append(name)

        large = asyncio.create_task(call("large", ["a"] * 5000))
        await asyncio.sleep(0.02)
        before = len(function.batches)
        await call("small", ["b"])
        assert len(function.batches) - before <= 3
        await large

    run(main, workers=1)
    assert done == ["small", "large"]


def test_long_texts_are_not_predicted_together():
    function = Recorder()

    async def main(batcher):
        await batcher.run(Work("k", function, 64), ["x" * 60_000] * 10)

    run(main, workers=1)
    assert max(map(len, function.batches)) == 2


def test_error_of_one_request_is_not_that_of_others():
    function = Recorder(0.02)

    async def main(batcher):
        jobs = [batcher.run(Work("k", function, 64), [each]) for each in ["a", "b", "bad", "c"]]
        return await asyncio.gather(*jobs, return_exceptions=True)

    found = run(main, workers=1)
    assert [each[0] for each in (found[0], found[1], found[3])] == [["aa"], ["bb"], ["cc"]]
    assert str(found[2]) == "bad sample"


def test_exclusive_work_leaves_threads_free():
    running, most = [], []
    lock = threading.Lock()

    def slow(samples):
        with lock:
            running.append(1)
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.pop()
        return samples

    async def main(batcher):
        slow_jobs = [
            asyncio.create_task(batcher.run(Work("slow", slow, 1, is_exclusive=True), ["a"]))
            for _ in range(5)
        ]
        await asyncio.sleep(0.01)
        start = time.perf_counter()
        await batcher.run(Work("k", Recorder(), 64), ["a"])
        assert time.perf_counter() - start < 0.2
        await asyncio.gather(*slow_jobs)

    run(main, workers=2)
    assert max(most) == 1


def test_cancelled_request_is_not_continued():
    function = Recorder(0.01)

    async def main(batcher):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await batcher.run(Work("k", function, 1), ["a"] * 1000)
        assert batcher.n_waiting == 0
        await batcher.run(Work("k", function, 1), ["b"])

    run(main, workers=1)
    assert len(function.batches) < 20


def test_queue_is_bounded():
    async def main(batcher):
        with pytest.raises(RequestError, match="more than 10 samples wait"):
            await batcher.run(Work("k", Recorder(), 1), ["a"] * 11)

    run(main, workers=1, queued_samples=10)
