import numpy as np
import pytest

from cordwood import recipes
from cordwood.compare.runner import transform_cache
from cordwood.compare.runner.transform_cache import clear, fit_transform
from cordwood.datasets.corpus import Corpus, FeatureMatrix

TEXTS = ("iron zinc", "gull wren", "zinc tin tin", "wren owl", "iron", "owl gull")
CORPUS = Corpus(texts=TEXTS, ids=tuple("123456"), labels=tuple("mbmbmb"))
TRAIN, TEST = CORPUS.select([0, 1, 2, 3]), CORPUS.select([4, 5])


@pytest.fixture(autouse=True)
def empty_cache():
    clear()
    yield
    clear()


def make_pipeline(recipe="svm", **params):
    vectorizer_params = {"preset": "sigir17", "min_df": 1}
    return recipes.make(recipe, vectorizer_params=vectorizer_params, **params)


def is_same(first, second):
    return first.X_train is second.X_train and first.X_test is second.X_test


def test_output_equals_that_of_the_pipeline():
    made = fit_transform(make_pipeline(), TRAIN, TEST)
    vectorizer = make_pipeline()[:-1].fit(TRAIN.texts, TRAIN.labels)
    np.testing.assert_array_equal(
        made.X_train.toarray(), vectorizer.transform(TRAIN.texts).toarray()
    )
    np.testing.assert_array_equal(made.X_test.toarray(), vectorizer.transform(TEST.texts).toarray())
    assert made.fit_timing.cpu >= 0 and made.transform_timing.wall >= 0


def test_classifiers_share_transformed_data():
    first = fit_transform(make_pipeline(), TRAIN, TEST)
    assert is_same(fit_transform(make_pipeline(C=3.0), TRAIN, TEST), first)
    assert is_same(fit_transform(make_pipeline("knn"), TRAIN, TEST), first)


@pytest.mark.parametrize(
    ("params", "train", "test"),
    [
        ({"weighting": "binary"}, TRAIN, TEST),
        ({"max_df": 3}, TRAIN, TEST),
        ({}, CORPUS.select([0, 1, 2]), TEST),
        ({}, TRAIN, CORPUS.select([5])),
        ({}, TRAIN, None),
    ],
)
def test_other_transformers_or_samples_are_not_shared(params, train, test):
    first = fit_transform(make_pipeline(), TRAIN, TEST)
    assert not is_same(fit_transform(make_pipeline(**params), train, test), first)


def test_least_recently_used_entries_are_evicted(monkeypatch):
    first = fit_transform(make_pipeline(), TRAIN, TEST)
    monkeypatch.setattr(transform_cache, "_MAX_BYTES", first.n_bytes)
    second = fit_transform(make_pipeline(weighting="binary"), TRAIN, TEST)
    assert is_same(fit_transform(make_pipeline(weighting="binary"), TRAIN, TEST), second)
    assert not is_same(fit_transform(make_pipeline(), TRAIN, TEST), first)


def test_numeric_data_without_transformers_are_not_copied():
    data = FeatureMatrix(X=np.eye(4), ids=tuple("1234"), labels=tuple("abab"))
    pipeline = recipes.make("rf", input="numeric")
    made = fit_transform(pipeline, data)
    assert made.X_train is data.X and made.X_test is None
