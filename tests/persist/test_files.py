import pickle
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from cordwood.exceptions import ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.persist import ModelCard, load, read_model_card, save
from cordwood.persist.files import load_with_card
from cordwood.persist.model_card import PROTOCOL, TrainingRecord
from cordwood.text.vectorizer import TextVectorizer
from model_files import load_error, members_of, rewrite

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 2.5], [3.0, 1.0], [4.0, 0.0], [5.0, 2.0]])
Y = np.array(["no", "no", "no", "yes", "yes", "yes"])


def fitted():
    return make_pipeline(
        StandardScaler(), LinearSVMClassifier(random_state=0, class_weight={"no": 2.0})
    ).fit(X, Y)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(
        fitted(),
        tmp_path_factory.mktemp("models") / "model.cordwood",
        precision="full",
        provenance=TrainingRecord(
            fingerprint="abc",
            recipe="svm",
            columns={"text": ["title", "body"], "label": "topic"},
        ),
    )


class Carrier(ClassifierMixin, BaseEstimator):
    """A class of the user, with any attribute."""

    def __init__(self, n_jobs=None, random_state=None):
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def carry(thing):
    carrier = Carrier().fit(X, Y)
    carrier.thing = thing
    return carrier


def round_trip(thing, file):
    return load(save(carry(thing), file, trusted=[Carrier]), trusted=[Carrier]).thing


# --- round trips ----------------------------------------------------------------------------


def test_predictions_of_a_loaded_model_are_bit_identical_with_full_precision(saved):
    model, loaded = fitted(), load(saved)
    rows = np.random.RandomState(0).normal(size=(50, 2))
    assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
    assert loaded[-1].class_weight == {"no": 2.0}
    assert repr(loaded) == repr(model)


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 3, 3, 8, 8, 8]),
        np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
        np.array([True, True, True, False, False, False]),
        np.array(["ä", "ä", "ä", "\U0001f600", "\U0001f600", "\U0001f600"], dtype=object),
        np.array(["a", "a", "a", "b", "b", "b"], dtype="<U20"),
        np.array([3, 3, 3, 8, 8, 8], dtype=np.int8),
    ],
    ids=["int", "float", "bool", "object", "wide", "int8"],
)
def test_label_types_round_trip(y, tmp_path):
    model = LinearSVMClassifier(random_state=3).fit(X, y)
    file = save(model, tmp_path / "model")
    assert load(file).predict(X).dtype == model.predict(X).dtype
    assert load(file).predict(X).tolist() == model.predict(X).tolist()
    assert read_model_card(file).classes == tuple(str(label) for label in model.classes_)


def test_text_pipeline_round_trips(tmp_path):
    texts = ["class and params make words", "words make 42", "sun", "sun and moon \ud800 naïve"]
    model = make_pipeline(
        TextVectorizer(preset="social", stop_words=["and"]), LinearSVMClassifier(random_state=0)
    ).fit(texts, [0, 0, 1, 1])
    loaded = load(save(model, tmp_path / "model", precision="full"))
    unseen = [*texts, "", "moon words"]
    assert loaded.predict_proba(unseen).tobytes() == model.predict_proba(unseen).tobytes()


def test_feature_names_round_trip(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["länge", "b"])
    loaded = load(save(fitted().fit(frame, Y), tmp_path / "model"))
    assert loaded.feature_names_in_.tolist() == ["länge", "b"]
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"b": "c"}))


def test_parameters_that_a_file_cannot_contain_have_their_defaults(tmp_path):
    model = LinearSVMClassifier(random_state=np.random.RandomState(0), n_jobs=4, C=2).fit(X, Y)
    loaded = load(save(model, tmp_path / "model"))
    assert (loaded.random_state, loaded.n_jobs, loaded.C) == (None, None, 2)


def test_equal_models_have_equal_content(tmp_path):
    first, second = (members_of(save(fitted(), tmp_path / name)) for name in ("a", "b"))
    assert first["arrays"] == second["arrays"]
    assert first["model.json"] == second["model.json"]


@pytest.mark.parametrize(
    "thing",
    [
        {1: "a", 2: "b", "2": "c", False: "d", None: "e", (1, "x"): "f"},
        {np.int64(1): "a", np.str_("x"): None},
        {"nested": [(1, 2.5), {"deep": {3, 4}}], "none": None, "tuple": [(), frozenset({"a"})]},
        {"class": 1.0, "params": 2.0, "dict": {"tuple": 3.0}},
        [float("inf"), float("nan"), -0.0, 1e-320, 2**60, True],
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.array([["a", "bc"], ["ä", ""]]),
        np.zeros((0, 3), dtype=np.float32),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([[-(2**62), 2**62]]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.repeat([0.1, -0.0, 0.0, np.inf], 100),
        np.float32(0.1),
        np.bool_(False),
    ],
    ids=repr,
)
def test_plain_state_of_a_trusted_class_round_trips(thing, tmp_path):
    loaded = round_trip(thing, tmp_path / "model")
    assert type(loaded) is type(thing)
    assert repr(loaded) == repr(thing)
    if isinstance(thing, np.ndarray):
        assert loaded.dtype == thing.dtype
        assert loaded.flags.f_contiguous == thing.flags.f_contiguous


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array])
def test_sparse_matrices_round_trip(kind, tmp_path):
    matrix = kind(np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, 3]]))
    loaded = round_trip(matrix, tmp_path / "model")
    assert type(loaded) is kind
    np.testing.assert_array_equal(loaded.toarray(), matrix.toarray())


def test_estimators_in_a_trusted_class_round_trip(tmp_path):
    part = fitted()
    loaded = round_trip([part, {"again": part}], tmp_path / "model")
    first, second = loaded[0], loaded[1]["again"]
    assert first.predict_proba(X).tobytes() == second.predict_proba(X).tobytes()


def test_trusted_classes_may_be_given_by_name(tmp_path):
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, Y)
    file = save(model, tmp_path / "model", trusted=["sklearn.svm.LinearSVC"])
    loaded = load(file, trusted=["sklearn.svm._classes.LinearSVC"])
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_trusted_class_loses_its_number_of_jobs_and_generator(tmp_path):
    model = Carrier(n_jobs=8, random_state=np.random.RandomState(0)).fit(X, Y)
    loaded = load(save(model, tmp_path / "model", trusted=[Carrier]), trusted=[Carrier])
    assert (loaded.n_jobs, loaded.random_state) == (None, None)


@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        (["no.such.Thing"], "'no.such.Thing', which cannot be imported"),
        (["Thing"], "'Thing', which cannot be imported"),
        ("sklearn.svm.LinearSVC", "must be a list of classes"),
        (LinearSVC, "must be a list of classes"),
        ([3], "must contain classes or their names; got 3"),
    ],
)
def test_invalid_trusted_classes_raise(trusted, message, saved):
    with pytest.raises(ModelFileError, match=message):
        load(saved, trusted=trusted)


# --- model card ------------------------------------------------------------------------------


def test_model_card_round_trips(saved):
    card = read_model_card(saved)
    assert (card.protocol, card.fingerprint, card.recipe) == (PROTOCOL, "abc", "svm")
    assert card.columns == {"text": ["title", "body"], "label": "topic"}
    assert card.classes == ("no", "yes")
    assert card.precision == "full"
    assert card.versions["numpy"] == np.__version__
    assert card.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(card.versions) == {"cordwood", "python", "numpy", "scipy", "scikit-learn"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", card.created)


def test_model_card_contains_facts_about_the_training(tmp_path):
    facts = {"training time": "2.1 s"}
    record = TrainingRecord(training=facts)
    file = save(StandardScaler().fit(X), tmp_path / "model", provenance=record)
    assert read_model_card(file).training == facts
    with pytest.raises(ModelFileError, match="facts about the training are not texts"):
        record = TrainingRecord(training={"seconds": 2.1})
        save(StandardScaler().fit(X), tmp_path / "model", provenance=record)


def test_model_card_serves_as_the_record_of_another_file(saved, tmp_path):
    model, card = load_with_card(saved)
    copy = read_model_card(save(model, tmp_path / "model", provenance=card))
    assert (copy.fingerprint, copy.recipe, copy.columns) == ("abc", "svm", card.columns)
    assert copy.precision == "compact"


def test_model_card_without_classes(tmp_path):
    assert read_model_card(save(StandardScaler().fit(X), tmp_path / "model")).classes == ()


def test_model_card_is_read_without_the_model(saved, tmp_path):
    broken = rewrite(saved, tmp_path / "model", tree=lambda tree: {}, digests=False)
    assert read_model_card(broken) == read_model_card(saved)
    assert "damaged" in load_error(broken)


def test_model_cards_are_immutable():
    card = ModelCard(protocol=1, versions={}, created="")
    with pytest.raises(AttributeError):
        card.protocol = 2


def test_load_with_card_reads_the_file_once(saved, monkeypatch):
    opened = []
    original = open

    def spy(path, *arguments, **options):
        opened.append(path)
        return original(path, *arguments, **options)

    monkeypatch.setattr("builtins.open", spy)
    model, card = load_with_card(saved)
    monkeypatch.undo()
    assert [path for path in opened if path == saved] == [saved]
    assert model.predict(X).tolist() == fitted().predict(X).tolist()
    assert card == read_model_card(saved)


# --- models that cannot be saved -------------------------------------------------------------


def double(X):
    return 2 * X


def save_error(model, file, **options):
    file.write_text("old content")
    with pytest.raises(ModelFileError, match="cannot write .*: the model ") as caught:
        save(model, file, **options)
    assert file.read_text() == "old content"
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (lambda: make_pipeline(FunctionTransformer(double), StandardScaler()).fit(X), "Function"),
        (lambda: DecisionTreeClassifier().fit(X, Y), "DecisionTreeClassifier"),
        (lambda: SVC().fit(X, Y), "sklearn.svm._classes.SVC"),
        (lambda: CountVectorizer().fit(["some words"]), "CountVectorizer"),
        (lambda: carry(1), "Carrier"),
    ],
    ids=["function", "tree", "kernel SVM", "vectorizer", "custom class"],
)
def test_save_rejects_other_classes_and_names_the_remedy(model, named, tmp_path):
    sentence = save_error(model(), tmp_path / "model")
    assert named in sentence
    assert "to save and to load, pass trusted=[" in sentence


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (np.random.RandomState(0), "numpy.random.mtrand.RandomState"),
        (len, "builtin_function_or_method"),
        (np.log, "ufunc"),
        (b"bytes", "builtins.bytes"),
        (2**70, "does not fit in 64 bits"),
        (np.array([b"a"]), "an array of type bytes"),
        (np.array([(1, 2.5)], dtype=[("left", "<i4"), ("right", "<f8")]), "an array of type void"),
        (DecisionTreeClassifier().fit(X, Y).tree_, "sklearn.tree._tree.Tree"),
    ],
    ids=["generator", "builtin", "ufunc", "bytes", "integer", "byte array", "records", "tree"],
)
def test_save_rejects_other_values_in_trusted_classes(thing, named, tmp_path):
    assert named in save_error(carry(thing), tmp_path / "model", trusted=[Carrier])


def test_save_rejects_unfitted_models(tmp_path):
    with pytest.raises(NotFittedError, match="is not fitted; fit it before saving it"):
        save(LinearSVMClassifier(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_save_names_an_invalid_path(tmp_path):
    with pytest.raises(ModelFileError, match="cannot write .*: it is a directory"):
        save(fitted(), tmp_path)
    with pytest.raises(ModelFileError, match="cannot write .*: directory .*missing does not exist"):
        save(fitted(), tmp_path / "missing" / "model")


def test_save_rejects_columns_that_are_not_names(tmp_path):
    with pytest.raises(ModelFileError, match="columns are not names or lists of names"):
        record = TrainingRecord(columns={"text": {"a", "b"}})
        save(fitted(), tmp_path / "model", provenance=record)
    assert not list(tmp_path.iterdir())


def test_save_rejects_an_unknown_precision(tmp_path):
    with pytest.raises(ModelFileError, match="precision must be 'compact' or 'full'; got 'half'"):
        save(fitted(), tmp_path / "model", precision="half")


@pytest.mark.parametrize("model", ["model.cordwood", None, LinearSVMClassifier])
def test_save_rejects_objects_that_are_not_estimators(model, tmp_path):
    with pytest.raises(ModelFileError, match="model must be a fitted estimator; got"):
        save(model, tmp_path / "model")


# --- files that are not model files ----------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a cordwood model file"),
        (b"id,text,label\n1,hello,a\n", "is not a cordwood model file"),
        (pickle.dumps({"a": 1}), "seems to be a pickle, which may run code"),
        (b"PK\x03\x04 and so on", "is damaged or truncated"),
    ],
    ids=["empty", "csv", "pickle", "half a zip"],
)
def test_load_rejects_other_files(content, message, tmp_path):
    file = tmp_path / "model"
    file.write_bytes(content)
    assert message in load_error(file)
    with pytest.raises(ModelFileError, match=message):
        read_model_card(file)


def test_load_names_missing_files_and_directories(tmp_path):
    assert "does not exist" in load_error(tmp_path / "nothing")
    assert "is not a file" in load_error(tmp_path)
    if Path("/dev/zero").exists():
        assert "is not a file" in load_error("/dev/zero")


def test_load_follows_symbolic_links(saved, tmp_path):
    try:
        (tmp_path / "link").symlink_to(saved)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert load(tmp_path / "link").predict(X).tolist() == fitted().predict(X).tolist()


# --- protocols and versions ------------------------------------------------------------------


def test_load_rejects_newer_protocols(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {"protocol": PROTOCOL + 1})
    assert f"has protocol {PROTOCOL + 1}" in load_error(file)
    assert load_error(file).endswith("upgrade cordwood")


@pytest.mark.parametrize("protocol", [0, -1, "1", 1.0, True, None, [1], "x" * 10_000])
def test_load_rejects_invalid_protocols(protocol, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {**card, "protocol": protocol})
    assert "has no valid protocol number" in load_error(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda card: [card],
        lambda card: {"protocol": 1},
        lambda card: {**card, "surplus": 1},
        lambda card: {**card, "classes": [1, 2]},
        lambda card: {**card, "classes": 3},
        lambda card: {**card, "versions": {"scikit-learn": 1}},
        lambda card: {**card, "versions": "1.0"},
        lambda card: {**card, "created": None},
        lambda card: {**card, "recipe": {"a": 1}},
        lambda card: {**card, "fingerprint": 7},
        lambda card: {**card, "columns": ["text"]},
    ],
)
def test_load_rejects_an_invalid_card(change, saved, tmp_path):
    load_error(rewrite(saved, tmp_path / "model", card=change))


def test_load_rejects_a_card_that_is_not_json(saved, tmp_path):
    load_error(rewrite(saved, tmp_path / "model", cordwood__json=b"{'protocol': 1"))
    load_error(rewrite(saved, tmp_path / "model", cordwood__json=b"[" * 100_000))


@pytest.mark.parametrize(("shift", "warned"), [("0.1.0", True), ("{}.99", False)])
def test_load_warns_once_about_another_scikit_learn(shift, warned, saved, tmp_path):
    here = read_model_card(saved).versions["scikit-learn"]
    other = shift.format(".".join(here.split(".")[:2]))

    def change(card):
        card["versions"]["scikit-learn"] = other

    file = rewrite(saved, tmp_path / "model", card=change)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(file)
    assert len(caught) == warned
    if warned:
        assert f"was saved with scikit-learn {other}, but {here} is installed" in str(
            caught[0].message
        )
        assert caught[0].filename == __file__


# --- damage ----------------------------------------------------------------------------------


def check_damaged(saved, data):
    file = saved.parent / "damaged"
    file.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = load(file)
    except ModelFileError as error:
        assert str(file) in str(error)
        assert "\n" not in str(error)
    else:
        assert model.predict_proba(X).tobytes() == fitted().predict_proba(X).tobytes()


@settings(deadline=None, max_examples=150)
@given(changes=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=3))
def test_changed_bytes_are_detected_or_harmless(saved, changes):
    data = bytearray(saved.read_bytes())
    for place, mask in changes:
        data[int(place * (len(data) - 1))] ^= mask
    check_damaged(saved, bytes(data))


@settings(deadline=None, max_examples=150)
@given(place=st.floats(0, 1), mask=st.integers(1, 255))
def test_changed_directory_bytes_are_detected_or_harmless(saved, place, mask):
    data = bytearray(saved.read_bytes())
    start = data.index(b"PK\x01\x02")
    data[start + int(place * (len(data) - 1 - start))] ^= mask
    check_damaged(saved, bytes(data))


@settings(deadline=None, max_examples=60)
@given(place=st.floats(0, 1, exclude_max=True))
def test_load_rejects_truncated_files(saved, place):
    file = saved.parent / "cut"
    file.write_bytes(saved.read_bytes()[: int(place * saved.stat().st_size)])
    load_error(file)


@pytest.mark.parametrize("name", ["model.json", "arrays", "cordwood.json"])
def test_content_that_differs_from_its_digest_is_damaged(name, saved, tmp_path):
    content = bytearray(members_of(saved)[name])
    content[len(content) // 2] ^= 1
    changed = {name.replace(".", "__"): bytes(content)}
    file = rewrite(saved, tmp_path / "model", digests=False, **changed)
    assert "is damaged or truncated (its content does not match its SHA-256" in load_error(file)
