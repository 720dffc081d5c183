"""Contributions add up to the output, for every recipe and every combiner."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cordwood import recipes
from cordwood._view import view_model
from cordwood.explain.explainer import Explainer
from cordwood.recipes import _table

OPTIONAL = {"brf": "imblearn", "lightgbm": "lightgbm", "xgboost": "xgboost"}
TOLERANCE = 1e-6

COMMON = "the a of and to in it is not so very I'm don't :) !!! ...".split()
TOPICS = {
    "bread": "soup bread salt flour oven baked Crust yeast".split(),
    "goals": "team goal match score ball Coach league win".split(),
    "stars": "moon star comet orbit planet sky Telescope dark".split(),
}


def make_texts(n_samples, classes, seed, n_words=(3, 14)):
    """Texts of common words and words of a topic, with some words of other topics."""
    rng = np.random.default_rng(seed)
    everything = [word for words in TOPICS.values() for word in words]
    texts, labels = [], []
    for i in range(n_samples):
        label = classes[i % len(classes)]
        words = rng.choice(COMMON + TOPICS[label] * 3 + everything, rng.integers(*n_words))
        texts.append(" ".join(words))
        labels.append(label)
    return texts, labels


def train(name, classes=("bread", "goals", "stars"), **params):
    texts, labels = make_texts(90, classes, seed=0)
    return recipes.make(name, random_state=0, **params).fit(texts, labels)


def check_explanation(model, text):
    """Check all sums of an explanation against the predictions of the model."""
    explanation = Explainer(view_model(model)).explain(text)
    proba, baseline = model.predict_proba([text, ""])
    np.testing.assert_allclose(explanation.proba, proba, atol=TOLERANCE)
    if explanation.output == "log_odds":
        proba, baseline = logit(proba), logit(baseline)
    finite = np.abs(proba) < 15  # beyond, the probability itself is rounded
    np.testing.assert_allclose(explanation.values[finite], proba[finite], atol=TOLERANCE)
    np.testing.assert_allclose(explanation.baseline, baseline, atol=TOLERANCE)
    change = explanation.values - explanation.baseline
    members = sum(member.contributions for member in explanation.members)
    np.testing.assert_allclose(members, change, atol=TOLERANCE)
    absent = explanation.absent_contributions.sum(axis=0)
    words = explanation.word_contributions.sum(axis=0)
    np.testing.assert_allclose(words + absent, change, atol=TOLERANCE)
    for word, (start, end) in zip(explanation.words, explanation.spans, strict=True):
        assert text[start:end] == word
    for member in explanation.members:
        assert len(member.terms) == len(member.term_spans) == len(member.term_contributions)
    terms = sum(member.term_contributions.sum(axis=0) for member in explanation.members)
    np.testing.assert_allclose(terms + absent, change, atol=TOLERANCE)
    return explanation


ODD_TEXTS = [
    "",
    "   \n ",
    "unknown words only",
    "Soup soup SOUP",
    "moon and goal, bread! :) don't",
    "İstanbul bread ß \u0301e\ufe0f 👍🏽 star",
    "goal\u00a0goal\ttelescope\x1csalt",
]

FEW_TREES = {
    f"{name}__n_estimators": 10 for name in ("boosted_rf", "boosted_et", "lazy_rf", "lazy_et")
}
FAST = {name: FEW_TREES for name in ("stack_forests", "stack_sigir17")}


@pytest.mark.parametrize("name", recipes.names())
def test_contributions_add_up_for_every_recipe(name):
    if name in OPTIONAL and importlib.util.find_spec(OPTIONAL[name]) is None:
        pytest.skip(f"{OPTIONAL[name]} is not installed")
    model = train(name, **FAST.get(name, {}))
    for text in [*ODD_TEXTS, *make_texts(6, ("stars", "goals"), seed=1)[0]]:
        check_explanation(model, text)


@pytest.mark.parametrize("name", ["quick", "svm", "nb", "logistic", "lpuboost", "adaboost_m2"])
def test_contributions_add_up_for_two_classes(name):
    model = train(name, classes=("bread", "stars"))
    for text in make_texts(5, ("bread", "stars"), seed=2)[0]:
        explanation = check_explanation(model, text)
        if explanation.output == "log_odds":
            np.testing.assert_allclose(explanation.values[0], -explanation.values[1])


@pytest.mark.parametrize("combiner", _table.COMBINERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_add_up_for_every_combiner(combiner, n_classes):
    classes = tuple(TOPICS)[:n_classes]
    model = train("quick", classes, members=["svm", "nb", "knn"], combiner=combiner)
    for text in make_texts(4, classes, seed=3)[0]:
        check_explanation(model, text)


@pytest.mark.parametrize("variant", ["multinomial", "complement", "gaussian"])
def test_contributions_add_up_for_naive_bayes(variant):
    model = train("nb", variant=variant, alpha=0.5)
    for text in make_texts(4, tuple(TOPICS), seed=4)[0]:
        check_explanation(model, text)


@pytest.mark.parametrize("metric", ["tfidf_cosine", "cosine", "euclidean"])
@pytest.mark.parametrize("name", ["knn", "lazy_rf"])
def test_contributions_add_up_for_every_metric(name, metric):
    vectorizer = {} if metric != "tfidf_cosine" else {"vectorizer__weighting": "tf"}
    model = train(name, metric=metric, **vectorizer)
    for text in [*make_texts(4, tuple(TOPICS), seed=5)[0], "nothing known", ""]:
        check_explanation(model, text)


def test_neighbors_of_a_member_add_up_to_its_contribution():
    model = train("quick")
    texts, _ = make_texts(20, tuple(TOPICS), seed=6)
    for text in texts:
        explanation = Explainer(view_model(model)).explain(text)
        knn = next(member for member in explanation.members if member.name == "knn")
        total = sum(neighbor.contributions for neighbor in knn.neighbors)
        np.testing.assert_allclose(total, knn.contributions, atol=TOLERANCE)


@pytest.mark.parametrize("output", ["log_odds", "probability"])
@pytest.mark.parametrize("name", ["quick", "svm"])
def test_both_outputs_of_a_softmax_model(name, output):
    model = train(name)
    text = "moon and goal"
    explanation = Explainer(view_model(model), output=output).explain(text)
    proba = model.predict_proba([text])[0]
    expected = proba if output == "probability" else logit(proba)
    np.testing.assert_allclose(explanation.values, expected)
    total = explanation.baseline + explanation.word_contributions.sum(axis=0)
    np.testing.assert_allclose(total, expected, atol=TOLERANCE)


def test_log_odds_of_a_forest_without_zeros():
    model = train("rf", min_samples_leaf=20)
    explanation = Explainer(view_model(model), output="log_odds").explain("moon and star")
    proba = model.predict_proba(["moon and star"])[0]
    total = explanation.baseline + explanation.word_contributions.sum(axis=0)
    np.testing.assert_allclose(total, logit(proba), atol=TOLERANCE)


def test_any_other_classifier_is_explained_by_occlusion():
    texts, labels = make_texts(90, tuple(TOPICS), seed=0)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    explanation = check_explanation(model, "the moon and a comet")
    assert not explanation.members[0].is_exact
    assert explanation.prediction == "stars"
    assert explanation.top_words()[0][0] in ("moon", "comet")


@pytest.fixture(scope="module")
def quick():
    return train("quick")


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_contributions_add_up_for_any_text(quick, text):
    check_explanation(quick, text)


_VOCABULARY = [word for words in TOPICS.values() for word in words]


@given(st.lists(st.sampled_from(_VOCABULARY + COMMON), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_contributions_add_up_for_any_words(quick, words):
    check_explanation(quick, " ".join(words))
