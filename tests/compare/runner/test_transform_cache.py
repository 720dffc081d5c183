import numpy as np
import pytest

from cordwood import recipes
from cordwood.compare.runner import transform_cache as preparation
from cordwood.compare.runner.transform_cache import forget, prepare
from cordwood.datasets.corpus import Corpus, FeatureMatrix

TEXTS = ("iron zinc", "gull wren", "zinc tin tin", "wren owl", "iron", "owl gull")
CORPUS = Corpus(texts=TEXTS, ids=tuple("123456"), labels=tuple("mbmbmb"))
LEARNT, ASKED = CORPUS.select([0, 1, 2, 3]), CORPUS.select([4, 5])


@pytest.fixture(autouse=True)
def nothing_kept():
    forget()
    yield
    forget()


def make(recipe="svm", **params):
    return recipes.make(recipe, min_df=1, **params)


def same(first, second):
    return first.X is second.X and first.X_asked is second.X_asked


def test_rows_are_those_of_the_pipeline():
    made = prepare(make(), LEARNT, ASKED)
    words = make()[:-1].fit(LEARNT.texts, LEARNT.labels)
    np.testing.assert_array_equal(made.X.toarray(), words.transform(LEARNT.texts).toarray())
    np.testing.assert_array_equal(made.X_asked.toarray(), words.transform(ASKED.texts).toarray())
    assert made.fitting.cpu >= 0 and made.applying.wall >= 0


def test_what_was_made_is_not_made_again_whoever_the_classifier_is():
    first = prepare(make(), LEARNT, ASKED)
    assert same(prepare(make(C=3.0), LEARNT, ASKED), first)
    assert same(prepare(make("knn"), LEARNT, ASKED), first)


@pytest.mark.parametrize(
    ("params", "learnt", "asked"),
    [
        ({"weighting": "binary"}, LEARNT, ASKED),
        ({"max_df": 3}, LEARNT, ASKED),
        ({}, CORPUS.select([0, 1, 2]), ASKED),
        ({}, LEARNT, CORPUS.select([5])),
        ({}, LEARNT, None),
    ],
)
def test_other_steps_and_other_rows_are_told_apart(params, learnt, asked):
    first = prepare(make(), LEARNT, ASKED)
    assert not same(prepare(make(**params), learnt, asked), first)


def test_no_more_is_kept_than_there_is_room_for(monkeypatch):
    first = prepare(make(), LEARNT, ASKED)
    monkeypatch.setattr(preparation, "_MOST_BYTES", first.n_bytes)
    second = prepare(make(weighting="binary"), LEARNT, ASKED)
    assert same(prepare(make(weighting="binary"), LEARNT, ASKED), second)
    assert not same(prepare(make(), LEARNT, ASKED), first)


def test_numbers_without_steps_are_as_they_were():
    rows = FeatureMatrix(X=np.eye(4), ids=tuple("1234"), labels=tuple("abab"))
    pipeline = recipes.make("rf", input="numeric")
    made = prepare(pipeline, rows)
    assert made.X is rows.X and made.X_asked is None
