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

# Of the recipe `quick` without encoder, by the table "How large?" in docs/performance.md: memory of
# the libraries, of each character, and of each text in the forest, which is bounded; CPU seconds of
# each character, and for each class in addition.
_RECIPE = "quick"
_LIBRARY_BYTES, _CHARACTER_BYTES, _FOREST_BYTES = 0.35e9, 90.0, 5000.0
_MAX_FOREST_TEXTS = 100_000
_CHARACTER_SECONDS, _CLASS_SECONDS = 7e-6, 0.4e-6


class ExpectedCost(NamedTuple):
    """Expected peak of the memory in bytes, and seconds that pass."""

    memory: float
    seconds: float


def expect_cost(
    model: TextClassifier, samples: Corpus | FeatureMatrix, n_classes: int
) -> ExpectedCost | None:
    """Estimate what the fit of a model takes; None if this has not been measured."""
    is_measured = isinstance(model.estimator, str) and model.estimator == _RECIPE
    if not is_measured or not isinstance(samples, Corpus) or model.encoder or model.columns:
        return None
    n_characters = sum(map(len, samples.texts))
    memory = (
        _LIBRARY_BYTES
        + _CHARACTER_BYTES * n_characters
        + _FOREST_BYTES * min(len(samples), _MAX_FOREST_TEXTS)
    )
    cpu_seconds = n_characters * (_CHARACTER_SECONDS + _CLASS_SECONDS * n_classes)
    n_jobs = min(effective_n_jobs(model.n_jobs), os.cpu_count() or 1)
    return ExpectedCost(memory, cpu_seconds / n_jobs)


def show_expected_cost(
    console: Console, model: TextClassifier, samples: Corpus | FeatureMatrix, n_classes: int
) -> None:
    """Print what a long or large training will take; warn if the memory will not suffice."""
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
