"""Files of `TextClassifier`: every kind of model is restored, and contradictions are rejected."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from cordwood import Decision, TextClassifier, TextVectorizer, load, persist
from cordwood.columns.roles import ColumnRoles
from cordwood.exceptions import ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from model_files import forge, load_error, rewrite

WORDS = {"ant": "leg nest hill soil", "bee": "wing hive wax bloom", "cat": "purr paw mouse milk"}
N_SAMPLES = 48


def make_texts(labels, seed=0):
    """Texts whose last words are of any class."""
    rng = np.random.default_rng(seed)
    every = " ".join(WORDS.values()).split()
    return [
        " ".join([*rng.choice(WORDS[label].split(), 2), *rng.choice(every, 3)]) for label in labels
    ]


THREE = np.array([[*WORDS][i % 3] for i in range(N_SAMPLES)])
TWO = np.array(["ant" if i % 4 == 0 else "bee" for i in range(N_SAMPLES)])
TEXTS, TEXTS_OF_TWO = make_texts(THREE), make_texts(TWO)
LISTS = [[label, "dog"][: 1 + i % 2] for i, label in enumerate(THREE)]
INDICATORS = (
    np.array([[label == "ant", label == "bee", i % 2] for i, label in enumerate(THREE)]) * 1
)
NUMBERS = np.random.default_rng(0).normal(size=(N_SAMPLES, 5)) + 2 * (THREE == "bee")[:, None]
COUNTS = sp.csr_array(np.random.default_rng(1).poisson(0.5, (N_SAMPLES, 40)).astype(np.float64))
TABLE = {
    "text": TEXTS,
    "kind": [["big", "small", None][i % 3] for i in range(N_SAMPLES)],
    "size": [None if i % 7 == 0 else float(i % 5) for i in range(N_SAMPLES)],
    "day": [f"2024-05-{1 + i % 28:02}" for i in range(N_SAMPLES)],
}
COLUMNS = {"text": ["text"], "categorical": ["kind"], "numeric": ["size"], "date": ["day"]}
COSTS = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [1.0, 2.0, 0.0]])
PIPELINE = make_pipeline(TextVectorizer(), LogisticRegression())

CASES = {
    "quick": ({}, TEXTS, THREE),
    "nb": ({"estimator": "nb"}, TEXTS, THREE),
    "nb without scores": ({"estimator": "nb", "oof": False, "calibrate": False}, TEXTS, THREE),
    "f1": ({"estimator": "svm", "decision": "f1"}, TEXTS_OF_TWO, TWO),
    "macro_f1": ({"estimator": "svm", "decision": "macro_f1"}, TEXTS, THREE),
    "precision": (
        {"estimator": "nb", "decision": Decision("precision", precision=0.8, pos_label="bee")},
        TEXTS_OF_TWO,
        TWO,
    ),
    "cost": ({"estimator": "nb", "decision": Decision("cost", cost_matrix=COSTS)}, TEXTS, THREE),
    "threshold": (
        {"estimator": "nb", "decision": Decision(threshold=0.7, pos_label=np.str_("ant"))},
        TEXTS_OF_TWO,
        TWO,
    ),
    "quick macro_f1": ({"decision": "macro_f1"}, TEXTS, THREE),
    "balanced": ({"estimator": "svm", "class_weight": "balanced", "oof": True}, TEXTS, THREE),
    "integers": ({"estimator": "nb", "decision": "f1"}, TEXTS_OF_TWO, (TWO == "ant") * 3),
    "booleans": ({"estimator": "nb", "decision": "f1"}, TEXTS_OF_TWO, TWO == "ant"),
    "lists": ({"estimator": "svm"}, TEXTS, LISTS),
    "lists of integers": ({"estimator": "nb"}, TEXTS, [[i % 2, 2 + i % 3] for i in range(48)]),
    "several labels of quick": ({}, TEXTS, LISTS),
    "at least two labels": ({"estimator": "nb", "decision": Decision(min_labels=2)}, TEXTS, LISTS),
    "indicators": ({"estimator": "nb"}, TEXTS, INDICATORS),
    "table": ({"columns": COLUMNS}, TABLE, THREE),
    "table with a decision": (
        {"estimator": "svm", "columns": COLUMNS, "decision": "macro_f1"},
        TABLE,
        THREE,
    ),
    "detected columns": ({"estimator": "rf", "columns": "auto"}, TABLE, THREE),
    "roles": (
        {"estimator": "nb", "columns": ColumnRoles(text=("text",), numeric=("size",))},
        TABLE,
        THREE,
    ),
    "table with several labels": ({"estimator": "svm", "columns": COLUMNS}, TABLE, LISTS),
    "dense": ({}, NUMBERS, THREE),
    "sparse": ({"estimator": "nb"}, COUNTS, THREE),
    "dense with several labels": ({"estimator": "rf"}, NUMBERS, LISTS),
    "recipe_params": (
        {"estimator": "rf", "recipe_params": {"n_estimators": 5}, "oof": True},
        TEXTS,
        THREE,
    ),
    "language": ({"estimator": "nb", "language": "en"}, TEXTS, THREE),
    "pipeline": ({"estimator": PIPELINE, "decision": "macro_f1"}, TEXTS, THREE),
    "classifier": (
        {"estimator": LinearSVMClassifier(C=2.0, random_state=0), "oof": True},
        NUMBERS,
        THREE,
    ),
    "pipeline with several labels": ({"estimator": PIPELINE}, TEXTS, LISTS),
}


def take(X, n):
    if isinstance(X, dict):
        return {name: values[:n] for name, values in X.items()}
    return X[:n]


def fit(name, **more):
    params, X, y = CASES[name]
    return TextClassifier(**{"encoder": None, **params, **more}).fit(X, y)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Models and their files, each made once."""
    folder, made = tmp_path_factory.mktemp("models"), {}

    def make(name):
        if name not in made:
            model = fit(name)
            made[name] = model, persist.save(model, folder / name, precision="full")
        return made[name]

    return make


def assert_same_decision(found, expected):
    assert found.describe() == expected.describe()
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value)
        assert type(getattr(found, name)) is type(value)


def assert_same_predictions(found, expected):
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(found, name), value)


@pytest.mark.parametrize("name", CASES)
def test_model_is_restored(files, name):
    model, file = files(name)
    X = take(CASES[name][1], 20)
    loaded = load(file)
    assert type(loaded) is TextClassifier
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert_same_decision(loaded.decision_, model.decision_)
    assert loaded.members_ == model.members_
    assert (loaded.input_kind_, loaded.target_kind_) == (model.input_kind_, model.target_kind_)
    assert loaded.columns_ == model.columns_
    if model.evaluation_ is None:
        assert loaded.evaluation_ is None
    else:
        assert loaded.evaluation_.to_dict() == model.evaluation_.to_dict()
    assert_same_predictions(loaded.classify(X), model.classify(X))


@pytest.mark.parametrize("name", CASES)
def test_confidence_is_restored(files, name):
    model, file = files(name)
    X = take(CASES[name][1], 20)
    loaded = load(file)
    if model.scope_ is not None:
        found, expected = (each.classify(X, unknown=0.1) for each in (loaded, model))
        assert_same_predictions(found, expected)
        assert found.is_in_scope is not None
    if model.target_kind_ == "label":
        found, expected = (each.classify(X, min_confidence=0.6) for each in (loaded, model))
        assert_same_predictions(found, expected)
    if model.target_kind_ == "label" and model.oof_ is not None:
        # Stored probabilities are rounded, so that the thresholds differ a little.
        found, expected = (each.make_rule(coverage=0.8) for each in (loaded, model))
        np.testing.assert_allclose(
            found.calibration.thresholds(0.8), expected.calibration.thresholds(0.8), atol=5e-3
        )
        assert loaded.classify(X, coverage=0.8).sets.shape == (20, len(model.classes_))


@pytest.mark.parametrize("name", CASES)
def test_clone_of_a_loaded_model_fits_the_same_model(files, name):
    model, file = files(name)
    _, X, y = CASES[name]
    again = clone(load(file)).fit(X, y)
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert_same_decision(again.decision_, model.decision_)


@pytest.mark.parametrize("name", ["quick", "cost", "lists", "table", "sparse", "pipeline"])
def test_loaded_model_is_saved_as_it_was(files, name, tmp_path):
    _, file = files(name)
    again = load(persist.save(load(file), tmp_path / "model", precision="full"))
    X = take(CASES[name][1], 20)
    assert again.predict_proba(X).tobytes() == load(file).predict_proba(X).tobytes()
    assert_same_decision(again.decision_, load(file).decision_)


def test_decision_of_a_parameter_is_restored(files):
    for name in ("cost", "precision", "threshold", "at least two labels"):
        decision = load(files(name)[1]).decision
        assert isinstance(decision, Decision)
        assert decision == CASES[name][0]["decision"]
    assert load(files("f1")[1]).decision == "f1"


def test_estimator_of_a_parameter_is_restored_unfitted(files):
    estimator = load(files("pipeline")[1]).estimator
    assert isinstance(estimator, Pipeline)
    assert repr(estimator) == repr(PIPELINE)
    assert not hasattr(estimator[-1], "coef_")
    assert load(files("quick")[1]).estimator == "quick"


def test_feature_names_are_restored(tmp_path):
    model = fit("dense")
    model.feature_names_in_ = np.array([f"x{i}" for i in range(5)], object)
    loaded = load(persist.save(model, tmp_path / "model"))
    assert loaded.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3", "x4"]
    model.feature_names_in_ = model.feature_names_in_[:4]
    with pytest.raises(ModelFileError, match="feature_names_in_ must be"):
        persist.save(model, tmp_path / "model")


def test_other_classes_of_the_estimator_are_rejected_with_their_name(tmp_path):
    model = TextClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()))
    with pytest.raises(ModelFileError, match="TfidfVectorizer, which is not one of the classes"):
        model.fit(TEXTS, THREE).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_objects_as_encoder_are_not_stored(tmp_path):
    model = fit("nb")
    model.encoder = object()
    assert load(persist.save(model, tmp_path / "model")).encoder is None


# --- contradictions ----------------------------------------------------------------------------


def matrix(*rows):
    return lambda model: {"matrix": np.array(rows)}


DECISIONS = [
    ("macro_f1", matrix([1.0, 0.0], [0.0, 1.0]), "one for each class"),
    ("macro_f1", matrix(1.0, 1.0, 1.0), "one for each class"),
    ("macro_f1", lambda model: {"matrix": np.eye(3, dtype=np.float32)}, "one for each class"),
    ("macro_f1", lambda model: {"matrix": np.eye(4)}, "one for each class"),
    ("macro_f1", lambda model: {"matrix": model.decision_.matrix * np.nan}, "finite numbers"),
    ("macro_f1", lambda model: {"matrix": np.full((3, 3), np.inf)}, "finite numbers"),
    ("macro_f1", lambda model: {"matrix": np.eye(3) * 1e200}, "finite numbers"),
    ("macro_f1", lambda model: {"thresholds": np.full(3, 0.5)}, "another kind of labels"),
    ("macro_f1", lambda model: {"score": None}, "its score"),
    ("macro_f1", lambda model: {"score": float("nan")}, "finite numbers"),
    ("macro_f1", lambda model: {"score": "good"}, "finite numbers"),
    ("macro_f1", lambda model: {"optimize": "beauty"}, "what it optimizes"),
    ("macro_f1", lambda model: {"optimize": 3}, "what it optimizes"),
    ("f1", lambda model: {"threshold": None}, "its threshold"),
    ("f1", lambda model: {"threshold": float("inf")}, "finite numbers"),
    ("f1", lambda model: {"positive": "dog"}, "unknown class"),
    ("f1", lambda model: {"positive": ["ant"]}, "unknown class"),
    ("lists", lambda model: {"thresholds": np.full(3, 0.5)}, "one for each class"),
    ("lists", lambda model: {"thresholds": np.full((4, 1), 0.5)}, "one for each class"),
    ("lists", lambda model: {"thresholds": np.array([0.5, np.nan, 0.5, 0.5])}, "finite numbers"),
    ("lists", lambda model: {"thresholds": None}, "another kind of labels"),
    ("lists", lambda model: {"matrix": np.eye(4), "threshold": 0.5}, "another kind of labels"),
    ("lists", lambda model: {"min_labels": 5}, "valid number of labels"),
    ("lists", lambda model: {"min_labels": -1}, "valid number of labels"),
    ("lists", lambda model: {"min_labels": True}, "valid number of labels"),
    ("lists", lambda model: {"min_labels": 1.0}, "valid number of labels"),
]


@pytest.mark.parametrize(
    ("name", "change", "message"), DECISIONS, ids=[f"{i}-{d[2]}" for i, d in enumerate(DECISIONS)]
)
def test_invalid_decisions_are_neither_saved_nor_loaded(files, name, change, message, tmp_path):
    model = load(files(name)[1])
    model.decision_ = replace(model.decision_, **change(model))
    with pytest.raises(ModelFileError, match=message):
        persist.save(model, tmp_path / "model")
    model.oof_ = model.evaluation_ = None  # they cannot be written with this decision
    assert message in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize(
    ("name", "attributes", "message"),
    [
        ("nb", {"input_kind_": "numeric"}, "takes texts"),
        ("nb", {"input_kind_": "numeric", "n_features_in_": 3}, "takes texts"),
        ("nb", {"input_kind_": "table"}, "other columns"),
        ("nb", {"input_kind_": "audio"}, "input_kind_ must be"),
        ("nb", {"n_features_in_": 3}, "another kind of samples"),
        ("dense", {"input_kind_": "text"}, "takes numbers"),
        ("dense", {"n_features_in_": 6}, "other features"),
        ("table", {"input_kind_": "text"}, "other columns"),
        ("table", {"input_kind_": "numeric", "columns_": None}, "other columns"),
        ("nb", {"target_kind_": "lists"}, "not a multilabel classifier"),
        ("nb", {"target_kind_": "indicators"}, "not a multilabel classifier"),
        ("nb", {"target_kind_": "words"}, "target_kind_ must be"),
        ("lists", {"target_kind_": "label"}, "not a classifier"),
        ("lists", {"target_kind_": "indicators"}, "not indices"),
        ("nb", {"classes_": np.array(["a", "b", "c"])}, "other classes"),
        ("nb", {"classes_": np.array(["ant", "bee"])}, "other classes"),
        ("nb", {"columns_": ColumnRoles(text=("text",))}, "other columns"),
        ("table", {"columns_": None}, "other columns"),
        ("table", {"columns_": ColumnRoles(text=("text",))}, "other columns"),
        (
            "table",
            {"columns_": ColumnRoles(("kind",), ("text",), ("size",), ("day",))},
            "other columns",
        ),
        ("nb", {"estimator_": LinearSVMClassifier().fit(NUMBERS, THREE)}, "without a pipeline"),
        ("nb", {"estimator_": make_pipeline(LinearSVMClassifier())}, "not fitted"),
        (
            "nb",
            {"estimator_": make_pipeline(TextVectorizer().fit(TEXTS))},
            "not a classifier",
        ),
        (
            "dense",
            {"estimator_": make_pipeline(LinearSVMClassifier().fit(NUMBERS[:, :3], THREE))},
            "other features",
        ),
    ],
)
def test_contradictions_are_neither_saved_nor_loaded(files, name, attributes, message, tmp_path):
    model = load(files(name)[1])
    vars(model).update(oof_=None, evaluation_=None, **attributes)
    with pytest.raises(ModelFileError, match=message):
        persist.save(model, tmp_path / "model")
    assert message in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize(
    ("name", "other", "message"),
    [
        ("nb", "lists", "other classes"),
        ("lists", "nb", "another kind of labels"),
        ("indicators", "nb", "other classes"),
        ("nb", "f1", "another number of samples"),
        ("nb", "integers", "other classes"),
    ],
)
def test_records_of_another_model_are_rejected(files, name, other, message, tmp_path):
    model = load(files(name)[1])
    model.evaluation_ = files(other)[0].evaluation_
    if other == "f1":  # scores of fewer samples
        X, y = TEXTS[:30], THREE[:30]
        model.evaluation_ = TextClassifier("nb", oof=True).fit(X, y).evaluation_
    with pytest.raises(ModelFileError, match=message):
        persist.save(model, tmp_path / "model")


def test_scores_of_other_classes_in_a_file_are_rejected(files, tmp_path):
    file = files("nb")[1]

    def change(tree):
        scores = tree["model"]["fitted"]["evaluation_"]
        scores["classes"][0][0] = 3

    assert "unknown classes" in load_error(rewrite(file, tmp_path / "model", tree=change))


@pytest.mark.parametrize(("name", "other"), [("nb", "lists"), ("lists", "nb")])
def test_scores_of_another_kind_in_a_file_are_rejected(files, name, other, tmp_path):
    model = load(files(name)[1])
    scores = files(other)[0].evaluation_
    model.evaluation_ = replace(scores, classes=model.evaluation_.classes)
    assert load_error(forge(model, tmp_path / "model"))
    model.evaluation_ = replace(model.evaluation_, confusion=None, classes=())
    model.evaluation_ = replace(model.evaluation_, scores=scores.scores)
    assert "another kind of labels" in load_error(forge(model, tmp_path / "model"))


@pytest.mark.parametrize(
    "entry", ["oof_", "evaluation_", "scope_", "decision_", "columns_", "input_kind_", "estimator_"]
)
def test_missing_entries_are_rejected(files, entry, tmp_path):
    def change(tree):
        del tree["model"]["fitted"][entry]

    sentence = load_error(rewrite(files("nb")[1], tmp_path / "model", tree=change))
    assert "missing or unexpected entry" in sentence


@pytest.mark.parametrize(
    ("entry", "node"),
    [
        ("decision_", None),
        ("decision_", []),
        ("decision_", {}),
        ("decision_", {"plain": {}, "matrix": None, "thresholds": None}),
        ("decision_", {"plain": [], "matrix": None, "thresholds": None, "more": 1}),
        ("columns_", []),
        ("columns_", {"text": 3}),
        ("columns_", {"sound": ["text"]}),
        ("columns_", "text"),
        ("estimator_", None),
        ("estimator_", "nb"),
        ("n_features_in_", 0),
    ],
)
def test_entries_of_the_wrong_structure_are_rejected(files, entry, node, tmp_path):
    def change(tree):
        tree["model"]["fitted"][entry] = node

    load_error(rewrite(files("table")[1], tmp_path / "model", tree=change))


def test_message_about_invalid_columns_is_short(files, tmp_path):
    def change(tree):
        tree["model"]["fitted"]["columns_"] = {"text": {"x" * 5000: 1}}

    sentence = load_error(rewrite(files("table")[1], tmp_path / "model", tree=change))
    assert "invalid columns" in sentence


@pytest.mark.parametrize(
    "change",
    [
        lambda fitted: fitted.update(oof_source_={"dict": [["other", "cv"]]}),
        lambda fitted: fitted.update(oof_source_={"dict": []}),
        lambda fitted: fitted["_names"].__setitem__(0, "other"),
    ],
)
def test_sources_of_other_members_are_rejected(files, change, tmp_path):
    def apply(tree):
        steps = tree["model"]["fitted"]["estimator_"]["nested"]["steps"]
        change(steps[-1][1]["fitted"])

    sentence = load_error(rewrite(files("lists")[1], tmp_path / "model", tree=apply))
    assert "sources of other members" in sentence


@pytest.mark.parametrize(
    ("entry", "node"),
    [
        ("decision", "beauty"),
        ("decision", 3),
        ("decision", []),
        ("decision", {"optimize": "f1"}),
        ("estimator", None),
        ("estimator", 3),
        ("estimator", "x" * 2000),
        ("estimator", {"class": "os.system", "params": {}}),
    ],
)
def test_invalid_parameters_are_rejected(files, entry, node, tmp_path):
    def change(tree):
        tree["model"]["nested"][entry] = node

    load_error(rewrite(files("nb")[1], tmp_path / "model", tree=change))


@pytest.mark.parametrize(
    ("name", "value"), [("language", 3), ("class_weight", [1]), ("oof", 3), ("calibrate", None)]
)
def test_parameters_of_the_wrong_type_are_rejected(files, name, value, tmp_path):
    def change(tree):
        tree["model"]["params"][name] = value

    sentence = load_error(rewrite(files("nb")[1], tmp_path / "model", tree=change))
    assert "parameter of the wrong type" in sentence
