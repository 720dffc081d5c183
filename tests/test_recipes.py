import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood.ensemble.linear import LinearSVMClassifier
from cordwood.errors import CordwoodError
from cordwood.persist import load, save
from cordwood.text.vectorizer import TextVectorizer

TEXTS = ["good film", "a good day", "good!", "bad film", "a bad day", "bad!"]
LABELS = ["+", "+", "+", "-", "-", "-"]


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_learns_texts_and_can_be_saved(name, tmp_path):
    model = recipes.make(name, random_state=0).fit(TEXTS, LABELS)
    assert model.predict(["what a good thing", "bad bad"]).tolist() == ["+", "-"]
    loaded = load(save(model, tmp_path / "model"))
    assert loaded.predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()


@pytest.mark.parametrize("name", recipes.names())
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_every_recipe_learns_numbers(name, scale, container):
    X = container(np.repeat([[3.0, 0.0], [0.0, 5.0]], 6, axis=0))
    y = np.repeat(["left", "right"], 6)
    model = recipes.make(name, words=False, scale=scale, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_described_in_one_line(name):
    assert 10 < len(recipes.describe(name)) < 80
    assert "\n" not in recipes.describe(name)


def test_the_default_is_a_recipe():
    assert recipes.DEFAULT in recipes.names()


def test_svm_is_a_machine_on_weighted_words():
    pipeline = recipes.make("svm")
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline.named_steps) == ["words", "classifier"]
    assert isinstance(pipeline["words"], TextVectorizer)
    assert pipeline["words"].weighting == "tfidf"
    assert isinstance(pipeline["classifier"], LinearSVMClassifier)
    assert clone(pipeline).get_params()["classifier__C"] == 1.0


def test_each_call_makes_its_own_pipeline():
    recipes.make("svm").set_params(classifier__C=5.0)
    assert recipes.make("svm")["classifier"].C == 1.0


def test_numbers_of_unlike_units_are_scaled():
    X, y = load_wine(return_X_y=True)
    X[:, 0] *= 1e6
    scores = {
        scale: cross_val_score(
            recipes.make("svm", words=False, scale=scale, random_state=0, max_iter=200_000), X, y
        ).mean()
        for scale in (True, False)
    }
    assert scores[True] > 0.9 > scores[False] + 0.2


def test_numbers_keep_their_zeros():
    X = sp.csr_array(np.eye(4))
    pipeline = recipes.make("svm", words=False).fit(X, [0, 0, 1, 1])
    assert pipeline["scaler"].transform(X).nnz == 4


def test_parameters_go_by_full_and_short_names():
    pipeline = recipes.make("svm", C=3.0, words__min_df=2, norm="l1")
    assert pipeline["classifier"].C == 3.0
    assert pipeline["words"].min_df == 2
    assert pipeline["words"].norm == "l1"


def test_a_short_name_of_two_steps_is_refused(monkeypatch):
    recipe = recipes._RECIPES["svm"]._replace(classifier=TextVectorizer)
    monkeypatch.setitem(recipes._RECIPES, "twice", recipe)
    with pytest.raises(CordwoodError, match="write words__norm or classifier__norm$"):
        recipes.make("twice", norm="l1")
    assert recipes.make("twice", words__norm="l1")["words"].norm == "l1"


@pytest.mark.parametrize("call", [recipes.make, recipes.describe])
def test_an_unknown_recipe_is_answered_with_the_nearest(call):
    with pytest.raises(CordwoodError, match=r"^there is no recipe 'smv'; did you mean 'svm'\?$"):
        call("smv")
    with pytest.raises(CordwoodError, match="^there is no recipe 'xyz'; there are: .*svm"):
        call("xyz")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("c", "C"), ("clas_weight", "class_weight"), ("classifier__c", "classifier__C")],
)
def test_an_unknown_parameter_is_answered_with_the_nearest(wrong, right):
    with pytest.raises(CordwoodError, match=f"no parameter '{wrong}'; did you mean '{right}'"):
        recipes.make("svm", **{wrong: 1})


def test_a_parameter_like_no_other_is_answered_with_all():
    with pytest.raises(CordwoodError, match="no parameter 'zzz'; there are: C, .*, tol"):
        recipes.make("svm", words=False, zzz=1)


def test_steps_themselves_are_no_parameters():
    with pytest.raises(CordwoodError, match="no parameter 'classifier'"):
        recipes.make("svm", classifier=LinearSVMClassifier())
