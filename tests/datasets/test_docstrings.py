import hashlib
import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.datasets import docstrings
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.docstrings import LEAKING_NAMES, MODULES_OF_CLASS, collect_docstrings
from cordwood.exceptions import DataError

DIGEST = """
import hashlib
from dataclasses import astuple
from cordwood.datasets.docstrings import collect_docstrings
print(hashlib.sha256(repr(astuple(collect_docstrings())).encode()).hexdigest())
"""
TOKENS = CountVectorizer(token_pattern=r"[^\W_]+").build_analyzer()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return collect_docstrings()


@pytest.fixture
def collect(tmp_path, monkeypatch):
    """Collect from the given sources, in addition to two classes that are large enough."""

    def write(module: str, source: str, encoding: str) -> Path:
        path = tmp_path / f"{module}.py"
        path.write_text(source, encoding=encoding)
        return path

    def filler(word: str, n: int) -> str:
        prose = "some plain prose that is long enough"
        return "\n".join(f"def f{i}():\n    '''{word} {i} {prose}'''" for i in range(n))

    def run(*sources: tuple[str, str, str], encoding="utf-8", fill=(150, 150), progress=None):
        fillers = [
            ("mail", "mail_filler", filler("letter", fill[0])),
            ("files", "files_filler", filler("path", fill[1])),
        ]
        found = [
            docstrings._SourceFile(label, module, write(module, source, encoding))
            for label, module, source in (*fillers, *sources)
        ]
        monkeypatch.setattr(docstrings, "_find_sources", lambda: found)
        docstrings._read_source.cache_clear()  # installed files do not change, those here do
        return collect_docstrings(progress=progress)

    return run


def texts_of(corpus: Corpus, module: str) -> dict[str, str]:
    return {
        id: text
        for id, text, group in zip(corpus.ids, corpus.texts, corpus.groups, strict=True)
        if group == module
    }


def test_sizes_of_classes(corpus):
    sizes = Counter(corpus.labels)
    assert set(sizes) == set(MODULES_OF_CLASS)
    assert 12 <= len(sizes) <= 24
    assert 5000 < len(corpus) < 10_000
    assert min(sizes.values()) >= 40
    assert max(sizes.values()) > 5 * min(sizes.values())
    assert corpus.skipped == ()


def test_texts_are_short_and_unique(corpus):
    n_words = [len(text.split()) for text in corpus.texts]
    assert min(n_words) == 8
    assert max(n_words) == 100
    assert len(set(corpus.texts)) == len(set(corpus.ids)) == len(corpus)
    assert not any(">>>" in text for text in corpus.texts)


def test_texts_do_not_contain_their_label(corpus):
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        assert set(re.split(r"[._]", label)).isdisjoint(TOKENS(text)), text


def test_texts_do_not_contain_module_names(corpus):
    seen = set(TOKENS(" ".join(corpus.texts)))
    assert seen.isdisjoint(
        {"numpy", "np", "scipy", "sp", "sklearn", "scikit", "learn", "stats", "decimal", "io"}
    )
    assert seen.isdisjoint(name for names in MODULES_OF_CLASS.values() for name in names)
    # Only names are removed, not the terms of the subject.
    assert {"array", "regression", "thread", "message", "distribution"} <= seen


@pytest.mark.parametrize("module", ["calendar", "queue", "statistics", "sklearn.metrics._ranking"])
def test_texts_match_docstrings_of_imported_modules(corpus, module):
    found = texts_of(corpus, module)
    assert found
    for id, text in found.items():
        thing = importlib.import_module(module)
        for name in filter(None, id.partition(":")[2].partition("#")[0].split(".")):
            thing = getattr(thing, name)
        assert set(TOKENS(text)) <= set(TOKENS(thing.__doc__)), id


def test_ids_are_module_and_qualified_name(corpus):
    labels = dict(zip(corpus.ids, corpus.labels, strict=True))
    assert labels["asyncio.base_events:BaseEventLoop.call_later"] == "asyncio"
    assert labels["sklearn.linear_model._logistic:LogisticRegression"] == "sklearn.linear_model"
    assert labels["threading:Condition.wait_for"] == "concurrency"
    assert "statistics" in labels
    for id, group in zip(corpus.ids, corpus.groups, strict=True):
        assert id.partition(":")[0] == group


def test_split_does_not_divide_modules_and_has_all_classes(corpus):
    train, test = corpus.subset("train"), corpus.subset("test")
    assert len(train) + len(test) == len(corpus)
    assert set(train.groups).isdisjoint(test.groups)
    assert set(train.labels) == set(test.labels) == set(MODULES_OF_CLASS)
    assert 0.15 < len(test) / len(corpus) <= 0.2


@pytest.mark.parametrize("seed", ["1", "2"])
def test_corpus_is_the_same_in_every_process(corpus, seed):
    environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"}
    run = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == hashlib.sha256(repr(astuple(corpus)).encode()).hexdigest()


def test_docstrings_of_modules_classes_methods_and_conditional_functions(collect):
    source = '''
"""Alpha: the module says what it is about, in eight words."""
class Outer:
    """Beta: the class says what it is about, in eight words."""
    class Inner:
        """Gamma: the inner class says what it is, in eight words."""
    async def method(self):
        """Delta: the method says what it is about, in eight words."""
if True:
    def chosen():
        """Epsilon: the first branch says what it is, in eight words."""
        def nested():
            """Zeta: a nested function is nobody's to read or to call."""
else:
    try:
        pass
    except ImportError:
        def fallback():
            """Eta: the fallback says what it is about, in eight words."""
'''
    found = texts_of(collect(("mail", "shapes", source)), "shapes")
    assert {id: text.partition(":")[0] for id, text in found.items()} == {
        "shapes": "Alpha",
        "shapes:Outer": "Beta",
        "shapes:Outer.Inner": "Gamma",
        "shapes:Outer.method": "Delta",
        "shapes:chosen": "Epsilon",
        "shapes:fallback": "Eta",
    }


def test_examples_and_names_are_removed(collect):
    source = '''
"""Solve the NumPy problem.

    With `scipy_signal` and linear_model.Ridge_ one (np) two.

    >>> import this
    ... and_that
    an output

    Three -- four, random_state five six.
"""
'''
    corpus = collect(("mail", "cleaning", source))
    assert texts_of(corpus, "cleaning") == {
        "cleaning": "Solve the problem. With and .Ridge_ one two. Three four, five six."
    }


def test_short_texts_are_dropped_and_long_texts_are_truncated(collect):
    words = [f"w{i}" for i in range(101)]
    source = f"""
def seven(): '{" ".join(words[:7])} -- numpy'
def eight(): '{" ".join(words[:8])}'
def hundred(): '{" ".join(words[:100])}'
def more(): 'first {" ".join(words)}'
"""
    found = texts_of(collect(("mail", "lengths", source)), "lengths")
    assert found == {
        "lengths:eight": " ".join(words[:8]),
        "lengths:hundred": " ".join(words[:100]),
        "lengths:more": " ".join(["first", *words[:99]]),
    }


def test_first_duplicate_is_kept_unless_classes_differ(collect):
    same = "def {}(): 'one two three four five six seven eight {}'\n"
    corpus = collect(
        ("mail", "first", same.format("a", "inside") + same.format("b", "across")),
        ("mail", "second", same.format("c", "inside")),
        ("files", "third", same.format("d", "across")),
    )
    assert texts_of(corpus, "first") == {
        "first:a": "one two three four five six seven eight inside"
    }
    assert texts_of(corpus, "second") == texts_of(corpus, "third") == {}


def test_ids_of_objects_with_the_same_name_are_unique(collect):
    source = """
class Box:
    @property
    def lid(self): 'Get the lid of this box, if there is any.'
    @lid.setter
    def lid(self, lid): 'Set the lid of this box, if there is any.'
"""
    found = texts_of(collect(("mail", "box", source)), "box")
    assert [id for id in found] == ["box:Box.lid", "box:Box.lid#2"]
    assert found["box:Box.lid"].startswith("Get")


def test_encoding_declaration_is_used(collect):
    source = "# coding: latin-1\n'Café au lait is what this module is all about.'"
    corpus = collect(("mail", "encoded", source), encoding="latin-1")
    assert texts_of(corpus, "encoded")["encoded"].startswith("Café")


def test_invalid_source_file_is_skipped(collect):
    corpus = collect(("mail", "broken", "def :"))
    assert len(corpus) == 300
    assert "broken.py cannot be read as Python source: invalid syntax" in corpus.skipped[0]


def test_invalid_escapes_do_not_warn(collect):
    source = "'The pattern \\d is one of seven of this kind.'"
    assert "\\d" in texts_of(collect(("mail", "escapes", source)), "escapes")["escapes"]


def test_small_class_is_dropped_with_a_message(collect):
    corpus = collect(("logging", "log", log_source(40)), fill=(250, 39))
    assert Counter(corpus.labels) == {"mail": 250, "logging": 40}
    assert any("'files' is dropped: 39 texts" in message for message in corpus.skipped)
    assert not any("'logging'" in message for message in corpus.skipped)


def log_source(n: int) -> str:
    return "\n".join(f"def f{i}(): 'line {i} of the many lines of this record'" for i in range(n))


@pytest.mark.parametrize("fill", [(300, 0), (100, 99)])
def test_too_few_texts_raise(collect, fill):
    with pytest.raises(DataError, match=r"'docstrings' cannot be built: 2 source files"):
        collect(fill=fill)
    assert len(collect(fill=(100, 100))) == 200


def test_test_subset_has_whole_modules_up_to_a_fifth(collect):
    modules = [
        ("logging", f"log{i}", log_source(10).replace("record", f"record{i}")) for i in range(10)
    ]
    corpus = collect(*modules)
    parts = Counter(zip(corpus.labels, corpus.split, strict=True))
    assert parts["logging", "test"] == 20
    # The only module of a class stays in the training subset.
    assert parts["mail", "train"] == parts["files", "train"] == 150


def test_progress_counts_files(collect):
    calls = []
    collect(("mail", "one", ""), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


def test_find_modules_ignores_tests(tmp_path):
    for name in ["pkg/__init__.py", "pkg/b.py", "pkg/a/__init__.py", "pkg/a/c.py", "pkg/x.pyi"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "pkg" / "tests").mkdir()
    (tmp_path / "pkg" / "tests" / "test_b.py").touch()
    (tmp_path / "single.py").touch()
    assert sorted(name for name, _ in docstrings._find_modules(tmp_path, "pkg")) == [
        "pkg",
        "pkg.a",
        "pkg.a.c",
        "pkg.b",
    ]
    assert list(docstrings._find_modules(tmp_path, "single")) == [
        ("single", tmp_path / "single.py")
    ]
    assert list(docstrings._find_modules(tmp_path, "absent")) == []


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(sorted(LEAKING_NAMES)), st.text(max_size=6), st.sampled_from("_. \n")
        ),
        max_size=12,
    )
)
def test_clean_removes_all_leaking_names(pieces):
    cleaned = " ".join(docstrings._clean("".join(pieces)))
    assert LEAKING_NAMES.isdisjoint(TOKENS(cleaned))
