from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import VotingClassifier
from sklearn.naive_bayes import GaussianNB

from cordwood.stacking.combiners import Voting

# Three base estimators: two slightly prefer the first class, one strongly the second.
SAMPLE = [0.5, 0.3, 0.2, 0.4, 0.3, 0.3, 0.02, 0.9, 0.08]


def predict(rule, samples, n_classes=3):
    X = np.atleast_2d(samples)
    labels = np.arange(max(len(X), n_classes)) % n_classes
    return Voting(rule).fit(np.resize(X, (len(labels), X.shape[1])), labels).predict_proba(X)


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("majority", [2, 1, 0]),
        ("mean", [0.92, 1.5, 0.58]),
        ("product", [0.5 * 0.4 * 0.02, 0.3 * 0.3 * 0.9, 0.2 * 0.3 * 0.08]),
        ("max", [0.5, 0.9, 0.3]),
        ("min", [0.02, 0.3, 0.08]),
        ("median", [0.4, 0.3, 0.2]),
    ],
)
def test_rules_match_hand_computed_values(rule, values):
    np.testing.assert_allclose(
        predict(rule, SAMPLE)[0], np.array(values) / np.sum(values), atol=1e-5
    )


def test_mean_breaks_ties_of_the_majority():
    tie = [0.6, 0.4, 0.1, 0.9]  # one vote each, but a higher mean of the second class
    assert predict("majority", tie, 2)[0].argmax() == 1
    assert predict("majority", tie[::-1], 2)[0].argmax() == 0
    np.testing.assert_allclose(predict("majority", tie, 2)[0], [0.5, 0.5], atol=1e-6)


def test_tie_break_never_outweighs_a_vote():
    n_members = 99
    votes = np.tile([0.51, 0.49], (50, 1)), np.tile([0.0, 1.0], (49, 1))
    sample = np.vstack(votes).ravel()
    assert len(sample) == 2 * n_members
    assert predict("majority", sample, 2)[0].argmax() == 0


@pytest.mark.parametrize("rule", ["majority", "max", "min", "median"])
def test_mean_breaks_ties_of_other_rules(rule):
    sample = np.zeros((4, 4))
    sample[[0, 1, 2, 3], [0, 1, 2, 3]] = 1.0  # every base estimator is certain of a different class
    sample[3] = [0.0, 0.0, 0.1, 0.9]
    assert predict(rule, sample.ravel(), 4)[0].argmax() == 2


def test_product_does_not_underflow():
    sample = np.tile([0.9, 0.06, 0.04], 500)
    sample[:3] = [0.0, 0.5, 0.5]
    probabilities = predict("product", sample)[0]
    assert probabilities.argmax() == 0  # one zero of 500 is no veto: 1e-308 against 0.066**499
    assert np.isfinite(probabilities).all()


def test_product_with_a_zero_in_every_class():
    sample = [0.0, 0.5, 0.5, 0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 0.9, 0.0, 0.1]
    assert predict("product", sample)[0].argmax() == 2
    assert predict("min", sample)[0].argmax() == np.array([1.4, 1.5, 1.1]).argmax()


RULES = ("majority", "mean", "product", "max", "min", "median")


@pytest.mark.parametrize("rule", RULES)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(deadline=None, max_examples=30)
def test_order_of_members_does_not_matter(rule, seed, n_classes):
    rng = np.random.default_rng(seed)
    # Few distinct values, so that many samples tie.
    members = rng.multinomial(10, np.full(n_classes, 1 / n_classes), size=(40, 4)) / 10
    expected = predict(rule, members.reshape(40, -1), n_classes)
    for order in permutations(range(4)):
        permuted = predict(rule, members[:, order].reshape(40, -1), n_classes)
        assert np.array_equal(permuted, expected)


@pytest.mark.parametrize(
    "members",
    [
        [[0.2, 0.1], [0.3, 0.6]],
        [[0.7, 0.1], [0.1, 0.3], [0.3, 0.7]],
        [[0.7, 0.3], [0.6, 0.4], [0.1, 0.7], [0.2, 0.1]],
        [[0.0, 1.0], [0.6, 0.4], [0.4, 0.6], [1.0, 0.0]],
    ],
)
def test_equal_products_tie(members):
    for order in permutations(members):
        assert predict("product", np.ravel(order), 2).tolist() == [[0.5, 0.5]]


def test_zero_probabilities_give_the_prior():
    X = np.zeros((4, 6))
    for rule in ("mean", "max", "min", "median"):
        model = Voting(rule).fit(X, [0, 1, 2, 2])
        np.testing.assert_allclose(model.predict_proba(X), [[0.25, 0.25, 0.5]] * 4)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(1, 6))
@settings(deadline=None, max_examples=50)
def test_rules_match_sklearn_voting_classifier(seed, n_classes, n_members):
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(n_classes), size=(20, n_members))
    codes = np.arange(20) % n_classes
    X = members.reshape(20, -1)

    class Columns(GaussianNB):
        """A base estimator whose probabilities are its columns of X."""

        def __init__(self, member=0):
            super().__init__()
            self.member = member

        def predict_proba(self, X):
            return X.reshape(len(X), -1, n_classes)[:, self.member]

        def predict(self, X):
            return self.predict_proba(X).argmax(axis=1)

    readers = [(str(member), Columns(member)) for member in range(n_members)]
    soft = VotingClassifier(readers, voting="soft").fit(X, codes)
    np.testing.assert_allclose(Voting("mean").fit(X, codes).predict_proba(X), soft.predict_proba(X))
    hard = VotingClassifier(readers, voting="hard").fit(X, codes).predict(X)
    counts = np.eye(n_classes)[members.argmax(axis=2)].sum(axis=1)
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    ours = Voting("majority").fit(X, codes).predict(X)
    assert np.array_equal(ours[clear], hard[clear])
