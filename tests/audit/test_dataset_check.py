import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.audit import audit_dataset, check_dataset, dataset_check
from cordwood.audit.suspects import DEFINITIONS
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError


def corpus(texts, labels, **fields):
    return Corpus(texts=texts, labels=labels, ids=[f"r{i}" for i in range(len(texts))], **fields)


def distinct_texts(n, seed=0):
    """Random texts without near-duplicates."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(500)]
    return [" ".join(rng.choice(words, 12)) + f" t{i}" for i in range(n)]


def kinds(data, **options):
    return [finding.kind for finding in check_dataset(data, **options).findings]


def find(data, kind, **options):
    [found] = [each for each in check_dataset(data, **options).findings if each.kind == kind]
    return found


def test_clean_data_have_no_findings():
    data = corpus(distinct_texts(200), ["sport", "politics"] * 100)
    check = check_dataset(data)
    assert (check.findings, str(check)) == ((), "no findings")
    assert check.class_counts == {"sport": 100, "politics": 100}
    assert check.n_samples == 200


def test_small_classes():
    data = corpus(distinct_texts(14), ["a"] * 10 + ["b"] * 4)
    assert find(data, "small classes").message == (
        "1 class has fewer than 5 samples: b (4); label more of them, or merge or remove them"
    )


def test_labels_that_differ_by_case_blanks_or_unicode_form():
    labels = ["Sport", "sport ", "SPORT", "caf\u00e9", "cafe\u0301", "other"] * 10
    found = find(corpus(distinct_texts(60), labels), "spellings")
    assert found.message.startswith("2 labels are spelled in several ways, ")


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([f"2024-01-{day:02}" for day in range(1, 29)] * 5, "dates"),
        ([f"{day}/3/2024" for day in range(1, 29)] * 5, "dates"),
        ([f"{number / 7:.3f}" for number in range(140)], "numbers"),
        ([f"user{number}" for number in range(140)], "ids"),
        ([f"{n:08x}-aaaa-4bbb-8ccc-123456789abc" for n in range(10)] * 14, "ids"),
        (["a", "a;b", "b;c", "a;b;c", "c;a", "b", "c"] * 20, "lists"),
        (["a|b", "b|c", "a|c", "b|a"] * 35, "lists"),
    ],
)
def test_labels_of_another_kind(labels, kind):
    assert kinds(corpus(distinct_texts(140), labels)) == [kind]


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "2", "3", "4", "5"] * 28,  # ratings
        ["yes, definitely", "no, never", "maybe"] * 46 + ["maybe"] * 2,  # not combinations
        ["comp.graphics", "sci.med", "rec/autos", "2024-plan"] * 35,
        [f"intent {number}" for number in range(28)] * 5,
    ],
)
def test_ordinary_labels_are_not_reported(labels):
    assert kinds(corpus(distinct_texts(140), labels)) == []


def test_empty_texts():
    texts = distinct_texts(20)
    texts[3] = texts[7] = " \n\t"
    found = find(corpus(texts, ["a", "b"] * 10), "empty text")
    assert found.ids == ("r3", "r7")
    assert found.message == "2 texts are empty: r3, r7; remove them, or check the text column"


def test_duplicates_and_contradictory_labels():
    texts = distinct_texts(40)
    labels = ["a", "b"] * 20
    texts[10] = texts[0].upper()  # both of class a
    texts[11] = f"  {texts[2]}"  # of class b, the other of class a
    data = corpus(texts, labels)
    assert find(data, "duplicate").ids == ("r10",)
    assert find(data, "duplicate").message.startswith(
        "1 sample is equal to an earlier sample with the same label, except for case and white "
        f"space: r10 '{texts[10][:37]}...' (equal to r0); keep"
    )
    assert find(data, "contradictory label").ids == ("r2", "r11")


def test_empty_texts_are_not_duplicates():
    assert kinds(corpus(["", *distinct_texts(20), ""], ["a", "b"] * 11)) == ["empty text"]


def test_near_duplicates():
    texts = distinct_texts(300)
    texts[7] = texts[3] + "!"
    found = find(corpus(texts, ["a", "b"] * 150), "near-duplicate")
    assert found.ids == ("r7",)
    assert found.message.startswith(
        "1 sample is similar (cosine of the sets of character 4-grams at least 0.8) to an earlier "
        "sample with the same label: r7 "
    )


def test_near_duplicates_do_not_depend_on_groups():
    texts = distinct_texts(300)
    texts[7] = texts[3] + "!"
    groups = [str(i // 2) for i in range(300)]
    found = find(corpus(texts, ["a", "b"] * 150, groups=groups), "near-duplicate")
    assert found.ids == ("r7",)


def test_all_of_many_samples_are_compared():
    texts = distinct_texts(3300)
    texts = [*texts, *(text + "!" for text in texts[:300])]
    found = find(corpus(texts, ["a", "b"] * 1800), "near-duplicate")
    assert found.ids == tuple(f"r{i}" for i in range(3300, 3600))


def test_leakage_between_training_and_test_samples():
    texts = distinct_texts(120)
    train = corpus(texts[:100], ["a", "b"] * 50)
    test = corpus([*texts[100:], texts[5].title(), texts[6] + "!", ""], ["a"] * 23)
    found = find(train, "leakage", test=test)
    assert found.ids == ("r20", "r21")
    assert found.message.startswith("2 test samples are equal or similar (cosine of the sets")
    assert "leakage" not in kinds(train, test=test.select(range(20)))


def test_test_set_of_another_type():
    test = FeatureMatrix(X=np.eye(2), ids=["1", "2"])
    with pytest.raises(DataError, match="test must have texts"):
        check_dataset(corpus(distinct_texts(10), ["a", "b"] * 5), test=test)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_an_audit(seed):
    rng = np.random.default_rng(seed)
    texts = distinct_texts(60, seed)
    texts += [text + rng.choice(["", " ", "!", " a"]) for text in texts[:40]]
    labels = rng.choice(["a", "b"], 100).tolist()
    data, test = corpus(texts, labels), corpus([text + "." for text in texts[::9]], ["a"] * 12)
    findings = {each.kind: each.ids for each in check_dataset(data, test=test).findings}
    audit = audit_dataset(data, test=test)
    suspects = {kind: tuple(each.id for each in audit.select(kind)) for kind in DEFINITIONS}
    assert findings == suspects
    assert all(suspects.values())


@pytest.mark.parametrize(("limit", "similar", "known"), [(21, 0, 1), (22, 1, 1), (24, 1, 2)])
def test_similar_texts_are_not_looked_for_among_very_many(monkeypatch, limit, similar, known):
    monkeypatch.setattr(dataset_check, "_MAX_SIMILAR", limit)
    texts = distinct_texts(20)
    data = corpus([*texts, texts[2].upper(), texts[5] + " x"], ["a", "b"] * 11)
    test = corpus([texts[0], texts[7] + "."], ["a", "b"])
    found = {each.kind: each.ids for each in check_dataset(data, test=test).findings}
    assert found["duplicate"] == ("r20",)
    assert len(found.get("near-duplicate", ())) == similar
    assert len(found["leakage"]) == known


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_numeric_features(convert):
    X = np.random.default_rng(0).normal(size=(30, 4)) * (np.arange(4) > 0)
    X[9], X[5] = X[3], X[4]
    X[9, 0] = -0.0
    data = FeatureMatrix(X=convert(X), ids=[str(i) for i in range(30)], labels=["a", "b"] * 15)
    check = check_dataset(data, test=data.select([0, 1]))
    assert {finding.kind: finding.ids for finding in check.findings} == {
        "duplicate": ("9",),
        "contradictory label": ("4", "5"),
        "leakage": ("0", "1"),
    }


def test_multilabel_data():
    data = corpus(distinct_texts(20), [("a", "b"), ("b",)] * 10)
    check = check_dataset(data)
    assert check.class_counts == {"b": 20, "a": 10}
    assert check.findings == ()


def test_data_without_labels():
    with pytest.raises(DataError, match="no labels"):
        check_dataset(Corpus(texts=["a"], ids=["1"]))
