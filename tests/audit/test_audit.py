import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from cordwood import TextClassifier
from cordwood.audit import audit_dataset
from cordwood.audit.dataset_audit import KINDS
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError

WORDS = {
    "sport": "goal team match player ball coach race medal league stadium referee score".split(),
    "food": "bread soup salt cheese apple sauce taste dish pepper dinner recipe oven".split(),
    "film": "scene actor plot cinema drama script sequel cast director camera screen".split(),
}


def make_texts(n_samples, seed=0):
    """Different texts of three classes."""
    rng = np.random.default_rng(seed)
    common = [f"w{i}x" for i in range(300)]
    labels = [list(WORDS)[i % 3] for i in range(n_samples)]
    texts = [
        " ".join([*rng.choice(WORDS[label], 3, replace=False), *rng.choice(common, 12)])
        for label in labels
    ]
    return texts, labels


def corpus(texts, labels, **fields):
    ids = [f"r{i}" for i in range(len(texts))]
    return Corpus(texts=texts, labels=labels, ids=ids, **fields)


def train_model(data, recipe="quick"):
    return TextClassifier(recipe, encoder=None, oof=True).fit(data)


def ids(audit, kind):
    return [suspect.id for suspect in audit.select(kind)]


@pytest.fixture(scope="module")
def audit():
    """Audit of texts with one problem of each kind."""
    texts, labels = make_texts(150)
    labels[10], labels[20] = "sport", "sport"  # of food and film
    texts[31] = texts[28].upper()  # same label
    texts[33] = texts[32]  # another label
    texts[37] = texts[34] + "!"  # near-duplicate
    texts[40] = " \n"
    texts[41] = "\ufffd" * 20 + "abc"
    texts[42] += " caf\u00c3\u00a9"
    texts[43] = "+++ 12 +++"
    texts[44] = "zwei ganz andere sätze mit keinem einzigen bekannten begriff darin heute morgen"
    data = corpus(texts, labels)
    test = corpus([*make_texts(20, 1)[0], texts[60]], ["sport"] * 21)
    return audit_dataset(data, model=train_model(data), test=test)


def test_label_errors_have_suggestions_words_and_neighbors(audit):
    assert set(ids(audit, "label error")) >= {"r10", "r20"}
    [first] = [each for each in audit.select("label error") if each.id == "r10"]
    assert (first.label, first.suggested_label, first.index) == ("sport", "food", 10)
    assert 0.5 < first.confidence <= 1
    assert set(first.words) & set(WORDS["food"])
    assert "nearest texts are food" in first.reason
    assert first.related_ids
    assert first.text == first.text.strip() != ""


def test_words_of_label_errors_are_no_punctuation():
    texts, labels = make_texts(90)
    texts = [text + " ''" * (label == "food") for text, label in zip(texts, labels, strict=True)]
    labels[labels.index("food")] = "sport"
    data = corpus(texts, labels)
    audit = audit_dataset(data, model=train_model(data))
    found = [each.words for each in audit.select("label error")]
    assert any(found)
    assert not any("''" in words for words in found)


def test_suspects_of_single_texts(audit):
    assert ids(audit, "empty text") == ["r40"]
    assert ids(audit, "garbled text") == ["r41"]
    assert ids(audit, "encoding error") == ["r42"]
    assert ids(audit, "no letters") == ["r43"]
    assert "r44" in ids(audit, "outlier")
    assert not {"r40", "r41", "r43"} & set(ids(audit, "label error"))


def test_duplicates_and_contradictions(audit):
    assert ids(audit, "duplicate") == ["r31"]
    assert audit.select("duplicate")[0].related_ids == ("r28",)
    assert ids(audit, "near-duplicate") == ["r37"]
    assert ids(audit, "contradictory label") == ["r32", "r33"]
    reasons = {suspect.reason for suspect in audit.select("contradictory label")}
    assert reasons == {"equal samples have different labels: film (1), sport (1)"}
    assert [suspect.suggested_label for suspect in audit.select("contradictory label")] == [
        None
    ] * 2


def test_leakage(audit):
    [suspect] = audit.select("leakage")
    assert (suspect.id, suspect.index, suspect.is_test) == ("r20", 20, True)
    assert suspect.related_ids == ("r60",)


def test_order_and_counts(audit):
    kinds = [suspect.kind for suspect in audit.suspects]
    assert kinds == sorted(kinds, key=KINDS.index)
    assert audit.counts == {kind: kinds.count(kind) for kind in KINDS if kind in kinds}
    assert audit.n_samples == 150
    assert audit.accuracy > 0.8
    with pytest.raises(CordwoodError, match="kind must be one of 'label error'"):
        audit.select("typo")


def test_fix(audit):
    fix = audit.fix()
    assert fix.dropped == (31, 40, 41)  # the leaked sample of the test set has the index 20
    assert fix.relabelled == {}
    expected = {
        suspect.index: suspect.suggested_label
        for suspect in audit.select("label error")
        if suspect.confidence >= 0.95
    }
    assert audit.fix(relabel=True) == (fix.dropped, expected)
    assert expected


def test_tables(audit):
    frame = audit.to_frame()
    assert len(frame) == len(audit.suspects)
    assert list(frame.columns[:3]) == ["kind", "index", "id"]
    assert list(audit.to_frame("confused_classes").columns) == [
        "labels", "n_errors", "error_rate", "words",
    ]  # fmt: skip
    assert len(audit.to_frame("findings")) == len(audit.findings)
    with pytest.raises(CordwoodError, match="table must be one of"):
        audit.to_frame("labels")


def test_to_dict_is_json(audit):
    record = json.loads(json.dumps(audit.to_dict()))
    assert record["counts"] == audit.counts
    assert record["suspects"][0]["id"] == audit.suspects[0].id


def test_text_and_html(audit):
    assert "1 x duplicate: r31 (food): equal to r28\n" in str(audit)
    page = audit._repr_html_()
    assert page.startswith("<table><caption>audit of 150 samples of 3 classes")
    assert "<td>duplicate</td><td>1</td>" in page


def test_html_is_escaped():
    data = corpus(["<script>alert(1)</script>"] * 2 + ["b", "c"], ["<b>", "<i>"] * 2)
    page = audit_dataset(data)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_clean_data():
    audit = audit_dataset(corpus(*make_texts(240)))
    assert (audit.suspects, audit.findings, audit.accuracy) == ((), (), None)
    assert str(audit) == "audit of 240 samples of 3 classes\nno findings"


def test_problems_of_labels_are_those_of_check_dataset():
    texts, labels = make_texts(90)
    audit = audit_dataset(corpus(texts, ["Film " if i == 2 else y for i, y in enumerate(labels)]))
    assert [finding.kind for finding in audit.findings] == ["spellings"]
    assert audit.fix().relabelled == {2: "film"}


def test_majority_of_equal_texts_is_suggested():
    texts, labels = make_texts(60)
    texts[3] = texts[6] = texts[10] = texts[0]
    audit = audit_dataset(corpus(texts, labels))
    [suspect] = audit.select("contradictory label")
    assert (suspect.id, suspect.suggested_label) == ("r10", "sport")
    assert ids(audit, "duplicate") == ["r3", "r6"]


def test_near_duplicate_with_an_exact_copy_of_its_own():
    texts, labels = make_texts(60)
    texts[3] = texts[6] = texts[0] + "!"
    audit = audit_dataset(corpus(texts, labels))
    assert ids(audit, "duplicate") == ["r6"]
    [suspect] = audit.select("near-duplicate")
    assert (suspect.id, suspect.reason) == ("r3", "similar to r0")


def test_leakage_between_subsets_of_a_split():
    texts, labels = make_texts(60)
    texts[50] = texts[2] + "."
    split = ["train"] * 40 + ["test"] * 20
    [suspect] = audit_dataset(corpus(texts, labels, split=split)).select("leakage")
    assert (suspect.id, suspect.index, suspect.is_test) == ("r50", 50, False)
    assert suspect.related_ids == ("r2",)


def test_repeats_in_a_cluster_of_several_labels():
    texts, labels = make_texts(60)
    texts[1] = texts[0] + "."  # of another class
    texts[3] = texts[0] + "!"
    texts[6] = texts[3].upper()
    audit = audit_dataset(corpus(texts, labels))
    assert ids(audit, "contradictory label") == ["r1"]
    assert ids(audit, "near-duplicate") == ["r3"]
    assert ids(audit, "duplicate") == ["r6"]


def test_texts_that_differ_only_after_the_part_that_is_compared_are_similar():
    start = " ".join(make_texts(60)[0])[:2100]
    texts, labels = make_texts(60)
    texts[0], texts[3] = start + " one end", start + " another end"
    [suspect] = audit_dataset(corpus(texts, labels)).suspects
    assert (suspect.kind, suspect.reason) == ("near-duplicate", "similar to r0 (cosine 1.00)")


def test_model_must_have_out_of_fold_predictions_of_the_samples():
    data = corpus(*make_texts(60))
    model = train_model(data, "nb")
    assert audit_dataset(data, model=model).accuracy == np.mean(
        model.oof_.y_pred == model.oof_.y_true
    )
    others = corpus(data.texts, data.labels[::-1])
    for other in (
        TextClassifier("svm", oof=False).fit(data),
        train_model(data.select(range(40)), "nb"),
        train_model(others, "nb"),
    ):
        with pytest.raises(CordwoodError, match="out-of-fold predictions of the samples"):
            audit_dataset(data, model=other)


def test_model_that_cannot_be_explained():
    texts, labels = make_texts(60)
    labels[3] = "food"
    data = corpus(texts, labels)
    X = CountVectorizer().fit_transform(texts)
    audit = audit_dataset(
        data, model=train_model(FeatureMatrix(X=X, ids=data.ids, labels=labels), "nb")
    )
    assert "r3" in ids(audit, "label error")
    assert {suspect.words for suspect in audit.select("label error")} == {()}


def test_texts_of_a_table():
    texts, labels = make_texts(90)
    labels[3] = "food"
    length = tuple(float(len(text)) for text in texts)
    data = corpus(texts, labels, columns={"length": length})
    columns = {"text": ["text"], "numeric": ["length"]}
    for model in (
        train_model(data, "nb"),
        TextClassifier("nb", columns=columns, oof=True).fit(data),
    ):
        [suspect] = [
            each
            for each in audit_dataset(data, model=model).select("label error")
            if each.id == "r3"
        ]
        assert set(suspect.words) & set(WORDS["sport"])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_numeric_features(convert):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = np.abs(rng.normal(size=(120, 5))) + 2 * y[:, None] * (np.arange(5) < 3)
    X[7], X[9] = X[5], X[8]
    labels = np.where(y == 1, "b", "a")
    labels[20] = "b"
    data = FeatureMatrix(X=convert(X), ids=[f"r{i}" for i in range(120)], labels=labels.tolist())
    audit = audit_dataset(data, model=train_model(data, "nb"), test=data.select([3]))
    assert ids(audit, "duplicate") == ["r7"]
    assert ids(audit, "contradictory label") == ["r8", "r9"]
    assert ids(audit, "leakage") == ["r3"]
    assert "r20" in ids(audit, "label error")
    assert {suspect.text for suspect in audit.suspects} == {""}


def test_progress_names_the_steps():
    calls = []
    texts, labels = make_texts(120)
    labels[5] = "food"
    data = corpus(texts, labels)
    audit_dataset(data, model=train_model(data, "nb"), progress=lambda *call: calls.append(call))
    steps = dict.fromkeys(step for step, _, _ in calls)
    assert list(steps) == [
        "comparing texts", "reading texts", "comparing words", "explaining label errors",
    ]  # fmt: skip
    last = {step: (done, total) for step, done, total in calls}
    assert all(done == total for done, total in last.values())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Corpus(texts=["a", "b"], ids=["1", "2"]), "no labels"),
        (
            corpus(["a", "b"], [("x",), ("y", "x")]),
            "several labels each, which an audit does not support",
        ),
        (corpus(["a", "b"], ["x", "x"]), "label"),
    ],
)
def test_invalid_data(data, message):
    with pytest.raises(DataError, match=message):
        audit_dataset(data)


def test_test_set_of_another_type():
    data = corpus(*make_texts(20))
    test = FeatureMatrix(X=np.eye(2), ids=["1", "2"])
    with pytest.raises(DataError, match="test must have texts"):
        audit_dataset(data, test=test)


def test_texts_without_words():
    audit = audit_dataset(corpus(["", "!", "?", "."], ["a", "b", "a", "b"]))
    assert audit.counts == {"empty text": 1, "no letters": 3}


class LetterEncoder:
    """Counts letters, and the texts that it encodes."""

    def __init__(self):
        self.n_texts = 0

    def encode(self, texts):
        self.n_texts += len(texts)
        letters = "abcdefghijklmnopqrstuvwxyz"
        return np.array([[text.count(letter) for letter in letters] for text in texts], float)


def test_most_label_errors_are_explained_without_the_encoder():
    texts, labels = make_texts(300)
    for i in range(0, 60, 3):
        labels[i] = "food"  # of sport
    data = corpus(texts, labels)
    encoder = LetterEncoder()
    params = {"recipe_params": {"members": ["nb"], "prune_tol": 0.0}}
    model = TextClassifier("quick", encoder=encoder, oof=True, **params).fit(data)
    assert model.view.stack.pruned_ == []
    encoder.n_texts = 0
    first, *others = audit_dataset(data, model=model).select("label error")
    assert "; words: " in first.reason
    assert len(others) > 5
    assert all("; words without embeddings: " in each.reason for each in others if each.words)
    assert all(set(each.words) & set(WORDS["sport"]) for each in others if each.words)
    # Each text once, and the words of the first one.
    assert encoder.n_texts <= len(others) + 2 * 15 + 2
