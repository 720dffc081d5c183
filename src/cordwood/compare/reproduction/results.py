"""The page of results: all plans of a folder with what their ledgers hold, as Markdown.

Made of plans and ledgers alone, without the data, so that it can be made anew on any machine. What
has not been run is said to be so.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from cordwood.compare.config.plan import Plan, load_plan
from cordwood.compare.report.rendering import (
    Entry,
    Grid,
    draw_markdown,
    draw_score,
    escape_markdown,
    format_seconds,
    metric_name,
)
from cordwood.compare.reproduction.effects import find_effects
from cordwood.compare.reproduction.explanations import (
    Explanation,
    find_explanations,
    load_explanations,
)
from cordwood.compare.reproduction.factorial import Effect
from cordwood.compare.reproduction.methods_text import (
    PARTS,
    describe_done,
    format_time,
    list_facts,
    total_seconds,
    tuned_learners,
)
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import RunSummary, collect
from cordwood.compare.stats.comparison import (
    CATEGORY_METRICS,
    Cell,
    Comparison,
    Curves,
    compare,
    learning_curves,
)

EXPLANATIONS = "explanations.toml"
"""The name of the file of explanations, among the plans."""

LARGE = 2.0
"""Percentage points; a difference from a paper above it wants an explanation."""

_MINUS = "\N{MINUS SIGN}"
_READING = f"""\
Scores are percentages: mean ± standard deviation over the test parts. Bold: the best of a data set,
and what does not differ from it significantly (paired t-test with Bonferroni's correction, 5 %
level). *paper* has the published figure and *difference* ours minus that; those above {LARGE:g}
points are listed at the end, each with what explains it, or as open. *(3 of 5)*: so many test parts
are done, and the learner takes no part in bold, means and ranks there. *not run*: none is. Seconds
are processor time for one part, in one thread: to choose parameters, to learn with the chosen ones,
and to answer."""

_EFFECTS = """\
Share of the scores' variation that each switch explains, alone and together, and in brackets by how
many points switching it on changes the score, with its 95 % interval; the rest is between the test
parts."""


class Section(NamedTuple):
    """A plan and what a ledger has of it.

    Parameters
    ----------
    stem : str
        Name of the plan's file, without its suffix.
    plan : Plan
    summary : RunSummary
        The units and their records.
    comparison : Comparison
        What these come to.
    curves : mapping of str to Curves
        The learning curves by each metric of the comparison.
    """

    stem: str
    plan: Plan
    summary: RunSummary
    comparison: Comparison
    curves: Mapping[str, Curves]


class Picture(NamedTuple):
    """A picture on the page.

    Parameters
    ----------
    file : str
        Name of the file.
    caption : str
        What it shows.
    kind : {"rounds", "amounts"}
        Scores by rounds, or by what was learnt from.
    metric, dataset : str
        Which scores.
    """

    file: str
    caption: str
    kind: Literal["rounds", "amounts"]
    metric: str
    dataset: str


class Difference(NamedTuple):
    """A figure of ours that is far from the paper's.

    Parameters
    ----------
    stem, dataset, learner, metric : str
        Which figure.
    cell : Cell
        With both of them.
    explanations : tuple of Explanation
        What explains it; none where the question is open.
    """

    stem: str
    dataset: str
    learner: str
    metric: str
    cell: Cell
    explanations: tuple[Explanation, ...]


class Page(NamedTuple):
    """The page, and what its writer may want to know.

    Parameters
    ----------
    text : str
        Markdown.
    n_open : int
        Large differences that nothing explains.
    idle : tuple of Explanation
        Explanations of differences that are not large, or are not there.
    sections : tuple of Section
        The plans, for `cordwood.compare.report.write_plots.write_pictures`.
    """

    text: str
    n_open: int
    idle: tuple[Explanation, ...]
    sections: tuple[Section, ...]


def make_page(
    head: str, plans: str | Path, ledgers: str | Path, links: str, pictures: str = "pictures"
) -> Page:
    """Write the page of results.

    Parameters
    ----------
    head : str
        Markdown that comes first: a title, and how the page is made.
    plans : path
        Folder of plans, each with the suffix ``.toml``, and perhaps of `EXPLANATIONS`.
    ledgers : path
        Folder of ledgers, each named as its plan, with the suffix ``.jsonl``; a plan without one
        has not been run.
    links : str
        Where the plans are, seen from the page, such as ``../benchmarks/plans``.
    pictures : str
        Where the pictures are, likewise.

    Returns
    -------
    Page

    Raises
    ------
    CordwoodError
        If a plan, a ledger or the explanations are faulty; it names the file.
    """
    sections = [_read_section(path, Path(ledgers)) for path in _list_plans(Path(plans))]
    explanations = load_explanations(Path(plans, EXPLANATIONS))
    differences = [d for section in sections for d in _find_differences(section, explanations)]
    used = list(dict.fromkeys(e for difference in differences for e in difference.explanations))
    blocks = [
        head.strip(),
        _READING,
        _draw_overview(sections),
        *(_draw_section(section, links, pictures) for section in sections),
        _draw_differences(differences, used),
    ]
    return Page(
        text="\n\n".join(blocks) + "\n",
        n_open=sum(not difference.explanations for difference in differences),
        idle=tuple(e for e in explanations if e not in used),
        sections=tuple(sections),
    )


def list_pictures(section: Section) -> Iterator[Picture]:
    """List the pictures of a plan: for each data set, the curves that there are results for."""
    comparison = section.comparison
    for metric in comparison.metrics:
        for dataset in comparison.datasets:
            place = {"metric": metric, "dataset": dataset}
            stem = re.sub(r"[^\w-]", "_", f"{section.stem}-{dataset}-{metric}")
            score = f"{metric_name(metric)} on {dataset}"
            if any((metric, dataset, name) in comparison.rounds for name in comparison.learners):
                yield Picture(f"{stem}-rounds.svg", f"{score} by rounds", "rounds", **place)
            curves = [section.curves[metric][dataset, name] for name in comparison.learners]
            if any(sum(point.n > 0 for point in curve.points) > 1 for curve in curves):
                by = "rows of the category" if curves[0].by == "positives" else "training rows"
                yield Picture(f"{stem}-amounts.svg", f"{score} by {by}", "amounts", **place)


def _list_plans(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.toml") if path.name != EXPLANATIONS)


def _read_section(path: Path, ledgers: Path) -> Section:
    plan = load_plan(path, absent_data=True)
    summary = collect(plan, Ledger(ledgers / f"{path.stem}.jsonl"))
    comparison = compare(summary.records, summary.planned, protocol=plan.protocol)
    curves = {
        metric: learning_curves(summary.records, summary.planned, metric=metric)
        for metric in comparison.metrics
    }
    return Section(path.stem, plan, summary, comparison, curves)


def _find_differences(
    section: Section, explanations: Sequence[Explanation]
) -> Iterator[Difference]:
    for (metric, dataset, learner), cell in section.comparison.cells.items():
        if not abs(_points(cell)) > LARGE:
            continue
        place = {"dataset": dataset, "learner": learner, "metric": metric}
        found = find_explanations(explanations, plan=section.stem, **place)
        yield Difference(section.stem, **place, cell=cell, explanations=found)


def _points(cell: Cell) -> float:
    """Subtract the paper's figure from ours, as both are written; NaN where one is missing."""
    if cell.published is None:
        return math.nan
    return round(round(100 * cell.mean, 2) - round(100 * cell.published, 2), 2)


def _draw_overview(sections: Sequence[Section]) -> str:
    rows = [
        f"| [{escape_markdown(plan.name)}](#{_anchor(plan.name)}) | {len(plan.datasets)} "
        f"| {len(plan.learners)} | {describe_done(summary)} "
        f"| {format_time(total_seconds(summary))} |"
        for _, plan, summary, _, _ in sections
    ]
    header = "| plan | data sets | learners | units done | processor time |"
    return "\n".join([header, "|:--|--:|--:|--:|--:|", *rows])


def _anchor(title: str) -> str:
    """Name a heading as links on the page do.

    Examples
    --------
    >>> _anchor("Reuters, 90 classes")
    'reuters-90-classes'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _draw_section(section: Section, links: str, pictures: str) -> str:
    file = f"{section.stem}.toml"
    facts = [f"Plan: [`{file}`]({links}/{file})", *list_facts(section.plan, section.summary)]
    blocks = [f"## {escape_markdown(section.plan.name)}", "\n".join(f"- {fact}" for fact in facts)]
    if not section.summary.records:
        return "\n\n".join(blocks)
    shown = (f"![{each.caption}]({pictures}/{each.file})" for each in list_pictures(section))
    if section.comparison.metrics == CATEGORY_METRICS:
        return "\n\n".join([*blocks, draw_markdown(_category_grid(section.comparison)), *shown])
    blocks.append(draw_markdown(_result_grid(section.comparison, tuned_learners(section.plan))))
    if any(len(summary.datasets) > 1 for summary in section.comparison.summaries.values()):
        blocks.append(draw_markdown(_summary_grid(section.comparison)))
    if section.plan.factors:
        blocks += [_EFFECTS, draw_markdown(_effect_grid(section))]
    return "\n\n".join([*blocks, *shown])


def _effect_grid(section: Section) -> Grid:
    """Lay out what each factor, and several together, do on each data set."""
    plan, records = section.plan, section.summary.records
    header: list[str] = []
    rows = []
    for metric in section.comparison.metrics:
        for dataset, found in find_effects(plan.factors, plan.learners, records, metric).items():
            names = [" and ".join(effect.factors) for effect in found.effects]
            header = ["data set", "score", *names, "test parts"]
            rows.append(
                (
                    Entry(dataset),
                    Entry(metric_name(metric)),
                    *(Entry(_draw_effect(effect)) for effect in found.effects),
                    Entry(f"{found.error_share:.0%}"),
                )
            )
    return Grid("", tuple(header), tuple(rows), n_names=2)


def _draw_effect(effect: Effect) -> str:
    """Write a share of variation, and by how many points switching on changes the score."""
    points = [100 * 2 * value for value in (effect.effect, effect.high - effect.effect)]
    change = f"{points[0]:+.2f} ± {points[1]:.2f}".replace("-", _MINUS)
    return f"{effect.share:.0%} ({change})"


def _category_grid(comparison: Comparison) -> Grid:
    """Lay out categories and learners crosswise, the more of them downwards."""
    (metric,) = comparison.metrics
    datasets, learners = comparison.datasets, comparison.learners
    n_sets = max(len(comparison.summaries[metric, name].datasets) for name in learners)
    downwards = len(learners) > len(datasets)
    header = (
        "learner" if downwards else "category",
        *datasets,
        f"mean, {n_sets} of {len(datasets)}",
        "average rank",
        "words, median",
    )
    columns = [tuple(map(Entry, header))]
    for name in learners:
        summary = comparison.summaries[metric, name]
        words = [comparison.n_words[d, name] for d in datasets if (d, name) in comparison.n_words]
        columns.append(
            (
                Entry(name),
                *(_draw_own(comparison.cells[metric, dataset, name]) for dataset in datasets),
                _draw_number(100 * summary.mean),
                _draw_number(summary.rank),
                Entry(f"{median(words):.0f}" if words else ""),
            )
        )
    lines = columns if downwards else list(zip(*columns, strict=True))
    head, *rows = lines
    return Grid("", tuple(entry.text for entry in head), tuple(rows))


def _result_grid(comparison: Comparison, tuned: Collection[str]) -> Grid:
    """Lay out a row for each learner on each data set."""
    known = any(cell.published is not None for cell in comparison.cells.values())
    per_metric = ("", "paper", "difference") if known else ("",)
    header = ["data set", "learner"]
    for metric in comparison.metrics:
        header += [part or metric_name(metric) for part in per_metric]
    header += [f"{part}, s" for part in PARTS]
    rows = []
    for dataset in comparison.datasets:
        for position, learner in enumerate(comparison.learners):
            row = [Entry("" if position else dataset), Entry(learner)]
            for metric in comparison.metrics:
                cell = comparison.cells[metric, dataset, learner]
                row += [_draw_own(cell), *_draw_published(cell)][: len(per_metric)]
            cost = comparison.costs[dataset, learner]
            row += [Entry(format_seconds(getattr(cost, part))) for part in PARTS]
            if learner not in tuned:
                row[-len(PARTS)] = Entry("")
            rows.append(tuple(row))
    return Grid("", tuple(header), tuple(rows), n_names=2)


def _summary_grid(comparison: Comparison) -> Grid:
    """Lay out means and ranks over the data sets that all learners have."""
    header, columns = ["learner"], [[Entry(learner) for learner in comparison.learners]]
    for metric in comparison.metrics:
        summaries = [comparison.summaries[metric, name] for name in comparison.learners]
        n_sets = max(len(summary.datasets) for summary in summaries)
        header += [f"mean {metric_name(metric)}, {n_sets} data sets", "average rank"]
        columns.append([_draw_number(100 * summary.mean) for summary in summaries])
        columns.append([_draw_number(summary.rank) for summary in summaries])
    return Grid("", tuple(header), tuple(zip(*columns, strict=True)))


def _draw_own(cell: Cell) -> Entry:
    return draw_score(cell) if cell.n or cell.n_failed else Entry("not run")


def _draw_published(cell: Cell) -> tuple[Entry, Entry]:
    if cell.published is None:
        return Entry(""), Entry("")
    return _draw_number(100 * cell.published), Entry(_format_points(_points(cell)))


def _draw_number(number: float) -> Entry:
    return Entry("" if math.isnan(number) else f"{number:.2f}")


def _format_points(points: float) -> str:
    return "" if math.isnan(points) else f"{points:+.2f}".replace("-", _MINUS)


def _draw_differences(differences: Sequence[Difference], used: Sequence[Explanation]) -> str:
    blocks = [f"## Differences of more than {LARGE:g} points from a paper"]
    if not differences:
        return "\n\n".join([*blocks, "There are none."])
    header = ("plan", "data set", "learner", "metric", "ours", "paper", "difference", "why")
    rows = []
    for difference in differences:
        numbers = [f"({used.index(explanation) + 1})" for explanation in difference.explanations]
        texts = [difference.stem, difference.dataset, difference.learner]
        rows.append(
            (
                *map(Entry, [*texts, metric_name(difference.metric)]),
                Entry(draw_score(difference.cell).text),
                *_draw_published(difference.cell),
                Entry(" ".join(numbers) or "open"),
            )
        )
    blocks.append(draw_markdown(Grid("", header, tuple(rows), n_names=4)))
    if used:
        listed = (f"{n}. {' '.join(each.text.split())}" for n, each in enumerate(used, start=1))
        blocks.append("\n".join(listed))
    return "\n\n".join(blocks)
