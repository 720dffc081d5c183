import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.audit import find_near_duplicates, near_duplicates
from cordwood.audit.near_duplicates import hash_ngrams
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError


def make_texts(n_samples, seed):
    """Texts of random words, half of them edited copies of others."""
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}{c}" for a in "bcdf" for b in "aeiou" for c in ("la", "ron", "t")]
    texts = [" ".join(rng.choice(words, rng.integers(1, 15))) for _ in range(n_samples // 2)]
    while len(texts) < n_samples:
        copy = texts[rng.integers(len(texts))].split()
        for _ in range(rng.integers(3)):
            copy[rng.integers(len(copy))] = str(rng.choice(words))
        texts.append(" ".join(copy))
    return texts


def brute_force(texts, threshold):
    """Connected components of all pairs, by the matrix of all cosines."""
    padded = [f" {text} " for text in texts]
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(4, 4), binary=True, dtype=np.float64)
    X = vectorizer.fit_transform(padded)
    norms = np.sqrt(X.sum(axis=1).A1 if hasattr(X, "A1") else np.asarray(X.sum(axis=1)).ravel())
    cosines = (X @ X.T).toarray() / np.outer(norms, norms)
    return connected_components(sp.csr_array(cosines >= threshold - 1e-9), directed=False)[1]


def is_same_partition(a, b):
    return len({*zip(a, b, strict=True)}) == len({*a}) == len({*b})


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_those_of_brute_force(seed, threshold):
    texts = make_texts(300, seed)
    found = find_near_duplicates(texts, threshold=threshold)
    assert is_same_partition(found.cluster, brute_force(texts, threshold))


def test_plain_kernel_finds_the_same(plain, monkeypatch):
    texts = make_texts(80, 0)
    expected = find_near_duplicates(texts)
    monkeypatch.setattr(near_duplicates, "join_sets", plain.set_join.join_sets)
    found = find_near_duplicates(texts)
    np.testing.assert_array_equal(found.cluster, expected.cluster)
    np.testing.assert_array_equal(found.partner, expected.partner)
    np.testing.assert_array_equal(found.similarity, expected.similarity)


def test_partners_are_in_the_same_cluster_and_as_similar_as_stated():
    texts = make_texts(200, 5)
    found = find_near_duplicates(texts)
    sets = [{f" {text} "[i : i + 4] for i in range(len(text) - 1)} for text in texts]
    sizes = np.bincount(found.cluster)[found.cluster]
    assert ((found.partner >= 0) == (sizes > 1)).all()
    for i in np.flatnonzero(sizes > 1):
        j = found.partner[i]
        assert found.cluster[i] == found.cluster[j]
        assert i != j
        cosine = len(sets[i] & sets[j]) / np.sqrt(len(sets[i]) * len(sets[j]))
        assert found.similarity[i] == pytest.approx(cosine, abs=1e-9)
        assert cosine >= 0.8 - 1e-9


def test_sets_are_those_of_a_count_vectorizer():
    texts = [text for text in make_texts(100, 1) if len(text) > 2]
    sets = hash_ngrams(texts)
    counts = CountVectorizer(analyzer="char", ngram_range=(4, 4), binary=True)
    expected = counts.fit_transform(f" {text} " for text in texts)
    np.testing.assert_array_equal(np.diff(sets.indptr), np.diff(expected.indptr))
    assert len(np.unique(sets.indices)) == expected.shape[1]


def test_clusters_are_numbered_by_their_first_texts():
    texts = [
        "one thing here",
        "another matter",
        "one  THING here",
        "\u00e9t\u00e9",
        "e\u0301te\u0301",
    ]
    found = find_near_duplicates(texts)
    assert found.cluster.tolist() == [0, 1, 0, 2, 2]
    assert found.first_equal.tolist() == [0, 1, 0, 3, 3]
    assert found.partner.tolist() == [2, -1, 0, 4, 3]
    assert found.similarity.tolist() == [1, 0, 1, 1, 1]
    assert [group.tolist() for group in found.groups] == [[0, 2], [3, 4]]


def test_empty_texts_are_not_duplicates():
    found = find_near_duplicates(["", " \n", "a", ""])
    assert found.cluster.tolist() == found.first_equal.tolist() == [0, 1, 2, 3]
    assert found.groups == []


@pytest.mark.parametrize("texts", [[], ["only one"], Corpus(texts=["a text"], ids=["1"])])
def test_few_texts(texts):
    found = find_near_duplicates(texts)
    assert len(found.cluster) == len(texts)
    assert found.groups == []


def test_unusual_characters():
    texts = [
        "\ud800 lone surrogate text",
        "\ud800 lone surrogate texts",
        "\U0001f600" * 9,
        "\x00\x01",
    ]
    assert find_near_duplicates(texts).cluster.tolist() == [0, 0, 1, 2]


def test_only_the_beginnings_of_long_texts_are_compared():
    start = " ".join(make_texts(60, 2))
    assert len(start) > 2000
    found = find_near_duplicates([start + " first end", start + " a different one"])
    assert found.cluster.tolist() == [0, 0]


def test_progress_is_reported(monkeypatch):
    monkeypatch.setattr(near_duplicates, "_BLOCK_SIZE", 30)
    calls = []
    texts = sorted({*make_texts(80, 0)})
    find_near_duplicates(texts, progress=lambda *call: calls.append(call))
    n = len(texts)
    assert calls == [(min(done, n), n) for done in range(30, n + 30, 30)]


@pytest.mark.parametrize("threshold", [0.4, 1.1, "high", None, True])
def test_invalid_threshold(threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        find_near_duplicates(["a", "b"], threshold=threshold)


def test_texts_must_be_strings():
    with pytest.raises(DataError, match=r"texts\[1\] is of type int"):
        find_near_duplicates(["a", 1])
    with pytest.raises(TypeError, match="not a single str"):
        find_near_duplicates("a text")
