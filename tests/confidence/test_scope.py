from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_distances, cosine_similarity
from sklearn.pipeline import make_pipeline

import cordwood
from cordwood import TextClassifier, recipes
from cordwood._view import view_model
from cordwood.confidence import scope as module
from cordwood.confidence.scope import fit_scope
from cordwood.exceptions import DataError
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.vectorizer import TextVectorizer
from matrix import ENCODER
from synthetic_data import make_counts

TOPICS = {
    "food": "bread soup salt cheese apple kitchen oven pepper".split(),
    "sport": "goal team match player ball stadium coach league".split(),
    "space": "moon star comet orbit planet rocket galaxy probe".split(),
}


def write_texts(n_texts, seed, topics=TOPICS):
    """Texts of a few words of a topic and some words that all topics share."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(topics), n_texts)
    texts = [
        " ".join([*rng.choice(topics[label], 4), *rng.choice(["now", "today", "new", "more"], 2)])
        for label in labels
    ]
    return texts, labels


@pytest.fixture(scope="module")
def model():
    return TextClassifier().fit(*write_texts(240, 0))


def out_of_scope_score(model, X):
    return module.out_of_scope_score(model.scope_, model.view, X, model.predict_proba(X))


def scope_p_values(model, X):
    return module.scope_p_values(model.scope_, model.view, X, model.predict_proba(X))


def test_signals_match_their_definitions(model):
    texts, _ = write_texts(30, 1)
    texts += ["violin concert tonight", "soup violin", "", "moon " * 3]
    knn = model.estimator_["classifier"].named_estimators_["knn"]
    vectorizer = knn[0]
    training = vectorizer.transform(write_texts(240, 0)[0])
    neighbors = module._find_neighbors(model.view)
    found = module._nearest_distance(*neighbors, texts, rank=1)
    expected = cosine_distances(vectorizer.transform(texts), training).min(axis=1)
    has_neighbor = expected < 1
    np.testing.assert_allclose(found[has_neighbor], expected[has_neighbor], atol=1e-5)
    assert (found[~has_neighbor] > 1e30).all()
    unknown = module._unknown_share(module.find_vectorizer(model.view), texts)
    assert unknown[-4:] == pytest.approx([1.0, 0.5, 0.0, 0.0])


def test_reference_leaves_each_training_sample_out():
    # Each text has a word that no other text contains, so that half of its words are unknown
    # without it, and the distance to another text is that of the other word.
    texts = [f"w{i} {'moon' if i % 2 else 'soup'}" for i in range(40)]
    labels = np.array(["space" if i % 2 else "food" for i in range(40)])
    model = recipes.make("knn", preset="social", stop_words=False, min_df=1).fit(texts, labels)
    reference = fit_scope(view_model(model), texts, model.predict_proba(texts))
    assert reference.signals == ("entropy", "distance", "unknown_terms")
    np.testing.assert_allclose(reference.values[2], 0.5)
    vectors = model[0].transform(texts)
    distances = cosine_distances(vectors)
    np.fill_diagonal(distances, 9)
    np.testing.assert_allclose(reference.values[1], np.sort(distances.min(axis=1)), atol=1e-5)


def test_score_is_the_weighted_sum_of_log_p_values(model):
    texts, _ = write_texts(20, 2)
    proba = model.predict_proba(texts)
    reference = model.scope_
    signals = {
        "entropy": entropy(proba, axis=1),
        "distance": module._nearest_distance(*module._find_neighbors(model.view), texts, rank=1),
        "unknown_terms": module._unknown_share(module.find_vectorizer(model.view), texts),
    }
    expected = np.zeros(20)
    for signal, values in zip(reference.signals, reference.values, strict=True):
        p = [(1 + (values >= np.float32(x)).sum()) / (1 + len(values)) for x in signals[signal]]
        expected -= module.WEIGHTS[signal] * np.log(p)
    np.testing.assert_allclose(out_of_scope_score(model, texts), expected)
    p_values = [(1 + (reference.scores >= np.float32(x)).sum()) / (241) for x in expected]
    np.testing.assert_allclose(scope_p_values(model, texts), p_values)


def test_encoder_distance_is_that_of_the_nearest_other_texts(monkeypatch):
    rng = np.random.default_rng(0)
    encoded = rng.normal(size=(70, 16)).astype(np.float32)
    new = rng.normal(size=(25, 16)).astype(np.float32)
    own = rng.permutation(70)[:40]
    vectors = module._round_vectors(encoded[own])
    assert vectors.dtype == np.int8
    similarity = cosine_similarity(vectors.astype(float), vectors.astype(float))
    np.testing.assert_allclose(similarity, cosine_similarity(encoded[own]), atol=0.01)
    similarity = cosine_similarity(new, vectors.astype(float))
    expected = 1 - np.sort(similarity, axis=1)[:, -10:].mean(axis=1)
    np.testing.assert_allclose(module._encoder_distance(vectors, new), expected, atol=1e-5)
    expected = []
    for i, row in enumerate(cosine_similarity(encoded, vectors.astype(float))):
        expected.append(1 - np.sort(row[own != i])[-10:].mean())
    for block_size in (2000, 7):
        monkeypatch.setattr(module, "_BLOCK_SIZE", block_size)
        found = module._encoder_distance(vectors, encoded, own)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_models_with_an_encoder_compare_its_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MAX_VECTORS", 50)
    texts, labels = write_texts(90, 13)
    pipeline = make_pipeline(EmbeddingVectorizer(str(ENCODER), cache=False), LogisticRegression())
    model = TextClassifier(pipeline, oof=True).fit(texts, labels)
    assert model.scope_.signals == ("entropy", "encoder_distance")
    assert model.scope_.vectors.shape == (50, model.view.vectorizers[0].n_features_out_)
    new = [*write_texts(10, 14)[0], "violin opera choir", ""]
    model.save(tmp_path / "model")
    loaded = cordwood.load(tmp_path / "model")
    found = out_of_scope_score(loaded, new)
    np.testing.assert_allclose(found, out_of_scope_score(model, new), rtol=1e-4)
    # A model file of before this signal has the others only.
    model.scope_ = replace(
        model.scope_, signals=("entropy",), values=model.scope_.values[:1], vectors=None
    )
    assert len(out_of_scope_score(model, new)) == 12


def test_texts_of_another_topic_have_higher_scores(model):
    inside, _ = write_texts(150, 3)
    outside, _ = write_texts(150, 4, {"music": "violin concert opera choir piano drum".split()})
    scores = out_of_scope_score(model, inside + outside)
    is_outside = np.repeat([False, True], 150)
    assert roc_auc_score(is_outside, scores) > 0.99


def test_the_given_share_of_texts_like_the_training_texts_is_lost(model):
    p_values = scope_p_values(model, write_texts(2000, 5)[0])
    for rate in (0.05, 0.2):
        assert (p_values <= rate).mean() <= rate + 0.04


def test_scores_do_not_depend_on_the_batch(model):
    texts, _ = write_texts(25, 6)
    together = out_of_scope_score(model, texts)
    alone = np.concatenate([out_of_scope_score(model, [text]) for text in texts])
    np.testing.assert_allclose(together, alone, rtol=1e-6)


def test_scores_survive_a_model_file(model, tmp_path):
    texts, _ = write_texts(30, 7)
    model.save(tmp_path / "model", precision="full")
    loaded = cordwood.load(tmp_path / "model")
    assert loaded.scope_.signals == model.scope_.signals
    np.testing.assert_array_equal(
        out_of_scope_score(loaded, texts), out_of_scope_score(model, texts)
    )


def test_numeric_samples_have_no_unknown_terms():
    X, y = make_counts(200, 30, 3, seed=0)
    model = TextClassifier().fit(X, y)
    assert model.scope_.signals == ("entropy", "distance")
    assert len(scope_p_values(model, X[:7])) == 7


def test_models_without_neighbors_use_the_other_signals():
    texts, labels = write_texts(120, 8)
    model = TextClassifier("nbsvm", oof=True).fit(texts, labels)
    assert model.scope_.signals == ("entropy", "unknown_terms")
    vectorizer = module.find_vectorizer(model.view)
    assert isinstance(vectorizer, TextVectorizer) and vectorizer.resolved_params_.analyzer == "word"
    p_values = scope_p_values(model, ["violin concert opera", texts[0]])
    assert p_values[0] < p_values[1]


def test_large_training_sets_are_sampled(model, monkeypatch):
    monkeypatch.setattr(module, "_MAX_SAMPLES", 50)
    texts, _ = write_texts(240, 0)
    reference = fit_scope(model.view, texts, model.oof_.proba)
    assert reference.values.shape == (3, 50)
    again = fit_scope(model.view, texts, model.oof_.proba)
    np.testing.assert_array_equal(reference.scores, again.scores)


def test_model_without_reference_raises():
    texts, labels = write_texts(60, 9)
    model = TextClassifier("svm").fit(texts, labels)
    assert model.scope_ is None
    with pytest.raises(DataError, match="unknown requires out-of-fold predictions"):
        model.classify(texts, unknown=0.05)


def test_reference_of_another_model_raises(model):
    texts, labels = write_texts(60, 10)
    other = TextClassifier("nb").fit(texts, labels)
    other.scope_ = model.scope_
    with pytest.raises(DataError, match="made for another model"):
        other.classify(texts, unknown=0.05)


def test_rows_of_a_table_have_no_unknown_terms():
    texts, labels = write_texts(120, 11)
    table = {"text": texts, "size": [len(text) for text in texts]}
    columns = {"text": ["text"], "numeric": ["size"]}
    model = TextClassifier(columns=columns).fit(table, labels)
    assert model.scope_.signals == ("entropy", "distance")
    found = model.classify({"text": texts[:9], "size": table["size"][:9]}, unknown=0.02)
    assert found.is_in_scope.shape == (9,)


def test_entropy_of_several_labels_is_that_of_each_label():
    texts, labels = write_texts(150, 12)
    model = TextClassifier("svm").fit(texts, [[label] for label in labels])
    proba = model.oof_.proba
    expected = sum(entropy(np.stack([proba[:, i], 1 - proba[:, i]]), axis=0) for i in range(3))
    position = model.scope_.signals.index("entropy")
    np.testing.assert_allclose(model.scope_.values[position], np.sort(expected), rtol=1e-5)
    inside, outside = "soup bread oven salt", "violin opera choir piano"
    found = model.classify([inside, outside], unknown=0.05)
    assert found.is_in_scope.tolist() == [True, False]
    assert found.decided_labels()[1] == "__unknown__"
