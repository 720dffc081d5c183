"""Places: where the planned units of a comparison belong, each with its record if it has one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cordwood.exceptions import DataError

Record = Mapping[str, Any]
"""A line of the ledger."""

Planned = Iterable[tuple[str, Mapping[str, Any]]]
"""Key and plain JSON of each unit of a plan."""


class Slot(NamedTuple):
    """The place of a unit in a comparison."""

    dataset: str
    learner: str
    amount: float  # the share of the training rows, or the number of those of the category
    division: tuple[int, int]


class Results(NamedTuple):
    """The planned units by their places, each with its record if there is one."""

    trials: dict[Slot, Mapping[str, Any]]
    records: dict[Slot, Record]

    def names(self, field: Literal["dataset", "learner"]) -> tuple[str, ...]:
        """List the data sets or the learners, in the order of the plan."""
        return tuple(dict.fromkeys(getattr(slot, field) for slot in self.trials))

    def divisions(self, dataset: str, amount: float) -> list[tuple[int, int]]:
        """List what anyone's rows are divided into, so that all learners have the same rows."""
        return sorted(
            {s.division for s in self.trials if (s.dataset, s.amount) == (dataset, amount)}
        )

    def values(self, dataset: str, learner: str, amount: float, metric: str) -> list[float]:
        """Give a learner's score for each division; NaN where it is missing."""
        found = []
        for division in self.divisions(dataset, amount):
            record = self.records.get(Slot(dataset, learner, amount, division), {})
            found.append(float((record.get("scores") or {}).get(metric, math.nan)))
        return found


def gather(records: Iterable[Record], planned: Planned | None) -> Results:
    """Put units and records in their places; see `cordwood.compare.stats.comparison.compare`.

    Raises
    ------
    DataError
        If there are no units, or if two different ones claim the same place.
    """
    latest = {record["key"]: record for record in records}
    if planned is None:
        planned = [(key, record["trial"]) for key, record in latest.items()]
    results = Results({}, {})
    keys: dict[Slot, str] = {}
    for key, trial in planned:
        division = (trial["repeat"], trial["fold"])
        amount = float(trial.get("max_positives", trial["train_fraction"]))
        slot = Slot(trial["dataset"], trial["learner"], amount, division)
        if keys.setdefault(slot, key) != key:
            raise DataError(
                f"there are two different results of {slot.learner!r} on {slot.dataset!r}, repeat "
                f"{division[0]}, fold {division[1]}, made with other settings or data; compare "
                "by a plan, which says which of them counts"
            )
        results.trials[slot] = trial
        if key in latest:
            results.records[slot] = latest[key]
    if not results.trials:
        raise DataError("there are no results to compare; run the plan first")
    return results


def check_metrics(metrics: Sequence[str], results: Results) -> None:
    """Raise DataError for a score that no record has."""
    known = {name for record in results.records.values() for name in record.get("scores") or ()}
    for metric in metrics:
        if known and metric not in known:
            raise DataError(f"there is no score {metric!r}; there are {', '.join(sorted(known))}")
