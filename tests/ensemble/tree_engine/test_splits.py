import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cordwood._base.csr import csc_arrays
from cordwood.ensemble.tree_engine.binning import bin_matrix

SAMPLE_BITS = np.uint32(8)
SAMPLE_MASK = np.uint32(255)
NO_LOGS = np.empty(0)
LOGS = np.arange(40.0)
LOGS[1:] *= np.log2(LOGS[1:])

criteria = pytest.mark.parametrize("entropy", [False, True], ids=["gini", "entropy"])


def x_log_x(x):
    x = np.asarray(x, float)
    return x * np.log2(np.where(x > 0, x, 1))


def score_of(entropy, left, right):
    """Score of a split: minus the children's weighted impurity, up to a constant of the node."""
    if entropy:
        return sum(x_log_x(side).sum() - x_log_x(side.sum()) for side in (left, right))
    return sum((side**2).sum() / side.sum() for side in (left, right))


# --- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.0, 1.0, 2.0, 39.0, 40.0, 1000.0, 0.5, 2.5, 1e-9])
def test_x_log_x_from_table_and_formula(kernels, x):
    assert kernels.splits.x_log_x(x, LOGS) == pytest.approx(float(x_log_x(x)), rel=1e-15)
    assert kernels.splits.x_log_x(x, NO_LOGS) == pytest.approx(float(x_log_x(x)), rel=1e-15)


def test_x_log_x_of_rounding_residues_is_zero(kernels):
    assert kernels.splits.x_log_x(-1e-17, LOGS) == 0
    assert kernels.splits.x_log_x(-1e-17, NO_LOGS) == 0


@criteria
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_moving_samples_one_by_one_gives_the_score_of_their_split(plain, entropy, data):
    splits = plain.splits
    whole = data.draw(st.booleans())
    weight = st.integers(1, 4).map(float) if whole else st.floats(0.01, 10)
    samples = data.draw(st.lists(st.tuples(st.integers(0, 3), weight), min_size=2, max_size=12))
    labels, weights = (np.array(column) for column in zip(*samples, strict=True))
    n_side = data.draw(st.integers(1, len(samples) - 1))
    count = np.bincount(labels, weights, minlength=4)
    side = np.zeros(4)
    pure = change = 0.0
    for label, w in samples[:n_side]:
        more, less = splits.move_weight(entropy, LOGS, side[label], w, count[label])
        pure += more
        change += less
        side[label] += w
    pure_node = splits.purity(entropy, LOGS, count)
    expected = x_log_x(count).sum() if entropy else (count**2).sum()
    assert pure_node == pytest.approx(expected, rel=1e-12, abs=1e-12)
    scored = splits.split_score(entropy, LOGS, pure_node, count.sum(), side.sum(), pure, change)
    scale = count.sum() * (1 + np.log2(1 + count.sum()))
    assert scored == pytest.approx(
        score_of(entropy, side, count - side), rel=1e-9, abs=1e-11 * scale
    )


def bound(entropy, purity, total, weight):
    """The score if the sparse side consists of all samples of one class."""
    if 4 * weight >= total:
        return np.inf
    if entropy:
        return purity - x_log_x(weight) - x_log_x(total - weight)
    return weight + (purity - weight**2) / (total - weight)


@criteria
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_scores_are_at_most_the_bound(plain, entropy, data):
    side = np.array(data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=5)), float)
    rest = np.array([data.draw(st.integers(0, 40)) for _ in side], float)
    assume(side.any() and rest.any())
    scale = data.draw(st.sampled_from([1.0, 0.1, 1 / 3, 1e6 / 7]))
    side, rest = side * scale, rest * scale
    count = side + rest
    # A list may weigh more than the side that a split separates from it.
    heavier = side.sum() * data.draw(st.floats(1, 3))
    pure_node = plain.splits.purity(entropy, LOGS, count)
    limit = bound(entropy, pure_node, count.sum(), heavier)
    reached = score_of(entropy, side, rest)
    rounding = 1e-12 * count.sum() * (1 + np.log2(1 + count.sum()))
    assert limit >= reached - rounding
    assert (limit == np.inf) == (4 * heavier >= count.sum())


@criteria
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_pruned_splits_cannot_improve_the_best_score(plain, entropy, data):
    side = np.array([data.draw(st.integers(0, 9)) for _ in range(3)], float)
    rest = np.array([data.draw(st.integers(1, 40)) for _ in range(3)], float)
    side[0] += 1.0
    count = (side + rest) * data.draw(st.sampled_from([1.0, 0.1, 1e6 / 7]))
    side *= count.sum() / (side + rest).sum()
    pure_node = plain.splits.purity(entropy, LOGS, count)
    about = entropy, LOGS, pure_node, count.sum(), side.sum()
    reached = score_of(entropy, side, count - side)
    limit = bound(entropy, *about[2:])
    assert not plain.splits.cannot_improve(*about, reached - 1e-9 * abs(reached))
    assert plain.splits.cannot_improve(*about, limit + 1e-6 * abs(limit)) == np.isfinite(limit)
    assert not plain.splits.cannot_improve(*about, limit - 1e-6 * abs(limit))


@criteria
def test_the_bound_is_attained_by_a_side_of_all_samples_of_one_class(plain, entropy):
    count = np.array([3.0, 20.0, 5.0])
    pure_node = plain.splits.purity(entropy, LOGS, count)
    limit = bound(entropy, pure_node, 28.0, 3.0)
    side = np.array([3.0, 0.0, 0.0])
    assert limit == pytest.approx(score_of(entropy, side, count - side), rel=1e-9)


def test_ties_are_won_by_the_feature_drawn_first(kernels):
    best = np.array([-np.inf, 0, -1, 0, 0, 0])
    assert kernels.splits.update_best(best, 1.0, 4)
    assert not kernels.splits.update_best(best, 1.0, 4)
    assert not kernels.splits.update_best(best, 1.0, 5)
    assert kernels.splits.update_best(best, 1.0, 3)
    assert not kernels.splits.update_best(best, 0.5, 0)
    assert kernels.splits.update_best(best, 1.5, 9)
    assert best[:2].tolist() == [1.5, 9]


# --- splits of one feature --------------------------------------------------------------------


class Column:
    """One feature of a node, as the kernels read it: entries sorted by bin, without zeros."""

    def __init__(self, values, labels, weights, n_classes=3):
        self.values = np.asarray(values, np.float32)
        self.y = np.asarray(labels, np.uint32)
        self.weights = np.asarray(weights, float)
        self.class_weights = np.bincount(self.y, self.weights, minlength=n_classes)
        self.bins = np.unique(np.append(self.values, np.float32(0)))
        self.zero_bin = np.uint32(np.searchsorted(self.bins, 0))
        samples = np.flatnonzero(self.values)
        samples = samples[np.argsort(self.values[samples], kind="stable")]
        bins = np.searchsorted(self.bins, self.values[samples]).astype(np.uint32)
        # The entries of other features are before and after them.
        outside = np.full(3, 0xFFFFFFFF, np.uint32)
        entries = (bins << SAMPLE_BITS) | samples.astype(np.uint32)
        self.entries = np.concatenate([outside, entries, outside])
        self.n = len(samples)

    def node(self, splits, entropy, side, best, min_samples_leaf, min_weight_leaf):
        return splits.Node(
            entropy=entropy,
            logs=LOGS,
            class_weights=self.class_weights,
            side_weights=side,
            best=best,
            y=self.y,
            weights=self.weights,
            n=np.uint32(len(self.values)),
            purity=splits.purity(entropy, LOGS, self.class_weights),
            total=self.class_weights.sum(),
            min_samples_leaf=min_samples_leaf,
            min_weight_leaf=min_weight_leaf,
            sample_bits=SAMPLE_BITS,
            sample_mask=SAMPLE_MASK,
        )

    def arguments(self, feature=17, draw=2):
        return (
            np.uint32(feature),
            draw,
            self.zero_bin,
            self.entries,
            np.uint32(3),
            np.uint32(self.n),
        )

    def all_splits(self, entropy, min_leaf, min_weight):
        """Yield score, lower and upper bin of all splits that are allowed, by brute force."""
        present = np.unique(self.values)
        for lower, upper in zip(present[:-1], present[1:], strict=True):
            left = self.values <= lower
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            sides = [
                np.bincount(self.y[part], self.weights[part], minlength=len(self.class_weights))
                for part in (left, ~left)
            ]
            if min(side.sum() for side in sides) < min_weight:
                continue
            yield score_of(entropy, *sides), *np.searchsorted(self.bins, [lower, upper])


def find_best_split(splits, column, entropy, min_leaf, min_weight):
    best = np.array([-np.inf, 0, -1, -1, -1, -1])
    side = np.zeros(len(column.class_weights))
    node = column.node(splits, entropy, side, best, min_leaf, min_weight)
    splits.score_all_splits(node, *column.arguments())
    assert not side.any()  # cleared for the next feature
    return best


def check_best(column, best, entropy, min_leaf, min_weight):
    splits = {
        (lower, upper): score
        for score, lower, upper in column.all_splits(entropy, min_leaf, min_weight)
    }
    if not splits:
        assert best[2] == -1
        return
    assert best[1:3].tolist() == [2, 17]
    assert best[0] == pytest.approx(max(splits.values()), rel=1e-9, abs=1e-9)
    chosen = splits[int(best[3]), int(best[4])]
    assert chosen == pytest.approx(best[0], rel=1e-9, abs=1e-9)


SIGNS = {
    "counts": [0, 0, 0, 1, 2],
    "negative": [-2, -1, 0, 0],
    "mixed": [-1.5, -1, 0, 0.5, 2, 3],
    "no zero": [-3, -1, 1, 2],
    "only positive": [1, 2, 3.5],
    "only negative": [-1, -2, -3.5],
}


@criteria
@pytest.mark.parametrize("values", SIGNS)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_best_split_matches_brute_force(plain, entropy, values, data):
    n = data.draw(st.integers(2, 14))
    whole = data.draw(st.booleans())
    weight = st.integers(1, 3).map(float) if whole else st.floats(0.05, 5)

    def draw_list(strategy):
        return data.draw(st.lists(strategy, min_size=n, max_size=n))

    sampled = st.sampled_from(SIGNS[values])
    column = Column(draw_list(sampled), draw_list(st.integers(0, 2)), draw_list(weight))
    min_leaf = data.draw(st.integers(1, 4))
    min_weight = data.draw(st.sampled_from([0.0, 0.1, 0.3])) * column.class_weights.sum()
    best = find_best_split(plain.splits, column, entropy, min_leaf, min_weight)
    check_best(column, best, entropy, min_leaf, min_weight)


@criteria
@pytest.mark.parametrize("values", SIGNS)
def test_best_split_of_the_compiled_kernel_matches_brute_force(compiled, entropy, values):
    rng = np.random.default_rng(1)
    for min_leaf in (1, 3):
        column = Column(
            rng.choice(SIGNS[values], 30), rng.integers(0, 3, 30), rng.integers(1, 4, 30)
        )
        best = find_best_split(compiled.splits, column, entropy, min_leaf, 4.0)
        check_best(column, best, entropy, min_leaf, 4.0)


def test_a_lower_score_does_not_replace_the_best_split(plain):
    column = Column([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1])
    best = np.array([100.0, 0, 5, 1, 2, 0])
    node = column.node(plain.splits, False, np.zeros(3), best, 1, 0.0)
    plain.splits.score_all_splits(node, *column.arguments())
    assert best.tolist() == [100.0, 0, 5, 1, 2, 0]


# --- random splits ----------------------------------------------------------------------------


def score_at(splits, column, entropy, u, monkeypatch, min_leaf=1, bin_min=None, bin_max=None):
    """Score the random split at the uniform number u."""
    monkeypatch.setattr(splits, "uniform", lambda state: u)
    best = np.array([-np.inf, 0, -1, -1, -1, -1])
    side = np.zeros(len(column.class_weights))
    bin_min = column.bins if bin_min is None else bin_min
    bin_max = column.bins if bin_max is None else bin_max
    before = np.float32([-9, -9])  # bins of another feature
    splits.score_random_split(
        column.node(splits, entropy, side, best, min_leaf, 0.0),
        *column.arguments(),
        np.concatenate([before, bin_min]),
        np.concatenate([before, bin_max]),
        np.int64(2),
        np.zeros(1, np.uint64),
    )
    assert not side.any()
    return best


@criteria
@pytest.mark.parametrize("values", SIGNS)
@pytest.mark.parametrize("u", [0.0, 0.2, 0.5, 0.77, 1 - 2.0**-53])
def test_random_thresholds_are_between_the_extreme_values(plain, monkeypatch, entropy, values, u):
    rng = np.random.default_rng(2)
    for _ in range(20):
        column = Column(
            rng.choice(SIGNS[values], 12), rng.integers(0, 3, 12), rng.integers(1, 4, 12)
        )
        low, high = float(column.values.min()), float(column.values.max())
        if low == high:
            continue
        best = score_at(plain.splits, column, entropy, u, monkeypatch)
        threshold = best[5]
        left = column.values <= threshold
        assert left.any()
        assert not left.all()
        drawn = low + u * (high - low)
        # A threshold at the largest value is lowered, so that it separates the samples.
        assert threshold == np.float32(drawn) or (np.float32(drawn) == high and threshold < high)
        assert column.bins[int(best[3])] == column.bins[column.bins <= threshold].max()
        sides = [
            np.bincount(column.y[part], column.weights[part], minlength=3) for part in (left, ~left)
        ]
        assert best[0] == pytest.approx(score_of(entropy, *sides), rel=1e-9, abs=1e-9)


def test_random_splits_respect_min_samples_leaf(plain, monkeypatch):
    column = Column([0, 0, 0, 0, 3], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1])
    assert score_at(plain.splits, column, False, 0.5, monkeypatch)[2] == 17
    assert score_at(plain.splits, column, False, 0.5, monkeypatch, min_leaf=2)[2] == -1


@pytest.mark.parametrize("u", np.linspace(0, 1, 21, endpoint=False))
def test_random_splits_never_separate_values_of_one_bin(plain, monkeypatch, u):
    values = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] * 2, np.float32)
    binned = bin_matrix(csc_arrays(sp.csc_matrix(values[:, None])), max_bins=8)
    bins = np.searchsorted(binned.bin_max, values)
    assert len(set(bins)) < 12
    column = Column(binned.bin_min[bins], np.arange(24) % 2, np.ones(24))
    best = score_at(
        plain.splits,
        column,
        False,
        u,
        monkeypatch,
        bin_min=binned.bin_min,
        bin_max=binned.bin_max,
    )
    left = values <= best[5]
    assert 0 < left.sum() < 24
    assert set(bins[left]).isdisjoint(bins[~left])
