"""Explanations of classifiers that are known by their predictions only."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cordwood._view import view_model
from cordwood.explain._occlusion import MAX_WORDS, complete, freeze, occlude
from cordwood.explain._word_folding import Words
from cordwood.explain.explainer import Explainer

TOPICS = {
    "stars": "moon star comet orbit planet sky".split(),
    "boats": "sail harbor anchor mast deck rope".split(),
    "bread": "soup flour salt oven crust yeast".split(),
}
COMMON = [f"common{i}" for i in range(40)]
SHORT = "the moon and a comet, but no sail"
LONG = " ".join(["moon", *COMMON[:20], "comet", *COMMON[20:], "sail", "moon"])


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    labels = list(TOPICS) * 30
    texts = [" ".join([*rng.choice(TOPICS[label], 3), *rng.choice(COMMON, 9)]) for label in labels]
    return make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)


class Watched:
    """Classifier that records the texts that it predicts."""

    def __init__(self, model):
        self.classes_, self._model, self.seen = model.classes_, model, []

    def predict_proba(self, texts):
        self.seen += texts
        return self._model.predict_proba(texts)


def change_without_each_word(model, text):
    """The definition, for one text and all of its words."""
    reduced = [text[:start] + text[end:] for start, end in Words(text).spans]
    return model.predict_proba([text]) - model.predict_proba(reduced)


def test_short_texts_are_explained_by_the_change_without_each_word(model):
    start, end = model.predict_proba(["", SHORT])
    [found] = occlude(model, [SHORT], [Words(SHORT)])
    expected = complete(change_without_each_word(model, SHORT), end - start)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose([found.start, found.end], [start, end], atol=1e-12)


def test_long_texts_are_explained_by_the_words_that_matter(model):
    words = Words(LONG)
    [found] = occlude(model, [LONG], [words])
    np.testing.assert_allclose(found.start + found.values.sum(axis=0), found.end, atol=1e-12)
    is_removed = np.abs(found.values).max(axis=1) > 0
    assert is_removed.sum() == MAX_WORDS < len(words)
    changes = change_without_each_word(model, LONG)
    largest = np.argsort(-np.abs(changes).max(axis=1))[:4]  # of the topics
    assert is_removed[largest].all()
    changes[~is_removed] = 0
    np.testing.assert_allclose(found.values, complete(changes, found.end - found.start))


def test_texts_are_predicted_together_and_once(model):
    texts = [LONG, LONG.replace("sail", "mast"), SHORT, "", LONG]
    watched = Watched(model)
    together = occlude(watched, texts, [Words(text) for text in texts])
    assert len(watched.seen) == len(set(watched.seen))
    n_words = len({LONG[start:end] for start, end in Words(LONG).spans} | {"mast"})
    n_long, n_short = 2 * MAX_WORDS, len(Words(SHORT))
    assert len(watched.seen) <= 1 + 3 + n_words + n_long + n_short
    for text, found in zip(texts, together, strict=True):
        [alone] = occlude(model, [text], [Words(text)])
        np.testing.assert_allclose(found.values, alone.values, atol=1e-12)


def test_without_occlusion_predictions_are_constants(model):
    watched = Watched(model)
    [found] = freeze(watched, [LONG], [Words(LONG)])
    assert watched.seen == [LONG] and not found.values.any()
    [explanation] = Explainer(view_model(model)).explain_each([LONG], occlusion=False)
    np.testing.assert_allclose(explanation.proba, model.predict_proba([LONG])[0])
    assert not explanation.word_contributions.any()
