"""Limit of the threads of the BLAS library, which numpy uses for matrix products."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Run matrix products in the calling thread."""
    # Texts are encoded in parallel instead, which is faster: the matrices of a text are small.
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    # Finding the loaded libraries takes milliseconds, more than encoding a short text.
    return ThreadpoolController()
