import functools
import io
import json
import operator
import os
import pickle
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cordwood import persist
from cordwood.exceptions import ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.persist import PROTOCOL, TYPES, ModelCard, load, load_with_card, read_model_card, save
from cordwood.text.vectorizer import TextVectorizer

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
        fingerprint="abc",
        recipe="svm",
        columns={"text": ["title", "body"], "label": "topic"},
    )


class Carrier(LogisticRegression):
    """Holds any object as an attribute, under a class name that skops trusts."""


Carrier.__module__ = LogisticRegression.__module__
Carrier.__name__ = Carrier.__qualname__ = "LogisticRegression"


def carry(thing):
    carrier = Carrier().fit(X, Y)
    carrier.thing = thing
    return carrier


def members_of(file):
    with ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file, target, *, schema=None, card=None, compression=ZIP_STORED, **members):
    """Copy a model file with other content."""
    content = members_of(file)
    if schema is not None:
        tree = json.loads(content["schema.json"])
        changed = schema(tree)
        content["schema.json"] = json.dumps(tree if changed is None else changed).encode()
    if card is not None:
        fields = json.loads(content["cordwood.json"])
        changed = card(fields)
        content["cordwood.json"] = json.dumps(fields if changed is None else changed).encode()
    content.update({name.replace("__", "."): data for name, data in members.items()})
    with ZipFile(target, "w", compression=compression) as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)
    return target


def forge(thing, saved, target):
    """Make a model file around any object, as an attacker would, without `save`."""
    data = skops.io.dumps(thing)
    card = members_of(saved)["cordwood.json"]
    buffer = io.BytesIO(data)
    with ZipFile(buffer, "a") as archive:
        archive.writestr("cordwood.json", card)
    target.write_bytes(buffer.getvalue())
    return target


def nodes(tree):
    """All nodes of skops's tree."""
    if isinstance(tree, dict):
        if isinstance(tree.get("__loader__"), str):
            yield tree
        for value in tree.values():
            yield from nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes(value)


def load_error(file):
    with pytest.raises(ModelFileError) as caught:
        load(file)
    sentence = str(caught.value)
    assert str(file) in sentence
    assert "\n" not in sentence
    assert len(sentence) < len(str(file)) + 400
    return sentence


# --- round trips ----------------------------------------------------------------------------


def test_predictions_of_a_loaded_model_are_bit_identical(saved):
    model, loaded = fitted(), load(saved)
    rows = np.random.RandomState(0).normal(size=(50, 2))
    assert loaded.predict_proba(rows).tobytes() == model.predict_proba(rows).tobytes()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
    assert loaded[-1].class_weight == {"no": 2.0}


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 3, 3, 8, 8, 8]),
        np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
        np.array([True, True, True, False, False, False]),
        np.array(["ä", "ä", "ä", "\U0001f600", "\U0001f600", "\U0001f600"], dtype=object),
    ],
    ids=["int", "float", "bool", "object"],
)
def test_label_types_round_trip(y, tmp_path):
    model = LinearSVMClassifier(random_state=3).fit(X, y)
    file = save(model, tmp_path / "model")
    assert load(file).predict(X).dtype == model.predict(X).dtype
    assert load(file).predict(X).tolist() == model.predict(X).tolist()
    assert read_model_card(file).classes == tuple(str(label) for label in model.classes_)


def test_text_pipeline_round_trips(tmp_path):
    texts = ["__loader__ and __id__ make words", "words make 42", "sun", "sun and moon"]
    model = make_pipeline(
        TextVectorizer(preset="social", stop_words=["and"]), LinearSVMClassifier(random_state=0)
    ).fit(texts, [0, 0, 1, 1])
    loaded = load(save(model, tmp_path / "model"))
    unseen = [*texts, "", "moon words"]
    assert loaded.predict_proba(unseen).tobytes() == model.predict_proba(unseen).tobytes()


def test_keys_named_like_node_fields_round_trip(tmp_path):
    tree_words = {"__loader__": 1.0, "__id__": 2.0, "content": 3.0, "__class__": 4.0}
    assert load(save(carry(tree_words), tmp_path / "model")).thing == tree_words


@pytest.mark.parametrize(
    "thing",
    [
        {1: "a", 2: "b"},
        {np.int64(1): "a", np.str_("x"): None},
        {"nested": [(1, 2.5), {"deep": {3, 4}}], "none": None},
        [float("inf"), -0.0, 1e-320, 2**60, True],
        np.array([["a", None], [1, 2.5]], dtype=object),
        np.zeros((0, 3), dtype=np.float32),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([(1, 2.5)], dtype=[("left", "<i4"), ("right", "<f8")]),
        np.array([b"a", b"bc"]),
        np.float32(0.1),
        np.bool_(False),
    ],
    ids=repr,
)
def test_plain_state_round_trips(thing, tmp_path):
    loaded = load(save(carry(thing), tmp_path / "model")).thing
    assert type(loaded) is type(thing)
    assert repr(loaded) == repr(thing)
    if isinstance(thing, np.ndarray):
        assert loaded.dtype == thing.dtype
        assert loaded.flags.f_contiguous == thing.flags.f_contiguous


def test_shared_object_round_trips(tmp_path):
    part = fitted()
    loaded = load(save(carry([part, {"again": part}]), tmp_path / "model"))
    first, second = loaded.thing[0], loaded.thing[1]["again"]
    assert first.predict_proba(X).tobytes() == second.predict_proba(X).tobytes()


def test_model_card_round_trips(saved):
    card = read_model_card(saved)
    assert (card.protocol, card.fingerprint, card.recipe) == (PROTOCOL, "abc", "svm")
    assert card.columns == {"text": ["title", "body"], "label": "topic"}
    assert card.classes == ("no", "yes")
    assert card.versions["numpy"] == np.__version__
    assert card.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(card.versions) == {"cordwood", "python", "numpy", "scipy", "scikit-learn", "skops"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", card.created)


def test_model_card_without_classes(tmp_path):
    assert read_model_card(save(StandardScaler().fit(X), tmp_path / "model")).classes == ()


def test_model_card_is_read_without_the_model(saved, tmp_path):
    broken = rewrite(saved, tmp_path / "model", schema=lambda tree: {})
    assert read_model_card(broken) == read_model_card(saved)
    assert "damaged" in load_error(broken)


def test_every_listed_type_exists():
    for name in TYPES:
        module, _, attribute = name.rpartition(".")
        found = getattr(import_module(module), attribute)
        assert f"{found.__module__}.{found.__qualname__}" == name


# --- models that cannot be saved -------------------------------------------------------------


def double(X):
    return 2 * X


class CustomClassifier(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def save_error(model, file):
    file.write_text("old content")
    with pytest.raises(ModelFileError, match="cannot write .*: the model ") as caught:
        save(model, file)
    assert file.read_text() == "old content"
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (lambda: make_pipeline(FunctionTransformer(double), StandardScaler()).fit(X), "double"),
        (lambda: DecisionTreeClassifier().fit(X, Y), "sklearn.tree._tree.Tree"),
        (lambda: SVC().fit(X, Y), "sklearn.svm._classes.SVC"),
        (lambda: carry(np.random.RandomState(0)), "numpy.random.mtrand.RandomState"),
        (lambda: CustomClassifier().fit(X, Y), "CustomClassifier"),
        (lambda: carry(sp.csr_array(X)), "scipy.sparse._csr.csr_array"),
        (lambda: carry(len), "builtins.len"),
        (lambda: carry(np.log), ".log, which"),
        (lambda: carry({True: 1}), "builtins.bool"),
        (lambda: carry({1: "a", "1": "b"}), "equal as strings, such as 1 and '1'"),
        (lambda: carry({(1, 2): "a"}), "cannot be serialized"),
    ],
    ids=[
        "function", "tree", "kernel SVM", "generator", "custom class", "sparse", "builtin",
        "ufunc", "bool key", "equal keys", "tuple key",
    ],
)  # fmt: skip
def test_save_rejects_unsupported_models(model, named, tmp_path):
    assert named in save_error(model(), tmp_path / "model")


def test_save_rejects_unfitted_models(tmp_path):
    with pytest.raises(NotFittedError, match="is not fitted; fit it before saving it"):
        save(LinearSVMClassifier(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_save_names_an_invalid_path(tmp_path):
    with pytest.raises(ModelFileError, match="cannot write .*: it is a directory"):
        save(fitted(), tmp_path)
    with pytest.raises(ModelFileError, match="cannot write .*: directory .*missing does not exist"):
        save(fitted(), tmp_path / "missing" / "model")


def test_save_rejects_columns_that_are_not_json(tmp_path):
    with pytest.raises(ModelFileError, match="columns must be JSON-serializable"):
        save(fitted(), tmp_path / "model", columns={"text": {"a", "b"}})
    assert not list(tmp_path.iterdir())


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


def test_load_never_unpickles(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trap"),)

    (tmp_path / "model").write_bytes(pickle.dumps(Trap()))
    load_error(tmp_path / "model")
    assert not (tmp_path / "trap").exists()


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


def test_load_rejects_a_plain_skops_file(tmp_path):
    (tmp_path / "model").write_bytes(skops.io.dumps(fitted()))
    assert "it contains no cordwood.json" in load_error(tmp_path / "model")


# --- protocols and versions ------------------------------------------------------------------


def test_load_rejects_newer_protocols(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {"protocol": PROTOCOL + 1})
    assert f"has protocol {PROTOCOL + 1}" in load_error(file)
    assert load_error(file).endswith("upgrade cordwood")


@pytest.mark.parametrize("protocol", [0, -1, "1", 1.0, True, None, [1], "x" * 10_000])
def test_load_rejects_invalid_protocols(protocol, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {**card, "protocol": protocol})
    assert "has no valid protocol number" in load_error(file)


def test_each_protocol_has_a_reader(saved, tmp_path, monkeypatch):
    assert set(persist._READERS) == set(range(1, PROTOCOL + 1))
    file = rewrite(saved, tmp_path / "model", card=lambda card: {**card, "protocol": 1})
    monkeypatch.setattr(persist, "PROTOCOL", 2)
    monkeypatch.setattr(persist, "_READERS", {1: lambda data: "old", 2: lambda data: "new"})
    assert load(file) == "old"


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

    def age(tree):
        for node in nodes(tree):
            if "_sklearn_version" in node.get("content", ()):
                node["content"]["_sklearn_version"]["content"] = json.dumps(other)

    def change(card):
        card["versions"]["scikit-learn"] = other

    file = rewrite(saved, tmp_path / "model", schema=age, card=change)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(file)
    assert len(caught) == warned
    if warned:
        assert f"was saved with scikit-learn {other}, but {here} is installed" in str(
            caught[0].message
        )
        assert caught[0].filename == __file__


# --- crafted files ---------------------------------------------------------------------------


class Reduced:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return Reduced, (self.folder,)


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (os.system, "system"),
        (eval, "builtins.eval"),
        (functools.partial(os.mkdir, "trap"), "functools.partial"),
        (operator.methodcaller("fit", X, Y), "operator.methodcaller"),
        (operator.attrgetter("__class__"), "operator.attrgetter"),
        (LinearSVMClassifier().fit, "LinearSVMClassifier"),
        (Reduced("trap"), "Reduced"),
        (Path("trap"), "Path"),
        (np.random.default_rng(0), "Generator"),
        (np.dtype("f8"), "numpy.dtype"),
        (b"bytes", "builtins.bytes"),
        (slice(1, 2), "builtins.slice"),
        (os.stat_result, "os.stat_result"),
        (map, "builtins.map"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_load_rejects_types_that_could_run_code(thing, named, saved, tmp_path):
    for payload in (carry(thing), thing, [thing]):
        sentence = load_error(forge(payload, saved, tmp_path / "model"))
        assert named in sentence
        assert "which a model file may not contain" in sentence


def test_many_rejected_types_make_one_sentence(saved, tmp_path):
    things = [os.mkdir, os.remove, eval, exec, compile, "\x1b[31m"]
    assert "and 2 more types" in load_error(forge(carry(things), saved, tmp_path / "model"))


def test_names_from_the_file_are_escaped(saved, tmp_path):
    def change(tree):
        next(nodes(tree))["__class__"] = "\x1b[31m\nred" + "x" * 10_000

    sentence = load_error(rewrite(saved, tmp_path / "model", schema=change))
    assert "\x1b" not in sentence


@pytest.mark.parametrize("target", ["posix.system", "builtins.eval", "builtins.map", *TYPES])
def test_no_node_type_constructs_other_objects(target, saved, tmp_path):
    module, _, name = target.rpartition(".")
    whole = json.loads(members_of(saved)["schema.json"])
    for loader in [*{kind for kind, _ in skops.io._persist.NODE_TYPE_MAPPING}, "NoSuchNode", ""]:

        def change(tree, loader=loader):
            node = next(node for node in nodes(tree) if node["__loader__"] == "JsonNode")
            node.update(__loader__=loader, __module__=module, __class__=name, __id__=1)
            node.update(content={"func": "fit", "obj": whole}, attrs=whole)

        sentence = load_error(rewrite(saved, tmp_path / "model", schema=change))
        if target not in TYPES and loader != "ObjectNode":
            assert target in sentence, loader


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, -1, "2", None])
def test_older_skops_protocols_are_no_loophole(protocol, saved, tmp_path):
    def change(tree):
        tree["protocol"] = protocol
        for node in nodes(tree):
            if node["__loader__"] == "JsonNode":
                content = {"module_path": "os", "function": "system"}
                node.update(__loader__="FunctionNode", __module__="numpy", __class__="log")
                node.update(content=content)

    load_error(rewrite(saved, tmp_path / "model", schema=change))


def test_load_rejects_a_class_as_a_key_type(saved, tmp_path):
    def change(tree):
        for node in nodes(tree):
            if node["__loader__"] == "TypeNode":
                node.update(__module__="cordwood.text.vectorizer", __class__="TextVectorizer")

    assert "TextVectorizer" in load_error(rewrite(saved, tmp_path / "model", schema=change))


def leaf(number):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": "1",
        "__id__": number,
    }


def pair(number, left, right):
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": [left, right],
        "__id__": number,
    }


def test_load_rejects_exponentially_large_trees(saved, tmp_path):
    # Each level holds the level below and, under the id of a leaf, the same level once more.
    tree = leaf(1)
    for level in range(2, 60):
        tree = pair(level, tree, leaf(level - 1) if level > 2 else leaf(1))
    file = rewrite(saved, tmp_path / "model", schema=lambda old: {**tree, "protocol": 2})
    assert "contains itself" in load_error(file)


def test_load_rejects_cyclic_trees(saved, tmp_path):
    tree = pair(1, leaf(2), leaf(1))
    file = rewrite(saved, tmp_path / "model", schema=lambda old: {**tree, "protocol": 2})
    assert "contains itself" in load_error(file)


@pytest.mark.parametrize("number", [0, -1, None, "1", 1.0, True, [1]])
def test_load_rejects_invalid_object_ids(number, saved, tmp_path):
    # skops does not cache an object of id 0, and would read its array for each reference.
    def change(tree):
        next(nodes(tree))["__id__"] = number

    load_error(rewrite(saved, tmp_path / "model", schema=change))


def test_load_rejects_shared_arrays(saved, tmp_path):
    def change(tree):
        every = [node for node in nodes(tree) if node.get("type") == "numpy"]
        every[1]["file"] = every[0]["file"]

    sentence = load_error(rewrite(saved, tmp_path / "model", schema=change))
    assert "an array that is shared between objects" in sentence


def test_load_rejects_deep_trees(saved, tmp_path):
    load_error(rewrite(saved, tmp_path / "model", schema__json=b"[" * 200_000))
    head = b'{"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":['
    tree = head * 5000 + b"]}" * 5000
    load_error(rewrite(saved, tmp_path / "model", schema__json=tree))


@pytest.mark.parametrize("schema", [b"", b"null", b"[]", b"{}", b'"x"', b"\xff\xfe", b"1" * 9999])
def test_load_rejects_an_invalid_schema(schema, saved, tmp_path):
    load_error(rewrite(saved, tmp_path / "model", schema__json=schema))


def test_load_requires_a_fitted_estimator(saved, tmp_path):
    assert "contains no estimator" in load_error(forge({"a": 1}, saved, tmp_path / "model"))
    load_error(forge(LinearSVMClassifier(), saved, tmp_path / "model"))


def array_bytes(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


class Boobytrap:
    def __reduce__(self):
        return os.mkdir, ("trap",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (array_bytes(np.array([Boobytrap()]), allow_pickle=True), "array of dtype object"),
        (pickle.dumps(Boobytrap()), "damaged"),
        (array_bytes(np.zeros(4))[:-8], "size differs from its header"),
        (array_bytes(np.zeros(4)) + b"more", "size differs from its header"),
        (array_bytes(np.zeros(4)).replace(b"(4,)", b"(4000000000000,)"), "damaged|size"),
        (array_bytes(np.zeros(4)).replace(b"(4,), ", b"(9**99,"), "damaged"),
        (array_bytes(np.zeros(1, dtype="S1")).replace(b"|S1", b"|S0"), "a model may not have"),
        (b"\x93NUMPY\x03\x00" + array_bytes(np.zeros(4))[8:], "damaged"),
        (b"", "damaged"),
    ],
    ids=["objects", "pickle", "short", "long", "huge", "formula", "empty type", "version", "empty"],
)
def test_load_checks_array_headers(content, message, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(name for name in members_of(saved) if name.endswith(".npy"))
    file = rewrite(saved, tmp_path / "model", **{name.replace(".", "__"): content})
    assert re.search(message, load_error(file))
    assert not (tmp_path / "trap").exists()


def test_load_rejects_decompression_bombs(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", compression=ZIP_DEFLATED)
    assert "compressed" in load_error(file)
    data = bytearray(saved.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")  # its size, unpacked
    (tmp_path / "model").write_bytes(data)
    assert "larger than the file" in load_error(tmp_path / "model")


@pytest.mark.parametrize("name", ["../escape.npy", "/etc/passwd", "a.py", "1.npy", "x\\1.npy"])
def test_load_rejects_unexpected_archive_members(name, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", **{name: b""})
    assert "an unexpected archive member" in load_error(file)


@pytest.mark.parametrize("name", ["schema.json", "cordwood.json"])
def test_load_rejects_duplicate_archive_members(name, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipFile(file, "a") as archive:
            archive.writestr(name, members_of(saved)[name])
    assert "two archive members of the same name" in load_error(file)


def test_load_rejects_missing_archive_members(saved, tmp_path):
    for name in members_of(saved):
        load_error(rewrite(saved, tmp_path / "model", **{name.replace(".", "__"): None}))


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


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_changed_tree_is_rejected_or_harmless(saved, data):
    """Damage with valid checksums: any node, any field, any value."""
    values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**9), 10**9),
        st.sampled_from(["", "os", "system", "builtins", "eval", "numpy", "ndarray", "ObjectNode"]),
        st.sampled_from(["TypeNode", "ListNode", "DictNode", "NdArrayNode", "CachedNode"]),
        st.just([]),
        st.just({}),
    )

    def change(tree):
        every = list(nodes(tree))
        node = every[data.draw(st.integers(0, len(every) - 1))]
        key = data.draw(st.sampled_from(sorted(node)))
        if data.draw(st.booleans()):
            other = every[data.draw(st.integers(0, len(every) - 1))]
            node[key] = json.loads(json.dumps(other.get(key)))
        else:
            node[key] = data.draw(values)

    file = rewrite(saved, saved.parent / "changed", schema=change)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load(file)
    except ModelFileError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(model, BaseEstimator)


def test_model_cards_are_immutable():
    card = ModelCard(protocol=1, versions={}, created="")
    with pytest.raises(AttributeError):
        card.protocol = 2


def test_load_with_card_reads_the_file_once(saved, monkeypatch):
    reads = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: reads.append(path) or read_bytes(path))
    model, card = load_with_card(saved)
    assert reads == [saved]
    assert model.predict(X).tolist() == fitted().predict(X).tolist()
    monkeypatch.undo()
    assert card == read_model_card(saved)


@pytest.mark.parametrize("model", ["model.cordwood", None, LinearSVMClassifier])
def test_save_rejects_objects_that_are_not_estimators(model, tmp_path):
    with pytest.raises(ModelFileError, match="model must be a fitted estimator; got"):
        save(model, tmp_path / "model")
