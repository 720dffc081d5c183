"""Figures in the texts of claims: expressions that are computed from the records of plans.

An expression is the name of a figure and its arguments, separated by ``|``:

- ``mean | PLANS | DATASETS | LEARNER [| METRIC]``: mean score in percent;
- ``highest | PLANS | DATASETS | LEARNERS [| METRIC]``: likewise, of the best of several learners on
  each data set;
- ``at | PLANS | DATASETS | LEARNER | SIZE [| METRIC]``: mean score of a smaller training set;
- ``difference | PLANS | DATASETS | A | B [| METRIC]``: mean score of A minus that of B in points,
  with its 95 % confidence interval;
- ``gain | PLANS | DATASETS | A | B [| METRIC]``: largest relative difference of A from B over the
  data sets, and the name of the data set if there are several;
- ``wins | PLANS | DATASETS | A | B [| METRIC]``: on how many data sets A has a higher score than B;
- ``significant | PLANS | DATASETS | A | B [| METRIC]``: on how many of them the difference is
  significant at the 5 % level;
- ``best | PLANS | DATASETS | LEARNER | LEARNERS | TEST [| METRIC]``: on how many data sets it is
  among the best of these learners by the test ``paired_t`` or ``corrected_t``;
- ``sufficient | PLANS | DATASETS | LEARNER [| METRIC]``: smallest fraction of the training set with
  at least 95 % of the score of the whole training set;
- ``effect | PLANS | DATASET | FACTORS [| METRIC]``: fraction of the variation that a factor of a
  design explains, and the change of the score in points;
- ``rounds | PLAN | DATASET | LEARNER | ROUND | SET [| METRIC]``: score after a boosting round (a
  number or ``last``) on the set ``train`` or ``test``;
- ``n_rounds | PLAN | DATASET | LEARNER``: number of boosting rounds;
- ``rank | PLAN | LEARNER [| METRIC]``: average rank among the learners of a plan;
- ``words | PLANS | DATASETS | LEARNER``: median number of words of the rules;
- ``seconds | PLANS | DATASETS | LEARNER [| PHASES]``: CPU seconds of one split; phases are
  ``tune; fit; predict``, all by default;
- ``ratio | PLANS | DATASETS | A | B [| PHASES]``: CPU seconds of A divided by those of B;
- ``paper | DATASET | ROW [| METRIC]``: published score, see `reproduction.published`;
- ``value | FILE | KEY [| KEY ...]``: an entry of the JSON file ``figures/FILE.json``.

Several plans, data sets, learners or factors are separated by ``;``, and ``*`` stands for all data
sets of the plans. Scores are means over data sets. Without a metric, a figure has the values of all
metrics of the plan, separated by slashes. Intervals on one data set are those of the t-test that is
corrected for overlapping training sets; over several data sets, the data sets are the sample.
Missing results raise an error.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cordwood.compare.stats.comparison import METRICS
from cordwood.compare.stats.result_index import ResultIndex, build_index
from cordwood.compare.stats.statistics import (
    PairedTest,
    best_and_ties,
    corrected_resampled_t_test,
    paired_t_test,
)
from cordwood.exceptions import CordwoodError
from reproduction.effects import estimate_effects
from reproduction.methods_text import PHASES
from reproduction.published import FIGURES
from reproduction.results_page import Section, format_effect, sufficient_size
from reproduction.rounds import RoundCurve

_MINUS = "\N{MINUS SIGN}"
_LEVEL = 0.05


class Figures:
    """Computes the figures that expressions stand for.

    Parameters
    ----------
    sections : sequence of Section
        Plans and their results.
    folder : path
        Folder of the JSON files that ``value`` reads.
    """

    def __init__(self, sections: Sequence[Section], folder: str | Path) -> None:
        self._sections = {section.stem: section for section in sections}
        self._folder = Path(folder)
        self._indices: dict[str, ResultIndex] = {}
        self._functions: dict[str, Callable[..., str]] = {
            "mean": self._mean,
            "highest": self._highest,
            "at": self._at,
            "difference": self._difference,
            "gain": self._gain,
            "wins": self._wins,
            "significant": self._significant,
            "best": self._best,
            "sufficient": self._sufficient,
            "effect": self._effect,
            "rounds": self._rounds,
            "n_rounds": self._n_rounds,
            "rank": self._rank,
            "words": self._words,
            "seconds": self._seconds,
            "ratio": self._ratio,
            "paper": self._paper,
            "value": self._value,
        }

    def format(self, expression: str, lists: Mapping[str, str] | None = None) -> str:
        """Return the figure that an expression stands for.

        Parameters
        ----------
        expression : str
            Name of a figure and its arguments, without braces.
        lists : mapping of str to str, optional
            What ``@NAME`` stands for in an argument.

        Returns
        -------
        str

        Raises
        ------
        CordwoodError
            If the expression is invalid, or if there are no results for it.
        """
        name, *arguments = (part.strip() for part in expression.split("|"))
        if name not in self._functions:
            known = ", ".join(self._functions)
            raise CordwoodError(
                f"{{{expression}}}: there is no figure {name!r}; use one of {known}"
            )
        function = self._functions[name]
        try:
            signature(function).bind(*arguments)
        except TypeError as error:
            raise CordwoodError(f"{{{expression}}}: wrong number of arguments") from error
        try:
            return function(*(_expand(each, lists or {}) for each in arguments))
        except CordwoodError as error:
            raise CordwoodError(f"{{{expression}}}: {error}") from error

    def _mean(self, plans: str, datasets: str, learner: str, metric: str = "") -> str:
        return self._for_metrics(
            plans,
            metric,
            lambda name: f"{100 * self._mean_score(plans, datasets, learner, name):.1f}",
        )

    def _highest(self, plans: str, datasets: str, learners: str, metric: str = "") -> str:
        def format_mean(name: str) -> str:
            score = fmean(
                max(self._mean_score(plans, dataset, each, name) for each in _split(learners))
                for dataset in self._datasets(plans, datasets)
            )
            return f"{100 * score:.1f}"

        return self._for_metrics(plans, metric, format_mean)

    def _at(self, plans: str, datasets: str, learner: str, size: str, metric: str = "") -> str:
        def format_mean(name: str) -> str:
            score = self._mean_score(plans, datasets, learner, name, _to_number(size))
            return f"{100 * score:.1f}"

        return self._for_metrics(plans, metric, format_mean)

    def _difference(self, plans: str, datasets: str, a: str, b: str, metric: str = "") -> str:
        def format_difference(name: str) -> str:
            names = self._datasets(plans, datasets)
            if len(names) == 1:
                values, overlap = self._paired(plans, names[0], a, b, name)
            else:
                values = np.array(
                    [
                        self._mean_score(plans, dataset, a, name)
                        - self._mean_score(plans, dataset, b, name)
                        for dataset in names
                    ]
                )
                overlap = 0.0
            return _format_interval(100 * values, overlap)

        return self._for_metrics(plans, metric, format_difference)

    def _gain(self, plans: str, datasets: str, a: str, b: str, metric: str = "") -> str:
        def find_gain(name: str) -> str:
            names = self._datasets(plans, datasets)
            gains = {
                dataset: self._mean_score(plans, dataset, a, name)
                / self._mean_score(plans, dataset, b, name)
                - 1
                for dataset in names
            }
            best = max(gains, key=gains.__getitem__)
            text = f"{_format_signed(100 * gains[best])} %"
            return f"{text} ({best})" if len(names) > 1 else text

        return self._for_metrics(plans, metric, find_gain)

    def _wins(self, plans: str, datasets: str, a: str, b: str, metric: str = "") -> str:
        def count_wins(name: str) -> str:
            names = self._datasets(plans, datasets)
            n_wins = sum(
                self._mean_score(plans, dataset, a, name)
                > self._mean_score(plans, dataset, b, name)
                for dataset in names
            )
            return f"{n_wins} of {len(names)}"

        return self._for_metrics(plans, metric, count_wins)

    def _significant(self, plans: str, datasets: str, a: str, b: str, metric: str = "") -> str:
        def count_significant(name: str) -> str:
            names = self._datasets(plans, datasets)
            n_significant = 0
            for dataset in names:
                values, overlap = self._paired(plans, dataset, a, b, name)
                test = corrected_resampled_t_test(values, 1.0, overlap)
                n_significant += test.p_value < _LEVEL and test.difference > 0
            return f"{n_significant} of {len(names)}"

        return self._for_metrics(plans, metric, count_significant)

    def _best(
        self,
        plans: str,
        datasets: str,
        learner: str,
        learners: str,
        test: str,
        metric: str = "",
    ) -> str:
        candidates = _split(learners)
        if learner not in candidates:
            raise CordwoodError(f"{learner!r} is not one of the learners")
        if test not in ("paired_t", "corrected_t"):
            raise CordwoodError(f"the test must be paired_t or corrected_t; got {test!r}")

        def count_best(name: str) -> str:
            names = self._datasets(plans, datasets)
            n_best = 0
            for dataset in names:
                folds = [self._folds(plans, dataset, each, name) for each in candidates]
                if any(set(each) != set(folds[0]) for each in folds):
                    raise CordwoodError(f"the learners have different folds on {dataset!r}")
                scores = np.array([[each[fold] for fold in folds[0]] for each in folds]).T
                overlap = self._overlap(plans, dataset, candidates[0])
                ties = best_and_ties(scores, test=_get_test(test, overlap))
                place = candidates.index(learner)
                n_best += bool(ties.tied[place] or ties.undecided[place])
            return f"{n_best} of {len(names)}"

        return self._for_metrics(plans, metric, count_best)

    def _sufficient(self, plans: str, datasets: str, learner: str, metric: str = "") -> str:
        def find_fraction(name: str) -> str:
            names = self._datasets(plans, datasets)
            sizes = sorted({key.train_size for key in self._index(plans).trials})
            if len(sizes) < 2:
                raise CordwoodError(f"{plans} has a single size of the training set")
            curve = [
                fmean(self._mean_score(plans, each, learner, name, size) for each in names)
                for size in sizes
            ]
            return f"{sufficient_size(sizes, curve):.0%}"

        return self._for_metrics(plans, metric, find_fraction)

    def _effect(self, plans: str, dataset: str, factors: str, metric: str = "") -> str:
        def find_effect(name: str) -> str:
            for section in map(self._section, _split(plans)):
                if not section.factors:
                    raise CordwoodError(f"{section.stem} is no factorial design")
                found = estimate_effects(
                    section.factors, section.plan.learners, section.summary.records, name
                )
                for effect in found[dataset].effects if dataset in found else ():
                    if set(effect.factors) == set(_split(factors)):
                        return format_effect(effect)
            raise CordwoodError(f"{plans} has no effects of {factors} on {dataset!r}")

        return self._for_metrics(plans, metric, find_effect)

    def _rounds(
        self, plan: str, dataset: str, learner: str, n: str, part: str, metric: str = ""
    ) -> str:
        def find_score(name: str) -> str:
            curve = self._round_curve(plan, dataset, learner, name)
            number = curve.rounds[-1] if n == "last" else _to_number(n)
            if number not in curve.rounds or part not in ("train", "test"):
                raise CordwoodError(f"{plan} has no {part} score after round {n}")
            scores = curve.train if part == "train" else curve.test
            return f"{100 * scores[curve.rounds.index(int(number))]:.1f}"

        return self._for_metrics(plan, metric, find_score)

    def _n_rounds(self, plan: str, dataset: str, learner: str) -> str:
        metric = self._section(plan).comparison.metrics[0]
        return str(self._round_curve(plan, dataset, learner, metric).rounds[-1])

    def _rank(self, plan: str, learner: str, metric: str = "") -> str:
        comparison = self._section(plan).comparison

        def find_rank(name: str) -> str:
            rank = comparison.summaries[name, learner].rank
            if math.isnan(rank):
                raise CordwoodError(f"{learner!r} is complete on no data set of {plan}")
            return f"{rank:.1f}"

        if learner not in comparison.learners:
            raise CordwoodError(f"{plan} has no learner {learner!r}")
        return self._for_metrics(plan, metric, find_rank)

    def _words(self, plans: str, datasets: str, learner: str) -> str:
        counts = [
            fmean(self._field(plans, dataset, learner, "n_words"))
            for dataset in self._datasets(plans, datasets)
        ]
        return f"{median(counts):.0f}"

    def _seconds(self, plans: str, datasets: str, learner: str, phases: str = "") -> str:
        seconds = self._mean_seconds(plans, datasets, learner, phases)
        return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"

    def _ratio(self, plans: str, datasets: str, a: str, b: str, phases: str = "") -> str:
        first, second = (self._mean_seconds(plans, datasets, name, phases) for name in (a, b))
        return f"{first / second:.1f}"

    def _paper(self, dataset: str, row: str, metric: str = "") -> str:
        figure = FIGURES["sigir17"].get((dataset, row))
        if figure is None:
            raise CordwoodError(f"no paper reports a score of {row!r} on {dataset!r}")
        return " / ".join(f"{100 * getattr(figure, name):.1f}" for name in _metrics(metric))

    def _value(self, file: str, *keys: str) -> str:
        path = self._folder / f"{file}.json"
        if not path.exists():
            raise CordwoodError(f"there is no file {path}")
        entry = json.loads(path.read_text(encoding="utf-8"))
        for key in keys:
            if not isinstance(entry, dict) or key not in entry:
                raise CordwoodError(f"{path} has no entry {key!r}")
            entry = entry[key]
        return entry if isinstance(entry, str) else f"{entry:,}".replace("-", _MINUS)

    def _for_metrics(self, plans: str, metric: str, figure: Callable[[str], str]) -> str:
        """Format a figure for each metric."""
        metrics = _split(metric) or self._section(_split(plans)[0]).comparison.metrics
        return " / ".join(figure(name) for name in metrics)

    def _section(self, plan: str) -> Section:
        if plan not in self._sections:
            raise CordwoodError(f"there is no plan {plan!r}")
        return self._sections[plan]

    def _index(self, plans: str) -> ResultIndex:
        """Index the trials of several plans, which must not contradict each other."""
        if plans not in self._indices:
            summaries = [self._section(name).summary for name in _split(plans)]
            self._indices[plans] = build_index(
                [record for summary in summaries for record in summary.records],
                [trial for summary in summaries for trial in summary.planned],
            )
        return self._indices[plans]

    def _round_curve(self, plan: str, dataset: str, learner: str, metric: str) -> RoundCurve:
        curves = self._section(plan).rounds[metric]
        if (dataset, learner) not in curves:
            raise CordwoodError(f"{plan} has no rounds of {learner!r} on {dataset!r}")
        return curves[dataset, learner]

    def _datasets(self, plans: str, datasets: str) -> tuple[str, ...]:
        known = self._index(plans).names("dataset")
        if datasets == "*":
            return known
        for name in _split(datasets):
            if name not in known:
                raise CordwoodError(f"{plans} has no data set {name!r}")
        return _split(datasets)

    def _records(
        self, plans: str, dataset: str, learner: str, size: float | None = None
    ) -> dict[tuple[int, int], Mapping[str, Any]]:
        """Return the records of a learner by repeat and fold, if none is missing."""
        index = self._index(plans)
        sizes = {
            key.train_size
            for key in index.trials
            if (key.dataset, key.learner) == (dataset, learner)
        }
        if not sizes:
            raise CordwoodError(f"{plans} has no learner {learner!r} on {dataset!r}")
        if size is not None and size not in sizes:
            raise CordwoodError(f"{plans} has no training set of size {size:g}")
        size = max(sizes) if size is None else size
        keys = [key for key in index.trials if key[:3] == (dataset, learner, size)]
        records = {key.fold: index.records.get(key, {}) for key in keys}
        n_missing = sum(not record.get("scores") for record in records.values())
        if n_missing:
            raise CordwoodError(
                f"{learner!r} on {dataset!r} lacks {n_missing} of {len(records)} results"
            )
        return records

    def _field(self, plans: str, dataset: str, learner: str, field: str) -> list[float]:
        records = self._records(plans, dataset, learner).values()
        if any(field not in record for record in records):
            raise CordwoodError(f"the records of {learner!r} have no {field}")
        return [float(record[field]) for record in records]

    def _folds(
        self, plans: str, dataset: str, learner: str, metric: str, size: float | None = None
    ) -> dict[tuple[int, int], float]:
        """Return the scores of a learner by repeat and fold."""
        records = self._records(plans, dataset, learner, size)
        if any(metric not in record["scores"] for record in records.values()):
            raise CordwoodError(f"the records of {learner!r} have no metric {metric!r}")
        return {fold: float(record["scores"][metric]) for fold, record in records.items()}

    def _mean_score(
        self, plans: str, datasets: str, learner: str, metric: str, size: float | None = None
    ) -> float:
        return fmean(
            fmean(self._folds(plans, dataset, learner, metric, size).values())
            for dataset in self._datasets(plans, datasets)
        )

    def _mean_seconds(self, plans: str, datasets: str, learner: str, phases: str) -> float:
        chosen = _split(phases) or PHASES
        for phase in chosen:
            if phase not in PHASES:
                raise CordwoodError(f"there is no phase {phase!r}; use {', '.join(PHASES)}")
        return fmean(
            sum(
                fmean(self._field(plans, dataset, learner, f"{phase}_cpu_seconds"))
                for phase in chosen
            )
            for dataset in self._datasets(plans, datasets)
        )

    def _overlap(self, plans: str, dataset: str, learner: str) -> float:
        """Return the number of test samples divided by that of training samples."""
        n_test, n_train = (
            fmean(self._field(plans, dataset, learner, field)) for field in ("n_test", "n_train")
        )
        return n_test / n_train

    def _paired(
        self, plans: str, dataset: str, a: str, b: str, metric: str
    ) -> tuple[NDArray[np.float64], float]:
        """Return the differences on the same folds, and the overlap of the training sets."""
        first, second = (self._folds(plans, dataset, name, metric) for name in (a, b))
        if set(first) != set(second):
            raise CordwoodError(f"{a!r} and {b!r} have different folds on {dataset!r}")
        differences = np.array([first[fold] - second[fold] for fold in first])
        return differences, self._overlap(plans, dataset, a)


def _split(names: str) -> tuple[str, ...]:
    """Split a list of names.

    Examples
    --------
    >>> _split("webkb; 20ng")
    ('webkb', '20ng')
    """
    return tuple(name.strip() for name in names.split(";") if name.strip())


def _expand(argument: str, lists: Mapping[str, str]) -> str:
    """Replace the name of a list by its content."""
    if not argument.startswith("@"):
        return argument
    if argument[1:] not in lists:
        raise CordwoodError(f"there is no list {argument[1:]!r}")
    return lists[argument[1:]]


def _metrics(metric: str) -> tuple[str, ...]:
    names = _split(metric) or METRICS
    for name in names:
        if name not in METRICS:
            raise CordwoodError(f"there is no metric {name!r}")
    return names


def _to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise CordwoodError(f"{text!r} is no number") from error


def _get_test(name: str, overlap: float) -> PairedTest:
    if name == "paired_t":
        return paired_t_test
    return lambda a, b: corrected_resampled_t_test(a - b, 1.0, overlap)


def _format_signed(number: float) -> str:
    """Format a number with its sign and one decimal.

    Examples
    --------
    >>> [_format_signed(number) for number in (1.25, -0.75, -0.01)]
    ['+1.2', '−0.8', '0.0']
    """
    rounded = round(number, 1)
    return f"{rounded:+.1f}".replace("-", _MINUS) if rounded else "0.0"


def _format_interval(values: NDArray[np.float64], overlap: float) -> str:
    """Format a mean with its 95 % confidence interval, if there are at least two values.

    Examples
    --------
    >>> _format_interval(np.array([1.0, 2.0, 3.0]), overlap=0.0)
    '+2.0 ± 2.5'
    """
    n = len(values)
    text = _format_signed(float(values.mean()))
    if n < 2:
        return text
    error = math.sqrt((1 / n + overlap) * values.var(ddof=1))
    return f"{text} ± {stats.t.ppf(1 - _LEVEL / 2, n - 1) * error:.1f}"
