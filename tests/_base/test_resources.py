import sys
from types import SimpleNamespace

import pytest

from cordwood._base import resources
from cordwood._base.resources import PeakMemory, timer


def test_timer_measures_cpu_and_wall_time_of_its_block(monkeypatch):
    clock = SimpleNamespace(wall=100.0, cpu=3.0)
    monkeypatch.setattr(resources.time, "perf_counter", lambda: clock.wall)
    monkeypatch.setattr(resources.time, "process_time", lambda: clock.cpu)
    with timer() as timing:
        assert (timing.cpu, timing.wall) == (0, 0)
        clock.wall += 5.0
        clock.cpu += 2.0
    clock.wall += 1.0
    assert (timing.cpu, timing.wall) == (2.0, 5.0)


def test_timer_of_real_work_is_positive():
    with timer() as timing:
        sum(range(100_000))
    assert timing.wall > 0 and timing.cpu >= 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset the peak")
def test_peak_includes_memory_that_was_freed():
    size = 200_000_000
    before = PeakMemory().read()
    peak = PeakMemory()
    block = bytearray(size)
    del block
    assert 0.9 * size < peak.read() - before < 1.5 * size
    assert PeakMemory().read() - before < 0.5 * size


@pytest.mark.skipif(sys.platform == "win32", reason="not measured on Windows")
def test_without_reset_only_a_new_peak_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, "_RESET_PEAK", tmp_path)
    first = PeakMemory()
    blocks = [bytearray(200_000_000)]
    peak = first.read()
    assert peak is None or peak > 200_000_000
    blocks.clear()
    assert PeakMemory().read() is None
