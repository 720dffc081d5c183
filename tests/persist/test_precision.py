import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from cordwood import recipes
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist import load, save
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.vectorizer import TextVectorizer
from model_files import members_of, tree_of
from synthetic_data import make_counts

N_CLASSES = 12


@pytest.fixture(scope="module")
def texts():
    """Texts of 3,000 word forms by Zipf's law, and labels."""
    counts, y = make_counts(700, 3000, N_CLASSES, seed=0, spread=1.5)
    words = np.array([f"{'aeiou'[i % 5]}{i:x}{'nrst'[i % 4]}" for i in range(3000)])
    return [" ".join(np.repeat(words, row.astype(int))) for row in counts], y.astype(str)


@pytest.mark.parametrize("name", ["svm", "svm_ngrams", "nbsvm", "logistic_ngrams", "logistic"])
def test_compact_files_of_linear_models_are_small_and_predict_the_same(name, texts, tmp_path):
    X, y = texts
    model = recipes.make(name, random_state=0).fit(X[:500], y[:500])
    compact = save(model, tmp_path / "compact")
    full = save(model, tmp_path / "full", precision="full")
    expected = model.predict_proba(X)
    np.testing.assert_allclose(load(compact).predict_proba(X), expected, rtol=0, atol=1e-3)
    assert (load(compact).predict(X) == model.predict(X)).mean() >= 0.999
    assert load(full).predict_proba(X).tobytes() == expected.tobytes()
    assert compact.stat().st_size < 0.45 * full.stat().st_size


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_coefficients_of_features_of_unknown_scale_are_rounded_relatively(scale, tmp_path):
    counts, y = make_counts(200, 30, 3, seed=1)
    model = LinearSVMClassifier(C=1 / scale**2, random_state=0).fit(scale * counts, y)
    loaded = load(save(model, tmp_path / "model"))
    np.testing.assert_allclose(loaded.coef_, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        loaded.predict_proba(scale * counts), model.predict_proba(scale * counts), atol=1e-3
    )


def test_members_share_vocabulary_and_samples_in_a_file(texts, tmp_path):
    X, y = texts
    member = make_pipeline(
        TextVectorizer(preset="social", weighting="tfidf"), NeighborsClassifier(5)
    )
    other = clone(member).set_params(neighborsclassifier__n_neighbors=9)
    single = save(clone(member).fit(X, y), tmp_path / "single")
    # Another parameter without effect prevents the stack from sharing the fitted vectorizer.
    separate = clone(other).set_params(textvectorizer__auto_for="linear")
    estimators = [("a", member), ("b", other), ("c", separate)]
    stack = OOBStackingClassifier(estimators, cv=2, check_leakage=False, random_state=0)
    both = save(stack.fit(X, y), tmp_path / "both")
    assert both.stat().st_size < 1.1 * single.stat().st_size
    assert len(members_of(both)["arrays"]) < 1.1 * len(members_of(single)["arrays"])
    loaded = load(both)
    assert loaded.predict_proba(X).tobytes() == stack.predict_proba(X).tobytes()


def test_training_only_attributes_are_not_stored(texts, tmp_path):
    X, y = texts
    model = recipes.make("quick", random_state=0, rf__n_estimators=10).fit(X, y)
    loaded = load(save(model, tmp_path / "model"))["classifier"]
    assert not hasattr(loaded, "meta_features_")
    assert not hasattr(loaded.named_estimators_["rf"][-1], "oob_decision_function_")
    assert loaded.oof_source_ == model["classifier"].oof_source_
    assert "oob_count_" not in str(tree_of(tmp_path / "model"))


def test_loaded_boosted_forest_cannot_be_continued(tmp_path):
    counts, y = make_counts(60, 20, 3, seed=1)
    model = recipes.make("boosted_et", input="numeric", n_estimators=2, random_state=0)
    loaded = load(save(model.fit(counts, y), tmp_path / "model"))["classifier"]
    assert not hasattr(loaded, "oob_decision_function_")
    with pytest.raises(ValueError, match="warm_start cannot continue a model from a file"):
        loaded.set_params(warm_start=True, n_estimators=4).fit(counts, y)
    assert loaded.set_params(warm_start=False).fit(counts, y).predict(counts).shape == (60,)
