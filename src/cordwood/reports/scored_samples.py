"""Labelled samples with predicted probabilities: the samples of a report of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.oof.records import OOFPredictions
from cordwood.persist import ModelCard
from cordwood.reports.model_records import Source


@dataclass(frozen=True, kw_only=True)
class ScoredSamples:
    """Labelled samples with predicted probabilities."""

    source: Source
    proba: NDArray[np.float64]  # of shape (n_samples, n_classes)
    y: NDArray[np.intp]  # codes of the true classes
    predicted: NDArray[np.intp]  # codes of the classes that the model decides for
    texts: Sequence[str] | None
    ids: Sequence[str]
    data: Corpus | FeatureMatrix | None = None
    groups: NDArray[np.intp] | None = None
    n_unseen: int = 0  # further samples, whose class is unknown to the model


def score_samples(
    model: Any, data: Corpus | FeatureMatrix | None, card: ModelCard | None
) -> ScoredSamples | None:
    """Return out-of-fold predictions if the model has them for the data, else predict the data."""
    oof, decide = model.oof_, model.decision_.apply
    if data is None:
        if oof is None:
            return None
        ids = [str(i + 1) for i in range(len(oof.y))]
        return ScoredSamples(
            source="oof",
            proba=oof.proba,
            y=oof.y,
            predicted=decide(oof.proba),
            texts=None,
            ids=ids,
            groups=oof.groups,
        )
    if data.labels is None:
        raise DataError("the samples have no labels; a report of a model needs labelled samples")
    codes = {str(label): code for code, label in enumerate(model.classes_)}
    y = np.array([codes.get(str(label), -1) for label in data.labels], dtype=np.intp)
    texts = data.texts if isinstance(data, Corpus) else None
    has_fingerprint = card is not None and card.fingerprint is not None
    columns = () if model.columns_ is None else model.columns_.names
    is_training = (
        data.fingerprint(columns) == card.fingerprint
        if card is not None and has_fingerprint
        else oof is not None and np.array_equal(y, oof.y)
    )
    if is_training and oof is not None and np.array_equal(y, oof.y):
        return ScoredSamples(
            source="oof",
            proba=oof.proba,
            y=y,
            predicted=decide(oof.proba),
            texts=texts,
            ids=data.ids,
            data=data,
            groups=oof.groups,
        )
    known = np.flatnonzero(y >= 0)
    if not len(known):
        raise DataError("no sample has a class of the model; give data with its labels")
    selected = data if len(known) == len(y) else data.select(known)
    groups = None
    if selected.groups is not None:
        groups = np.unique(selected.groups, return_inverse=True)[1].astype(np.intp)
    proba = model.predict_proba(selected)
    return ScoredSamples(
        source="training" if is_training else "test",
        proba=proba,
        y=y[known],
        predicted=decide(proba),
        texts=selected.texts if isinstance(selected, Corpus) else None,
        ids=selected.ids,
        data=selected,
        groups=groups,
        n_unseen=len(y) - len(known),
    )


def to_predictions(samples: ScoredSamples, classes: NDArray[Any]) -> OOFPredictions:
    """Return the predictions of the samples as those of one estimator."""
    return OOFPredictions(
        proba=samples.proba,
        y=samples.y,
        classes=classes,
        sources={"model": "prefit"},
        groups=samples.groups,
    )


def count_training_samples(model: Any, samples: ScoredSamples | None) -> int | None:
    """Return the number of training samples, or None if it is not known."""
    if (oof := model.oof_) is not None:
        return len(oof)
    if (evaluation := model.evaluation_) is not None:
        return int(evaluation.n_samples)
    return len(samples.y) if samples is not None and samples.source != "test" else None
