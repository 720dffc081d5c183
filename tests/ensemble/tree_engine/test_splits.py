import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.ensemble._tree_engine.binning import encode

DOC_BITS = np.uint32(8)
DOC_MASK = np.uint32(255)
NO_LOGS = np.empty(0)
LOGS = np.arange(40.0)
LOGS[1:] *= np.log2(LOGS[1:])

criteria = pytest.mark.parametrize("entropy", [False, True], ids=["gini", "entropy"])


def x_log_x(x):
    x = np.asarray(x, float)
    return x * np.log2(np.where(x > 0, x, 1))


def score_of(entropy, left, right):
    """What a cut scores: less the children's weighted impurity, but for a constant of the node."""
    if entropy:
        return sum(x_log_x(side).sum() - x_log_x(side.sum()) for side in (left, right))
    return sum((side**2).sum() / side.sum() for side in (left, right))


# --- scores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.0, 1.0, 2.0, 39.0, 40.0, 1000.0, 0.5, 2.5, 1e-9])
def test_x_log_x_is_the_same_from_table_and_formula(kernels, x):
    assert kernels.splits.x_log_x(x, LOGS) == pytest.approx(float(x_log_x(x)), rel=1e-15)
    assert kernels.splits.x_log_x(x, NO_LOGS) == pytest.approx(float(x_log_x(x)), rel=1e-15)


def test_what_rounding_leaves_of_a_class_counts_for_nothing(kernels):
    assert kernels.splits.x_log_x(-1e-17, LOGS) == 0
    assert kernels.splits.x_log_x(-1e-17, NO_LOGS) == 0


@criteria
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_documents_added_one_by_one_give_the_score_of_their_cut(plain, entropy, data):
    splits = plain.splits
    whole = data.draw(st.booleans())
    weight = st.integers(1, 4).map(float) if whole else st.floats(0.01, 10)
    docs = data.draw(st.lists(st.tuples(st.integers(0, 3), weight), min_size=2, max_size=12))
    labels, weights = (np.array(column) for column in zip(*docs, strict=True))
    n_side = data.draw(st.integers(1, len(docs) - 1))
    count = np.bincount(labels, weights, minlength=4)
    side = np.zeros(4)
    pure = change = 0.0
    for label, w in docs[:n_side]:
        more, less = splits.add(entropy, LOGS, side[label], w, count[label])
        pure += more
        change += less
        side[label] += w
    pure_node = splits.purity(entropy, LOGS, count)
    expected = x_log_x(count).sum() if entropy else (count**2).sum()
    assert pure_node == pytest.approx(expected, rel=1e-12, abs=1e-12)
    scored = splits.score(entropy, LOGS, pure_node, count.sum(), side.sum(), pure, change)
    scale = count.sum() * (1 + np.log2(1 + count.sum()))
    assert scored == pytest.approx(
        score_of(entropy, side, count - side), rel=1e-9, abs=1e-11 * scale
    )


def bound(entropy, purity, total, weight):
    """The most that a cut can score whose short side, of one class, takes all of it along."""
    if 4 * weight >= total:
        return np.inf
    if entropy:
        return purity - x_log_x(weight) - x_log_x(total - weight)
    return weight + (purity - weight**2) / (total - weight)


@criteria
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_no_side_lighter_than_a_quarter_scores_above_its_bound(plain, entropy, data):
    side = np.array(data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=5)), float)
    if not side.any():
        side[0] = 1.0
    rest = np.array([data.draw(st.integers(0, 40)) for _ in side], float)
    scale = data.draw(st.sampled_from([1.0, 0.1, 1 / 3, 1e6 / 7]))
    side, rest = side * scale, rest * scale
    count = side + rest
    # A list may weigh more than the side that is cut off it.
    heavier = side.sum() * data.draw(st.floats(1, 3))
    if not rest.any():
        return
    pure_node = plain.splits.purity(entropy, LOGS, count)
    limit = bound(entropy, pure_node, count.sum(), heavier)
    reached = score_of(entropy, side, rest)
    rounding = 1e-12 * count.sum() * (1 + np.log2(1 + count.sum()))
    assert limit >= reached - rounding
    assert (limit == np.inf) == (4 * heavier >= count.sum())


@criteria
@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_what_is_called_hopeless_is(plain, entropy, data):
    side = np.array([data.draw(st.integers(0, 9)) for _ in range(3)], float)
    rest = np.array([data.draw(st.integers(1, 40)) for _ in range(3)], float)
    side[0] += 1.0
    count = (side + rest) * data.draw(st.sampled_from([1.0, 0.1, 1e6 / 7]))
    side *= count.sum() / (side + rest).sum()
    pure_node = plain.splits.purity(entropy, LOGS, count)
    about = entropy, LOGS, pure_node, count.sum(), side.sum()
    reached = score_of(entropy, side, count - side)
    limit = bound(entropy, *about[2:])
    assert not plain.splits.is_hopeless(*about, reached - 1e-9 * abs(reached))
    assert plain.splits.is_hopeless(*about, limit + 1e-6 * abs(limit)) == np.isfinite(limit)
    assert not plain.splits.is_hopeless(*about, limit - 1e-6 * abs(limit))


@criteria
def test_the_bound_is_reached_by_a_class_that_leaves_for_good(plain, entropy):
    count = np.array([3.0, 20.0, 5.0])
    pure_node = plain.splits.purity(entropy, LOGS, count)
    limit = bound(entropy, pure_node, 28.0, 3.0)
    side = np.array([3.0, 0.0, 0.0])
    assert limit == pytest.approx(score_of(entropy, side, count - side), rel=1e-9)


def test_among_equal_scores_the_feature_drawn_first_wins(kernels):
    best = np.array([-np.inf, 0, -1, 0, 0, 0])
    assert kernels.splits.offer(best, 1.0, 4)
    assert not kernels.splits.offer(best, 1.0, 4)
    assert not kernels.splits.offer(best, 1.0, 5)
    assert kernels.splits.offer(best, 1.0, 3)
    assert not kernels.splits.offer(best, 0.5, 0)
    assert kernels.splits.offer(best, 1.5, 9)
    assert best[:2].tolist() == [1.5, 9]


# --- cuts of one feature ----------------------------------------------------------------------


class Column:
    """One feature of a node, as the kernels see it: entries by rank, documents with zero absent."""

    def __init__(self, values, labels, weights, n_classes=3):
        self.values = np.asarray(values, np.float32)
        self.labels = np.asarray(labels, np.uint32)
        self.weights = np.asarray(weights, float)
        self.count = np.bincount(self.labels, self.weights, minlength=n_classes)
        self.ranked = np.unique(np.append(self.values, np.float32(0)))
        self.zero = np.uint32(np.searchsorted(self.ranked, 0))
        docs = np.flatnonzero(self.values)
        docs = docs[np.argsort(self.values[docs], kind="stable")]
        ranks = np.searchsorted(self.ranked, self.values[docs]).astype(np.uint32)
        # Other features' entries stand around them.
        strange = np.full(3, 0xFFFFFFFF, np.uint32)
        self.entries = np.concatenate([strange, (ranks << DOC_BITS) | docs.astype(np.uint32)])
        self.entries = np.concatenate([self.entries, strange])
        self.n = len(docs)

    def node(self, splits, entropy, side, best, min_leaf, min_weight):
        return splits.Node(
            entropy=entropy,
            logs=LOGS,
            counts=self.count,
            side=side,
            best=best,
            labels=self.labels,
            weights=self.weights,
            n=np.uint32(len(self.values)),
            purity=splits.purity(entropy, LOGS, self.count),
            total=self.count.sum(),
            min_leaf=min_leaf,
            min_weight=min_weight,
            doc_bits=DOC_BITS,
            doc_mask=DOC_MASK,
        )

    def arguments(self, feature=17, turn=2):
        return np.uint32(feature), turn, self.zero, self.entries, np.uint32(3), np.uint32(self.n)

    def cuts(self, entropy, min_leaf, min_weight):
        """All cuts that are allowed, by brute force: score, lower and upper rank."""
        present = np.unique(self.values)
        for lower, upper in zip(present[:-1], present[1:], strict=True):
            left = self.values <= lower
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            sides = [
                np.bincount(self.labels[part], self.weights[part], minlength=len(self.count))
                for part in (left, ~left)
            ]
            if min(side.sum() for side in sides) < min_weight:
                continue
            ranks = np.searchsorted(self.ranked, [lower, upper])
            yield score_of(entropy, *sides), *ranks


def judge(splits, column, entropy, min_leaf, min_weight):
    best = np.array([-np.inf, 0, -1, -1, -1, -1])
    side = np.zeros(len(column.count))
    node = column.node(splits, entropy, side, best, min_leaf, min_weight)
    splits.judge_cuts(node, *column.arguments())
    assert not side.any()  # left clean for the next feature
    return best


def check_best(column, best, entropy, min_leaf, min_weight):
    cuts = {
        (lower, upper): score for score, lower, upper in column.cuts(entropy, min_leaf, min_weight)
    }
    if not cuts:
        assert best[2] == -1
        return
    assert best[1:3].tolist() == [2, 17]
    assert best[0] == pytest.approx(max(cuts.values()), rel=1e-9, abs=1e-9)
    chosen = cuts[int(best[3]), int(best[4])]
    assert chosen == pytest.approx(best[0], rel=1e-9, abs=1e-9)


SIGNS = {
    "words": [0, 0, 0, 1, 2],
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
def test_the_best_of_all_cuts_is_found(plain, entropy, values, data):
    n = data.draw(st.integers(2, 14))
    whole = data.draw(st.booleans())
    weight = st.integers(1, 3).map(float) if whole else st.floats(0.05, 5)

    def some(strategy):
        return data.draw(st.lists(strategy, min_size=n, max_size=n))

    column = Column(some(st.sampled_from(SIGNS[values])), some(st.integers(0, 2)), some(weight))
    min_leaf = data.draw(st.integers(1, 4))
    min_weight = data.draw(st.sampled_from([0.0, 0.1, 0.3])) * column.count.sum()
    best = judge(plain.splits, column, entropy, min_leaf, min_weight)
    check_best(column, best, entropy, min_leaf, min_weight)


@criteria
@pytest.mark.parametrize("values", SIGNS)
def test_the_compiled_kernel_finds_the_best_cut_too(compiled, entropy, values):
    rng = np.random.default_rng(1)
    for min_leaf in (1, 3):
        column = Column(
            rng.choice(SIGNS[values], 30), rng.integers(0, 3, 30), rng.integers(1, 4, 30)
        )
        best = judge(compiled.splits, column, entropy, min_leaf, 4.0)
        check_best(column, best, entropy, min_leaf, 4.0)


def test_a_better_cut_of_an_earlier_feature_stays(plain):
    column = Column([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 1])
    best = np.array([100.0, 0, 5, 1, 2, 0])
    node = column.node(plain.splits, False, np.zeros(3), best, 1, 0.0)
    plain.splits.judge_cuts(node, *column.arguments())
    assert best.tolist() == [100.0, 0, 5, 1, 2, 0]


# --- one random cut ---------------------------------------------------------------------------


def judge_at(splits, column, entropy, chance, monkeypatch, min_leaf=1, least=None, greatest=None):
    monkeypatch.setattr(splits, "uniform", lambda state: chance)
    best = np.array([-np.inf, 0, -1, -1, -1, -1])
    side = np.zeros(len(column.count))
    ranked = column.ranked if least is None else least
    first = np.float32([-9, -9])  # another feature's values
    splits.judge_random_cut(
        column.node(splits, entropy, side, best, min_leaf, 0.0),
        *column.arguments(),
        np.concatenate([first, ranked]),
        np.concatenate([first, column.ranked if greatest is None else greatest]),
        np.int64(2),
        np.zeros(1, np.uint64),
    )
    assert not side.any()
    return best


@criteria
@pytest.mark.parametrize("values", SIGNS)
@pytest.mark.parametrize("chance", [0.0, 0.2, 0.5, 0.77, 1 - 2.0**-53])
def test_a_random_cut_lies_between_the_least_and_greatest_value(
    plain, monkeypatch, entropy, values, chance
):
    rng = np.random.default_rng(2)
    for _ in range(20):
        column = Column(
            rng.choice(SIGNS[values], 12), rng.integers(0, 3, 12), rng.integers(1, 4, 12)
        )
        low, high = float(column.values.min()), float(column.values.max())
        if low == high:
            continue
        best = judge_at(plain.splits, column, entropy, chance, monkeypatch)
        threshold = best[5]
        left = column.values <= threshold
        assert left.any()
        assert not left.all()
        drawn = low + chance * (high - low)
        # A cut at the very top goes down to the next value, which parts the documents.
        assert threshold == np.float32(drawn) or (np.float32(drawn) == high and threshold < high)
        assert column.ranked[int(best[3])] == column.ranked[column.ranked <= threshold].max()
        sides = [
            np.bincount(column.labels[part], column.weights[part], minlength=3)
            for part in (left, ~left)
        ]
        assert best[0] == pytest.approx(score_of(entropy, *sides), rel=1e-9, abs=1e-9)


def test_a_random_cut_heeds_the_least_size_of_leaves(plain, monkeypatch):
    column = Column([0, 0, 0, 0, 3], [0, 1, 0, 1, 0], [1, 1, 1, 1, 1])
    assert judge_at(plain.splits, column, False, 0.5, monkeypatch)[2] == 17
    assert judge_at(plain.splits, column, False, 0.5, monkeypatch, min_leaf=2)[2] == -1


@pytest.mark.parametrize("chance", np.linspace(0, 1, 21, endpoint=False))
def test_a_random_cut_never_parts_values_of_one_rank(plain, monkeypatch, chance):
    values = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] * 2, np.float32)
    table = encode(sp.csc_matrix(values[:, None]), max_ranks=8)
    ranks = np.searchsorted(table.greatest, values)
    assert len(set(ranks)) < 12
    column = Column(table.least[ranks], np.arange(24) % 2, np.ones(24))
    column.ranked = np.unique(np.append(table.least[ranks], np.float32(0)))
    best = judge_at(
        plain.splits, column, False, chance, monkeypatch, least=table.least, greatest=table.greatest
    )
    left = values <= best[5]
    assert 0 < left.sum() < 24
    assert set(ranks[left]).isdisjoint(ranks[~left])
