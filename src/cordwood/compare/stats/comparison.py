"""Comparisons: what the records of a ledger say of each learner on each data set.

A unit that has not been done, or has failed, is missing and stays visible as missing: its data set
is marked, tested and averaged without the learners that lack it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cordwood.compare.stats.curves import By, LearningCurve, RoundCurve, learning_curve
from cordwood.compare.stats.ranks import average_ranks
from cordwood.compare.stats.result_index import Planned, Record, Results, check_metrics, gather
from cordwood.compare.stats.statistics import (
    BestAndTies,
    PairTest,
    best_and_ties,
    corrected_resampled_t_test,
    paired_t_test,
    wilcoxon,
)

METRICS = ("micro_f1", "macro_f1")
"""The scores that every unit has."""

CATEGORY_METRICS = ("f1",)
"""The scores that a comparison is about if every unit has a category."""

TestName = Literal["paired_t", "corrected_t", "wilcoxon"]
Mark = Literal["best", "tied", ""]

Published = Mapping[tuple[str, str], Mapping[str, float]]
"""Published scores by data set and learner, then by metric."""

Curves = Mapping[tuple[str, str], LearningCurve]
"""Learning curves by data set and learner."""


@dataclass(frozen=True)
class Cell:
    """One learner on one data set, by one metric.

    Parameters
    ----------
    mean, sd : float
        Over the units that are done; NaN where there are too few of them.
    n, n_planned, n_failed : int
        How many units are done, how many there should be, and how many failed.
    mark : {"best", "tied", ""}
        Whether this learner is the best here, or was tested and is not significantly different
        from the best. A learner that is not complete has no mark.
    published : float or None
        The published score, if there is one.
    """

    mean: float
    sd: float
    n: int
    n_planned: int
    n_failed: int
    mark: Mark
    published: float | None

    @property
    def complete(self) -> bool:
        """Whether all units are done."""
        return self.n == self.n_planned > 0


@dataclass(frozen=True)
class Cost:
    """What one learner costs on one data set: seconds of processor time, mean over its units.

    Parameters
    ----------
    tune, fit, predict : float
        To choose parameters, to learn with the chosen ones, and to answer; NaN where no unit is
        done.
    """

    tune: float
    fit: float
    predict: float


@dataclass(frozen=True)
class Summary:
    """One learner over all data sets, by one metric.

    Parameters
    ----------
    mean, rank : float
        Mean score and average rank, 1 being the best, over `datasets`; NaN without any.
    datasets : tuple of str
        Those that are complete for every learner which is complete anywhere; none for a learner
        that is complete nowhere.
    """

    mean: float
    rank: float
    datasets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Learners compared on data sets.

    Parameters
    ----------
    metrics, datasets, learners : tuple of str
        In the order of the plan.
    cells : mapping of (metric, dataset, learner) to Cell
    costs : mapping of (dataset, learner) to Cost
    summaries : mapping of (metric, learner) to Summary
    test : {"paired_t", "corrected_t", "wilcoxon"}
        By which the marks were made, with Bonferroni's correction.
    alpha : float
        Level of significance of the marks.
    rounds : mapping of (metric, dataset, learner) to RoundCurve
        Of the learners that were scored after some of their rounds.
    n_words : mapping of (dataset, learner) to float
        Mean number of words that rules are about, of the learners that have rules.
    """

    metrics: tuple[str, ...]
    datasets: tuple[str, ...]
    learners: tuple[str, ...]
    cells: Mapping[tuple[str, str, str], Cell]
    costs: Mapping[tuple[str, str], Cost]
    summaries: Mapping[tuple[str, str], Summary]
    test: TestName
    alpha: float
    rounds: Mapping[tuple[str, str, str], RoundCurve]
    n_words: Mapping[tuple[str, str], float]

    def scores(self, metric: str) -> NDArray[np.float64]:
        """Give mean scores of shape (n_sets, n_learners), as `cordwood.compare.stats.ranks` takes.

        NaN where a learner is not complete.
        """
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
    published: Published | None = None,
) -> Comparison:
    """Sum up the records of a ledger, for the most that anyone has learnt from.

    Parameters
    ----------
    records : iterable of mapping
        Lines of the ledger; of several with one key the last counts.
    planned : iterable of (key, unit), optional
        The units of the plan as plain JSON. Records of other keys are left out, units without a
        record are missing, and the plan's labels are used. Without it, the records' own units
        are all there is.
    metrics : sequence of str, optional
        Names of scores in the records; by default `CATEGORY_METRICS` if every unit has a category,
        and otherwise `METRICS`.
    test : {"paired_t", "corrected_t", "wilcoxon"}
        How learners are told from the best on each data set: as the papers do; with the
        correction for overlapping training rows; or by signed ranks.
    alpha : float
        Level of significance.
    published : mapping of (dataset, learner) to mapping of metric to float, optional
        Published scores to show beside the measured ones.

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        If there are no units, or if two different ones claim the same place.

    Examples
    --------
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
    results = gather(records, planned)
    if metrics is None:
        of_categories = all(trial.get("category") for trial in results.trials.values())
        metrics = CATEGORY_METRICS if of_categories else METRICS
    check_metrics(metrics, results)
    amount = max(slot.amount for slot in results.trials)
    datasets, learners = results.names("dataset"), results.names("learner")
    cells: dict[tuple[str, str, str], Cell] = {}
    for dataset in datasets:
        chosen = _choose_test(test, results, dataset, amount)
        for metric in metrics:
            columns = [results.values(dataset, name, amount, metric) for name in learners]
            verdict = best_and_ties(np.array(columns).T, test=chosen, alpha=alpha)
            for position, learner in enumerate(learners):
                cells[metric, dataset, learner] = _make_cell(
                    columns[position],
                    _mark(verdict, position, columns),
                    _failures(results, dataset, learner, amount),
                    (published or {}).get((dataset, learner), {}).get(metric),
                )
    costs = {(d, name): _cost(results, d, name, amount) for d in datasets for name in learners}
    return Comparison(
        metrics=tuple(metrics),
        datasets=datasets,
        learners=learners,
        cells=MappingProxyType(cells),
        costs=MappingProxyType(costs),
        summaries=MappingProxyType(_summarize(cells, metrics, datasets, learners)),
        test=test,
        alpha=alpha,
        rounds=MappingProxyType(_trace_rounds(results, metrics, amount)),
        n_words=MappingProxyType(_count_words(results, amount)),
    )


def learning_curves(
    records: Iterable[Record], planned: Planned | None = None, *, metric: str = "micro_f1"
) -> Curves:
    """Sum up the records of a ledger by training share, or by the number of positive rows.

    Parameters
    ----------
    records, planned
        As for `compare`.
    metric : str
        Name of a score in the records.

    Returns
    -------
    dict of (dataset, learner) to LearningCurve
        In the order of the plan.
    """
    results = gather(records, planned)
    check_metrics([metric], results)
    counted = any("max_positives" in trial for trial in results.trials.values())
    by: By = "max_positives" if counted else "train_fraction"
    curves = {}
    for dataset in results.names("dataset"):
        amounts = sorted({slot.amount for slot in results.trials if slot.dataset == dataset})
        for learner in results.names("learner"):
            scores = [results.values(dataset, learner, amount, metric) for amount in amounts]
            curves[dataset, learner] = learning_curve(amounts, np.array(scores), by)
    return curves


def _choose_test(name: TestName, results: Results, dataset: str, amount: float) -> PairTest:
    if name == "paired_t":
        return paired_t_test
    if name == "wilcoxon":
        return wilcoxon
    if name != "corrected_t":
        raise ValueError(f"test must be paired_t, corrected_t or wilcoxon, not {name!r}")
    done = [
        record
        for slot, record in results.records.items()
        if (slot.dataset, slot.amount) == (dataset, amount) and record.get("scores")
    ]
    if not done:
        return paired_t_test  # which has nothing to test either
    n_train, n_test = (fmean(record[part] for record in done) for part in ("n_train", "n_test"))
    return lambda a, b: corrected_resampled_t_test(a - b, n_train, n_test)


def _mark(verdict: BestAndTies, learner: int, scores: Sequence[Sequence[float]]) -> Mark:
    if learner == verdict.best:
        return "best"
    if verdict.best is not None and scores[learner] == scores[verdict.best]:
        return "tied"
    # Without a test, as of a single division, nobody is shown to be different: no news.
    tested = not math.isnan(verdict.p_values[learner])
    return "tied" if tested and verdict.tied[learner] else ""


def _make_cell(values: Sequence[float], mark: Mark, n_failed: int, figure: float | None) -> Cell:
    done = [value for value in values if not math.isnan(value)]
    return Cell(
        mean=fmean(done) if done else math.nan,
        sd=stdev(done) if len(done) > 1 else math.nan,
        n=len(done),
        n_planned=len(values),
        n_failed=n_failed,
        mark=mark,
        published=figure,
    )


def _failures(results: Results, dataset: str, learner: str, amount: float) -> int:
    return sum(
        bool(record.get("error"))
        for slot, record in results.records.items()
        if slot[:3] == (dataset, learner, amount)
    )


def _cost(results: Results, dataset: str, learner: str, amount: float) -> Cost:
    done = [
        record
        for slot, record in results.records.items()
        if slot[:3] == (dataset, learner, amount) and record.get("scores")
    ]
    return Cost(*(_mean_seconds(done, part) for part in ("tune", "fit", "predict")))


def _mean_seconds(records: Sequence[Record], part: str) -> float:
    seconds = [record.get(f"{part}_cpu_seconds", math.nan) for record in records]
    return fmean(seconds) if seconds else math.nan


def _trace_rounds(
    results: Results, metrics: Sequence[str], amount: float
) -> dict[tuple[str, str, str], RoundCurve]:
    """Average over divisions, for the rounds that all of them have."""
    traced: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for slot, record in results.records.items():
        if slot.amount == amount and record.get("rounds"):
            traced.setdefault((slot.dataset, slot.learner), []).append(record["rounds"])
    curves = {}
    for (dataset, learner), traces in traced.items():
        common = sorted(set.intersection(*(set(trace["n"]) for trace in traces)))
        for metric in metrics:
            train, test = (
                tuple(
                    fmean(trace[part][metric][trace["n"].index(n)] for trace in traces)
                    for n in common
                )
                for part in ("train", "test")
            )
            curves[metric, dataset, learner] = RoundCurve(tuple(common), train, test)
    return curves


def _count_words(results: Results, amount: float) -> dict[tuple[str, str], float]:
    counts: dict[tuple[str, str], list[int]] = {}
    for slot, record in results.records.items():
        if slot.amount == amount and "n_words" in record:
            counts.setdefault((slot.dataset, slot.learner), []).append(record["n_words"])
    return {place: fmean(found) for place, found in counts.items()}


def _summarize(
    cells: Mapping[tuple[str, str, str], Cell],
    metrics: Sequence[str],
    datasets: Sequence[str],
    learners: Sequence[str],
) -> dict[tuple[str, str], Summary]:
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
            summaries[metric, learner] = Summary(math.nan, math.nan, ())
        if not means.size:
            continue
        for learner, mean, rank in zip(
            complete, means.mean(axis=0), average_ranks(means), strict=True
        ):
            summaries[metric, learner] = Summary(float(mean), float(rank), common)
    return summaries
