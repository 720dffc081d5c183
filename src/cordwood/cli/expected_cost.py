"""What a training will take: an estimate from the number of texts, characters and classes."""

import logging
import os
from typing import NamedTuple

from joblib import effective_n_jobs

from cordwood._base.resources import available_memory
from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.console import Console
from cordwood.datasets.corpus import Corpus, FeatureMatrix

logger = logging.getLogger("cordwood")

# Less is not worth a line.
_MIN_SECONDS, _MIN_BYTES = 60.0, 1e9

# Of the interpreter and the libraries.
_LIBRARIES = 0.35e9


class _Rates(NamedTuple):
    """How much time and memory grow with the texts, by the table in docs/performance.md."""

    bytes_per_character: float
    seconds_per_character: float  # of CPU
    seconds_per_character_and_class: float


_RATES = {
    "quick": _Rates(100.0, 8e-6, 0.8e-6),
    "nbsvm": _Rates(60.0, 2e-6, 0.5e-6),
}


class ExpectedCost(NamedTuple):
    """Expected peak of the memory in bytes, and seconds that pass."""

    memory: float
    seconds: float


def expect_cost(
    model: TextClassifier, samples: Corpus | FeatureMatrix, n_classes: int
) -> ExpectedCost | None:
    """Estimate what the fit of a model takes; None if this has not been measured."""
    rates = _RATES.get(model.estimator) if isinstance(model.estimator, str) else None
    if rates is None or not isinstance(samples, Corpus) or model.encoder or model.columns:
        return None
    n_characters = sum(map(len, samples.texts))
    memory = _LIBRARIES + rates.bytes_per_character * n_characters
    rate = rates.seconds_per_character + rates.seconds_per_character_and_class * n_classes
    n_jobs = min(effective_n_jobs(model.n_jobs), os.cpu_count() or 1)
    return ExpectedCost(memory, n_characters * rate / n_jobs)


def show_expected_cost(
    console: Console, model: TextClassifier, samples: Corpus | FeatureMatrix, n_classes: int
) -> None:
    """Say what a long or large training will take, and warn if the memory will not suffice."""
    cost = expect_cost(model, samples, n_classes)
    if cost is None or (cost.seconds < _MIN_SECONDS and cost.memory < _MIN_BYTES):
        return
    minutes = max(round(cost.seconds / 60), 1)
    console.field(
        "expected",
        f"about {count(minutes, 'minute')} on a computer that does nothing else, and "
        f"{cost.memory / 1e9:.1f} GB of memory",
    )
    available = available_memory()
    if available is not None and cost.memory > available:
        logger.warning(
            f"{available / 1e9:.1f} GB of memory are free, which may not suffice, so that "
            "the training may be killed; train on a part of the texts, or close other programs"
        )
