"""How a comparison was run and what it cost, as sentences."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cordwood.compare.config.plan import Plan
from cordwood.compare.report.rendering import metric_name
from cordwood.compare.runner.run import RunSummary
from cordwood.reports.markdown_page import escape_markdown
from reproduction.published import list_figures

PHASES = ("tune", "fit", "predict")
"""The phases of a trial whose time is measured."""

_KINDS = {
    "stratified": "{folds} stratified folds",
    "grouped": "{folds} folds, all samples of a group in the same fold",
    "fixed": "the official split",
    "holdout": "a random test set of {test_size:.0%} of the samples",
}
_OWN_SCORES = {
    "oob": "out-of-bag scores if available, otherwise ",
    "loo": "leave-one-out scores if available, otherwise ",
    "auto": "out-of-bag or leave-one-out scores if available, otherwise ",
}


def describe_methods(plan: Plan, summary: RunSummary) -> Iterator[str]:
    """Yield lines of Markdown on how learners were compared and how much of it is done.

    Parameters
    ----------
    plan : Plan
    summary : RunSummary
        The records of the plan in a ledger.
    """
    protocol = f" (protocol `{Path(plan.protocol).stem}`)" if plan.protocol else ""
    yield f"Evaluation{protocol}: {_describe_evaluation(plan)}; seed {plan.seed}"
    for source, names in _group_categories(plan).items():
        yield f"Categories of {source}, each against all other samples: {', '.join(names)}"
    criterion = f"by {metric_name(plan.metric)} {_describe_tuning(plan)}"
    if tuned := tuned_learners(plan):
        yield f"Tuning: {', '.join(tuned)}, {criterion}"
    if plan.options.get("threshold"):
        yield f"Decision thresholds: of all learners, {criterion}"
    for params, names in _group_by_vectorizer(plan).items():
        yield f"Vectorizer of {', '.join(names)}: {params}"
    if sources := sorted({figure.source for figure in list_figures(plan).values()}):
        yield f"Published scores: {', '.join(sources)}"
    if not summary.records:
        yield "Not run"
        return
    days = sorted({record["time"][:10] for record in summary.records})
    yield (
        f"Run: {describe_progress(summary)} trials, {format_time(total_seconds(summary))} of CPU "
        f"time, {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )
    yield f"Versions: {_describe_versions(summary.records)}"
    for failure, n in _count_failures(summary.records).items():
        yield f"Failed in {n} trials: {escape_markdown(failure)}"


def tuned_learners(plan: Plan) -> list[str]:
    """Return the names of the learners with a grid."""
    return [learner.name for learner in plan.learners if learner.grid or learner.numeric_grid]


def describe_progress(summary: RunSummary) -> str:
    """Return how many trials are done of how many, and how many have failed."""
    done = f"{summary.n_trials - summary.n_missing - summary.n_failed:,} of {summary.n_trials:,}"
    return f"{done} ({summary.n_failed:,} failed)" if summary.n_failed else done


def _describe_evaluation(plan: Plan) -> str:
    evaluation, max_positives = plan.evaluation, plan.options.get("max_positives")
    text = _KINDS[evaluation.kind].format(**evaluation.model_dump())
    if evaluation.repeats > 1 and not max_positives:
        text += f", repeated {evaluation.repeats} times"
    if len(evaluation.train_fractions) > 1:
        fractions = ", ".join(f"{fraction:.0%}" for fraction in evaluation.train_fractions)
        text += f"; fitted on {fractions} of the training set, the last in the tables"
    if max_positives:
        counts = ", ".join(f"{n:,}" for n in max_positives)
        text += f"; fitted on at most {counts} samples of the category, the last in the tables"
        text += f", drawn {evaluation.repeats} times" if evaluation.repeats > 1 else ""
    return text


def _describe_tuning(plan: Plan) -> str:
    if plan.options.get("tune_on_test"):
        return "on the test set itself, which gives an upper bound and not an unbiased score"
    tuning = plan.tuning
    return "in " + _OWN_SCORES.get(tuning.kind, "") + f"{tuning.folds} folds of the training set"


def _group_categories(plan: Plan) -> dict[str, list[str]]:
    """List the categories by the data sets that they belong to."""
    groups: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.category is not None:
            source = dataset.path or dataset.registered_name
            groups.setdefault(source, []).append(dataset.category)
    return groups


def _group_by_vectorizer(plan: Plan) -> dict[str, list[str]]:
    """List the text data sets by their vectorizer parameters."""
    groups: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.kind == "text":
            params = ", ".join(f"{name} `{value}`" for name, value in dataset.vectorizer.items())
            names = groups.setdefault(params or "defaults of each recipe", [])
            name = dataset.name if dataset.category is None else dataset.registered_name
            if name not in names:
                names.append(name)
    return groups


def total_seconds(summary: RunSummary) -> float:
    """Return the CPU time of all trials that are done."""
    return float(
        sum(record.get(f"{phase}_cpu_seconds", 0) for record in summary.records for phase in PHASES)
    )


def format_time(seconds: float) -> str:
    """Format a time in seconds, minutes or hours.

    Examples
    --------
    >>> [format_time(seconds) for seconds in (12.3, 90, 7200)]
    ['12 s', '1.5 min', '2.0 h']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _describe_versions(records: Iterable[Any]) -> str:
    versions: dict[str, set[str]] = {}
    for record in records:
        for library, version in record["versions"].items():
            versions.setdefault(library, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(found))}" for name, found in versions.items())


def _count_failures(records: Iterable[Any]) -> dict[str, int]:
    failures: dict[str, int] = {}
    for record in records:
        if "error" in record:
            trial = record["trial"]
            failure = f"{trial['learner']} on {trial['dataset']}: {record['error']}"
            failures[failure] = failures.get(failure, 0) + 1
    return failures
