"""Leaderboard of a running comparison: finished trials and the best learner of each data set."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Leader(NamedTuple):
    """The learner with the best mean score so far."""

    learner: str
    mean: float  # over its finished trials with the largest training fraction
    n: int  # number of these trials


class Leaderboard:
    """Count finished trials and track the best learner of each data set.

    >>> trial = {"dataset": "d", "learner": "rf", "train_fraction": 1.0}
    >>> leaderboard = Leaderboard([trial, {**trial, "learner": "nb"}], "micro_f1")
    >>> leaderboard.add({"trial": trial, "scores": {"micro_f1": 0.75}})
    >>> leaderboard.done["d"], leaderboard.planned["d"], leaderboard.leader("d")
    (1, 2, Leader(learner='rf', mean=0.75, n=1))
    """

    def __init__(self, trials: Iterable[Mapping[str, Any]], metric: str) -> None:
        # By data set; failed trials are done too.
        self.planned: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self._metric = metric
        self._train_fraction = 0.0
        for trial in trials:
            self.planned[trial["dataset"]] += 1
            self._train_fraction = max(self._train_fraction, trial["train_fraction"])
        self._scores: dict[str, dict[str, tuple[float, int]]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record of the ledger, of a finished or a failed trial."""
        trial = record["trial"]
        self.done[trial["dataset"]] += 1
        score = (record.get("scores") or {}).get(self._metric)
        if score is not None and trial["train_fraction"] == self._train_fraction:
            learners = self._scores.setdefault(trial["dataset"], {})
            total, n = learners.get(trial["learner"], (0.0, 0))
            learners[trial["learner"]] = (total + score, n + 1)

    def leader(self, dataset: str) -> Leader | None:
        """Return the best learner of a data set, the first of equals; None without scores."""
        scores = self._scores.get(dataset, {})
        means = [Leader(learner, total / n, n) for learner, (total, n) in scores.items()]
        return max(means, key=lambda leader: leader.mean, default=None)
