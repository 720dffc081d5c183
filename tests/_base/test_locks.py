import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from cordwood._base import locks

HOLD = """
import sys
from pathlib import Path
from cordwood._base.locks import hold_lock
with hold_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_waiting_for_a_stopped_process_is_logged(tmp_path, monkeypatch, caplog):
    path = tmp_path / "lock"
    monkeypatch.setattr(locks, "_PATIENCE", 0.2)
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        acquired = threading.Event()

        def wait() -> None:
            with locks.hold_lock(path):
                acquired.set()

        waiter = threading.Thread(target=wait)
        with caplog.at_level(logging.WARNING):
            waiter.start()
            assert not acquired.wait(1.0)
        # The system releases the lock of a process that is killed, even of a stopped one.
        holder.kill()
        waiter.join(30)
    assert acquired.is_set()
    (message,) = caplog.messages
    assert message.startswith(f"Waiting for another process that has locked {path}; continue it")


def test_short_wait_is_not_logged(tmp_path, caplog):
    for _ in range(2):
        with locks.hold_lock(tmp_path / "lock"):
            pass
    assert not caplog.messages
