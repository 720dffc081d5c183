import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_distances

from cordwood._base.csr import to_csr
from cordwood.audit._outliers import score_outliers
from cordwood.neighbors.index import build_index


def make_counts(texts):
    return to_csr(CountVectorizer(dtype=np.float32).fit_transform(texts))


def make_texts(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(120)]
    return [" ".join(rng.choice(words, rng.integers(4, 12))) for _ in range(n_samples)]


def score(texts, cluster=None):
    X = make_counts(texts)
    everything = np.arange(len(texts))
    cluster = everything if cluster is None else cluster
    return X, score_outliers(X, build_index(X, "tfidf_cosine"), cluster, everything)


def standardize(values):
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return (values - median) / (high - low)


def test_scores_are_those_of_the_definition():
    texts = make_texts(150)
    X, found = score(texts)
    tf = X.toarray()
    n_texts = (tf > 0).sum(axis=0)
    tfidf = np.where(tf > 0, 1 + np.log(np.maximum(tf, 1)), 0) * np.log(len(texts) / n_texts)
    distances = cosine_distances(tfidf)
    np.fill_diagonal(distances, np.inf)
    distance = np.sort(distances, axis=1)[:, :50].mean(axis=1)
    np.testing.assert_allclose(found.distance, standardize(distance), atol=1e-3)
    idf = np.log(len(texts) / (n_texts - 0.5))
    mean = idf[np.nonzero(tf)[1]].mean()
    rarity = [(idf[row > 0].sum() + 5 * mean) / ((row > 0).sum() + 5) for row in tf]
    np.testing.assert_allclose(found.rarity, standardize(np.array(rarity)), atol=1e-9)


def test_text_of_other_words_is_an_outlier():
    texts = make_texts(200)
    texts[7] = "entirely different vocabulary without anything shared between samples"
    _, found = score(texts)
    assert found.ranking[0] == 7
    assert len(found.ranking) <= 2


def test_duplicates_of_an_outlier_do_not_hide_it():
    texts = make_texts(200)
    foreign = "entirely different vocabulary without anything shared between samples"
    repeated = [*texts, *[foreign] * 60]
    cluster = np.concatenate([np.arange(200), np.full(60, 200)])
    _, found = score(repeated, cluster)
    assert (found.distance[200:] > found.distance[:200].max()).all()


def test_empty_texts_are_no_outliers():
    texts = make_texts(150)
    texts[3] = ""
    _, found = score(texts)
    assert found.score[3] == -np.inf


@pytest.mark.parametrize("n_indexed", [80])
def test_index_of_some_samples(n_indexed):
    X = make_counts(make_texts(150))
    indexed = np.sort(np.random.default_rng(0).permutation(150)[:n_indexed])
    index = build_index(to_csr(sp.csr_matrix(X[indexed])), "tfidf_cosine")
    found = score_outliers(X, index, np.arange(150), indexed)
    assert np.isfinite(found.score).all()
