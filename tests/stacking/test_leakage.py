"""Power and false alarms of the leakage check."""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_circles
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from cordwood import recipes
from cordwood.datasets import load_dataset
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.neighbors import NeighborsClassifier
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.stacking.related_samples import find_related, merge_partitions

SEEDS = range(4)


def stack():
    members = [
        ("forest", RandomForestClassifier(50, random_state=0)),
        ("neighbors", NeighborsClassifier(15)),
    ]
    return OOBStackingClassifier(members, MultinomialNB(), random_state=0)


def count_warnings(X, y, seed, model=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (model or stack()).set_params(random_state=seed).fit(X, y)
    return sum("out-of-fold predictions more accurate" in str(each.message) for each in caught)


def noise(n, seed, *, covered=0.0, change=0):
    """Noise labels; a fraction of the samples are pairs that differ by `change` in one feature."""
    rng = np.random.default_rng(seed)
    n_pairs = int(n * covered / 2)
    X, y = rng.poisson(0.7, size=(n - n_pairs, 30)), rng.integers(3, size=n - n_pairs)
    copies = X[:n_pairs].copy()
    copies[np.arange(n_pairs), rng.integers(30, size=n_pairs)] += change
    return np.vstack([X, copies]), np.concatenate([y, y[:n_pairs]])


@pytest.mark.parametrize("change", [0, 1], ids=["exact", "near"])
@pytest.mark.parametrize("to_input", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_pairs_that_cover_a_fifth_of_the_samples_are_found(change, to_input):
    for seed in SEEDS:
        X, y = noise(800, seed, covered=0.2, change=change)
        assert count_warnings(to_input(X), y, seed) == 1


@pytest.mark.parametrize("to_input", [np.asarray, sp.csr_matrix])
def test_no_false_alarms_on_noise(to_input):
    for seed in SEEDS:
        X, y = noise(800, seed)
        assert count_warnings(to_input(X), y, seed) == 0


def test_estimates_are_those_of_the_whole_training_set():
    """One duplicate matters less to a neighborhood vote, the more other samples there are."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(60, 20))
    codes = rng.integers(60, size=6000)
    X = centers[codes] + 0.75 * rng.normal(size=(6000, 20))
    X[5700:] = X[:300] + 1e-3
    codes[5700:] = codes[:300]
    bayes = OOBStackingClassifier([("bayes", GaussianNB())], cv=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bayes.fit(X, codes)
    new = rng.integers(60, size=6000)
    accuracy = bayes.score(centers[new] + 0.75 * rng.normal(size=(6000, 20)), new)
    assert abs(bayes.oof_scores_["bayes"]["accuracy"] - accuracy) < 0.03
    assert abs(bayes.oof_optimism_["bayes"]) < 0.02


@pytest.mark.parametrize("max_samples", [None, 200])
def test_warning_names_a_pair_and_the_effect_on_the_stack(monkeypatch, max_samples):
    if max_samples is not None:  # of fewer samples, as in a very large training set
        monkeypatch.setattr("cordwood.stacking._leakage._MAX_SAMPLES", max_samples)
    texts = [f"{i} red green blue {i * 7919 % 1000} {i * 104729 % 997}" for i in range(300)]
    texts[150:] = [f"{text}!" for text in texts[:150]]
    y = np.tile(np.random.default_rng(0).integers(2, size=150), 2)
    members = [("words", make_pipeline(CountVectorizer(), MultinomialNB()))]
    with pytest.warns(UserWarning, match="duplicates or near-duplicates, such as") as caught:
        model = OOBStackingClassifier(members, MultinomialNB(), random_state=0).fit(texts, y)
    message = str(caught[0].message)
    first, second = (int(each) for each in re.findall(r"(\d+) \('", message))
    assert second == first + 150
    assert f"{texts[first]!r}" in message and f"{texts[second]!r}" in message
    amount = 100 * model.oof_optimism_["words"]
    assert f"those of 'words' by {amount:.1f}. If new" in message and amount > 20
    assert float(re.search(r"of the stack by ([\d.]+)", message)[1]) > 20


def test_fewer_samples_of_a_very_large_training_set_are_compared(monkeypatch):
    X, y = noise(800, 0, covered=0.2)
    fits = []
    fit = OOBStackingClassifier.fit
    monkeypatch.setattr("cordwood.stacking._leakage._MAX_SAMPLES", 500)
    monkeypatch.setattr(
        OOBStackingClassifier, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y)
    )
    assert count_warnings(X, y, 0) == 1
    assert fits[:2] == [800, 500] and len(fits) == 3 and fits[2] < 500


def test_no_false_alarms_in_two_dimensions():
    for seed in SEEDS:
        X, y = make_circles(1000, noise=0.1, factor=0.6, random_state=seed)
        assert find_related(X, None, np.random.RandomState(0)).is_related.mean() < 0.03
        assert count_warnings(X, y, seed) == 0


def test_no_false_alarms_on_digits():
    X, y = load_digits(return_X_y=True)
    assert not any(count_warnings(X, y, seed) for seed in SEEDS)


FOLDER = Path(os.environ.get("CORDWOOD_DATA", "data"))


@pytest.mark.skipif(not (FOLDER / "tweets.jsonl.gz").is_file(), reason="no CORDWOOD_DATA")
def test_near_duplicate_texts():
    dataset = load_dataset("tweets", data_dir=FOLDER)
    rng = np.random.RandomState(0)
    chosen = dataset.select(rng.permutation(len(dataset))[:1200])
    texts, labels = list(chosen.texts), np.array(chosen.labels)
    assert count_warnings(texts, labels, 0, recipes.make("quick", random_state=0)[-1]) == 0
    shortened = [" ".join(text.split()[:-1]) for text in texts[:300]]
    related = find_related(texts + shortened, None, np.random.RandomState(0))
    assert (related.cluster[:300] == related.cluster[1200:]).mean() > 0.5
    noise_labels = rng.permutation(labels)
    noise_labels = np.concatenate([noise_labels, noise_labels[:300]])
    model = recipes.make("quick", random_state=0)[-1]
    assert count_warnings(texts + shortened, noise_labels, 0, model) == 1


def test_versions_of_texts_are_related():
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(500)]
    texts = [" ".join(rng.choice(words, 30)) for _ in range(200)]
    texts += [f"{text} again" for text in texts[:10]]
    related = find_related(texts, None, np.random.RandomState(0))
    assert np.array_equal(np.flatnonzero(related.is_related), [*range(10), *range(200, 210)])
    assert np.array_equal(related.cluster[:10], related.cluster[200:])


def test_samples_related_only_within_their_group_cannot_leak():
    X, _ = noise(400, 0, covered=0.5)
    groups = merge_partitions(np.concatenate([np.arange(300), np.arange(100)]))
    related = find_related(X, groups, np.random.RandomState(0))
    assert not related.is_related.any()
    assert np.array_equal(related.cluster[:100], related.cluster[300:])


@pytest.mark.parametrize(
    "X",
    [
        np.full((200, 2), np.nan),
        [["a"], ["b"]] * 100,
        ["!"] * 200,
        np.zeros((200, 3)),
        sp.csr_matrix((200, 3)),
        pd.DataFrame({"a": ["x", "y"] * 100, "b": 1.0}),
        [{"a": 1}] * 200,
    ],
    ids=["nan", "lists", "no words", "zeros", "empty", "mixed", "dicts"],
)
def test_samples_that_cannot_be_compared_are_clustered_by_duplicates(X):
    n_distinct = len(np.unique(find_related(X, None, np.random.RandomState(0)).cluster))
    assert n_distinct <= 2


def test_large_clusters_are_not_near_duplicates():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(200, 10)), 1e-3 * rng.normal(size=(19, 10))])
    related = find_related(X, None, np.random.RandomState(0))
    assert not related.is_related.any()
