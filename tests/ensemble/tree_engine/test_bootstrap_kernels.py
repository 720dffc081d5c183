import numpy as np
import pytest
from cordwood.ensemble._tree_engine._kernels_bootstrap import draw_weighted, lay_guide
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats


@pytest.mark.parametrize("n_draws", [1, 50, 200])
def test_counts_are_those_of_the_draws(kernels, n_draws):
    counts = np.full(50, 77, np.uint32)
    kernels.bag.draw(9, n_draws, counts)
    state = np.array([9], np.uint64)
    drawn = [kernels.rng.below(state, 50) for _ in range(n_draws)]
    assert counts.tolist() == np.bincount(drawn, minlength=50).tolist()


def test_every_document_is_drawn_as_often_as_any_other(compiled):
    counts = np.empty(40, np.uint32)
    total = np.zeros(40)
    for seed in range(200):
        compiled.bag.draw(seed * 7919, 40, counts)
        total += counts
    assert stats.chisquare(total).pvalue > 1e-4
    assert total.sum() == 200 * 40


def running_sum(weights):
    sums = np.cumsum(np.asarray(weights, float))
    sums.flags.writeable = False
    return sums


@pytest.mark.parametrize("skew", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("n_draws", [1, 60, 300])
def test_weighted_counts_are_those_of_a_search_in_the_running_sum(kernels, skew, n_draws):
    weights = np.random.default_rng(3).gamma(skew, size=60)
    weights[[0, 20, 21, 59]] = 0
    sums = running_sum(weights)
    counts, guide = np.full((2, 60), 77, np.uint32)
    kernels.bag.lay_guide(sums, guide)
    with np.errstate(over="ignore"):  # plain random numbers live on it
        kernels.bag.draw_weighted(9, n_draws, sums, guide, counts)
    state = np.array([9], np.uint64)
    points = [kernels.rng.uniform(state) * sums[-1] for _ in range(n_draws)]
    drawn = np.searchsorted(sums, points, side="right")
    assert counts.tolist() == np.bincount(drawn, minlength=60).tolist()
    assert not counts[[0, 20, 21, 59]].any()


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40), st.integers(0, 2**63 - 1))
@settings(max_examples=100, deadline=None)
def test_as_many_are_drawn_as_asked_for_and_only_what_weighs(weights, seed):
    weights = np.array(weights)
    assume(weights.sum() > 1e-300)
    counts, guide = np.empty((2, len(weights)), np.uint32)
    lay_guide(running_sum(weights), guide)
    draw_weighted(seed, 50, running_sum(weights), guide, counts)
    assert counts.sum() == 50
    assert not counts[weights == 0].any()


def test_documents_are_drawn_in_proportion_to_their_weights(compiled):
    weights = np.random.default_rng(0).gamma(0.7, size=40) + 0.02
    counts, guide = np.empty((2, 40), np.uint32)
    total = np.zeros(40)
    compiled.bag.lay_guide(running_sum(weights), guide)
    for seed in range(500):
        compiled.bag.draw_weighted(seed * 7919, 40, running_sum(weights), guide, counts)
        total += counts
    assert stats.chisquare(total, 500 * 40 * weights / weights.sum()).pvalue > 1e-4


@pytest.mark.parametrize("sums", [[np.nan, np.nan], [1.0, np.inf], [0.0, 0.0], [5.0, 1.0]])
def test_no_running_sum_leads_outside_of_the_counts(kernels, sums):
    sums = np.array(sums)
    sums.flags.writeable = False
    counts, guide = np.zeros((2, 4), np.uint32)
    with np.errstate(over="ignore", invalid="ignore"):
        kernels.bag.lay_guide(sums, guide[1:3])
        kernels.bag.draw_weighted(1, 20, sums, guide[1:3], counts[1:3])
    assert guide[1:3].max() < 2
    assert counts.sum() == 20
    assert counts[0] == counts[3] == 0
