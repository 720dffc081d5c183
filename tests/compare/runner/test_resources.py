import sys
import time

import pytest

from cordwood.compare.runner.resources import PeakMemory, timed


def test_sleep_is_time_of_the_wall_and_work_is_time_of_the_processor():
    with timed() as sleeping:
        time.sleep(0.2)
    assert sleeping.wall >= 0.19 and sleeping.cpu < 0.15
    with timed() as working:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
    assert working.cpu >= 0.19 and working.wall >= working.cpu - 0.01


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the highest size")
def test_memory_that_was_given_back_counts_while_it_was_there():
    size = 200_000_000
    before = PeakMemory().read()
    peak = PeakMemory()
    block = bytearray(size)
    del block
    assert 0.9 * size < peak.read() - before < 1.5 * size
    assert PeakMemory().read() - before < 0.5 * size


@pytest.mark.skipif(sys.platform == "win32", reason="Windows is not asked")
def test_where_nothing_is_forgotten_only_a_new_high_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr("cordwood.compare.runner.resources._FORGET", tmp_path)
    first = PeakMemory()
    blocks = [bytearray(200_000_000)]
    high = first.read()
    assert high is None or high > 200_000_000
    blocks.clear()
    assert PeakMemory().read() is None
