"""Damaged requests of all protocols: a success, or a 4xx with a sentence."""

from fuzz_server import fuzz


def test_damaged_requests(tmp_path):
    counts = fuzz(400, 1, tmp_path)
    assert counts[200] > 20 and counts[400] > 20 and counts[422] > 20
