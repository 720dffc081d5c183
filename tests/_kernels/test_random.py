import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

# Significance level of each test; seeds are fixed, so a test that passes does not fail by chance.
ALPHA = 1e-4


def make_state(seed):
    return np.array([seed], np.uint64)


def splitmix(seed, n):
    """SplitMix64 in Python integers."""
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield (z ^ (z >> 31)) >> 11


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, 2**64 - 1])
def test_uniform_matches_splitmix64(kernels, seed):
    state = make_state(seed)
    expected = [z / 2**53 for z in splitmix(seed, 100)]
    assert [kernels.random.uniform(state) for _ in range(100)] == expected


def test_uniform_is_uniform(kernels):
    state = make_state(3)
    drawn = np.array([kernels.random.uniform(state) for _ in range(5000)])
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert stats.kstest(drawn, "uniform").pvalue > ALPHA
    # Pairs of successive numbers are uniform in the unit square.
    pairs, _, _ = np.histogram2d(drawn[::2], drawn[1::2], bins=5, range=[[0, 1], [0, 1]])
    assert stats.chisquare(pairs.ravel()).pvalue > ALPHA


@pytest.mark.parametrize("n", [1, 2, 7])
def test_randbelow_is_uniform(kernels, n):
    state = make_state(5)
    drawn = np.array([kernels.random.randbelow(state, n) for _ in range(3000)])
    counts = np.bincount(drawn, minlength=n)
    assert len(counts) == n
    assert n == 1 or stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**31 - 1, 2**31, 2**32 - 1])
def test_randbelow_is_below_n_for_the_largest_uniform_number(plain, monkeypatch, n):
    monkeypatch.setattr(plain.random, "uniform", lambda state: 1 - 2.0**-53)
    assert plain.random.randbelow(make_state(0), n) == n - 1


def draw_hypergeometric(kernels, n_good, n_all, n_drawn, n_times, seed=11):
    state = make_state(seed)
    log_factorial = gammaln(np.arange(n_all + 1) + 1.0)
    return np.array(
        [
            kernels.random.hypergeometric(state, log_factorial, n_good, n_all, n_drawn)
            for _ in range(n_times)
        ]
    )


@pytest.mark.parametrize(
    ("n_good", "n_all", "n_drawn"),
    [
        (5, 20, 4),
        (15, 20, 12),  # at least seven are good
        (1, 30, 5),
        (29, 30, 5),
        (3, 30, 1),
        (10, 30, 29),
        (300, 1000, 30),
        (4000, 30000, 173),
        (12, 30000, 173),  # mostly zero
    ],
)
def test_hypergeometric_has_its_distribution(kernels, n_good, n_all, n_drawn):
    """Chi-square test; values expected less than five times are pooled at each end."""
    n_times = 4000
    drawn = draw_hypergeometric(kernels, n_good, n_all, n_drawn, n_times)
    distribution = stats.hypergeom(n_all, n_good, n_drawn)
    least, most = distribution.support()
    assert drawn.min() >= least
    assert drawn.max() <= most
    values = np.arange(least, most + 1)
    expected = n_times * distribution.pmf(values)
    common = values[expected >= 5]
    observed = np.bincount(np.clip(drawn, common[0], common[-1]) - common[0])
    pooled = expected[common - least]
    pooled[0] += expected[values < common[0]].sum()
    pooled[-1] += expected[values > common[-1]].sum()
    assert len(observed) == len(pooled)
    assert len(pooled) == 1 or stats.chisquare(observed, pooled).pvalue > ALPHA


@pytest.mark.parametrize(
    ("n_good", "n_all", "n_drawn", "expected"),
    [
        (7, 7, 3, 3),  # all are good
        (7, 7, 7, 7),
        (4, 9, 9, 4),  # all are drawn
        (4, 9, 12, 4),  # more than all
        (0, 9, 3, 0),  # none is good
        (0, 9, 9, 0),
        (3, 9, 0, 0),  # none is drawn
        (1, 1, 1, 1),
    ],
)
def test_hypergeometric_of_certain_outcomes(kernels, n_good, n_all, n_drawn, expected):
    assert set(draw_hypergeometric(kernels, n_good, n_all, n_drawn, 20)) == {expected}


@pytest.mark.parametrize("u", [0.0, 1 - 2.0**-53])
def test_hypergeometric_of_extreme_uniform_numbers_is_possible(plain, monkeypatch, u):
    monkeypatch.setattr(plain.random, "uniform", lambda state: u)
    for n_good, n_all, n_drawn in [(5, 20, 4), (15, 20, 12), (4000, 30000, 173), (1, 2, 1)]:
        (drawn,) = draw_hypergeometric(plain, n_good, n_all, n_drawn, 1)
        assert stats.hypergeom(n_all, n_good, n_drawn).pmf(drawn) > 0
