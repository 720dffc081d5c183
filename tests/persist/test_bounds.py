"""Files that once took too much memory or time, or contained a model that failed when it was used.

Each is loaded and used in a child process with 512 MB of memory and 10 seconds of CPU time.
"""

import json
import os
import struct
import zipfile
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler

from cordwood import TextClassifier
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.exceptions import ModelFileError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.multilabel.problem_transformation import BinaryRelevance
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist import save
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.vectorizer import TextVectorizer
from fuzz_model_files import Model, run
from model_files import forge, load_error, members_of, objects_in, rewrite, write_members

TEXTS = [f"{word} number{i}" for i in range(6) for word in ("soup salt", "team goal", "star sky")]
LABELS = ["food", "sport", "space"] * 6
COUNTS = np.random.default_rng(0).poisson(1.0, (18, 5)).astype(float)

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


class CraftedFile(NamedTuple):
    """A file in place of a mutation of the fuzzer."""

    model: Model
    kind: str = "structured"

    def make(self) -> tuple[bytes, str]:
        return self.model.data, self.model.name


def use(file: Any) -> str:
    """Load and use a model with bounded memory and time; return the outcome."""
    model = Model(file.name, file.read_bytes(), TEXTS, np.empty(0))
    [(_, outcome)] = run([CraftedFile(model)])
    return outcome


def replace_final(model: Any, estimator: Any) -> Any:
    """Return a fitted model with another classifier at its end, as an attacker would write it."""
    model.estimator_.steps[-1] = ("classifier", estimator)
    return model


def fit(estimator: Any = "svm") -> Any:
    return TextClassifier(estimator, encoder=None, oof=False).fit(TEXTS, LABELS)


def fit_stack() -> Any:
    members = [("a", LinearSVMClassifier())]
    return OOBStackingClassifier(members, LogisticRegression(), cv=2).fit(COUNTS, LABELS)


def fit_vectors() -> Any:
    return TextVectorizer(preset="social").fit(TEXTS)


# --- time ------------------------------------------------------------------------------------


def nest_pipelines(tree: Any) -> Any:
    return {"class": "sklearn.Pipeline", "params": {}, "nested": {"steps": [["a", tree]]}}


def nest_stacks(tree: Any) -> Any:
    stack = json.loads(json.dumps(tree))
    stack["nested"]["estimators"][0][1] = tree
    stack["fitted"]["estimators_"][0][1] = tree
    return stack


@needs_fork
@pytest.mark.parametrize(
    ("model", "nest", "depth"),
    [
        (lambda: fit_vectors(), nest_pipelines, 9),
        (lambda: fit_vectors(), nest_pipelines, 16),
        (lambda: fit_stack(), nest_stacks, 6),
        (lambda: fit_stack(), nest_stacks, 9),
    ],
)
def test_nested_estimators_take_bounded_time(model, nest, depth, tmp_path):
    """A stack is in the parameters and in the attributes of the one around it."""
    file = save(model(), tmp_path / "model")

    def change(tree):
        for _ in range(depth):
            tree["model"] = nest(tree["model"])

    file = rewrite(file, tmp_path / "nested", tree=change)
    is_valid = depth == (9 if nest is nest_pipelines else 6)
    assert use(file) == ("other valid model" if is_valid else "rejected")


def test_nested_estimators_are_not_saved(tmp_path):
    model: Any = fit_vectors()
    for _ in range(10):
        model = Pipeline([("a", model)])
    with pytest.raises(ModelFileError, match="nested in more than 10 levels"):
        save(model, tmp_path / "model")


# --- memory ----------------------------------------------------------------------------------


def add_junk(file: Any, target: Any) -> Any:
    """Add a value of five million objects under a key that occurs twice."""
    tree = members_of(file)["model.json"]
    junk = b'{"model":[' + b"{}," * 5_000_000 + b"0]," + tree[1:]
    return rewrite(file, target, model__json=junk)


def refer_to_forest(file: Any, target: Any) -> Any:
    """Use one forest 450 times, as unfitted members of a stack."""
    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(300, bootstrap=False, max_features=None, random_state=0)
    forest = save(forest.fit(rng.normal(size=(400, 3)), rng.integers(2, size=400)), target)
    stack = save(fit_stack(), target.with_name("stack"))
    return _repeat_member(stack, forest, target, 450)


def refer_to_labels(file: Any, target: Any) -> Any:
    """Use one list of 60,000 labels 100 times."""
    labels = np.array([f"{i:06}" for i in range(60_000)], dtype=object)
    binarizer = save(LabelBinarizer().fit(labels), target)
    stack = save(fit_stack(), target.with_name("stack"))
    return _repeat_member(stack, binarizer, target, 100)


def repeat_transformers(file: Any, target: Any) -> Any:
    """Use 5,000 transformers, which scikit-learn takes long to print."""
    union = FeatureUnion([("a", TextVectorizer())]).fit(TEXTS)

    def change(tree):
        [[_, node]] = tree["model"]["nested"]["transformer_list"]
        del node["fitted"]
        tree["model"]["nested"]["transformer_list"] = [[f"a{i}", node] for i in range(5000)]

    return rewrite(save(union, file), target, tree=change)


def _repeat_member(stack: Any, member: Any, target: Any, times: int) -> Any:
    tree, content = json.loads(members_of(stack)["model.json"]), members_of(member)
    member_tree = json.loads(content["model.json"])
    node = {"class": tree["model"]["class"], "params": {}, "nested": tree["model"]["nested"]}
    node["nested"]["estimators"] = [[f"a{i}", member_tree["model"]] for i in range(times)]
    content["model.json"] = json.dumps({**member_tree, "model": node}).encode()
    return write_members(content, target)


def derive_tables(file: Any, target: Any) -> Any:
    """Store counts of naive Bayes that are all zero, from which probabilities are computed."""
    model = MultinomialNB().fit(np.abs(COUNTS), LABELS)
    model.classes_, model.n_features_in_ = np.arange(1000), 28_000
    model.feature_count_ = np.zeros((1000, 28_000))
    model.class_count_, model.class_log_prior_ = np.ones(1000), np.full(1000, -np.log(1000))
    return forge(model, target)


def enlarge_sorted(file: Any, target: Any) -> Any:
    """Store an array of bytes as differences, whose sums have eight bytes each."""
    content = members_of(file)
    tree = json.loads(content["model.json"])
    entry = {"dtype": "uint8", "shape": [125 * 2**20], "sorted": True}
    for node in objects_in(tree):
        if "coef_" in node.get("fitted", {}):
            node["fitted"]["coef_"]["values"] = len(tree["arrays"])
    tree["arrays"].append(entry)
    arrays = content["arrays"] + bytes(125 * 2**20)
    return rewrite(file, target, arrays=arrays, model__json=json.dumps(tree).encode())


@needs_fork
@pytest.mark.parametrize(
    "craft",
    [
        *(add_junk, refer_to_forest, refer_to_labels, repeat_transformers, derive_tables),
        enlarge_sorted,
    ],
)
def test_memory_is_bounded(craft, tmp_path):
    file = craft(save(fit(), tmp_path / "model"), tmp_path / "crafted")
    assert file.stat().st_size < 500_000
    assert use(file) == "rejected"
    assert "needs more memory than" in load_error(file)


def test_keys_that_occur_twice_are_rejected(tmp_path):
    file = save(fit(), tmp_path / "model")
    for name in ("model.json", "cordwood.json"):
        content = members_of(file)
        key = json.dumps(next(iter(json.loads(content[name])))).encode()
        content[name] = b"{" + key + b":0," + content[name][1:]
        assert "occurs more than once" in load_error(write_members(content, tmp_path / "changed"))


def test_directories_of_64_bits_are_limited(tmp_path):
    """`ZipFile` prefers them, so that the size in the directory of 32 bits says nothing."""
    file = save(fit(), tmp_path / "model")
    with zipfile.ZipFile(file, "a") as archive:
        for number in range(1000):
            archive.writestr(f"x{number}", b"")
    data = file.read_bytes()
    end = data[-22:]
    n_entries, size, start = struct.unpack("<HII", end[10:20])
    record = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, n_entries, n_entries, size, start
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(data) - 22, 1)
    end = end[:8] + struct.pack("<HHII", 4, 4, 100, start) + end[20:]
    file.write_bytes(data[:-22] + record + locator + end)
    assert len(zipfile.ZipFile(file).namelist()) == n_entries
    assert "more archive members than a model file has" in load_error(file)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    file.write_bytes(data[:-22] + record + locator + end)
    assert "is not where it should be" in load_error(file)


# --- models that fail when they are used -----------------------------------------------------


def one_vs_rest(**attributes: Any) -> Any:
    model = fit(make_pipeline(TextVectorizer(), OneVsRestClassifier(LogisticRegression())))
    for name, value in attributes.items():
        setattr(model.estimator_[-1], name, value)
    return model


def fit_step(estimator: Any) -> Any:
    X = fit_vectors().transform(TEXTS)
    return estimator.fit(X, LABELS)


def fit_binary(estimator: Any, n_outputs: int = 1) -> Any:
    X = fit(make_pipeline(TextVectorizer(), LogisticRegression())).estimator_[0].transform(TEXTS)
    y = np.arange(len(TEXTS)) % 2
    return estimator.fit(X, y if n_outputs == 1 else np.column_stack([y, 1 - y]))


UNUSABLE = {
    "transformer as a classifier": lambda: replace_final(
        fit(), fit_step(StandardScaler(with_mean=False))
    ),
    "binarizer as a classifier": lambda: replace_final(fit(), LabelBinarizer().fit(LABELS)),
    "estimator as a binarizer": lambda: one_vs_rest(
        label_binarizer_=fit_step(LinearSVMClassifier())
    ),
    "binarizer of two classes": lambda: one_vs_rest(label_binarizer_=LabelBinarizer().fit([0, 1])),
    "transformers in one-vs-rest": lambda: one_vs_rest(
        estimators_=[fit_step(StandardScaler(with_mean=False))] * 3
    ),
    "several labels in one-vs-rest": lambda: one_vs_rest(
        estimators_=[fit_binary(BinaryRelevance(LogisticRegression()), 2)] * 3
    ),
    "counts after tf-idf": lambda: make_pipeline(
        TextVectorizer(weighting="tfidf").fit(TEXTS),
        NeighborsClassifier(3, metric="tfidf_cosine").fit(
            TextVectorizer(weighting="tf").fit_transform(TEXTS), LABELS
        ),
    ),
    "centered sparse matrix": lambda: make_pipeline(
        fit_vectors(), fit_step(StandardScaler(with_mean=False)).set_params(with_mean=True)
    ),
    "texts passed through": lambda: FeatureUnion([("a", fit_vectors()), ("b", "passthrough")]),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_models_that_cannot_be_used_are_rejected(case, tmp_path):
    load_error(forge(UNUSABLE[case](), tmp_path / "model"))


@pytest.mark.parametrize("keyword", ["drop", "passthrough", None])
def test_keywords_after_a_classifier_are_rejected(keyword, tmp_path):
    file = save(fit(), tmp_path / "model")

    def change(tree):
        tree["model"]["fitted"]["estimator_"]["nested"]["steps"].append(["last", keyword])

    load_error(rewrite(file, tmp_path / "changed", tree=change))


def test_pipelines_of_keywords_in_place_of_a_vectorizer_are_rejected(tmp_path):
    """Whether or not the file says that the pipeline is fitted, and however it is nested."""
    for node in (None, "passthrough"):
        for _ in range(3):
            node = {"class": "sklearn.Pipeline", "params": {}, "nested": {"steps": [["a", node]]}}

            def change(tree, node=node):
                tree["model"]["fitted"]["estimator_"]["nested"]["steps"][0][1] = node

            load_error(rewrite(save(fit(), tmp_path / "a"), tmp_path / "b", tree=change))


@pytest.mark.parametrize("value", [[["text"]], {"a": 1}, [], 1, None])
def test_columns_of_a_card_are_names(value, tmp_path):
    file = save(fit(), tmp_path / "model")
    changed = rewrite(
        file, tmp_path / "changed", card=lambda card: {**card, "columns": {"text": value}}
    )
    assert "columns are not names or lists of names" in load_error(changed)
