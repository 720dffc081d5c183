"""What the documents of a list weigh and change, and when that rules all of its cuts out."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.ensemble._tree_engine.lazy_splits import add_up, falls_short, lay, weight_of
from cordwood.ensemble._tree_engine.splits import purity

NO_LOGS = np.empty(0)


class Crowd:
    """Documents of three classes, class by class, with their loads, and a list of some of them."""

    def __init__(self, data):
        sizes = [data.draw(st.integers(1, 7)) for _ in range(3)]
        self.label = np.repeat(np.arange(3, dtype=np.uint32), sizes)
        n_docs = len(self.label)
        self.live = np.array([data.draw(st.integers(0, 4)) for _ in range(n_docs)], np.int64)
        self.live[0] = self.live[-1] = 1
        self.counts = np.bincount(self.label, self.live, 3).astype(np.int64)
        self.origin = np.append(0, np.cumsum(sizes))
        self.laid, self.load = np.full(3, -1), np.full(n_docs, -9)
        lay(self.live, self.counts, self.origin, self.laid, self.load)
        held = data.draw(st.sets(st.integers(0, n_docs - 1), min_size=1, max_size=6))
        self.doc = np.array(sorted(held), np.uint16)
        self.total = self.counts.sum()

    def falls_short(self, best):
        load = add_up(self.doc, self.load, 0, len(self.doc))
        pure = purity(False, NO_LOGS, self.counts)
        return falls_short(False, NO_LOGS, pure, self.total, load, best)

    def score(self, docs):
        """Score the cut that parts these documents from all others: scikit-learn's Gini gain."""
        side = np.bincount(self.label[docs], self.live[docs], 3)
        rest = self.counts - side
        return (side**2).sum() / side.sum() + (rest**2).sum() / rest.sum()


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_part_of_a_list_that_falls_short_scores_as_high(data):
    crowd = Crowd(data)
    assert not crowd.falls_short(-np.inf)
    for size in range(1, len(crowd.doc) + 1):
        for part in combinations(crowd.doc, size):
            if 0 < crowd.live[list(part)].sum() < crowd.total:
                assert not crowd.falls_short(crowd.score(list(part)))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_a_list_of_one_class_falls_short_of_all_that_is_more_than_its_score(data):
    crowd = Crowd(data)
    crowd.doc = crowd.doc[crowd.label[crowd.doc] == crowd.label[crowd.doc[0]]]
    if crowd.live[crowd.doc].any():
        assert crowd.falls_short(crowd.score(crowd.doc) * (1 + 1e-9))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_loads_are_those_of_the_node_after_documents_have_left_it(data):
    crowd = Crowd(data)
    crowd.live[crowd.doc] = 0
    crowd.counts[:] = np.bincount(crowd.label, crowd.live, 3)
    lay(crowd.live, crowd.counts, crowd.origin, crowd.laid, crowd.load)
    assert [weight_of(load) for load in crowd.load] == crowd.live.tolist()
    assert (crowd.load >> 16).tolist() == (crowd.live * crowd.counts[crowd.label]).tolist()


def test_a_load_has_room_for_as_many_neighbours_as_there_may_be():
    n = 2**16 - 1
    live, load = np.ones(n, np.int64), np.empty(n, np.int64)
    lay(live, np.array([n]), np.array([0, n]), np.array([-1]), load)
    total = add_up(np.arange(n, dtype=np.uint16), load, 0, n)
    assert (weight_of(total), total >> 16) == (n, n * n)
