"""Files of an attacker, with valid digests: loading rejects them."""

import io
import json
import os
import pickle
import struct
import sys
import warnings
from importlib import import_module
from zipfile import ZIP_BZIP2, ZIP_STORED, ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from cordwood import TextClassifier, load, recipes
from cordwood.ensemble import schema as ensemble_schema
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.exceptions import ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist import save
from cordwood.persist.registry import BY_CLASS, BY_NAME, Interfaces
from cordwood.rules.estimators import AdaUBoostClassifier
from cordwood.stacking.combiners import SCANN, LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.schema import is_linear_pattern
from cordwood.text.vectorizer import TextVectorizer
from cordwood.text.vectorizer_params import VectorizerParams
from model_files import (
    forge,
    load_error,
    members_of,
    objects_in,
    rewrite,
    tree_of,
    write_members,
)

TOPICS = {"food": "the soup salt bread", "sport": "the team goal ball", "space": "the star comet"}
WORDS = sorted({word for text in TOPICS.values() for word in text.split()})
TEXTS = [f"{text} {text.split()[i % 3]} n{i}" for i in range(12) for text in TOPICS.values()]
LABELS = [label for _ in range(12) for label in TOPICS]
COUNTS = CountVectorizer(vocabulary=WORDS).transform(TEXTS).astype(np.float32)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = recipes.make("svm", random_state=0).fit(TEXTS, LABELS)
    return save(model, tmp_path_factory.mktemp("models") / "model.cordwood")


def fit(model, X=COUNTS):
    return model.fit(X, LABELS)


# --- indices out of bounds -------------------------------------------------------------------


def test_vocabulary_with_columns_beyond_the_features_is_rejected(tmp_path):
    """The kernels and scipy do not check the columns of a vectorizer: predict would crash."""
    vectorizer = CountVectorizer().fit(TEXTS)
    vectorizer.vocabulary_ = {word: 100_000 - j for j, word in enumerate(WORDS)}
    model = make_pipeline(vectorizer, fit(RandomForestClassifier(5)))
    with pytest.raises(ModelFileError, match="CountVectorizer, which is not one of the classes"):
        save(model, tmp_path / "model")
    vectorizer = TextVectorizer(preset="social").fit(TEXTS)
    vectorizer._vocabulary = {word: 100_000 - j for j, word in enumerate(WORDS)}
    model = make_pipeline(vectorizer, fit(RandomForestClassifier(5)))
    with pytest.raises(ModelFileError, match="_vocabulary must be a mapping of sorted terms"):
        save(model, tmp_path / "model")


@pytest.mark.parametrize(
    "classifier",
    [
        RandomForestClassifier(3),
        BoostedForestClassifier(2),
        AdaBoostM2Classifier(3),
        NeighborsClassifier(3),
        LazyForestClassifier(3),
        LinearSVMClassifier(),
        LogisticRegression(),
        NaiveBayesClassifier(),
        AdaUBoostClassifier(max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_classifier_of_other_features_than_the_vectorizer_is_rejected(classifier, tmp_path):
    model = make_pipeline(TextVectorizer(preset="social").fit(TEXTS), fit(classifier))
    with pytest.raises(ModelFileError, match="a step takes 9 and the one before it returns 21"):
        save(model, tmp_path / "model")
    assert "has a pipeline in which a step takes 9" in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize("model", [NeighborsClassifier(3), LazyForestClassifier(3, 5)], ids=str)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_indices", lambda model: model._indices + np.int32(100)),
        ("_indptr", lambda model: model._indptr[::-1].copy()),
        ("_indptr", lambda model: model._indptr * 2),
        ("_codes", lambda model: model._codes + np.uint32(7)),
        ("_codes", lambda model: model._codes[:-1]),
        ("_data", lambda model: np.full_like(model._data, np.nan)),
        ("_data", lambda model: model._data.astype(np.float64)),
        ("_data", lambda model: model._data[:-1]),
        ("n_features_in_", lambda model: 5),
        ("n_features_in_", lambda model: 2**28),
        ("metric_", lambda model: "manhattan"),
        ("classes_", lambda model: model.classes_[::-1].copy()),
        ("classes_", lambda model: model.classes_[:1]),
    ],
)
def test_invalid_samples_of_neighbors_are_rejected(model, name, value, tmp_path):
    crafted = fit(model)
    setattr(crafted, name, value(crafted))
    with pytest.raises(ModelFileError):
        save(crafted, tmp_path / "model")
    try:
        file = forge(crafted, tmp_path / "model")
    except ModelFileError:
        return  # cannot even be encoded
    load_error(file)


def change_forest(name, index, value):
    def change(model):
        array = getattr(model.forest_, name).copy()
        array[index] = value
        model.forest_ = model.forest_._replace(**{name: array})

    return change


@pytest.mark.parametrize(
    "change",
    [
        change_forest("far_child", 0, 0),
        change_forest("far_child", 0, 32_000),
        change_forest("far_child", 0, -32_000),
        change_forest("feature_and_side", 0, 50_000),
        change_forest("threshold", 0, np.nan),
        change_forest("impure_weight", slice(None), 0),
        change_forest("impure_weight", 0, np.inf),
        change_forest("impure_class", 0, 3),
        change_forest("node_start", 1, 10**6),
        change_forest("leaf_size", 0, -1),
        lambda model: setattr(model, "forest_", None),
        lambda model: setattr(model, "n_features_in_", 1),
        lambda model: setattr(model, "classes_", model.classes_[:2]),
    ],
)
@pytest.mark.parametrize("nodes_per_check", [2, 2**18])
def test_invalid_forests_are_rejected(change, nodes_per_check, tmp_path, monkeypatch):
    monkeypatch.setattr(ensemble_schema, "_NODES_PER_CHECK", nodes_per_check)
    crafted = fit(RandomForestClassifier(3, max_depth=1, random_state=0))
    change(crafted)
    with pytest.raises(ModelFileError):
        save(crafted, tmp_path / "model")
    try:
        file = forge(crafted, tmp_path / "model")
    except ModelFileError:
        return
    load_error(file)


# --- inconsistent or senseless state ---------------------------------------------------------


def fit_stack():
    members = [("svm", LinearSVMClassifier()), ("nb", NaiveBayesClassifier())]
    return fit(OOBStackingClassifier(members, cv=2, random_state=0))


STATES = [
    (lambda: fit(LinearSVMClassifier()), "coef_", lambda model: model.coef_[:2]),
    (lambda: fit(LinearSVMClassifier()), "coef_", lambda model: model.coef_ * np.nan),
    (lambda: fit(LinearSVMClassifier()), "coef_", lambda model: model.coef_ * 1e200),
    (lambda: fit(LinearSVMClassifier()), "coef_", lambda model: model.coef_.astype(complex)),
    (lambda: fit(LinearSVMClassifier()), "coef_", lambda model: model.coef_[:, :-1]),
    (lambda: fit(LinearSVMClassifier()), "intercept_", lambda model: model.intercept_[:1]),
    (lambda: fit(LinearSVMClassifier()), "temperature_", lambda model: 0.0),
    (lambda: fit(LinearSVMClassifier()), "temperature_", lambda model: float("nan")),
    (lambda: fit(LinearSVMClassifier()), "temperature_", lambda model: "warm"),
    (lambda: fit(LinearSVMClassifier()), "C", lambda model: -1.0),
    (lambda: fit(LinearSVMClassifier()), "loss", lambda model: "log"),
    (lambda: fit(LinearSVMClassifier()), "n_features_in_", lambda model: 2**40),
    (lambda: fit(NaiveBayesClassifier()), "model_", lambda model: LogisticRegression()),
    (lambda: fit(NaiveBayesClassifier()), "classes_", lambda model: np.array(["a", "b", "c"])),
    (lambda: fit(NaiveBayesClassifier()), "variant", lambda model: "gaussian"),
    (lambda: fit(AdaUBoostClassifier(max_iter=2)), "temperatures_", lambda model: np.zeros((3, 2))),
    (lambda: fit(AdaUBoostClassifier(max_iter=2)), "_rule_sets", lambda model: []),
    (lambda: fit(AdaBoostM2Classifier(3)), "plausible_", lambda model: model.plausible_ * 0),
    (lambda: fit(AdaBoostM2Classifier(3)), "plausible_", lambda model: model.plausible_[1:]),
    (lambda: fit(AdaBoostM2Classifier(3)), "estimator_weights_", lambda model: np.zeros(3)),
    (lambda: fit(BoostedForestClassifier(2)), "tree_weights_", lambda model: -model.tree_weights_),
    (lambda: fit(NeighborsClassifier(3)), "_weights", lambda model: np.ones(3)),
    (lambda: fit(NeighborsClassifier(3)), "_weights", lambda model: -np.ones(len(model._codes))),
    (
        lambda: fit(NeighborsClassifier(3)),
        "_weights",
        lambda model: np.full(len(model._codes), np.nan),
    ),
    (lambda: fit(LazyForestClassifier(3, 5)), "seed_", lambda model: -1),
    (lambda: fit(LazyForestClassifier(3, 5)), "n_estimators", lambda model: 10**9),
    (fit_stack, "final_estimator_", lambda model: fit(LogarithmicPool(), np.full((36, 3), 1 / 3))),
    (fit_stack, "_step_index", lambda model: [0, 1]),
    (fit_stack, "_names", lambda model: ["svm"]),
    (fit_stack, "estimators_", lambda model: model.estimators_[:1]),
    (fit_stack, "estimators_", lambda model: [fit(StandardScaler(with_mean=False))] * 2),
    (fit_stack, "estimators_", lambda model: [LinearSVMClassifier()] * 2),
    (fit_stack, "classes_", lambda model: np.array(["a", "b", "c"])),
    (fit_stack, "oof_source_", lambda model: dict.fromkeys(model.oof_source_, "unknown")),
    (fit_stack, "oof_scores_", lambda model: {"svm": model.oof_scores_["svm"]}),
    (fit_stack, "oof_scores_", lambda model: dict.fromkeys(model.oof_scores_, {"accuracy": 2.0})),
    (fit_stack, "oof_disagreement_", lambda model: np.zeros((3, 3))),
    (fit_stack, "_ablation", lambda model: {"svm": {"accuracy": float("nan"), "log_loss": 0.0}}),
    (fit_stack, "fit_times_", lambda model: dict.fromkeys(model.fit_times_, "soon")),
    (fit_stack, "n_features_in_", lambda model: 4),
]


@pytest.mark.parametrize(
    ("make", "name", "value"), STATES, ids=[f"{i}-{state[1]}" for i, state in enumerate(STATES)]
)
def test_state_that_fit_cannot_produce_is_rejected(make, name, value, tmp_path):
    crafted = make()
    setattr(crafted, name, value(crafted))
    with pytest.raises(ModelFileError):
        save(crafted, tmp_path / "model")
    try:
        file = forge(crafted, tmp_path / "model")
    except ModelFileError:
        return
    load_error(file)


def test_class_priors_of_combiners_sum_to_one(tmp_path):
    """Otherwise all probabilities could be zero."""
    members = [("svm", LinearSVMClassifier()), ("nb", NaiveBayesClassifier())]
    model = fit(OOBStackingClassifier(members, SCANN(), cv=2, random_state=0))
    model.final_estimator_.class_prior_ = np.zeros(3)
    assert "has a SCANN" in load_error(forge(model, tmp_path / "model"))


def test_members_without_steps_are_rejected(tmp_path):
    model = fit_stack()
    model.estimators_[0] = Pipeline([])
    assert "has a pipeline without estimators" in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize("value", [None, "passthrough"])
def test_parameters_of_a_stack_are_estimators(value, tmp_path):
    TextClassifier("nb").fit(TEXTS, LABELS).save(tmp_path / "model")

    def change(tree):
        for node in objects_in(tree):
            if node["class"] == "cordwood.OOBStackingClassifier":
                node["nested"]["estimators"][0][1] = value

    file = rewrite(tmp_path / "model", tmp_path / "changed", tree=change)
    assert "estimators must be a list of names and estimators" in load_error(file)


def test_members_without_their_vectorizer_are_rejected(tmp_path):
    model = TextClassifier("nb").fit(TEXTS, LABELS)
    model.save(tmp_path / "model")

    def change(tree):
        for node in objects_in(tree):
            if "_shared_steps" in node.get("fitted", {}):
                node["fitted"]["_shared_steps"].insert(0, [])

    file = rewrite(tmp_path / "model", tmp_path / "changed", tree=change)
    assert "of texts whose pipeline takes numbers" in load_error(file)


def test_members_for_several_labels_without_their_vectorizer_are_rejected(tmp_path):
    model = TextClassifier("knn").fit(
        TEXTS, [[label, "x"][: 1 + i % 2] for i, label in enumerate(LABELS)]
    )
    classifier = model.estimator_[-1]
    classifier._shared_steps = [[] for _ in classifier._shared_steps]
    assert "whose members take other features" in load_error(forge(model, tmp_path / "model"))


def test_half_fitted_pipelines_are_rejected(tmp_path):
    model = make_pipeline(StandardScaler(with_mean=False), fit(LinearSVMClassifier()))
    assert "only some steps are fitted" in load_error(forge(model, tmp_path / "model"))


def test_feature_unions_of_classifiers_are_rejected(tmp_path):
    union = FeatureUnion([("classifier", fit(LinearSVMClassifier()))])
    with pytest.raises(ModelFileError, match="an estimator that is not a transformer"):
        save(union, tmp_path / "model")
    assert "that is not a transformer" in load_error(forge(union, tmp_path / "model"))


def test_texts_cannot_be_passed_through(tmp_path):
    model = recipes.make("quick", random_state=0, members=["svm", "nb"]).fit(TEXTS, LABELS)
    file = forge(model.set_params(classifier__passthrough=True), tmp_path / "model")
    assert "passes its features through but has no features" in load_error(file)


def test_pipeline_without_its_classifier_is_rejected(saved, tmp_path):
    def change(tree):
        del tree["model"]["nested"]["steps"][-1]

    file = rewrite(saved, tmp_path / "model", tree=change)
    assert "has a model card with other classes than the model" in load_error(file)


# --- time and memory -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w+)+x",
        r"(a|a)*b",
        r"(\w\w+)*$",
        r"\w+\w+\w+x",
        r"a+b",
        r"(?:\S*\s)*x",
        r"\w+(?=!)",
        ".*",
    ],
)
def test_token_patterns_that_may_backtrack_need_trust(pattern, tmp_path):
    model = TextVectorizer(preset="social").fit(TEXTS)
    model.resolved_params_ = VectorizerParams(token_pattern=pattern)
    assert "not known to take linear time" in load_error(forge(model, tmp_path / "model"))
    load(tmp_path / "model", trusted=[TextVectorizer])
    model = TextVectorizer(preset="social").fit(TEXTS).set_params(token_pattern=pattern)
    with pytest.raises(ModelFileError, match="not known to take linear time; if you trust it"):
        save(model, tmp_path / "model")
    save(model, tmp_path / "model", trusted=[TextVectorizer])


@pytest.mark.parametrize(
    "pattern",
    [r"\w+", r"\S+", r"[a-z]+", r"#\w\w+", r"\b[^\W\d_]\w+", r"\w{3,}", r"[A-Za-z0-9_-]+"],
)
def test_common_token_patterns_need_no_trust(pattern, tmp_path):
    assert is_linear_pattern(pattern)
    model = TextVectorizer(token_pattern=pattern).fit(["abc #tag a-b"])
    loaded = load(save(model, tmp_path / "model"))
    assert loaded.vocabulary_ == model.vocabulary_


@pytest.mark.parametrize(
    "params",
    [
        {"ngram_range": (1, 10**9)},
        {"ngram_range": (1, 10**9), "analyzer": "char"},
        {"ngram_range": (1, 10**9), "analyzer": "char_wb"},
    ],
)
def test_long_ngrams_are_rejected(params, tmp_path):
    model = TextVectorizer(preset="social").fit(TEXTS)
    model.resolved_params_ = VectorizerParams(**params)
    assert "ngram_range" in load_error(forge(model, tmp_path / "model"))


def test_terms_that_are_longer_than_the_ngrams_are_rejected(tmp_path):
    model = TextVectorizer(analyzer="char_wb", ngram_range=(2, 3)).fit(TEXTS)
    model._vocabulary, model.idf_ = {"x" * 10**6: 0}, None
    assert "longer than its n-grams" in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize("name", ["n_jobs", "verbose"])
def test_parameters_for_the_loading_computer_are_not_taken_from_a_file(name, tmp_path):
    saved = save(fit(RandomForestClassifier(3)), tmp_path / "model")

    def change(tree):
        tree["model"]["params"][name] = 100_000

    loaded = load(rewrite(saved, tmp_path / "changed", tree=change))
    assert getattr(loaded, name) == getattr(RandomForestClassifier(), name)


def test_number_of_features_is_limited_by_the_size_of_the_file(tmp_path):
    model = fit(RandomForestClassifier(3))
    model.n_features_in_ = 2**28
    with pytest.raises(ModelFileError, match="needs more memory than the 256 MB"):
        save(model, tmp_path / "model")
    assert "needs more memory than" in load_error(forge(model, tmp_path / "model"))


def test_features_beyond_the_coefficients_are_rejected(tmp_path):
    model = fit(LinearSVMClassifier())
    model.n_features_in_ = 2**28
    assert "coef_ must be" in load_error(forge(model, tmp_path / "model"))


def test_columns_of_a_table_are_limited(tmp_path):
    table = {"text": TEXTS, "size": [float(i) for i in range(len(TEXTS))]}
    columns = {"text": ["text"], "numeric": ["size"]}
    model = TextClassifier("svm", columns=columns).fit(table, LABELS)
    model.save(tmp_path / "model")

    def change(tree):
        for node in objects_in(tree):
            if node["class"] == "sklearn.ColumnTransformer" and "fitted" in node:
                node["fitted"]["n_features_in_"] = 10**9

    file = rewrite(tmp_path / "model", tmp_path / "changed", tree=change)
    assert "needs more memory than" in load_error(file)


def test_small_file_cannot_declare_large_arrays(saved, tmp_path):
    def change(tree):
        entry = next(entry for entry in tree["arrays"] if len(entry["shape"]) == 1)
        entry["shape"] = [2**40]

    assert "sizes differ" in load_error(rewrite(saved, tmp_path / "model", tree=change))


def test_decompression_bombs_are_rejected(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", arrays=bytes(2**29))
    assert file.stat().st_size < 2**20
    assert "needs more memory than" in load_error(file)
    content = members_of(saved)
    content["model.json"] = b" " * 2**22
    file = write_members(content, tmp_path / "model")
    assert "needs more memory than" in load_error(file)


def test_declared_sizes_are_not_trusted(saved, tmp_path):
    """A member that declares fewer bytes than it holds is cut; one that declares more is short."""
    for size in (10, 2**27):
        data = bytearray(saved.read_bytes())
        place = data.index(b"PK\x01\x02")
        while data[place + 46 : place + 52] != b"arrays":
            place = data.index(b"PK\x01\x02", place + 1)
        struct.pack_into("<I", data, place + 24, size)
        (tmp_path / "model").write_bytes(data)
        assert "damaged" in load_error(tmp_path / "model")


def test_strings_with_long_prefixes_count_as_memory(tmp_path):
    """Each string may add one byte and repeat 255: the expanded size is limited."""
    model = TextVectorizer(preset="social").fit(TEXTS)
    file = save(model, tmp_path / "model")
    n = 10**6

    def change(tree):
        terms = tree["model"]["fitted"]["_vocabulary"]
        tree["arrays"] = [
            {"dtype": "uint8", "shape": [n]},
            {"dtype": "int64", "stored": "uint8", "shape": [n]},
            {"dtype": "uint8", "shape": [n]},
        ]
        terms.update(prefixes=0, lengths=1, suffixes=2)

    arrays = np.full(n, 255, np.uint8).tobytes() + np.ones(2 * n, np.uint8).tobytes()
    file = rewrite(file, tmp_path / "changed", tree=change, arrays=arrays)
    assert "needs more memory" in load_error(file)


def test_deep_trees_are_rejected(saved, tmp_path):
    load_error(rewrite(saved, tmp_path / "model", model__json=b"[" * 200_000))
    deep = b'{"model":' + b'{"class":"sklearn.Pipeline","params":{},"nested":{"steps":[["a",' * 5000
    load_error(rewrite(saved, tmp_path / "model", model__json=deep))
    nested = {"tuple": []}
    for _ in range(300):
        nested = {"tuple": [nested]}

    def change(tree):
        tree["model"]["params"]["transform_input"] = nested

    load_error(rewrite(saved, tmp_path / "model", tree=change))


def test_many_archive_members_are_rejected(saved, tmp_path):
    content = members_of(saved)
    content.update({f"x{i}": b"" for i in range(1000)})
    file = write_members(content, tmp_path / "model")
    assert "more archive members than a model file has" in load_error(file)


# --- code ------------------------------------------------------------------------------------


NAMES = [
    "os.system",
    "builtins.eval",
    "functools.partial",
    "operator.methodcaller",
    "subprocess.Popen",
    "pathlib.Path",
    "numpy.random.mtrand.RandomState",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
    "sklearn.svm._classes.SVC",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "cordwood.linear_model.linear_svm.LinearSVMClassifier",
    "LinearSVMClassifier",
    "",
    "\x1b[31m\nred" + "x" * 10_000,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:30] or "empty")
def test_other_classes_are_rejected(name, saved, tmp_path):
    imported = set(sys.modules)
    node = {"class": name, "params": {}, "fitted": {}}
    trusted_node = {"class": name, "state": {"args": ["true"]}}

    for new in (node, trusted_node):
        trees = [tree_of(saved) for _ in range(3)]
        trees[0]["model"] = new
        trees[1]["model"]["nested"]["steps"][0][1] = new
        trees[2]["model"]["params"]["transform_input"] = {"object": new}
        for tree in trees:
            content = json.dumps(tree).encode()
            sentence = load_error(rewrite(saved, tmp_path / "model", model__json=content))
            assert "is not one of the classes that a model file may contain" in sentence
            assert "\x1b" not in sentence
    assert set(sys.modules) == imported


def test_gradient_boosting_is_rejected_even_if_trusted(tmp_path):
    """Its compiled predictors do not check their nodes, and are not plain values."""
    model = HistGradientBoostingClassifier(max_iter=2).fit(COUNTS.toarray(), LABELS)
    with pytest.raises(ModelFileError, match="HistGradientBoostingClassifier"):
        save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="which is not one of the classes"):
        save(model, tmp_path / "model", trusted=[HistGradientBoostingClassifier])


def test_schemas_are_of_the_classes_of_recipes_only():
    assert all(
        name.startswith(("cordwood.", "sklearn.")) and name == schema.name
        for name, schema in BY_NAME.items()
    )
    assert len(BY_NAME) == len(BY_CLASS)
    for kind in BY_CLASS:
        assert getattr(import_module(kind.__module__), kind.__qualname__) is kind


def test_pickles_are_never_loaded(saved, tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trap"),)

    (tmp_path / "model").write_bytes(pickle.dumps(Trap()))
    load_error(tmp_path / "model")
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()]), allow_pickle=True)
    load_error(rewrite(saved, tmp_path / "model", arrays=buffer.getvalue()))
    load_error(rewrite(saved, tmp_path / "model", arrays=pickle.dumps(Trap())))
    assert not (tmp_path / "trap").exists()


# --- structure -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a.py", "x\\1"])
def test_unexpected_archive_members_are_rejected(name, saved, tmp_path):
    file = write_members({**members_of(saved), name: b""}, tmp_path / "model")
    assert "does not have exactly the members of a model file" in load_error(file)


@pytest.mark.parametrize("name", ["model.json", "cordwood.json", "arrays", "sha256"])
def test_duplicate_and_missing_archive_members_are_rejected(name, saved, tmp_path):
    content = members_of(saved)
    file = write_members(content, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipFile(file, "a") as archive:
            archive.writestr(name, content[name])
    assert "does not have exactly the members of a model file" in load_error(file)
    del content[name]
    load_error(write_members(content, tmp_path / "model", digests=False))


def test_compression_methods_are_limited(saved, tmp_path):
    file = write_members(members_of(saved), tmp_path / "model", compression=ZIP_STORED)
    assert load(file).predict(TEXTS[:3]).tolist() == LABELS[:3]
    file = write_members(members_of(saved), tmp_path / "model", compression=ZIP_BZIP2)
    assert "unsupported compression method" in load_error(file)


@pytest.mark.parametrize(
    "tree", [b"", b"null", b"[]", b"{}", b'"x"', b"\xff\xfe", b"1" * 9999, b'{"model":{}}']
)
def test_invalid_trees_are_rejected(tree, saved, tmp_path):
    assert "cannot load" in load_error(rewrite(saved, tmp_path / "model", model__json=tree))


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "object", "shape": [1]},
        {"dtype": "V8", "shape": [1]},
        {"dtype": "float64", "shape": [-1]},
        {"dtype": "float64", "shape": "1"},
        {"dtype": "float64", "shape": [1] * 50},
        {"dtype": "float64", "shape": [2**47, 2**47]},
        {"dtype": "float64", "stored": "uint8", "shape": [8]},
        {"dtype": "uint8", "values": 0, "stored": "uint8", "shape": [8]},
        {"dtype": "uint8", "values": 99, "stored": "uint8", "shape": [8]},
        {"dtype": "uint8", "stored": "int64", "shape": [1]},
        {"dtype": "bool", "shape": [8]},
        [],
        None,
    ],
    ids=repr,
)
def test_invalid_arrays_are_rejected(entry, saved, tmp_path):
    def change(tree):
        tree["arrays"] = [entry]
        tree["model"] = {
            "class": "sklearn.StandardScaler",
            "params": {},
            "fitted": {
                "n_features_in_": 8,
                "n_samples_seen_": 3,
                "mean_": 0,
                "var_": 0,
                "scale_": 0,
            },
        }

    load_error(rewrite(saved, tmp_path / "model", tree=change, arrays=b"\xff" * 8))


@pytest.mark.parametrize("recipe", ["svm", "adauboost"])
def test_classifiers_cannot_be_declared_multilabel(recipe, tmp_path):
    file = save(recipes.make(recipe, random_state=0).fit(TEXTS, LABELS), tmp_path / "model")

    def change(tree):
        tree["model"]["nested"]["steps"][-1][1]["fitted"]["multilabel_"] = True

    assert "whose classes_ are not indices" in load_error(
        rewrite(file, tmp_path / "changed", tree=change)
    )


@pytest.mark.parametrize(
    "model",
    [
        lambda: recipes.make("svm", random_state=0).fit(TEXTS, LABELS),
        lambda: recipes.make("rf", random_state=0, n_estimators=3).fit(TEXTS, LABELS),
        lambda: recipes.make("quick", random_state=0, rf__n_estimators=3).fit(TEXTS, LABELS),
        lambda: FeatureUnion([("a", TextVectorizer()), ("b", TextVectorizer())]).fit(TEXTS),
        lambda: TextClassifier("nb", decision="macro_f1").fit(TEXTS, LABELS),
    ],
    ids=["svm", "rf", "quick", "union", "TextClassifier"],
)
def test_changed_trees_are_rejected_or_predict(model, tmp_path_factory):
    """Any node of the tree is replaced by any value, or by another node."""
    folder = tmp_path_factory.mktemp("models")
    original = model()
    saved = save(original, folder / "model")
    values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 30),
        st.sampled_from([2**31, 2**62, -(2**62), 1e308, -1.5, float("nan"), float("inf")]),
        st.sampled_from(["", "tfidf", "l1", "char_wb", "cosine", "drop", "passthrough"]),
        st.sampled_from([[], {}, {"tuple": []}, {"array": 0}, {"dict": []}, {"tuple": [1, 2]}]),
    )

    @settings(deadline=None, max_examples=80)
    @given(data=st.data())
    def check(data):
        def change(tree):
            places = [*_places(tree)]
            container, key = places[data.draw(st.integers(0, len(places) - 1))]
            if data.draw(st.booleans()):
                other, other_key = places[data.draw(st.integers(0, len(places) - 1))]
                container[key] = json.loads(json.dumps(other[other_key]))
            else:
                container[key] = data.draw(values)

        file = rewrite(saved, folder / "changed", tree=change)
        try:
            loaded = load(file)
        except ModelFileError as error:
            assert "\n" not in str(error)
            assert "cannot load" in str(error)
            return
        assert isinstance(loaded, BaseEstimator)
        if not Interfaces().of(loaded).takes_text:
            return  # without a vectorizer, a valid model of numeric features
        if hasattr(original, "predict_proba"):
            proba = loaded.predict_proba(TEXTS[:5])
            np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
        else:
            loaded.transform(TEXTS[:5])

    check()


def _places(node):
    """All pairs of a container and a key of a tree."""
    if isinstance(node, dict | list):
        for key in [*node] if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from _places(node[key])
