import builtins
import importlib

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_union
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.cli.main import main
from cordwood.exceptions import CordwoodError, ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.persist import load, save
from cordwood.recipes import _table as table
from cordwood.text.vectorizer import TextVectorizer

TOPICS = {
    "bread": ["soup and bread", "salt bread soup", "bread with salt", "soup of salt"],
    "goals": ["the team scores", "goal for the team", "match and goal", "team match goal"],
    "stars": ["moon and star", "comet near moon", "star and comet", "moon star comet"],
}
TEXTS = [text for texts in TOPICS.values() for text in texts * 12]
LABELS = [label for label, texts in TOPICS.items() for _ in texts * 12]


# Modules of the recipes that need a package which not everybody has.
PEERS = {"brf": "imblearn", "lightgbm": "lightgbm", "xgboost": "xgboost"}


def peer(name):
    """Whatever needs a package that not everybody has is skipped where it is missing."""
    package = PEERS.get(name)
    missing = package is not None and importlib.util.find_spec(package) is None
    return pytest.param(
        name, marks=pytest.mark.skipif(missing, reason=f"{package} is not installed")
    )


_SHORT = {
    f"{name}__n_estimators": 10 for name in ("boosted_rf", "boosted_et", "lazy_rf", "lazy_et")
}
QUICK = {"hgb": {"max_iter": 10}, "stack_forests": _SHORT, "stack_sigir17": _SHORT, "best": _SHORT}

ALL = [peer(name) for name in recipes.names()]
READERS = [peer(name) for name in recipes.names() if recipes.find(name).reads_text]


@pytest.fixture(autouse=True)
def one_thread():
    # OpenMP's threads wait for each other in busy loops, endlessly so on a busy machine.
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("name", READERS)
def test_every_recipe_that_reads_learns_texts(name):
    model = recipes.make(name, random_state=0, n_jobs=1, **QUICK.get(name, {})).fit(TEXTS, LABELS)
    assert model.predict(["salt soup bread", "team goal", "a comet star"]).tolist() == [*TOPICS]
    votes = model.predict_proba(["salt soup", "unseen", ""])
    assert votes.shape == (3, 3)
    np.testing.assert_allclose(votes.sum(axis=1), 1, rtol=1e-5)
    assert model.classes_.tolist() == [*TOPICS]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("input_type", ["text", "numeric"])
def test_what_is_said_to_be_savable_is(name, input_type, tmp_path):
    recipe = recipes.find(name)
    if input_type == "text" and not recipe.reads_text:
        pytest.skip("does not read text")
    X = TEXTS if input_type == "text" else np.repeat(np.eye(3), 48, axis=0)
    model = recipes.make(name, input=input_type, random_state=0, n_jobs=1, **QUICK.get(name, {}))
    model.fit(X, LABELS)
    if not recipe.savable:
        with pytest.raises(ModelFileError):
            save(model, tmp_path / "model")
        return
    loaded = load(save(model, tmp_path / "model"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_every_recipe_learns_numbers(name, scale, container):
    counts = name in ("nb", "sk_stack") or "nb" in recipes.find(name).members
    if container is not np.asarray and (name == "hgb" or (counts and scale)):
        pytest.skip("takes dense rows only, as documented")
    X = container(np.repeat([[3.0, 0.0], [0.0, 5.0]], 30, axis=0))
    y = np.repeat(["left", "right"], 30)
    model = recipes.make(
        name, input="numeric", scale=scale, random_state=0, n_jobs=1, **QUICK.get(name, {})
    )
    model.fit(X, y)
    assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_model_with_any_number_of_jobs(name):
    X, y = load_iris(return_X_y=True)
    votes = []
    for n_jobs in (1, 2):
        model = recipes.make(
            name, input="numeric", random_state=1, n_jobs=n_jobs, **QUICK.get(name, {})
        )
        with parallel_config(backend="threading"):
            votes.append(model.fit(X, y).predict_proba(X))
    assert votes[0].tobytes() == votes[1].tobytes()


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_described_in_one_line(name):
    assert 10 < len(recipes.describe(name)) < 80
    assert "\n" not in recipes.describe(name)


def test_the_default_is_a_recipe_that_can_be_saved():
    assert recipes.find(recipes.DEFAULT).savable


def test_svm_is_a_machine_on_weighted_words():
    pipeline = recipes.make("svm")
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline.named_steps) == ["vectorizer", "classifier"]
    assert isinstance(pipeline["vectorizer"], TextVectorizer)
    assert pipeline["vectorizer"].weighting == "tfidf"
    assert isinstance(pipeline["classifier"], LinearSVMClassifier)
    assert clone(pipeline).get_params()["classifier__C"] == 1.0


def test_words_are_weighed_as_in_the_paper():
    weightings = {
        name: recipes.make(name)["vectorizer"].weighting
        for name in ("svm", "knn", "nb", "rf", "et")
    }
    assert weightings == {"svm": "tfidf", "knn": "tfidf", "nb": "tf", "rf": "tf", "et": "tf"}


def test_each_call_makes_its_own_pipeline():
    recipes.make("svm").set_params(classifier__C=5.0)
    assert recipes.make("svm")["classifier"].C == 1.0


def test_numbers_of_unlike_units_are_scaled():
    X, y = load_wine(return_X_y=True)
    X[:, 0] *= 1e6
    scores = {
        scale: cross_val_score(
            recipes.make("svm", input="numeric", scale=scale, random_state=0, max_iter=200_000),
            X,
            y,
        ).mean()
        for scale in (True, False)
    }
    assert scores[True] > 0.9 > scores[False] + 0.2


def test_numbers_keep_their_zeros():
    X = sp.csr_array(np.eye(4))
    pipeline = recipes.make("svm", input="numeric").fit(X, [0, 0, 1, 1])
    assert pipeline["scaler"].transform(X).nnz == 4


def test_regression_sees_word_pairs_and_runs_of_characters():
    common = {"min_df": 3, "sublinear_tf": True}
    theirs = make_union(
        TfidfVectorizer(ngram_range=(1, 2), **common),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **common),
    )
    expected = theirs.fit_transform(TEXTS)
    pipeline = recipes.make("logistic_ngrams", random_state=0)
    found = pipeline["vectorizer"].fit_transform(TEXTS)
    assert found.shape == expected.shape
    # The two order their columns differently, which sums of rows do not see.
    np.testing.assert_allclose(found.sum(axis=1), expected.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(np.sort(found.sum(axis=0)), np.sort(expected.sum(axis=0)), rtol=1e-5)
    classifier = pipeline["classifier"]
    assert isinstance(classifier, OneVsRestClassifier)
    assert isinstance(classifier.estimator, LogisticRegression)
    assert (classifier.estimator.C, classifier.estimator.random_state) == (10.0, 0)


@pytest.mark.parametrize(
    ("name", "package"),
    [("brf", "imbalanced-learn"), ("lightgbm", "lightgbm"), ("xgboost", "xgboost")],
)
def test_a_missing_package_is_named_with_its_install_line(name, package, monkeypatch):
    def refuse(package):
        raise builtins.ModuleNotFoundError(f"No module named {package!r}")

    monkeypatch.setattr(table, "import_module", refuse)
    with pytest.raises(CordwoodError, match=rf"recipe '{name}' needs .*: pip install {package}$"):
        recipes.make(name)


def test_what_takes_dense_numbers_only_says_so():
    with pytest.raises(CordwoodError, match="'hgb' learns from dense numbers only"):
        recipes.make("hgb")
    X = sp.csr_array(np.eye(4))
    with pytest.raises(TypeError, match="dense data is required"):
        recipes.make("hgb", input="numeric").fit(X, [0, 1, 0, 1])


def test_numbers_are_made_into_counts_before_they_are_counted():
    X, y = load_iris(return_X_y=True)
    X -= 5
    ours = recipes.make("nb", input="numeric", alpha=0.1).fit(X, y)
    # Beyond the range of the training rows, where a count would be negative.
    rows = np.vstack([X, X.min(axis=0) - 1])
    scaler = MinMaxScaler(clip=True).fit(X)
    theirs = MultinomialNB(alpha=0.1).fit(scaler.transform(X), y)
    expected = theirs.predict_proba(scaler.transform(rows))
    np.testing.assert_array_equal(ours.predict_proba(rows), expected)


def test_neighbours_are_the_nearest_by_cosine():
    X, y = load_iris(return_X_y=True)
    ours = recipes.make("knn", input="numeric", scale=False, n_neighbors=7).fit(X, y)
    twin = KNeighborsClassifier(7, metric="cosine", weights="distance").fit(X, y)
    rows = X[:40] + 0.1
    np.testing.assert_allclose(ours.predict_proba(rows), twin.predict_proba(rows), atol=1e-4)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("input_type", ["text", "numeric"])
def test_every_grid_is_made_of_parameters(name, input_type):
    for param, values in recipes.grid(name, input=input_type).items():
        for value in values:
            full = recipes.full_name(name, param)
            made = recipes.make(name, input=input_type, **{param: value})
            assert made.get_params()[full] == value
        assert len(set(values)) == len(values) > 1


def test_numbers_have_one_variant_of_naive_bayes_more():
    text, numbers = recipes.grid("nb"), recipes.grid("nb", input="numeric")
    assert text["variant"] == ("multinomial", "complement")
    assert numbers == {**text, "variant": ("multinomial", "complement", "gaussian")}
    assert recipes.grid("svm", input="numeric") == recipes.grid("svm")


def test_grids_are_the_papers():
    assert recipes.grid("svm") == {"C": tuple(2.0**k for k in range(-5, 8))}
    assert recipes.grid("nb")["alpha"] == (1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 1.5, 10, 100)
    assert recipes.grid("rf")["classifier__max_features"] == ("sqrt", "log2", 0.08, 0.15, 0.3)
    assert recipes.grid("logistic_ngrams") == {}


def test_a_grid_is_a_copy():
    recipes.grid("svm").clear()
    assert recipes.grid("svm")


def test_text_settings_replace_those_of_the_recipe_and_parameters_replace_both():
    pipeline = recipes.make(
        "rf", vectorizer_params={"preset": "sigir15", "weighting": "tfidf", "min_df": 2}
    )
    assert pipeline["vectorizer"].get_params()["preset"] == "sigir15"
    assert pipeline["vectorizer"].weighting == "tfidf"
    pipeline = recipes.make(
        "rf", vectorizer_params={"min_df": 2, "norm": "l1"}, vectorizer__min_df=4
    )
    assert (pipeline["vectorizer"].min_df, pipeline["vectorizer"].norm) == (4, "l1")
    assert pipeline["vectorizer"].weighting == "tf"


def test_text_settings_mean_nothing_to_numbers():
    assert (
        "vectorizer"
        not in recipes.make("rf", input="numeric", vectorizer_params={"min_df": 2}).named_steps
    )


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("logistic_ngrams", {"min_df": 2}, "'logistic_ngrams' has a vectorizer of its own"),
        ("rf", {"mindf": 2}, "no parameter 'vectorizer__mindf'; did you mean 'vectorizer__min_df'"),
        ("rf", {"n_jobs": 2}, "no parameter 'vectorizer__n_jobs'"),
        ("rf", 3, "vectorizer_params must be a mapping"),
    ],
)
def test_wrong_text_settings_are_named(name, text, sentence):
    with pytest.raises(CordwoodError, match=sentence):
        recipes.make(name, vectorizer_params=text)


def test_a_seed_reaches_every_step_and_parameters_go_first():
    assert recipes.make("rf", random_state=5)["classifier"].random_state == 5
    assert recipes.make("logistic_ngrams", random_state=5)["classifier"].estimator.random_state == 5
    assert recipes.make("rf", random_state=5, random_state=6)["classifier"].random_state == 6
    assert recipes.make("nb", random_state=5)  # which draws nothing


def test_threads_go_to_the_outermost_classifier_alone():
    assert recipes.make("rf")["classifier"].n_jobs == -1
    assert recipes.make("rf", n_jobs=1)["classifier"].n_jobs == 1
    pipeline = recipes.make("logistic_ngrams", n_jobs=2)
    assert pipeline["classifier"].n_jobs == 2
    assert pipeline["classifier"].estimator.n_jobs is None
    assert pipeline["vectorizer"].n_jobs is None
    assert recipes.make("svm", n_jobs=2)  # which uses one


def test_parameters_go_by_full_and_short_names():
    pipeline = recipes.make("svm", C=3.0, vectorizer__min_df=2, norm="l1")
    assert pipeline["classifier"].C == 3.0
    assert pipeline["vectorizer"].min_df == 2
    assert pipeline["vectorizer"].norm == "l1"


def test_parameters_inside_an_adapter_go_by_short_names_too():
    assert recipes.make("logistic_ngrams", C=3.0)["classifier"].estimator.C == 3.0
    assert recipes.full_name("logistic_ngrams", "estimator__C") == "classifier__estimator__C"


def test_a_full_name_is_the_classifiers_where_words_have_one_too():
    assert recipes.full_name("rf", "max_features") == "classifier__max_features"
    assert recipes.full_name("rf", "vectorizer__max_features") == "vectorizer__max_features"
    assert recipes.full_name("hgb", "max_iter") == "classifier__max_iter"


def test_a_short_name_of_two_steps_is_refused(monkeypatch):
    recipe = recipes.find("svm")._replace(classifier=TextVectorizer)
    monkeypatch.setitem(recipes.RECIPES, "twice", recipe)
    with pytest.raises(CordwoodError, match="write vectorizer__norm or classifier__norm$"):
        recipes.make("twice", norm="l1")
    assert recipes.make("twice", vectorizer__norm="l1")["vectorizer"].norm == "l1"
    with pytest.raises(
        CordwoodError, match="write vectorizer__word__min_df or ngrams__char__min_df$"
    ):
        recipes.make("logistic_ngrams", min_df=1)


def test_a_stack_is_made_of_recipes():
    pipeline = recipes.make(
        "stack_sigir17", vectorizer_params={"min_df": 2}, random_state=3, n_jobs=2
    )
    stack = pipeline["classifier"]
    names = ["boosted_rf", "lazy_rf", "boosted_et", "lazy_et", "svm", "nb", "knn", "rf", "et"]
    assert [name for name, _ in stack.estimators] == names
    members = dict(stack.estimators)
    assert {name: members[name]["vectorizer"].weighting for name in ("svm", "knn", "rf")} == {
        "svm": "tfidf",
        "knn": "tfidf",
        "rf": "tf",
    }
    assert {member["vectorizer"].min_df for member in members.values()} == {2}
    assert {members[name]["classifier"].n_jobs for name in ("rf", "boosted_et", "knn")} == {2}
    assert (stack.random_state, stack.n_jobs) == (3, 2)
    assert {members[name]["classifier"].n_estimators_loo for name in ("lazy_rf", "lazy_et")} == {25}
    assert recipes.make("lazy_rf")["classifier"].n_estimators_loo is None
    assert {members[name]["classifier"].cross_fit for name in ("boosted_rf", "boosted_et")} == {5}
    assert recipes.make("boosted_et")["classifier"].cross_fit == 1
    seeds = {
        name: members[name]["classifier"].random_state for name in names if name not in "nbknn"
    }
    assert len(set(seeds.values())) == len(seeds)
    fewer = dict(
        recipes.make("stack_sigir17", members=["rf", "svm"], random_state=3)[
            "classifier"
        ].estimators
    )
    assert fewer["rf"]["classifier"].random_state == seeds["rf"]


def test_members_and_combiner_of_a_stack_can_be_chosen():
    pipeline = recipes.make(
        "quick",
        members=["logistic_ngrams", "nb"],
        combiner="rf",
        vectorizer_params={"min_df": 2},
        random_state=1,
        nb__alpha=0.5,
    )
    stack = pipeline["classifier"]
    members = dict(stack.estimators)
    assert list(members) == ["logistic_ngrams", "nb"]
    assert list(members["logistic_ngrams"].named_steps) == ["vectorizer", "classifier"]
    assert members["nb"]["classifier"].alpha == 0.5
    assert (stack.final_estimator.n_estimators, stack.final_estimator.random_state) == (200, 1)
    assert recipes.full_name("quick", "members") == "members"
    assert recipes.full_name("stack_sigir17", "cv") == "classifier__cv"
    full = recipes.full_name("stack_sigir17", "rf__max_features")
    assert full == "classifier__rf__classifier__max_features"
    full = recipes.full_name("quick", "logistic_ngrams__C", members=["logistic_ngrams"])
    assert full == "classifier__lr__classifier__estimator__C"
    made = recipes.make("quick", input="numeric", members=["svm", "nb"])["classifier"]
    assert [list(member.named_steps) for _, member in made.estimators] == [
        ["scaler", "classifier"],
        ["scaler", "classifier"],
    ]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"members": ["smv"]}, "there is no recipe 'smv'; did you mean 'svm'"),
        ({"members": "svm"}, "recipe 'stack': members is 'svm', but must list recipes"),
        ({"members": []}, r"members is \[\], but must list recipes"),
        ({"members": ["nb", 3]}, r"members is \['nb', 3\], but must list recipes"),
        ({"combiner": ["rf"]}, r"there is no combiner \['rf'\]; did you mean 'rf'|there are"),
        ({"members": ["nb", "nb"]}, "members has 'nb' more than once"),
        ({"members": ["nb", "quick"]}, "member 'quick' is a stack itself"),
        ({"combiner": "votings"}, "there is no combiner 'votings'; did you mean 'voting'"),
        ({"svm__c": 1}, "recipe 'svm' has no parameter 'c'; did you mean 'C'"),
        ({"rf__max_features": 1}, "write vectorizer__max_features or classifier__max_features"),
        ({"C": 1}, "recipe 'stack' has no parameter 'C', but members have one; write svm__C$"),
        ({"pass_through": 1}, "recipe 'stack' has no parameter .*; did you mean 'passthrough'"),
    ],
)
def test_wrong_parts_of_a_stack_are_named(params, sentence):
    with pytest.raises(CordwoodError, match=sentence):
        recipes.make("stack_sigir17", **params)


@pytest.mark.parametrize("combiner", sorted(table.COMBINERS))
def test_every_combiner_learns_and_can_be_saved(combiner, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = recipes.make(
        "quick", input="numeric", members=["nb", "knn"], combiner=combiner, random_state=0, n_jobs=1
    ).fit(X, y)
    assert model.score(X, y) > 0.85
    loaded = load(save(model, tmp_path / "model"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("call", [recipes.make, recipes.describe, recipes.find, recipes.grid])
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
        recipes.make("svm", input="numeric", zzz=1)


def test_steps_themselves_are_no_parameters():
    with pytest.raises(CordwoodError, match="no parameter 'classifier'"):
        recipes.make("svm", classifier=LinearSVMClassifier())


@pytest.mark.parametrize(
    "name", [name for name in recipes.names() if not recipes.find(name).savable]
)
def test_the_command_refuses_before_training_what_it_could_not_save(name, tmp_path, capsys):
    target = tmp_path / "model.cordwood"
    # The data are not even looked for.
    assert main(["train", "absent.csv", "--recipe", name, "-o", str(target)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"models of recipe '{name}' cannot be kept in a model file" in line
    kept = [name for name in recipes.names() if recipes.find(name).savable]
    assert {"svm", "rf", "boosted_et"} < set(kept)
    assert line.endswith(f"choose one of: {', '.join(kept)}")
    assert not target.exists()
