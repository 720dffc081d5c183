"""Standing: who is ahead on each data set while a comparison is under way."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Leader(NamedTuple):
    """The learner with the best mean so far.

    Parameters
    ----------
    learner : str
        Its label.
    mean : float
        Over the units that it has done, with the largest training share.
    n : int
        How many these are.
    """

    learner: str
    mean: float
    n: int


class Standing:
    """Units done on each data set, and the learner that is ahead; each record is looked at once.

    Parameters
    ----------
    units : iterable of mapping
        Those of the plan, as plain JSON.
    metric : str
        The score by which learners are compared.

    Examples
    --------
    >>> trial = {"dataset": "d", "learner": "rf", "train_fraction": 1.0}
    >>> standing = Standing([trial, {**trial, "learner": "nb"}], "micro_f1")
    >>> standing.add({"trial": trial, "scores": {"micro_f1": 0.75}})
    >>> standing.done["d"], standing.planned["d"], standing.leader("d")
    (1, 2, Leader(learner='rf', mean=0.75, n=1))
    """

    def __init__(self, trials: Iterable[Mapping[str, Any]], metric: str) -> None:
        self.planned: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self._metric = metric
        self._share = 0.0
        for trial in trials:
            self.planned[trial["dataset"]] += 1
            self._share = max(self._share, trial["train_fraction"])
        self._scores: dict[str, dict[str, tuple[float, int]]] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Count a unit that is done or has failed."""
        trial = record["trial"]
        self.done[trial["dataset"]] += 1
        if "scores" in record and trial["train_fraction"] == self._share:
            learners = self._scores.setdefault(trial["dataset"], {})
            total, n = learners.get(trial["learner"], (0.0, 0))
            learners[trial["learner"]] = (total + record["scores"][self._metric], n + 1)

    def leader(self, dataset: str) -> Leader | None:
        """Find the learner that is ahead, if any has a score; the first of equals."""
        scores = self._scores.get(dataset, {})
        means = [Leader(learner, total / n, n) for learner, (total, n) in scores.items()]
        return max(means, key=lambda leader: leader.mean, default=None)
