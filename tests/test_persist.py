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
from cordwood.persist import PROTOCOL, TYPES, Card, load, read_card, save
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
    """Carries any object as an attribute, under a name that skops trusts."""


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
    """Make a model file around any object, as an attacker would who does not call `save`."""
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


def refusal(file):
    with pytest.raises(ModelFileError) as caught:
        load(file)
    sentence = str(caught.value)
    assert str(file) in sentence
    assert "\n" not in sentence
    assert len(sentence) < len(str(file)) + 400
    return sentence


# --- what comes back ------------------------------------------------------------------------


def test_predictions_come_back_to_the_last_bit(saved):
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
def test_labels_of_any_type_come_back(y, tmp_path):
    model = LinearSVMClassifier(random_state=3).fit(X, y)
    file = save(model, tmp_path / "model")
    assert load(file).predict(X).dtype == model.predict(X).dtype
    assert load(file).predict(X).tolist() == model.predict(X).tolist()
    assert read_card(file).classes == tuple(str(label) for label in model.classes_)


def test_texts_come_back(tmp_path):
    texts = ["__loader__ and __id__ make words", "words make 42", "sun", "sun and moon"]
    model = make_pipeline(
        TextVectorizer(preset="social", stop_words=["and"]), LinearSVMClassifier(random_state=0)
    ).fit(texts, [0, 0, 1, 1])
    loaded = load(save(model, tmp_path / "model"))
    unseen = [*texts, "", "moon words"]
    assert loaded.predict_proba(unseen).tobytes() == model.predict_proba(unseen).tobytes()


def test_words_that_look_like_nodes_are_words(tmp_path):
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
def test_plain_state_comes_back(thing, tmp_path):
    loaded = load(save(carry(thing), tmp_path / "model")).thing
    assert type(loaded) is type(thing)
    assert repr(loaded) == repr(thing)
    if isinstance(thing, np.ndarray):
        assert loaded.dtype == thing.dtype
        assert loaded.flags.f_contiguous == thing.flags.f_contiguous


def test_an_object_in_two_places_comes_back_in_both(tmp_path):
    part = fitted()
    loaded = load(save(carry([part, {"again": part}]), tmp_path / "model"))
    first, second = loaded.thing[0], loaded.thing[1]["again"]
    assert first.predict_proba(X).tobytes() == second.predict_proba(X).tobytes()


def test_card_tells_what_was_said(saved):
    card = read_card(saved)
    assert (card.protocol, card.fingerprint, card.recipe) == (PROTOCOL, "abc", "svm")
    assert card.columns == {"text": ["title", "body"], "label": "topic"}
    assert card.classes == ("no", "yes")
    assert card.versions["numpy"] == np.__version__
    assert card.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(card.versions) == {"cordwood", "python", "numpy", "scipy", "scikit-learn", "skops"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", card.created)


def test_card_of_a_model_without_classes_has_none(tmp_path):
    assert read_card(save(StandardScaler().fit(X), tmp_path / "model")).classes == ()


def test_card_needs_no_model(saved, tmp_path):
    broken = rewrite(saved, tmp_path / "model", schema=lambda tree: {})
    assert read_card(broken) == read_card(saved)
    assert "damaged" in refusal(broken)


def test_every_listed_type_exists():
    for name in TYPES:
        module, _, attribute = name.rpartition(".")
        found = getattr(import_module(module), attribute)
        assert f"{found.__module__}.{found.__qualname__}" == name


# --- saving what could not be opened ---------------------------------------------------------


def double(X):
    return 2 * X


class Stranger(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


def refused_by_save(model, file):
    file.write_text("what was there before")
    with pytest.raises(ModelFileError, match="was not written: the model ") as caught:
        save(model, file)
    assert file.read_text() == "what was there before"
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (lambda: make_pipeline(FunctionTransformer(double), StandardScaler()).fit(X), "double"),
        (lambda: DecisionTreeClassifier().fit(X, Y), "sklearn.tree._tree.Tree"),
        (lambda: SVC().fit(X, Y), "sklearn.svm._classes.SVC"),
        (lambda: carry(np.random.RandomState(0)), "numpy.random.mtrand.RandomState"),
        (lambda: Stranger().fit(X, Y), "Stranger"),
        (lambda: carry(sp.csr_array(X)), "scipy.sparse._csr.csr_array"),
        (lambda: carry(len), "builtins.len"),
        (lambda: carry(np.log), ".log, which"),
        (lambda: carry({True: 1}), "builtins.bool"),
        (lambda: carry({1: "a", "1": "b"}), "equal as text, such as 1 and '1'"),
        (lambda: carry({(1, 2): "a"}), "cannot be kept in a file"),
    ],
    ids=[
        "function", "tree", "kernel machine", "generator", "stranger", "sparse", "builtin",
        "ufunc", "bool key", "equal keys", "tuple key",
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_not_saved(model, named, tmp_path):
    assert named in refused_by_save(model(), tmp_path / "model")


def test_unfitted_models_are_not_saved(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet: fit it, then save it"):
        save(LinearSVMClassifier(), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_take_a_file_is_named(tmp_path):
    with pytest.raises(ModelFileError, match="was not written: it is a folder"):
        save(fitted(), tmp_path)
    with pytest.raises(ModelFileError, match="was not written: there is no folder .*missing"):
        save(fitted(), tmp_path / "missing" / "model")


def test_columns_that_json_cannot_hold_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match="columns must be what JSON can hold"):
        save(fitted(), tmp_path / "model", columns={"text": {"a", "b"}})
    assert not list(tmp_path.iterdir())


# --- files that are not model files ----------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a cordwood model file"),
        (b"id,text,label\n1,hello,a\n", "is not a cordwood model file"),
        (pickle.dumps({"a": 1}), "seems to be a pickle, which could run code"),
        (b"PK\x03\x04 and so on", "is damaged or cut short"),
    ],
    ids=["empty", "csv", "pickle", "half a zip"],
)
def test_other_files_are_told_apart(content, said, tmp_path):
    file = tmp_path / "model"
    file.write_bytes(content)
    assert said in refusal(file)
    with pytest.raises(ModelFileError, match=said):
        read_card(file)


def test_a_pickle_is_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trap"),)

    (tmp_path / "model").write_bytes(pickle.dumps(Trap()))
    refusal(tmp_path / "model")
    assert not (tmp_path / "trap").exists()


def test_missing_files_and_folders_are_named(tmp_path):
    assert "does not exist" in refusal(tmp_path / "nothing")
    assert "is not a file" in refusal(tmp_path)
    if Path("/dev/zero").exists():
        assert "is not a file" in refusal("/dev/zero")


def test_a_link_leads_to_its_file(saved, tmp_path):
    try:
        (tmp_path / "link").symlink_to(saved)
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert load(tmp_path / "link").predict(X).tolist() == fitted().predict(X).tolist()


def test_a_skops_file_of_another_program_is_told_apart(tmp_path):
    (tmp_path / "model").write_bytes(skops.io.dumps(fitted()))
    assert "there is no cordwood.json in it" in refusal(tmp_path / "model")


# --- protocols and versions ------------------------------------------------------------------


def test_newer_protocols_ask_for_a_newer_cordwood(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {"protocol": PROTOCOL + 1})
    assert f"is of protocol {PROTOCOL + 1}" in refusal(file)
    assert refusal(file).endswith("update cordwood")


@pytest.mark.parametrize("protocol", [0, -1, "1", 1.0, True, None, [1], "x" * 10_000])
def test_a_protocol_is_a_positive_number(protocol, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", card=lambda card: {**card, "protocol": protocol})
    assert "has no valid protocol number" in refusal(file)


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
def test_a_card_of_another_shape_is_refused(change, saved, tmp_path):
    refusal(rewrite(saved, tmp_path / "model", card=change))


def test_a_card_that_is_no_json_is_refused(saved, tmp_path):
    refusal(rewrite(saved, tmp_path / "model", cordwood__json=b"{'protocol': 1"))
    refusal(rewrite(saved, tmp_path / "model", cordwood__json=b"[" * 100_000))


@pytest.mark.parametrize(("shift", "warned"), [("0.1.0", True), ("{}.99", False)])
def test_another_scikit_learn_is_said_once(shift, warned, saved, tmp_path):
    here = read_card(saved).versions["scikit-learn"]
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
        assert f"was saved with scikit-learn {other} and this is {here}" in str(caught[0].message)
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
def test_nothing_that_could_act_is_opened(thing, named, saved, tmp_path):
    for payload in (carry(thing), thing, [thing]):
        sentence = refusal(forge(payload, saved, tmp_path / "model"))
        assert named in sentence
        assert "which a model file may not hold" in sentence


def test_many_refused_types_still_make_one_sentence(saved, tmp_path):
    things = [os.mkdir, os.remove, eval, exec, compile, "\x1b[31m"]
    assert "and 2 more types" in refusal(forge(carry(things), saved, tmp_path / "model"))


def test_names_from_the_file_cannot_speak_to_the_terminal(saved, tmp_path):
    def change(tree):
        next(nodes(tree))["__class__"] = "\x1b[31m\nred" + "x" * 10_000

    sentence = refusal(rewrite(saved, tmp_path / "model", schema=change))
    assert "\x1b" not in sentence


@pytest.mark.parametrize("target", ["posix.system", "builtins.eval", "builtins.map", *TYPES])
def test_no_loader_reaches_anything_else(target, saved, tmp_path):
    module, _, name = target.rpartition(".")
    whole = json.loads(members_of(saved)["schema.json"])
    for loader in [*{kind for kind, _ in skops.io._persist.NODE_TYPE_MAPPING}, "NoSuchNode", ""]:

        def change(tree, loader=loader):
            node = next(node for node in nodes(tree) if node["__loader__"] == "JsonNode")
            node.update(__loader__=loader, __module__=module, __class__=name, __id__=1)
            node.update(content={"func": "fit", "obj": whole}, attrs=whole)

        sentence = refusal(rewrite(saved, tmp_path / "model", schema=change))
        if target not in TYPES and loader != "ObjectNode":
            assert target in sentence, loader


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, -1, "2", None])
def test_an_older_protocol_of_skops_opens_no_door(protocol, saved, tmp_path):
    def change(tree):
        tree["protocol"] = protocol
        for node in nodes(tree):
            if node["__loader__"] == "JsonNode":
                content = {"module_path": "os", "function": "system"}
                node.update(__loader__="FunctionNode", __module__="numpy", __class__="log")
                node.update(content=content)

    refusal(rewrite(saved, tmp_path / "model", schema=change))


def test_a_class_cannot_be_smuggled_in_as_the_type_of_a_key(saved, tmp_path):
    def change(tree):
        for node in nodes(tree):
            if node["__loader__"] == "TypeNode":
                node.update(__module__="cordwood.text.vectorizer", __class__="TextVectorizer")

    assert "TextVectorizer" in refusal(rewrite(saved, tmp_path / "model", schema=change))


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


def test_a_short_file_cannot_stand_for_an_endless_tree(saved, tmp_path):
    # Each level holds the level below and, under the name of a leaf, the same level once more.
    tree = leaf(1)
    for level in range(2, 60):
        tree = pair(level, tree, leaf(level - 1) if level > 2 else leaf(1))
    file = rewrite(saved, tmp_path / "model", schema=lambda old: {**tree, "protocol": 2})
    assert "refers back to itself" in refusal(file)


def test_a_tree_cannot_hold_itself(saved, tmp_path):
    tree = pair(1, leaf(2), leaf(1))
    file = rewrite(saved, tmp_path / "model", schema=lambda old: {**tree, "protocol": 2})
    assert "refers back to itself" in refusal(file)


@pytest.mark.parametrize("number", [0, -1, None, "1", 1.0, True, [1]])
def test_objects_are_numbered(number, saved, tmp_path):
    # skops remembers no object of number 0, and would read its array anew for each mention.
    def change(tree):
        next(nodes(tree))["__id__"] = number

    refusal(rewrite(saved, tmp_path / "model", schema=change))


def test_an_array_is_not_read_for_many_objects(saved, tmp_path):
    def change(tree):
        every = [node for node in nodes(tree) if node.get("type") == "numpy"]
        every[1]["file"] = every[0]["file"]

    sentence = refusal(rewrite(saved, tmp_path / "model", schema=change))
    assert "an array that belongs to another object" in sentence


def test_deep_trees_are_refused(saved, tmp_path):
    refusal(rewrite(saved, tmp_path / "model", schema__json=b"[" * 200_000))
    head = b'{"__class__":"list","__module__":"builtins","__loader__":"ListNode","content":['
    tree = head * 5000 + b"]}" * 5000
    refusal(rewrite(saved, tmp_path / "model", schema__json=tree))


@pytest.mark.parametrize("schema", [b"", b"null", b"[]", b"{}", b'"x"', b"\xff\xfe", b"1" * 9999])
def test_a_schema_of_another_shape_is_refused(schema, saved, tmp_path):
    refusal(rewrite(saved, tmp_path / "model", schema__json=schema))


def test_a_file_must_hold_a_fitted_estimator(saved, tmp_path):
    assert "holds no estimator" in refusal(forge({"a": 1}, saved, tmp_path / "model"))
    refusal(forge(LinearSVMClassifier(), saved, tmp_path / "model"))


def array_bytes(array, allow_pickle=False):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


class Boobytrap:
    def __reduce__(self):
        return os.mkdir, ("trap",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (array_bytes(np.array([Boobytrap()]), allow_pickle=True), "array of type object"),
        (pickle.dumps(Boobytrap()), "damaged"),
        (array_bytes(np.zeros(4))[:-8], "not of the size it says"),
        (array_bytes(np.zeros(4)) + b"more", "not of the size it says"),
        (array_bytes(np.zeros(4)).replace(b"(4,)", b"(4000000000000,)"), "damaged|size"),
        (array_bytes(np.zeros(4)).replace(b"(4,), ", b"(9**99,"), "damaged"),
        (array_bytes(np.zeros(1, dtype="S1")).replace(b"|S1", b"|S0"), "no model needs"),
        (b"\x93NUMPY\x03\x00" + array_bytes(np.zeros(4))[8:], "damaged"),
        (b"", "damaged"),
    ],
    ids=["objects", "pickle", "short", "long", "huge", "formula", "empty type", "version", "empty"],
)
def test_arrays_are_what_they_say(content, said, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = next(name for name in members_of(saved) if name.endswith(".npy"))
    file = rewrite(saved, tmp_path / "model", **{name.replace(".", "__"): content})
    assert re.search(said, refusal(file))
    assert not (tmp_path / "trap").exists()


def test_a_small_file_cannot_unfold_into_a_large_one(saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", compression=ZIP_DEFLATED)
    assert "compressed" in refusal(file)
    data = bytearray(saved.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")  # its size, unpacked
    (tmp_path / "model").write_bytes(data)
    assert "more bytes than it has" in refusal(tmp_path / "model")


@pytest.mark.parametrize("name", ["../escape.npy", "/etc/passwd", "a.py", "1.npy", "x\\1.npy"])
def test_members_of_other_names_are_refused(name, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model", **{name: b""})
    assert "a member that no model needs" in refusal(file)


@pytest.mark.parametrize("name", ["schema.json", "cordwood.json"])
def test_two_members_of_one_name_are_refused(name, saved, tmp_path):
    file = rewrite(saved, tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipFile(file, "a") as archive:
            archive.writestr(name, members_of(saved)[name])
    assert "two members of the same name" in refusal(file)


def test_a_missing_member_is_damage(saved, tmp_path):
    for name in members_of(saved):
        refusal(rewrite(saved, tmp_path / "model", **{name.replace(".", "__"): None}))


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
def test_changed_bytes_are_noticed_or_harmless(saved, changes):
    data = bytearray(saved.read_bytes())
    for place, mask in changes:
        data[int(place * (len(data) - 1))] ^= mask
    check_damaged(saved, bytes(data))


@settings(deadline=None, max_examples=150)
@given(place=st.floats(0, 1), mask=st.integers(1, 255))
def test_changed_bytes_in_the_directory_are_noticed_or_harmless(saved, place, mask):
    data = bytearray(saved.read_bytes())
    start = data.index(b"PK\x01\x02")
    data[start + int(place * (len(data) - 1 - start))] ^= mask
    check_damaged(saved, bytes(data))


@settings(deadline=None, max_examples=60)
@given(place=st.floats(0, 1, exclude_max=True))
def test_cut_files_are_refused(saved, place):
    file = saved.parent / "cut"
    file.write_bytes(saved.read_bytes()[: int(place * saved.stat().st_size)])
    refusal(file)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_changed_tree_is_refused_or_harmless(saved, data):
    """Damage that an attacker repaired the checksums of: any node, any field, any value."""
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


def test_cards_are_records():
    card = Card(protocol=1, versions={}, created="")
    with pytest.raises(AttributeError):
        card.protocol = 2
