"""Packed weights of lists, and the bound that prunes lists whose splits cannot be the best."""

from itertools import combinations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cordwood.ensemble.tree_engine.lazy_splits import (
    below_bound,
    sum_packed,
    unpack_weight,
    update_class_products,
)
from cordwood.ensemble.tree_engine.splits import purity

NO_LOGS = np.empty(0)


class ListOfNode:
    """Samples of three classes, numbered class by class, and a list of some of them."""

    def __init__(self, data):
        sizes = [data.draw(st.integers(1, 7)) for _ in range(3)]
        self.label = np.repeat(np.arange(3, dtype=np.uint32), sizes)
        n_samples = len(self.label)
        self.weight = np.array([data.draw(st.integers(0, 4)) for _ in range(n_samples)], np.int64)
        self.weight[0] = self.weight[-1] = 1
        self.class_weights = np.bincount(self.label, self.weight, 3).astype(np.int64)
        self.class_start = np.append(0, np.cumsum(sizes))
        self.packed_for, self.packed_weight = np.full(3, -1), np.full(n_samples, -9)
        self.update()
        listed = data.draw(st.sets(st.integers(0, n_samples - 1), min_size=1, max_size=6))
        self.sample = np.array(sorted(listed), np.uint16)
        self.total = self.class_weights.sum()

    def update(self):
        update_class_products(
            self.weight, self.class_weights, self.class_start, self.packed_for, self.packed_weight
        )

    def is_pruned(self, best):
        packed = sum_packed(self.sample, self.packed_weight, 0, len(self.sample))
        node_purity = purity(False, NO_LOGS, self.class_weights)
        return below_bound(False, NO_LOGS, node_purity, self.total, packed, best)

    def score(self, samples):
        """Gini score of the split that separates these samples from all others."""
        side = np.bincount(self.label[samples], self.weight[samples], 3)
        rest = self.class_weights - side
        return (side**2).sum() / side.sum() + (rest**2).sum() / rest.sum()


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_part_of_a_pruned_list_scores_as_high_as_the_best(data):
    node = ListOfNode(data)
    assert not node.is_pruned(-np.inf)
    for size in range(1, len(node.sample) + 1):
        for part in combinations(node.sample, size):
            if 0 < node.weight[list(part)].sum() < node.total:
                assert not node.is_pruned(node.score(list(part)))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_the_bound_of_a_list_of_one_class_is_its_score(data):
    node = ListOfNode(data)
    node.sample = node.sample[node.label[node.sample] == node.label[node.sample[0]]]
    assume(node.weight[node.sample].any())
    assert node.is_pruned(node.score(node.sample) * (1 + 1e-9))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_packed_weights_are_updated_after_samples_have_left(data):
    node = ListOfNode(data)
    node.weight[node.sample] = 0
    node.class_weights[:] = np.bincount(node.label, node.weight, 3)
    node.update()
    assert [unpack_weight(packed) for packed in node.packed_weight] == node.weight.tolist()
    products = node.weight * node.class_weights[node.label]
    assert (node.packed_weight >> 16).tolist() == products.tolist()


def test_packed_weights_do_not_overflow_with_the_maximum_of_neighbors():
    n = 2**16 - 1
    weight, packed_weight = np.ones(n, np.int64), np.empty(n, np.int64)
    update_class_products(weight, np.array([n]), np.array([0, n]), np.array([-1]), packed_weight)
    packed = sum_packed(np.arange(n, dtype=np.uint16), packed_weight, 0, n)
    assert (unpack_weight(packed), packed >> 16) == (n, n * n)
