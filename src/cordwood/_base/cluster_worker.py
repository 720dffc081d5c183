"""What the workers of a cluster do: keep large objects, and run calls that refer to them."""

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from joblib import parallel_config
from sklearn import config_context
from threadpoolctl import threadpool_limits

from cordwood._base.content_pickle import ContentUnpickler, Pickled, dump
from cordwood.exceptions import CordwoodError

_MAX_IDLE = 3600.0  # seconds after which a worker forgets what a client has sent

# Warnings, thread limits, CPU time and peak memory are properties of a process.
_one_call_at_a_time = threading.Lock()
_kept: dict[str, dict[str, Any]] = {}  # objects by session and digest
_last_use: dict[str, float] = {}  # of each session


def put_object(session: str, digest: str, content: bytes) -> None:
    """Keep an object, and forget those of clients that were killed."""
    now = time.monotonic()
    _last_use[session] = now
    for other in [other for other, last in _last_use.items() if now - last > _MAX_IDLE]:
        forget(other)
    _kept.setdefault(session, {})[digest] = Pickled(content)


def forget(
    session: str, digests: list[str] | None = None, clean_up: Callable[[], None] | None = None
) -> None:
    if digests is None:
        _kept.pop(session, None)
        _last_use.pop(session, None)
    for digest in digests or ():
        _kept.get(session, {}).pop(digest, None)
    if clean_up is not None:
        clean_up()


def run_in_worker(session: str, payload: bytes, needed: list[str]) -> bytes | None:
    """Return the pickled result of a call; None if an object that it needs was not sent."""
    with _one_call_at_a_time:
        _last_use[session] = time.monotonic()
        kept = _kept.get(session, {})
        if not all(digest in kept for digest in needed):
            return None
        try:
            function, config = ContentUnpickler(payload, kept).load()
        except (ImportError, AttributeError) as error:
            raise CordwoodError(
                f"a worker of the cluster cannot import what the model consists of ({error}); "
                "install it on all computers of the cluster"
            ) from error
        start = time.perf_counter()
        with (
            config_context(**config),
            parallel_config("sequential"),
            threadpool_limits(1),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            result = function()
        found = {
            (str(each.message), each.category, each.filename, each.lineno): None for each in caught
        }
        seconds = time.perf_counter() - start
        return dump((result, seconds, list(found)), {}, root=())[0]
