"""Process-wide cache of one data set of a plan, loaded, fingerprinted and split."""

import os
from dataclasses import dataclass

from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import DatasetConfig, EvaluationConfig
from cordwood.compare.runner import transform_cache
from cordwood.compare.runner.cv_splits import (
    Split,
    fingerprint,
    limit_category,
    split,
    subsample_train,
)
from cordwood.compare.runner.data_conflicts import check_data
from cordwood.compare.runner.fit_cache import FIT_CACHE
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

DataDir = str | os.PathLike[str] | None

DatasetKey = tuple[str, str, int]
"""Fingerprint of the data, evaluation as JSON, seed."""


@dataclass(frozen=True, kw_only=True)
class LoadedDataset:
    """A data set and its splits.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        With labels.
    fingerprint : str
        Hash of everything in the data that a result can depend on.
    evaluation : EvaluationConfig
        Evaluation of the plan.
    seed : int
        Seed of the plan.
    splits : tuple of Split
        One for each fold of each repeat.
    """

    data: Corpus | FeatureMatrix
    fingerprint: str
    evaluation: EvaluationConfig
    seed: int
    splits: tuple[Split, ...]

    @property
    def key(self) -> DatasetKey:
        """Key of the cache, the same in every process."""
        return _make_key(self.fingerprint, self.evaluation, self.seed)

    def get_split(self, trial: Trial) -> Split:
        """Return the training and test samples of a trial."""
        split = self.splits[trial.repeat * self.evaluation.folds + trial.fold]
        if trial.category is not None and trial.max_positives is not None:
            n_kept = trial.max_positives
            return limit_category(
                self.data, split, trial.category, n_kept, trial.repeat, trial.seed
            )
        if trial.train_fraction == 1:
            return split
        return subsample_train(self.data, split, trial.train_fraction, trial.seed)


# Only the latest data set: trials are ordered by data set.
_cache: dict[DatasetKey, LoadedDataset] = {}


def load(dataset: DatasetConfig, plan: Plan, data_dir: DataDir) -> LoadedDataset:
    """Load a data set from disk and cache it, replacing the cached one.

    Parameters
    ----------
    dataset : DatasetConfig
        A data set of the plan.
    plan : Plan
        The evaluation and the seed are taken from it.
    data_dir : path or None
        The data folder.

    Returns
    -------
    LoadedDataset

    Raises
    ------
    DataError
        If the data set cannot be loaded, or not be split as the plan requires, or if a learner or
        the metric of the plan does not apply to it.
    """
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
    """Return a data set from the cache, or load it.

    Parameters
    ----------
    dataset : DatasetConfig
        A data set of the plan.
    plan : Plan
        The evaluation and the seed are taken from it.
    data_dir : path or None
        The data folder.
    expected_fingerprint : str
        Fingerprint of the data at the start of the run.

    Returns
    -------
    LoadedDataset

    Raises
    ------
    DataError
        If the data have changed since the start of the run.
    """
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
