"""Worker processes that end with their parent, even if it is killed.

A worker of joblib that loses its parent finishes its trial and then waits for further ones for five
minutes.
"""

import multiprocessing
import os
import threading
import time
from functools import cache

_POLL_INTERVAL = 0.5  # seconds


@cache
def exit_with_parent(pid: int) -> None:
    """Exit this process without cleanup as soon as its parent has ended; returns immediately."""
    threading.Thread(target=_wait_and_exit, args=(pid,), daemon=True).start()


def _wait_and_exit(pid: int) -> None:
    parent = multiprocessing.parent_process()
    if os.name == "nt" and parent is not None:
        parent.join()
    else:
        # An orphan is adopted by another process.
        while os.getppid() == pid:
            time.sleep(_POLL_INTERVAL)
    os._exit(1)
