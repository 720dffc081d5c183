"""Process-wide cache of one data set of a plan, loaded, fingerprinted and split."""

import os
from dataclasses import dataclass

from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import DatasetConfig, EvaluationConfig
from cordwood.compare.runner import transform_cache
from cordwood.compare.runner.cv_splits import Split, fingerprint, split
from cordwood.compare.runner.data_conflicts import check_data
from cordwood.compare.runner.fit_cache import FIT_CACHE
from cordwood.compare.runner.procedure import find_procedure
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

DataDir = str | os.PathLike[str] | None

DatasetKey = tuple[str, str, int]
"""Fingerprint of the data, evaluation as JSON, seed."""


@dataclass(frozen=True, kw_only=True)
class LoadedDataset:
    """A data set, which has labels, and its splits."""

    sent_once = True  # to each worker of a cluster

    data: Corpus | FeatureMatrix
    fingerprint: str  # of everything in the data that a result can depend on
    evaluation: EvaluationConfig
    seed: int
    splits: tuple[Split, ...]  # fold f of repeat r is at r * folds + f

    @property
    def key(self) -> DatasetKey:
        """Key of the cache, the same in every process."""
        return _make_key(self.fingerprint, self.evaluation, self.seed)

    def get_split(self, trial: Trial) -> Split:
        """Return the training and test samples of a trial."""
        split = self.splits[trial.repeat * self.evaluation.folds + trial.fold]
        return find_procedure(trial.procedure).split(trial, self.data, split)


# Only the latest data set: trials are ordered by data set.
_cache: dict[DatasetKey, LoadedDataset] = {}


def load(dataset: DatasetConfig, plan: Plan, data_dir: DataDir) -> LoadedDataset:
    """Load a data set from disk and cache it; raise a DataError if the plan cannot be run on it."""
    try:
        data = dataset.load(data_dir=data_dir)
        splits = tuple(split(data, plan.evaluation, plan.seed))
    except DataError as error:
        raise DataError(f"data set {dataset.name!r}: {error}") from error
    check_data(plan, dataset, data)
    loaded = LoadedDataset(
        data=data,
        fingerprint=fingerprint(data, plan.evaluation),
        evaluation=plan.evaluation,
        seed=plan.seed,
        splits=splits,
    )
    put(loaded)
    return loaded


def get_or_load(
    dataset: DatasetConfig, plan: Plan, data_dir: DataDir, expected_fingerprint: str
) -> LoadedDataset:
    """Return a data set from the cache, or load it; raise a DataError if it has changed."""
    key = _make_key(expected_fingerprint, plan.evaluation, plan.seed)
    loaded = get(key) or load(dataset, plan, data_dir)
    if loaded.fingerprint != expected_fingerprint:
        raise DataError(
            f"data set {dataset.name!r} has changed since the start of the run; run the plan again"
        )
    return loaded


def put(loaded: LoadedDataset) -> None:
    """Cache a data set, replacing the cached one."""
    clear()
    _cache[loaded.key] = loaded


def get(key: DatasetKey) -> LoadedDataset | None:
    """Return the data set from the cache, or None if it is not there."""
    return _cache.get(key)


def clear() -> None:
    """Free the memory of the cached data set and of all transforms and fits on it."""
    _cache.clear()
    transform_cache.clear()
    FIT_CACHE.use_training_set(None)


def _make_key(fingerprint: str, evaluation: EvaluationConfig, seed: int) -> DatasetKey:
    return fingerprint, evaluation.model_dump_json(), seed
