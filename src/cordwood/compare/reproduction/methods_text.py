"""Facts: how a comparison was made and what it took, in words."""

from collections.abc import Iterable, Iterator
from typing import Any

from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import Evaluation, Tuning
from cordwood.compare.report.rendering import escape_markdown, metric_name
from cordwood.compare.reproduction.protocols import published
from cordwood.compare.runner.run import RunSummary

PARTS = ("tune", "fit", "predict")
"""What a unit takes time for."""

_KINDS = {
    "stratified": "{folds} stratified folds",
    "grouped": "{folds} folds, rows of a group in the same one",
    "fixed": "the official split",
    "holdout": "a random {test_share:.0%} of the rows for the test",
}
_OWN_SCORES = {
    "oob": "out-of-bag scores where a learner has them, otherwise ",
    "loo": "leave-one-out scores where a learner has them, otherwise ",
    "auto": "out-of-bag or leave-one-out scores where a learner has them, otherwise ",
}


def list_facts(plan: Plan, summary: RunSummary) -> Iterator[str]:
    """Tell how learners were compared, and what has been done of it, in lines of Markdown.

    Parameters
    ----------
    plan : Plan
    summary : RunSummary
        Where the plan stands in a ledger.
    """
    protocol = f" (protocol `{plan.protocol}`)" if plan.protocol else ""
    yield f"Evaluation{protocol}: {_describe_evaluation(plan.evaluation)}; seed {plan.seed}"
    for source, names in _group_by_source(plan).items():
        yield f"Categories of {source}, each against all other rows: {', '.join(names)}"
    by = f"by {metric_name(plan.metric)} {_describe_tuning(plan.tuning)}"
    if tuned := tuned_learners(plan):
        yield f"Tuning: {', '.join(tuned)}, {by}"
    if plan.tuning.threshold:
        yield f"Thresholds of probability: of all learners, {by}"
    for settings, names in _group_by_text(plan).items():
        yield f"Text of {', '.join(names)}: {settings}"
    if sources := sorted(set(_find_sources(plan))):
        yield f"Published figures: {', '.join(sources)}"
    if not summary.records:
        yield "Not run"
        return
    days = sorted({record["time"][:10] for record in summary.records})
    yield (
        f"Run: {describe_done(summary)} units, {format_time(total_seconds(summary))} of processor "
        f"time, {' to '.join(dict.fromkeys((days[0], days[-1])))}"
    )
    yield f"Versions: {_describe_versions(summary.records)}"
    for failure, n in _count_failures(summary.records).items():
        yield f"Failed in {n} units: {escape_markdown(failure)}"


def tuned_learners(plan: Plan) -> list[str]:
    """List the learners whose parameters are chosen from a grid."""
    return [learner.name for learner in plan.learners if learner.grid or learner.numeric_grid]


def describe_done(summary: RunSummary) -> str:
    """Say how many units are done of how many, and how many have failed."""
    done = f"{summary.n_units - summary.n_missing - summary.n_failed:,} of {summary.n_units:,}"
    return f"{done} ({summary.n_failed:,} failed)" if summary.n_failed else done


def _describe_evaluation(evaluation: Evaluation) -> str:
    told = _KINDS[evaluation.kind].format(**evaluation.model_dump())
    if evaluation.repeats > 1 and not evaluation.positives:
        told += f", drawn {evaluation.repeats} times"
    if len(evaluation.shares) > 1:
        shares = ", ".join(f"{share:.0%}" for share in evaluation.shares)
        told += f"; learnt from {shares} of the training rows, the last in the tables"
    if evaluation.positives:
        kept = ", ".join(f"{n:,}" for n in evaluation.positives)
        told += f"; learnt from at most {kept} rows of the category, the last in the tables"
        told += f", drawn {evaluation.repeats} times" if evaluation.repeats > 1 else ""
    return told


def _describe_tuning(tuning: Tuning) -> str:
    if tuning.kind == "test":
        return "on the test rows themselves, which gives an upper bound and no result"
    return "in " + _OWN_SCORES.get(tuning.kind, "") + f"{tuning.folds} folds of the training rows"


def _group_by_source(plan: Plan) -> dict[str, list[str]]:
    """List the categories by the data sets that they are of."""
    groups: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.category is not None:
            groups.setdefault(dataset.path or dataset.known_as, []).append(dataset.category)
    return groups


def _group_by_text(plan: Plan) -> dict[str, list[str]]:
    """List the data sets of text by how they are prepared."""
    groups: dict[str, list[str]] = {}
    for dataset in plan.datasets:
        if dataset.kind == "text":
            settings = ", ".join(f"{name} `{value}`" for name, value in dataset.text.items())
            named = groups.setdefault(settings or "as each recipe has it", [])
            name = dataset.name if dataset.category is None else dataset.known_as
            if name not in named:
                named.append(name)
    return groups


def _find_sources(plan: Plan) -> Iterator[str]:
    for dataset in plan.datasets:
        for learner in plan.learners:
            figure = plan.protocol and published(
                plan.protocol, dataset.name, learner.recipe, learner.params
            )
            if figure:
                yield figure.source


def total_seconds(summary: RunSummary) -> float:
    """Add up the processor time of all units that are done."""
    return float(
        sum(record.get(f"{part}_cpu_seconds", 0) for record in summary.records for part in PARTS)
    )


def format_time(seconds: float) -> str:
    """Write a time as people do.

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
            unit = record["unit"]
            told = f"{unit['learner']} on {unit['dataset']}: {record['error']}"
            failures[told] = failures.get(told, 0) + 1
    return failures
