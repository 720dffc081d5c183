import os
import signal
import subprocess
import sys

import pytest

from cordwood.cli import signals
from cordwood.cli.main import main

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

COMMAND = """
import os, signal, sys, time
from cordwood.cli import cache, main

def run(args):
{body}
cache.cache = run
sys.argv = ["cordwood", "cache"]
main.run()
print("not ended by the signal")
"""
SEND = "os.kill(os.getpid(), signal.SIGTERM)"
BODIES = {
    "raised": f"""
    {SEND}
    time.sleep(60)
""",
    "replaced by another exception": f"""
    try:
        {SEND}
    except BaseException as error:
        raise SystemError("returned a result with an exception set") from error
""",
    "ignored": f"""
    try:
        {SEND}
    except BaseException:
        pass
    time.sleep(60)
""",
    "ignored in a finalizer": f"""
    class Value:
        def __del__(self):
            {SEND}
    value = Value()
    del value
    time.sleep(60)
""",
    "ignored before the end": f"""
    try:
        {SEND}
    except BaseException:
        pass
""",
    "raised once during a long cleanup": f"""
    try:
        {SEND}
    finally:
        try:
            time.sleep(1.5)
        except BaseException:
            print("cleanup was interrupted")
""",
}


@pytest.mark.parametrize("case", BODIES)
def test_process_ends_by_the_signal(case):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(body=BODIES[case])],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == ""
    assert done.stdout == ""


def test_errors_without_a_signal_are_reported(capsys):
    signals.raise_received()
    assert main(["cache", "--nonsense"]) == 2
