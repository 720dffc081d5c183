import numpy as np
import pytest
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
