from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest, chisquare

from cordwood.labelling import choice
from cordwood.labelling.choice import choose_diverse, choose_next, uncertainty

N_CLASSES = 4


def draw(n_samples=300, n_features=20, seed=0):
    """Draw vectors around the centers of classes, and probabilities of the classes."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(N_CLASSES, n_features))
    vectors = centers[rng.integers(N_CLASSES, size=n_samples)]
    vectors = vectors + 0.5 * rng.normal(size=vectors.shape)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, rng.dirichlet(np.full(N_CLASSES, 0.5), n_samples)


def mask(n_samples, indices):
    labelled = np.zeros(n_samples, bool)
    labelled[list(indices)] = True
    return labelled


def objective(vectors, weights, width, chosen):
    """Return the weighted similarity of all samples to the most similar chosen one, by loops."""
    return sum(
        weight * max(np.exp((min(1, x @ vectors[i]) - 1) / width) for i in chosen)
        for x, weight in zip(vectors, weights, strict=True)
    )


def indices(choices):
    return [chosen.index for chosen in choices]


@pytest.mark.parametrize("n_labelled", [1, 5, 30])
def test_choice_maximizes_the_covered_uncertainty(n_labelled):
    vectors, proba = draw(60)
    labelled = mask(60, range(n_labelled))
    known, free = vectors[labelled], np.flatnonzero(~labelled)
    nearest = (vectors[free] @ known.T).max(axis=1)
    width = np.mean(1 - nearest)
    ordered = np.sort(proba, axis=1)
    weights = np.where(labelled, 0, 1 - ordered[:, -1] + ordered[:, -2])
    found = indices(choose_next(proba, vectors, labelled, n=3, seed=0, random_share=0))
    expected = list(range(n_labelled))
    for _ in range(3):
        values = [objective(vectors, weights, width, [*expected, i]) for i in free]
        expected.append(free[np.argmax(values)])
    assert set(found) == set(expected[n_labelled:])


def test_diverse_choice_represents_all_samples_better_than_random_ones():
    vectors, _ = draw()
    chosen = choose_diverse(vectors, 10, seed=0)
    rng = np.random.default_rng(0)
    values = [
        (vectors @ vectors[rng.choice(len(vectors), 10, replace=False)].T).max(axis=1).mean()
        for _ in range(200)
    ]
    assert (vectors @ vectors[chosen].T).max(axis=1).mean() > max(values)


def test_first_of_a_longer_diverse_choice_cover_every_cluster():
    centers = np.eye(6)[np.repeat(np.arange(6), [100, 40, 20, 20, 10, 10])]
    vectors = centers + 0.05 * np.random.default_rng(0).normal(size=centers.shape)
    chosen = choose_diverse(vectors, 12, seed=0)
    assert set(np.argmax(vectors[chosen[:6]], axis=1)) == set(range(6))


@pytest.mark.parametrize("n", [0, 1, 7, 250, 400])
@pytest.mark.parametrize("share", [0, 0.2, 1])
def test_chosen_samples_are_distinct_and_not_labelled(n, share):
    vectors, proba = draw()
    labelled = mask(300, range(0, 300, 3))
    for p in (proba, None):
        found = indices(choose_next(p, vectors, labelled, n=n, seed=1, random_share=share))
        assert len(set(found)) == len(found) == min(n, 200)
        assert not labelled[found].any()
    diverse = choose_diverse(vectors, n, seed=1, exclude=np.flatnonzero(labelled))
    assert len(set(diverse)) == len(diverse) == min(n, 200)
    assert not labelled[diverse].any()


def test_nothing_is_chosen_if_all_are_labelled():
    vectors, proba = draw()
    assert choose_next(proba, vectors, np.ones(300, bool), n=5, seed=0) == []
    assert len(choose_diverse(vectors, 5, seed=0, exclude=range(300))) == 0


def test_same_seed_gives_the_same_choice():
    vectors, proba = draw()
    labelled = mask(300, [3, 5])
    first = choose_next(proba, vectors, labelled, n=20, seed=0)
    assert first == choose_next(proba, vectors, labelled, n=20, seed=0)
    assert first != choose_next(proba, vectors, labelled, n=20, seed=1)
    np.testing.assert_array_equal(
        choose_diverse(vectors, 9, seed=2), choose_diverse(vectors, 9, seed=2)
    )


def test_sparse_vectors_give_the_same_choice():
    vectors, proba = draw()
    vectors[vectors < 0] = 0
    labelled = mask(300, range(10))
    sparse = sp.csr_matrix(vectors)
    assert choose_next(proba, vectors, labelled, n=20, seed=0) == choose_next(
        proba, sparse, labelled, n=20, seed=0
    )
    np.testing.assert_array_equal(
        choose_diverse(vectors, 20, seed=0), choose_diverse(sparse, 20, seed=0)
    )


def test_length_of_vectors_has_no_effect():
    vectors, proba = draw()
    labelled = mask(300, range(10))
    factors = 2.0 ** np.random.default_rng(0).integers(-3, 4, size=(300, 1))
    assert choose_next(proba, vectors, labelled, n=20, seed=0) == choose_next(
        proba, vectors * factors, labelled, n=20, seed=0
    )


def test_share_of_random_samples():
    vectors, proba = draw()
    for n, n_random in [(5, 1), (10, 2), (15, 3)]:
        found = choose_next(proba, vectors, mask(300, [0]), n=n, seed=0)
        assert Counter(reason for _, reason in found) == {
            "random": n_random,
            "uncertain": n - n_random,
        }


def test_one_of_five_single_choices_is_random_with_the_same_seed():
    vectors, proba = draw(150)
    labelled = mask(150, [0])
    reasons = Counter()
    for _ in range(140):
        (chosen,) = choose_next(proba, vectors, labelled, seed=0)
        reasons[chosen.reason] += 1
        labelled[chosen.index] = True
    assert binomtest(reasons["random"], 140, 0.2).pvalue > 0.001


def test_random_samples_are_uniform_over_the_unlabelled_ones():
    vectors, proba = draw(40)
    labelled = mask(40, range(20))
    counts = Counter(
        chosen.index
        for seed in range(300)
        for chosen in choose_next(proba, vectors, labelled, n=5, seed=seed)
        if chosen.reason == "random"
    )
    assert chisquare([counts[i] for i in range(20, 40)]).pvalue > 0.001


def test_uncertain_samples_are_less_certain_than_average():
    vectors, proba = draw()
    found = choose_next(proba, vectors, mask(300, range(100)), n=10, seed=0, random_share=0)
    margins = np.diff(np.sort(proba, axis=1)[:, -2:]).ravel()
    assert margins[indices(found)].mean() < margins[100:].mean() / 2


def test_duplicates_of_labelled_and_of_chosen_samples_come_last():
    vectors, proba = draw(100)
    repeated, p = np.tile(vectors, (3, 1)), np.tile(proba, (3, 1))
    found = choose_next(p, repeated, mask(300, range(50)), n=50, seed=0, random_share=0)
    assert sorted(i % 100 for i in indices(found)) == list(range(50, 100))
    diverse = choose_diverse(repeated, 50, seed=0, exclude=range(50))
    assert sorted(i % 100 for i in diverse) == list(range(50, 100))


def test_equal_samples_and_empty_samples():
    for vectors in (np.ones((30, 4)), np.zeros((30, 4)), sp.csr_matrix((30, 4))):
        found = choose_next(np.full((30, 2), 0.5), vectors, mask(30, [2]), n=29, seed=0)
        assert sorted(indices(found)) == [0, 1, *range(3, 30)]
        assert sorted(choose_diverse(vectors, 30, seed=0)) == list(range(30))


def test_choice_is_diverse_without_a_model_and_with_one_class():
    vectors, _ = draw()
    labelled = mask(300, [1])
    without = choose_next(None, vectors, labelled, n=10, seed=0)
    assert {reason for _, reason in without} == {"diverse", "random"}
    assert choose_next(np.ones((300, 1)), vectors, labelled, n=10, seed=0) == without


def test_certain_model_leaves_a_diverse_choice():
    vectors, _ = draw()
    labelled = mask(300, [1])
    certain = np.eye(N_CLASSES)[np.zeros(300, int)]
    found = choose_next(certain, vectors, labelled, n=10, seed=0)
    assert indices(found) == indices(choose_next(None, vectors, labelled, n=10, seed=0))


def test_requests_larger_than_a_set_of_candidates(monkeypatch):
    monkeypatch.setattr(choice, "MAX_CANDIDATES", 20)
    monkeypatch.setattr(choice, "_MAX_CHOSEN", 15)
    monkeypatch.setattr(choice, "_MAX_LABELLED", 30)
    monkeypatch.setattr(choice, "_BLOCK", 7)
    vectors, proba = draw()
    found = choose_next(proba, vectors, mask(300, range(100)), n=200, seed=0)
    assert sorted(indices(found)) == list(range(100, 300))


def test_blocks_of_labelled_samples_do_not_change_the_choice(monkeypatch):
    vectors, proba = draw()
    labelled = mask(300, range(100))
    expected = choose_next(proba, vectors, labelled, n=10, seed=0)
    monkeypatch.setattr(choice, "_BLOCK", 7)
    assert choose_next(proba, vectors, labelled, n=10, seed=0) == expected


def test_least_certain_label_counts_with_several_labels():
    proba = np.array([[0.9, 0.5, 0.1], [0.1, 0.2, 0.3], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(uncertainty(proba, is_multilabel=True), [1, 0.6, 0])
    # One label may be present or not; one class cannot be confused with another.
    np.testing.assert_allclose(uncertainty(proba[:, :1], is_multilabel=True), [0.2, 0.2, 0])
    vectors = np.eye(3)
    (chosen,) = choose_next(
        proba, vectors, np.zeros(3, bool), seed=0, random_share=0, is_multilabel=True
    )
    assert chosen == (0, "uncertain")


def test_uncertainty_equals_that_of_scikit_activeml():
    pool = pytest.importorskip("skactiveml.pool", reason="scikit-activeml is not installed")
    _, proba = draw()
    expected = pool.uncertainty_scores(proba, method="margin_sampling")
    np.testing.assert_allclose(uncertainty(proba), expected, atol=1e-12)
    of_two = proba[:, :2] / proba[:, :2].sum(axis=1, keepdims=True)
    least = pool.uncertainty_scores(of_two, method="least_confident")
    np.testing.assert_allclose(uncertainty(of_two), 2 * least, atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"proba": np.ones((2, 2))}, "proba must have one row for each of the 300"),
        ({"proba": np.full((300, 2), np.nan)}, "proba must be finite"),
        ({"labelled": np.zeros(2, bool)}, "labelled must have one value for each of the 300"),
        ({"n": -1}, "n must be an integer >= 0"),
        ({"random_share": 1.5}, r"random_share must be a number in \[0, 1\]"),
    ],
)
def test_invalid_arguments(changed, message):
    vectors, proba = draw()
    valid = {"proba": proba, "vectors": vectors, "labelled": np.zeros(300, bool), "seed": 0}
    with pytest.raises(ValueError, match=message):
        choose_next(**(valid | changed))
