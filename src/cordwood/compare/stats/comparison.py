"""Compare learners on data sets: from the records of a ledger to means, ties, ranks and times.

Trials that are missing or have failed are counted in their cell. The learner is then excluded from
the ties of the data set, and the data set from means and ranks.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cordwood.compare.stats.curves import By, LearningCurve, learning_curve
from cordwood.compare.stats.ranks import average_ranks
from cordwood.compare.stats.result_index import (
    Planned,
    Record,
    ResultIndex,
    build_index,
    check_metrics,
)
from cordwood.compare.stats.statistics import (
    BestAndTies,
    PairedTest,
    best_and_ties,
    corrected_resampled_t_test,
    paired_t_test,
    wilcoxon,
)

METRICS = ("micro_f1", "macro_f1")
"""Default metrics."""

CATEGORY_METRICS = ("f1",)
"""Default metrics if every trial has a category."""

MULTILABEL_METRICS = (*METRICS, "samples_f1", "subset_accuracy", "ranking_precision")
"""Default metrics if the samples of all finished trials have several labels."""

TestName = Literal["paired_t", "corrected_t", "wilcoxon"]
Mark = Literal["best", "tied", "undecided", ""]

Curves = Mapping[tuple[str, str], LearningCurve]
"""Learning curves by data set and learner."""


@dataclass(frozen=True)
class Cell:
    """Score of one learner on one data set, by one metric: mean and deviation over n trials."""

    mean: float
    sd: float  # NaN with one trial
    n: int  # finished trials
    n_planned: int
    n_failed: int
    # "best": highest mean on the data set; "tied": not significantly different from the best, by a
    # test that could have detected a difference; "undecided": not significantly different, but with
    # too few folds to detect a difference; "": significantly worse, or trials are missing.
    mark: Mark

    @property
    def complete(self) -> bool:
        """Whether all trials are finished."""
        return self.n == self.n_planned > 0


@dataclass(frozen=True)
class CpuSeconds:
    """CPU seconds of one learner on one data set: means over the finished trials, NaN without."""

    tune: float
    fit: float
    predict: float


@dataclass(frozen=True)
class LearnerSummary:
    """Mean score and average rank of one learner over data sets, by one metric; NaN without any."""

    mean: float
    rank: float  # 1 is the best
    # Those that are complete for every learner that is complete on any.
    datasets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Comparison of learners on data sets, in the order of the plan."""

    metrics: tuple[str, ...]
    datasets: tuple[str, ...]
    learners: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]  # by metric, data set and learner
    cpu_seconds: Mapping[tuple[str, str], CpuSeconds]  # by data set and learner
    summaries: Mapping[tuple[str, str], LearnerSummary]  # by metric and learner
    test: TestName  # of ties, with Bonferroni's correction
    alpha: float

    def scores(self, metric: str) -> NDArray[np.float64]:
        """Return mean scores of shape (n_datasets, n_learners); NaN if trials are missing."""
        rows = [
            [self.cells[metric, dataset, learner] for learner in self.learners]
            for dataset in self.datasets
        ]
        return np.array([[c.mean if c.complete else math.nan for c in row] for row in rows])


def compare(
    records: Iterable[Record],
    planned: Planned | None = None,
    *,
    metrics: Sequence[str] | None = None,
    test: TestName = "paired_t",
    alpha: float = 0.05,
) -> Comparison:
    """Compare learners by the records of a ledger, for the largest training set size.

    The last record of a key counts. Of the planned trials, those without a record are missing, and
    records of other keys are ignored; by default, the trials of the records are the plan.

    >>> def record(learner, fold, score):
    ...     trial = {"dataset": "d", "learner": learner, "repeat": 0, "fold": fold}
    ...     trial["train_fraction"] = 1.0
    ...     return {"key": f"{learner}{fold}", "trial": trial, "scores": {"micro_f1": score}}
    >>> records = [record("rf", 0, 0.8), record("rf", 1, 0.9), record("nb", 0, 0.7)]
    >>> comparison = compare(records, metrics=["micro_f1"])
    >>> cell = comparison.cells["micro_f1", "d", "nb"]
    >>> cell.mean, cell.n, cell.n_planned
    (0.7, 1, 2)
    """
    index = build_index(records, planned)
    if metrics is None:
        metrics = _choose_metrics(index)
    check_metrics(metrics, index)
    train_size = max(key.train_size for key in index.trials)
    datasets, learners = index.names("dataset"), index.names("learner")
    cells: dict[tuple[str, str, str], Cell] = {}
    for dataset in datasets:
        paired_test = _get_test(test, index, dataset, train_size)
        for metric in metrics:
            columns = [index.scores(dataset, name, train_size, metric) for name in learners]
            ties = best_and_ties(np.array(columns).T, test=paired_test, alpha=alpha)
            for i, learner in enumerate(learners):
                cells[metric, dataset, learner] = _make_cell(
                    columns[i],
                    mark=_get_mark(ties, i),
                    n_failed=_count_failures(index, dataset, learner, train_size),
                )
    return Comparison(
        metrics=tuple(metrics),
        datasets=datasets,
        learners=learners,
        cells=MappingProxyType(cells),
        cpu_seconds=MappingProxyType(
            {
                (dataset, learner): _mean_cpu_seconds(index, dataset, learner, train_size)
                for dataset in datasets
                for learner in learners
            }
        ),
        summaries=MappingProxyType(_summarize(cells, metrics, datasets, learners)),
        test=test,
        alpha=alpha,
    )


def _choose_metrics(index: ResultIndex) -> tuple[str, ...]:
    if all(trial.get("category") for trial in index.trials.values()):
        return CATEGORY_METRICS
    scores = [record["scores"] for record in index.records.values() if record.get("scores")]
    has_several = bool(scores) and all("samples_f1" in each for each in scores)
    return MULTILABEL_METRICS if has_several else METRICS


def learning_curves(
    records: Iterable[Record], planned: Planned | None = None, *, metric: str = "micro_f1"
) -> Curves:
    """Compute learning curves by data set and learner; for the arguments see `compare`."""
    index = build_index(records, planned)
    check_metrics([metric], index)
    has_limit = any("max_positives" in trial for trial in index.trials.values())
    by: By = "max_positives" if has_limit else "train_fraction"
    curves = {}
    for dataset in index.names("dataset"):
        train_sizes = sorted({key.train_size for key in index.trials if key.dataset == dataset})
        for learner in index.names("learner"):
            scores = [index.scores(dataset, learner, size, metric) for size in train_sizes]
            curves[dataset, learner] = learning_curve(train_sizes, np.array(scores), by)
    return curves


def _get_test(name: TestName, index: ResultIndex, dataset: str, train_size: float) -> PairedTest:
    if name == "paired_t":
        return paired_t_test
    if name == "wilcoxon":
        return wilcoxon
    if name != "corrected_t":
        raise ValueError(
            f"test must be one of 'paired_t', 'corrected_t', 'wilcoxon'; got {name!r}."
        )
    finished = [
        record
        for key, record in index.records.items()
        if (key.dataset, key.train_size) == (dataset, train_size) and record.get("scores")
    ]
    if not finished:
        return paired_t_test  # there is nothing to test
    n_train = fmean(record["n_train"] for record in finished)
    n_test = fmean(record["n_test"] for record in finished)
    return lambda a, b: corrected_resampled_t_test(a - b, n_train, n_test)


def _get_mark(ties: BestAndTies, learner: int) -> Mark:
    if learner == ties.best:
        return "best"
    if ties.tied[learner]:
        return "tied"
    return "undecided" if ties.undecided[learner] else ""


def _make_cell(scores: Sequence[float], *, mark: Mark, n_failed: int) -> Cell:
    present = [score for score in scores if not math.isnan(score)]
    return Cell(
        mean=fmean(present) if present else math.nan,
        sd=stdev(present) if len(present) > 1 else math.nan,
        n=len(present),
        n_planned=len(scores),
        n_failed=n_failed,
        mark=mark,
    )


def _select_records(
    index: ResultIndex, dataset: str, learner: str, train_size: float
) -> Iterator[Record]:
    for key, record in index.records.items():
        if (key.dataset, key.learner, key.train_size) == (dataset, learner, train_size):
            yield record


def _count_failures(index: ResultIndex, dataset: str, learner: str, train_size: float) -> int:
    records = _select_records(index, dataset, learner, train_size)
    return sum(bool(record.get("error")) for record in records)


def _mean_cpu_seconds(
    index: ResultIndex, dataset: str, learner: str, train_size: float
) -> CpuSeconds:
    records = _select_records(index, dataset, learner, train_size)
    finished = [record for record in records if record.get("scores")]
    if not finished:
        return CpuSeconds(math.nan, math.nan, math.nan)
    return CpuSeconds(
        *(
            fmean(record.get(f"{step}_cpu_seconds", math.nan) for record in finished)
            for step in ("tune", "fit", "predict")
        )
    )


def _summarize(
    cells: Mapping[tuple[str, str, str], Cell],
    metrics: Sequence[str],
    datasets: Sequence[str],
    learners: Sequence[str],
) -> dict[tuple[str, str], LearnerSummary]:
    summaries = {}
    for metric in metrics:
        complete = [
            name for name in learners if any(cells[metric, d, name].complete for d in datasets)
        ]
        common = tuple(
            d for d in datasets if all(cells[metric, d, name].complete for name in complete)
        )
        means = np.array([[cells[metric, d, name].mean for name in complete] for d in common])
        for learner in learners:
            summaries[metric, learner] = LearnerSummary(math.nan, math.nan, ())
        if not means.size:
            continue
        for learner, mean, rank in zip(
            complete, means.mean(axis=0), average_ranks(means), strict=True
        ):
            summaries[metric, learner] = LearnerSummary(float(mean), float(rank), common)
    return summaries
