from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_groups
from cordwood.exceptions import CordwoodError, DataError

DENSE = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], dtype=np.float32)


def make_corpus(**changes):
    columns = {
        "texts": ("a", "b", "c"),
        "ids": ("1", "2", "3"),
        "labels": ("x", "y", "x"),
        "split": ("train", "test", "train"),
        "groups": ("g", "g", "h"),
        "skipped": ("line 2 is bad",),
    }
    return Corpus(**{**columns, **changes})


def make_matrix(X):
    return FeatureMatrix(X=X, ids=("1", "2", "3"), labels=("x", "y", "x"))


@pytest.mark.parametrize(
    "indices", [[2, 0], (2, 0), np.array([2, 0]), np.array([2, 0], dtype="u1")]
)
def test_select_uses_the_order_of_indices_in_every_field(indices):
    chosen = make_corpus().select(indices)
    assert chosen == make_corpus(
        texts=("c", "a"),
        ids=("3", "1"),
        labels=("x", "x"),
        split=("train", "train"),
        groups=("h", "g"),
    )


@pytest.mark.parametrize("X", [DENSE, sp.csr_array(DENSE)])
def test_select_samples_of_a_matrix(X):
    chosen = make_matrix(X).select([2, 1])
    rows = chosen.X if isinstance(X, np.ndarray) else chosen.X.toarray()
    np.testing.assert_array_equal(rows, DENSE[[2, 1]])
    assert type(chosen.X) is type(X)
    assert (chosen.ids, chosen.labels) == (("3", "2"), ("x", "y"))


def test_select_no_samples():
    assert len(make_corpus().select([])) == 0


@pytest.mark.parametrize("indices", [[True, False, True], np.array([0.0, 1.9])])
def test_select_rejects_masks_and_floats(indices):
    with pytest.raises(TypeError, match="indices must be integers"):
        make_corpus().select(indices)


def test_select_without_optional_fields():
    chosen = Corpus(texts=("a", "b"), ids=("1", "2")).select([1])
    assert (chosen.labels, chosen.split, chosen.groups) == (None, None, None)


def test_subset():
    assert make_corpus().subset("train").ids == ("1", "3")
    assert make_corpus().subset("test").ids == ("2",)


def test_unknown_subset_raises():
    with pytest.raises(
        ValueError, match="no subset 'dev' in the split; its subsets are: test, train"
    ):
        make_corpus().subset("dev")
    with pytest.raises(ValueError, match="no subset 'train': the data set has no predefined split"):
        make_corpus(split=None).subset("train")


@pytest.mark.parametrize("name", ["texts", "labels", "split", "groups"])
def test_fields_of_different_lengths_raise(name):
    with pytest.raises(ValueError, match=f"{name} has 2 entries for 3 samples"):
        make_corpus(**{name: ("a", "b")})


def test_matrix_with_wrong_number_of_ids_raises():
    with pytest.raises(ValueError, match="X has 2 entries for 3 samples"):
        make_matrix(DENSE[:2])


def test_fields_are_immutable():
    with pytest.raises(FrozenInstanceError):
        make_corpus().texts = ()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(("x", "y", "z"), False), ((("x",), (), ("y", "z")), True), (None, False)],
)
def test_multilabel(labels, expected):
    assert make_corpus(labels=labels).multilabel is expected
    assert make_corpus(labels=labels).select([]).multilabel is False


def test_fingerprint_depends_on_training_data_only():
    same = make_corpus(ids=("7", "8", "9"), split=None, groups=None, skipped=())
    assert make_corpus().fingerprint() == same.fingerprint()


@pytest.mark.parametrize(
    "changes",
    [
        {"texts": ("a", "b", "d")},
        {"texts": ("b", "a", "c")},
        {"texts": ("ab", "", "c")},
        {"labels": ("x", "y", "y")},
        {"labels": None},
        {"labels": (("x",), ("y",), ("x",))},
    ],
)
def test_fingerprint_of_different_training_data_differs(changes):
    assert make_corpus().fingerprint() != make_corpus(**changes).fingerprint()


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_fingerprint_of_a_matrix(make):
    whole = make_matrix(make(DENSE))
    assert whole.fingerprint() == make_matrix(make(DENSE.copy())).fingerprint()
    others = [
        make(DENSE * 2),
        make(DENSE.astype(np.float64)),
        make(DENSE[:, ::-1].copy()),
        make(np.hstack([DENSE, np.zeros((3, 1), dtype=np.float32)])),
    ]
    prints = {whole.fingerprint(), *(make_matrix(X).fingerprint() for X in others)}
    assert len(prints) == 5


def test_fingerprint_depends_on_the_shape():
    numbers = np.arange(6.0)
    two = FeatureMatrix(X=numbers.reshape(2, 3), ids=("1", "2"))
    three = FeatureMatrix(X=numbers.reshape(3, 2), ids=("1", "2", "3"))
    assert two.fingerprint() != three.fingerprint()


@pytest.mark.parametrize("convert", [list, np.array, pd.Series, pl.Series, pa.array])
def test_sequences_are_converted_to_tuples(convert):
    converted = Corpus(
        texts=convert(["a", "b"]), ids=convert(["1", "2"]), labels=convert(["x", "y"])
    )
    assert converted == Corpus(texts=("a", "b"), ids=("1", "2"), labels=("x", "y"))
    assert {type(value) for value in (*converted.texts, *converted.labels)} == {str}


def test_lists_of_labels_are_converted_to_tuples():
    assert make_corpus(labels=[["x", "y"], [], ["y"]]).labels == (("x", "y"), (), ("y",))


@pytest.mark.parametrize("name", ["ids", "texts", "labels", "split", "groups"])
@pytest.mark.parametrize("value", ["abc", 3])
def test_field_that_is_no_sequence_raises(name, value):
    with pytest.raises(DataError, match=f"^{name} must be a sequence .*; got {value!r}$"):
        make_corpus(**{name: value})


@pytest.mark.parametrize("value", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_missing_label_raises(value):
    with pytest.raises(DataError, match=r"^labels\[1\] is .*; label every sample, or leave"):
        make_corpus(labels=("x", value, value))
    with pytest.raises(DataError, match=r"^labels\[2\] is "):
        make_corpus(labels=(("x",), (), ("x", value)))
    with pytest.raises(DataError, match=r"^labels\[1\] is "):
        FeatureMatrix(X=DENSE, ids=("1", "2", "3"), labels=["x", value, "y"])


@pytest.mark.parametrize("value", [None, float("nan"), 3, b"bytes"])
def test_text_that_is_no_string_raises(value):
    with pytest.raises(DataError, match=r"^texts\[1\] must be a string; got "):
        make_corpus(texts=("a", value, "c"))


def test_repr_of_a_large_corpus_is_short():
    n_samples = 50_000
    corpus = Corpus(
        texts=("word " * 50,) * n_samples,
        ids=tuple(map(str, range(n_samples))),
        labels=tuple(f"class {'x' * 100} {n % 70}" for n in range(n_samples)),
        split=("train",) * 40_000 + ("test",) * 10_000,
        groups=tuple(str(n // 2) for n in range(n_samples)),
        skipped=("line 7 is bad",) * 3,
    )
    lines = repr(corpus).splitlines()
    assert lines[0] == "<Corpus: 50,000 texts, 70 classes>"
    assert lines[1].startswith("  labels: class xxx") and lines[1].endswith("... (715) and 65 more")
    assert lines[2:5] == [
        "  split: train (40,000), test (10,000)",
        "  groups: 25,000",
        "  skipped rows: 3",
    ]
    assert lines[5].startswith("  first text: 'word word") and lines[5].endswith("...'")
    assert len(lines) == 6 and max(map(len, lines)) < 250
    assert len(corpus._repr_html_()) < 1500


def test_repr_of_a_matrix():
    assert repr(make_matrix(sp.csr_array(DENSE))) == (
        "<FeatureMatrix: 3 samples, 2 features, 2 classes>\n"
        "  labels: x (2), y (1)\n"
        "  X: csr_array of float32, 4 stored values"
    )
    large = FeatureMatrix(X=np.zeros((10_000, 500)), ids=tuple(map(str, range(10_000))))
    assert repr(large) == ("<FeatureMatrix: 10,000 samples, 500 features>\n  X: ndarray of float64")


def test_repr_of_multilabel_and_empty_data():
    corpus = make_corpus(labels=(("x", "y"), (), ("y",)))
    assert repr(corpus).splitlines()[:2] == [
        "<Corpus: 3 texts, 2 labels (multilabel)>",
        "  labels: y (2), x (1)",
    ]
    assert repr(Corpus(texts=(), ids=())) == "<Corpus: 0 texts>"


def test_html_repr_is_an_escaped_table():
    html = make_corpus(texts=("<b>bold</b>", "b", "c"), labels=("<i>", "y", "y"))._repr_html_()
    assert html.startswith("<table><caption>Corpus: 3 texts, 2 classes</caption><tr>")
    assert "&lt;b&gt;bold" in html and "&lt;i&gt; (1)" in html
    assert "<b>" not in html and "<i>" not in html


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [("^[^:]*", ("1", "1", "22")), (r":(\w)\w*$", ("o", "g", "o")), (r"\d(?=:)", ("1", "1", "2"))],
)
def test_with_groups(pattern, groups):
    corpus = make_corpus(ids=("1:oil", "1:gas", "22:oil"))
    grouped = with_groups(corpus, pattern)
    assert grouped.groups == groups
    assert (grouped.ids, grouped.texts, grouped.labels) == (corpus.ids, corpus.texts, corpus.labels)
    assert corpus.groups == ("g", "g", "h")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("^x", r"pattern '\^x' matches no characters of the id '1'"),
        ("x*", r"pattern 'x\*' matches no characters of the id '1'"),
        ("2|3|(1)", "matches no characters of the id '2'"),
        ("(", r"pattern must be a valid regular expression \(.*\); got '\('"),
        (7, r"pattern must be a valid regular expression \(.*\); got 7"),
        ("(1)(2)", r"at most one capturing group; got '\(1\)\(2\)' with 2"),
    ],
)
def test_with_groups_invalid_pattern_raises(pattern, message):
    with pytest.raises(CordwoodError, match=message):
        with_groups(make_corpus(), pattern)
