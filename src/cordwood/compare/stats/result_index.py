"""Index of the planned trials of a comparison and their records, by data set, learner and fold."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cordwood.exceptions import DataError

Record = Mapping[str, Any]
"""A line of the ledger."""

Planned = Iterable[tuple[str, Mapping[str, Any]]]
"""Key and plain JSON of each trial of a plan."""


class ResultKey(NamedTuple):
    """Identifies a trial of a comparison."""

    dataset: str
    learner: str
    train_size: float  # fraction of the training samples, or number of those of the category
    fold: tuple[int, int]  # repeat and fold


class ResultIndex(NamedTuple):
    """The planned trials as plain JSON, and the records of those that have one."""

    trials: dict[ResultKey, Mapping[str, Any]]
    records: dict[ResultKey, Record]

    def names(self, field: Literal["dataset", "learner"]) -> tuple[str, ...]:
        """Return the names of the data sets or of the learners, in the order of the plan."""
        return tuple(dict.fromkeys(getattr(key, field) for key in self.trials))

    def folds(self, dataset: str, train_size: float) -> list[tuple[int, int]]:
        """Return the folds of a data set, the same for all learners."""
        return sorted(
            {
                key.fold
                for key in self.trials
                if (key.dataset, key.train_size) == (dataset, train_size)
            }
        )

    def scores(self, dataset: str, learner: str, train_size: float, metric: str) -> list[float]:
        """Return the score of a learner on each fold of a data set; NaN if it is missing."""
        scores = []
        for fold in self.folds(dataset, train_size):
            record = self.records.get(ResultKey(dataset, learner, train_size, fold), {})
            scores.append(float((record.get("scores") or {}).get(metric, math.nan)))
        return scores


def build_index(records: Iterable[Record], planned: Planned | None) -> ResultIndex:
    """Index trials and records; see `cordwood.compare.stats.comparison.compare`."""
    latest = {record["key"]: record for record in records}
    if planned is None:
        planned = [(key, record["trial"]) for key, record in latest.items()]
    index = ResultIndex({}, {})
    trial_keys: dict[ResultKey, str] = {}
    for trial_key, trial in planned:
        fold = (trial["repeat"], trial["fold"])
        train_size = float(trial.get("max_positives", trial["train_fraction"]))
        key = ResultKey(trial["dataset"], trial["learner"], train_size, fold)
        if trial_keys.setdefault(key, trial_key) != trial_key:
            raise DataError(
                f"there are two different results of {key.learner!r} on {key.dataset!r}, repeat "
                f"{fold[0]}, fold {fold[1]}, with other parameters or data; compare with a plan to "
                "select one of them"
            )
        index.trials[key] = trial
        if trial_key in latest:
            index.records[key] = latest[trial_key]
    if not index.trials:
        raise DataError("there are no results to compare; run the plan first")
    return index


def check_metrics(metrics: Sequence[str], index: ResultIndex) -> None:
    """Raise DataError for a metric that no record contains."""
    known = {name for record in index.records.values() for name in record.get("scores") or ()}
    for metric in metrics:
        if known and metric not in known:
            raise DataError(
                f"there is no metric {metric!r}; the metrics are: {', '.join(sorted(known))}"
            )
