import logging
from pathlib import Path

import pytest

from cordwood._base import resources
from cordwood._base.resources import available_memory
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli import expected_cost
from cordwood.cli.console import Console
from cordwood.cli.expected_cost import expect_cost, show_expected_cost
from cordwood.datasets.corpus import Corpus


def corpus(n_texts, n_characters=80):
    ids = tuple(map(str, range(n_texts)))
    return Corpus(texts=("x" * n_characters,) * n_texts, ids=ids)


def test_cost_grows_with_the_texts_and_shrinks_with_the_cores(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    small, large, two_cores = (
        expect_cost(TextClassifier(encoder=None, n_jobs=n_jobs), corpus(n_texts), 10)
        for n_texts, n_jobs in ((1000, 1), (10_000, 1), (10_000, 2))
    )
    assert large.seconds == pytest.approx(10 * small.seconds)
    assert large.memory > small.memory
    assert two_cores == (large.memory, large.seconds / 2)


@pytest.mark.parametrize(
    "params", [{"estimator": "lazy_rf"}, {"encoder": "use"}, {"columns": "auto"}]
)
def test_what_was_not_measured_has_no_estimate(params):
    given = {"estimator": "quick", "encoder": None, **params}
    assert expect_cost(TextClassifier(**given), corpus(10), 2) is None


@pytest.mark.parametrize(("available", "warns"), [(1e8, True), (1e12, False), (None, False)])
def test_large_training_is_announced(monkeypatch, capsys, caplog, available, warns):
    monkeypatch.setattr(expected_cost, "available_memory", lambda: available)
    model = TextClassifier(encoder=None, n_jobs=1)
    with caplog.at_level(logging.WARNING, "cordwood"):
        show_expected_cost(Console(), model, corpus(100), 10)
        assert not capsys.readouterr().out
        show_expected_cost(Console(), model, corpus(100, 200_000), 10)
    assert "GB of memory" in capsys.readouterr().out
    assert ("may be killed" in caplog.text) == warns


def test_available_memory_is_that_of_the_container(monkeypatch, tmp_path):
    for name, text in (("_MEMORY", "MemAvailable: 100 kB\n"), ("_LIMIT", "3000"), ("_USED", "900")):
        path = tmp_path / name
        path.write_text(text)
        monkeypatch.setattr(resources, name, path)
    assert available_memory() == 2100
    (tmp_path / "_LIMIT").write_text("max\n")
    assert available_memory() == 102_400
    monkeypatch.setattr(resources, "_MEMORY", Path(tmp_path, "missing"))
    assert available_memory() is None
