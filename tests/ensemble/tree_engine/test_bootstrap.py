import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from cordwood.ensemble.tree_engine.bootstrap import (
    build_guide_table,
    draw_counts,
    draw_weighted,
    draw_weighted_counts,
    pack_in_bag,
    pack_mask,
)

ALPHA = 1e-4


@pytest.mark.parametrize("n_samples", [1, 2, 100, 1237])
def test_unit_weights_draw_the_same_samples_as_no_weights(n_samples):
    drawn = draw_weighted_counts(range(20), np.ones(n_samples), n_samples)
    for seed in range(20):
        assert np.array_equal(drawn[seed], draw_counts(seed, n_samples, n_samples))


def test_weights_may_be_read_only():
    weights = np.array([0.5, 2.0, 0.1])
    frozen = weights.copy()
    frozen.flags.writeable = False
    drawn = draw_weighted_counts([3, 4], frozen, 30)
    assert np.array_equal(drawn, draw_weighted_counts([3, 4], weights, 30))
    assert weights.tolist() == frozen.tolist()


def test_in_bag_masks_are_the_samples_that_were_drawn():
    counts = np.stack([draw_counts(seed, 21, 21) for seed in (4, 5)])
    in_bag = pack_in_bag([4, 5], 21, 21)
    assert np.array_equal(in_bag, pack_mask(counts > 0))
    bits = np.unpackbits(in_bag, axis=1, bitorder="little")[:, :21]
    assert np.array_equal(bits, counts > 0)


@pytest.mark.parametrize("n_draws", [1, 50, 200])
def test_draw_counts_random_integers(kernels, n_draws):
    counts = np.full(50, 77, np.uint32)
    kernels.bootstrap.draw(9, n_draws, counts)
    state = np.array([9], np.uint64)
    drawn = [kernels.random.randbelow(state, 50) for _ in range(n_draws)]
    assert counts.tolist() == np.bincount(drawn, minlength=50).tolist()


def test_all_samples_are_equally_likely(compiled):
    counts = np.empty(40, np.uint32)
    total = np.zeros(40)
    for seed in range(200):
        compiled.bootstrap.draw(seed * 7919, 40, counts)
        total += counts
    assert stats.chisquare(total).pvalue > ALPHA
    assert total.sum() == 200 * 40


def cumulative_sum(weights):
    sums = np.cumsum(np.asarray(weights, float))
    sums.flags.writeable = False
    return sums


@pytest.mark.parametrize("shape", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("n_draws", [1, 60, 300])
def test_weighted_draws_invert_the_cumulative_sum(kernels, shape, n_draws):
    weights = np.random.default_rng(3).gamma(shape, size=60)
    weights[[0, 20, 21, 59]] = 0
    sums = cumulative_sum(weights)
    counts, guide = np.full((2, 60), 77, np.uint32)
    kernels.bootstrap.build_guide_table(sums, guide)
    kernels.bootstrap.draw_weighted(9, n_draws, sums, guide, counts)
    state = np.array([9], np.uint64)
    points = [kernels.random.uniform(state) * sums[-1] for _ in range(n_draws)]
    drawn = np.searchsorted(sums, points, side="right")
    assert counts.tolist() == np.bincount(drawn, minlength=60).tolist()
    assert not counts[[0, 20, 21, 59]].any()


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40), st.integers(0, 2**63 - 1))
@settings(max_examples=100, deadline=None)
def test_weighted_draws_never_draw_samples_of_weight_zero(weights, seed):
    weights = np.array(weights)
    assume(weights.sum() > 1e-300)
    counts, guide = np.empty((2, len(weights)), np.uint32)
    build_guide_table(cumulative_sum(weights), guide)
    draw_weighted(seed, 50, cumulative_sum(weights), guide, counts)
    assert counts.sum() == 50
    assert not counts[weights == 0].any()


def test_weighted_draws_are_proportional_to_weights(compiled):
    weights = np.random.default_rng(0).gamma(0.7, size=40) + 0.02
    sums = cumulative_sum(weights)
    counts, guide = np.empty((2, 40), np.uint32)
    total = np.zeros(40)
    compiled.bootstrap.build_guide_table(sums, guide)
    for seed in range(500):
        compiled.bootstrap.draw_weighted(seed * 7919, 40, sums, guide, counts)
        total += counts
    assert stats.chisquare(total, 500 * 40 * weights / weights.sum()).pvalue > ALPHA


@pytest.mark.parametrize("sums", [[np.nan, np.nan], [1.0, np.inf], [0.0, 0.0], [5.0, 1.0]])
def test_invalid_cumulative_sums_stay_within_bounds(kernels, sums):
    sums = np.array(sums)
    sums.flags.writeable = False
    counts, guide = np.zeros((2, 4), np.uint32)
    with np.errstate(invalid="ignore"):
        kernels.bootstrap.build_guide_table(sums, guide[1:3])
        kernels.bootstrap.draw_weighted(1, 20, sums, guide[1:3], counts[1:3])
    assert guide[1:3].max() < 2
    assert counts.sum() == 20
    assert counts[0] == counts[3] == 0
