import numpy as np
import pytest

from cordwood.ensemble._tree_engine.bootstrap import (
    draw_counts,
    draw_weighted_counts,
    pack,
    pack_draws,
)


@pytest.mark.parametrize("n_docs", [1, 2, 100, 1237])
def test_equal_weights_draw_what_no_weights_draw(n_docs):
    drawn = draw_weighted_counts(range(20), np.ones(n_docs), n_docs)
    for seed in range(20):
        assert np.array_equal(drawn[seed], draw_counts(seed, n_docs, n_docs))


def test_weights_are_only_read():
    weights = np.array([0.5, 2.0, 0.1])
    frozen = weights.copy()
    frozen.flags.writeable = False
    drawn = draw_weighted_counts([3, 4], frozen, 30)
    assert np.array_equal(drawn, draw_weighted_counts([3, 4], weights, 30))
    assert weights.tolist() == frozen.tolist()


def test_bits_are_set_for_what_is_in_the_bag():
    counts = np.stack([draw_counts(seed, 21, 21) for seed in (4, 5)])
    bags = pack_draws(counts > 0)
    assert np.array_equal(bags, pack([4, 5], 21, 21))
    bits = np.unpackbits(bags, axis=1, bitorder="little")[:, :21]
    assert np.array_equal(bits, counts > 0)
