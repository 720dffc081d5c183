"""The results page: all plans of a folder with the results in their ledgers, as Markdown.

It needs the plans and ledgers, but neither the data nor the packages of the learners, so that it
can be generated on any computer. Missing results are marked as not run.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from cordwood._base.wording import format_seconds
from cordwood.compare.config.plan import Plan, load_plan
from cordwood.compare.config.protocol import read_toml
from cordwood.compare.report.comparison_figures import draw_curves
from cordwood.compare.report.comparison_summary import ComparisonSummary, summarize_comparison
from cordwood.compare.report.rendering import (
    Table,
    TableCell,
    format_markdown_table,
    format_score,
    metric_name,
)
from cordwood.compare.report.write_plots import write_svg
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
from cordwood.compare.stats.result_index import build_index
from cordwood.exceptions import CordwoodError
from cordwood.reports.blocks import Chart
from cordwood.reports.markdown_page import escape_markdown
from reproduction.effects import check_design, estimate_effects
from reproduction.explanations import Explanation, find_explanations, load_explanations
from reproduction.factorial import Effect
from reproduction.methods_text import (
    PHASES,
    describe_methods,
    describe_progress,
    format_time,
    total_seconds,
    tuned_learners,
)
from reproduction.published import Figure, list_figures
from reproduction.rounds import RoundCurve, average_n_words, average_rounds, draw_rounds

LARGE = 2.0
"""Percentage points; a difference from a paper above it needs an explanation."""

SUFFICIENT = 0.95
"""Fraction of the score with the whole training set that a part of it should reach."""

_MINUS = "\N{MINUS SIGN}"
_LEGEND = f"""\
Scores are percentages: mean ± standard deviation over the test sets. Bold: the best learner of a
data set, and those that do not differ from it significantly (paired t-test with Bonferroni
correction, 5 % level). *paper* is the published score and *difference* ours minus the published;
differences above {LARGE:g} points are listed at the end, each with its explanation, or as open.
*(3 of 5)*: only so many test sets are done, and the learner is excluded from bold, means and ranks
there. *not run*: none is done. Seconds are CPU time for one split, in one thread: to tune, to fit
with the chosen parameters, and to predict."""

_EFFECTS_LEGEND = """\
Fraction of the variation of the scores that each parameter explains, alone and in interaction, and
in brackets the change of the score in points if it is true, with its 95 % confidence interval; the
rest is variation between the test sets."""

_CURVES_LEGEND = f"""\
Micro-F1 / macro-F1 by the fraction of the training set, and the smallest of these fractions that
reaches {SUFFICIENT:.0%} of the score with the whole training set."""


class Section(NamedTuple):
    """A plan and its results.

    Parameters
    ----------
    stem : str
        Name of the plan's file, without its suffix.
    plan : Plan
    summary : RunSummary
        The trials and their records.
    comparison : Comparison
        The statistics of the records.
    curves : mapping of str to Curves
        The learning curves by each metric of the comparison.
    rounds : mapping of str to mapping
        Scores by boosting rounds, by metric, then by data set and learner.
    n_words : mapping of (str, str) to float
        Mean number of distinct words of rules, by data set and learner.
    published : mapping of (str, str) to Figure
        Published scores, by data set and learner.
    factors : tuple of str
        Boolean parameters, if the plan is a factorial design.
    """

    stem: str
    plan: Plan
    summary: RunSummary
    comparison: Comparison
    curves: Mapping[str, Curves]
    rounds: Mapping[str, Mapping[tuple[str, str], RoundCurve]]
    n_words: Mapping[tuple[str, str], float]
    published: Mapping[tuple[str, str], Figure]
    factors: tuple[str, ...] = ()


class Picture(NamedTuple):
    """A plot on the page.

    Parameters
    ----------
    file : str
        Name of the file.
    caption : str
        What it shows.
    kind : {"rounds", "amounts"}
        Scores by boosting rounds, or by the size of the training set.
    metric, dataset : str
        Which scores.
    """

    file: str
    caption: str
    kind: Literal["rounds", "amounts"]
    metric: str
    dataset: str


class Difference(NamedTuple):
    """A score that differs much from the published one.

    Parameters
    ----------
    stem, dataset, learner, metric : str
        Which score.
    cell : Cell
        Our score.
    published : float
        The published one.
    explanations : tuple of Explanation
        Its explanations; empty if it is open.
    """

    stem: str
    dataset: str
    learner: str
    metric: str
    cell: Cell
    published: float
    explanations: tuple[Explanation, ...]


class Page(NamedTuple):
    """The results page.

    Parameters
    ----------
    text : str
        Markdown.
    n_open : int
        Number of large differences without explanation.
    unused : tuple of Explanation
        Explanations that apply to no large difference.
    sections : tuple of Section
        The plans, for `write_pictures`.
    """

    text: str
    n_open: int
    unused: tuple[Explanation, ...]
    sections: tuple[Section, ...]


def make_page(head: str, folder: str | Path, links: str, pictures: str = "pictures") -> Page:
    """Generate the results page.

    Parameters
    ----------
    head : str
        Markdown at the top: a title, and how the page is generated.
    folder : path
        Folder with ``plans/NAME.toml``, ``ledgers/NAME.jsonl`` (plans without a ledger have not
        been run), and optionally ``explanations.toml`` and ``designs.toml``.
    links : str
        Path of the plans, relative to the page.
    pictures : str, default="pictures"
        Path of the plots, relative to the page.

    Returns
    -------
    Page

    Raises
    ------
    CordwoodError
        If a plan, a ledger, a design or an explanation is invalid; it names the file.
    """
    folder = Path(folder)
    plans = {path.stem: path for path in sorted((folder / "plans").glob("*.toml"))}
    designs = _load_designs(folder / "designs.toml", plans)
    sections = [
        _read_section(path, folder / "ledgers", designs.get(stem, ()))
        for stem, path in plans.items()
    ]
    explanations = load_explanations(folder / "explanations.toml")
    differences = [d for section in sections for d in _find_differences(section, explanations)]
    used = list(dict.fromkeys(e for difference in differences for e in difference.explanations))
    blocks = [
        head.strip(),
        _LEGEND,
        _format_overview(sections),
        *(_format_section(section, links, pictures) for section in sections),
        _format_differences(differences, used),
    ]
    return Page(
        text="\n\n".join(blocks) + "\n",
        n_open=sum(not difference.explanations for difference in differences),
        unused=tuple(e for e in explanations if e not in used),
        sections=tuple(sections),
    )


def list_pictures(section: Section) -> Iterator[Picture]:
    """List the plots of a plan: for each data set, the curves that have results."""
    comparison = section.comparison
    for metric in comparison.metrics:
        for dataset in comparison.datasets:
            scores = {"metric": metric, "dataset": dataset}
            stem = re.sub(r"[^\w-]", "_", f"{section.stem}-{dataset}-{metric}")
            title = f"{metric_name(metric)} on {dataset}"
            if any((dataset, name) in section.rounds[metric] for name in comparison.learners):
                yield Picture(f"{stem}-rounds.svg", f"{title} by rounds", "rounds", **scores)
            curves = [section.curves[metric][dataset, name] for name in comparison.learners]
            if any(sum(point.n > 0 for point in curve.points) > 1 for curve in curves):
                counted = curves[0].by == "max_positives"
                by = "samples of the category" if counted else "training samples"
                yield Picture(f"{stem}-amounts.svg", f"{title} by {by}", "amounts", **scores)


def write_pictures(sections: Iterable[Section], folder: str | Path) -> tuple[Path, ...]:
    """Write the plots that the page shows.

    Parameters
    ----------
    sections : iterable of Section
        The sections of the page.
    folder : path
        Folder of the plots; it is created if it does not exist, and files are overwritten.

    Returns
    -------
    tuple of Path
        The files.
    """
    written = []
    for section in sections:
        summary = summarize_comparison(section.comparison, section.curves)
        for picture in list_pictures(section):
            Path(folder).mkdir(parents=True, exist_ok=True)
            path = Path(folder, picture.file)
            write_svg(_draw(picture, section, summary), path)
            written.append(path)
    return tuple(written)


def _draw(picture: Picture, section: Section, summary: ComparisonSummary) -> Chart:
    if picture.kind == "amounts":
        return draw_curves(summary, picture.metric)[picture.dataset]
    rounds = section.rounds[picture.metric]
    curves = {
        name: curve for (dataset, name), curve in rounds.items() if dataset == picture.dataset
    }
    return draw_rounds(picture.dataset, picture.metric, curves)


def _load_designs(path: Path, plans: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Read the factors of the plans that are factorial designs."""
    tables = read_toml(path, "design file") if path.exists() else {}
    for stem, table in tables.items():
        if stem not in plans:
            raise CordwoodError(f"{path}: there is no plan {stem}.toml")
        if not isinstance(table, Mapping) or list(table) != ["factors"]:
            raise CordwoodError(f"{path}: [{stem}] must have the key factors and no other")
    return {stem: tuple(table["factors"]) for stem, table in tables.items()}


def _read_section(path: Path, ledgers: Path, factors: tuple[str, ...]) -> Section:
    plan = load_plan(path, lookup_only=True)
    for error in check_design(factors, plan.learners) if factors else ():
        raise CordwoodError(f"{path}: {error}")
    summary = collect(plan, Ledger(ledgers / f"{path.stem}.jsonl"))
    comparison = compare(summary.records, summary.planned)
    curves = {
        metric: learning_curves(summary.records, summary.planned, metric=metric)
        for metric in comparison.metrics
    }
    index = build_index(summary.records, summary.planned)
    rounds = {metric: average_rounds(index, metric) for metric in comparison.metrics}
    n_words = average_n_words(index)
    return Section(
        path.stem, plan, summary, comparison, curves, rounds, n_words, list_figures(plan), factors
    )


def _find_differences(
    section: Section, explanations: Sequence[Explanation]
) -> Iterator[Difference]:
    for (metric, dataset, learner), cell in section.comparison.cells.items():
        published = _find_published(section, metric, dataset, learner)
        if published is None or not abs(_points(cell, published)) > LARGE:
            continue
        score = {"dataset": dataset, "learner": learner, "metric": metric}
        found = find_explanations(explanations, plan=section.stem, **score)
        yield Difference(section.stem, **score, cell=cell, published=published, explanations=found)


def _find_published(section: Section, metric: str, dataset: str, learner: str) -> float | None:
    """Return a published score, of which only the usual metrics have some."""
    figure = section.published.get((dataset, learner))
    return getattr(figure, metric, None)


def _points(cell: Cell, published: float) -> float:
    """Return our score minus the published one, both rounded; NaN if ours is missing."""
    return round(round(100 * cell.mean, 2) - round(100 * published, 2), 2)


def _format_overview(sections: Sequence[Section]) -> str:
    rows = [
        f"| [{escape_markdown(plan.name)}](#{_anchor(plan.name)}) | {len(plan.datasets)} "
        f"| {len(plan.learners)} | {describe_progress(summary)} "
        f"| {format_time(total_seconds(summary))} |"
        for _, plan, summary, *_ in sections
    ]
    header = "| plan | data sets | learners | trials done | CPU time |"
    return "\n".join([header, "|:--|--:|--:|--:|--:|", *rows])


def _anchor(title: str) -> str:
    """Return the anchor of a heading.

    Examples
    --------
    >>> _anchor("Reuters, 90 classes")
    'reuters-90-classes'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _format_section(section: Section, links: str, pictures: str) -> str:
    file = f"{section.stem}.toml"
    methods = [
        f"Plan: [`{file}`]({links}/{file})",
        *describe_methods(section.plan, section.summary),
    ]
    blocks = [
        f"## {escape_markdown(section.plan.name)}",
        "\n".join(f"- {line}" for line in methods),
    ]
    if not section.summary.records:
        return "\n\n".join(blocks)
    shown = (f"![{each.caption}]({pictures}/{each.file})" for each in list_pictures(section))
    if section.comparison.metrics == CATEGORY_METRICS:
        return "\n\n".join(
            [
                *blocks,
                format_markdown_table(_category_grid(section.comparison, section.n_words)),
                *shown,
            ]
        )
    blocks.append(format_markdown_table(_result_grid(section)))
    if any(len(summary.datasets) > 1 for summary in section.comparison.summaries.values()):
        blocks.append(format_markdown_table(_summary_grid(section.comparison)))
    if len(section.plan.evaluation.train_fractions) > 1:
        blocks += [_CURVES_LEGEND, format_markdown_table(_curve_grid(section))]
    if section.factors:
        blocks += [_EFFECTS_LEGEND, format_markdown_table(_effect_grid(section))]
    return "\n\n".join([*blocks, *shown])


def sufficient_size(sizes: Sequence[float], scores: Sequence[float]) -> float:
    """Return the smallest training set size with `SUFFICIENT` of the score of the largest one.

    Examples
    --------
    >>> sufficient_size([0.1, 0.5, 1.0], [0.6, 0.78, 0.8])
    0.5
    """
    return next(
        size for size, score in zip(sizes, scores, strict=True) if score >= SUFFICIENT * scores[-1]
    )


def _curve_grid(section: Section) -> Table:
    """Tabulate the learning curves: one row for each learner on each data set."""
    comparison, metrics = section.comparison, section.comparison.metrics
    fractions = section.plan.evaluation.train_fractions
    header = ("data set", "learner", *(f"{size:.0%}" for size in fractions), "sufficient")
    rows = []
    for dataset in comparison.datasets:
        for position, learner in enumerate(comparison.learners):
            curves = [section.curves[metric][dataset, learner].points for metric in metrics]
            means = [[point.mean for point in curve] for curve in curves]
            cells = [
                " / ".join("" if math.isnan(mean) else f"{100 * mean:.1f}" for mean in column)
                for column in zip(*means, strict=True)
            ]
            if np.isfinite(means).all():
                cells.append(" / ".join(f"{sufficient_size(fractions, m):.0%}" for m in means))
            else:
                cells.append("")
            names = ("" if position else dataset, learner)
            rows.append(tuple(map(TableCell, (*names, *cells))))
    return Table("", header, tuple(rows), n_index_columns=2)


def _effect_grid(section: Section) -> Table:
    """Tabulate the effect of each factor and interaction on each data set."""
    plan, records, factors = section.plan, section.summary.records, section.factors
    header: list[str] = []
    rows = []
    for metric in section.comparison.metrics:
        for dataset, found in estimate_effects(factors, plan.learners, records, metric).items():
            names = [" and ".join(effect.factors) for effect in found.effects]
            header = ["data set", "score", *names, "test sets"]
            rows.append(
                (
                    TableCell(dataset),
                    TableCell(metric_name(metric)),
                    *(TableCell(format_effect(effect)) for effect in found.effects),
                    TableCell(f"{found.error_fraction:.0%}"),
                )
            )
    return Table("", tuple(header), tuple(rows), n_index_columns=2)


def format_effect(effect: Effect) -> str:
    """Format the explained variation, and the change of the score in points."""
    points = [100 * 2 * value for value in (effect.effect, effect.high - effect.effect)]
    change = f"{points[0]:+.2f} ± {points[1]:.2f}".replace("-", _MINUS)
    return f"{effect.explained_fraction:.0%} ({change})"


def _category_grid(comparison: Comparison, n_words: Mapping[tuple[str, str], float]) -> Table:
    """Tabulate categories by learners, with the longer list in the rows."""
    (metric,) = comparison.metrics
    datasets, learners = comparison.datasets, comparison.learners
    n_sets = max(len(comparison.summaries[metric, name].datasets) for name in learners)
    learners_in_rows = len(learners) > len(datasets)
    header = (
        "learner" if learners_in_rows else "category",
        *datasets,
        f"mean, {n_sets} of {len(datasets)}",
        "average rank",
        "features used, median",
    )
    columns = [tuple(map(TableCell, header))]
    for name in learners:
        summary = comparison.summaries[metric, name]
        counts = [n_words[d, name] for d in datasets if (d, name) in n_words]
        columns.append(
            (
                TableCell(name),
                *(_format_own(comparison.cells[metric, dataset, name]) for dataset in datasets),
                _format_number(100 * summary.mean),
                _format_number(summary.rank),
                TableCell(f"{median(counts):.0f}" if counts else ""),
            )
        )
    lines = columns if learners_in_rows else list(zip(*columns, strict=True))
    head, *rows = lines
    return Table("", tuple(entry.text for entry in head), tuple(rows))


def _result_grid(section: Section) -> Table:
    """Tabulate one row for each learner on each data set."""
    comparison, tuned = section.comparison, tuned_learners(section.plan)
    has_published = any(_find_published(section, *names) is not None for names in comparison.cells)
    per_metric = ("", "paper", "difference") if has_published else ("",)
    header = ["data set", "learner"]
    for metric in comparison.metrics:
        header += [title or metric_name(metric) for title in per_metric]
    header += [f"{phase}, s" for phase in PHASES]
    rows = []
    for dataset in comparison.datasets:
        for position, learner in enumerate(comparison.learners):
            row = [TableCell("" if position else dataset), TableCell(learner)]
            for metric in comparison.metrics:
                cell = comparison.cells[metric, dataset, learner]
                published = _find_published(section, metric, dataset, learner)
                row += [_format_own(cell), *_format_published(cell, published)][: len(per_metric)]
            cost = comparison.cpu_seconds[dataset, learner]
            row += [TableCell(format_seconds(getattr(cost, phase))) for phase in PHASES]
            if learner not in tuned:
                row[-len(PHASES)] = TableCell("")
            rows.append(tuple(row))
    return Table("", tuple(header), tuple(rows), n_index_columns=2)


def _summary_grid(comparison: Comparison) -> Table:
    """Tabulate means and ranks over the data sets that all learners have completed."""
    header, columns = ["learner"], [[TableCell(learner) for learner in comparison.learners]]
    for metric in comparison.metrics:
        summaries = [comparison.summaries[metric, name] for name in comparison.learners]
        n_sets = max(len(summary.datasets) for summary in summaries)
        header += [f"mean {metric_name(metric)}, {n_sets} data sets", "average rank"]
        columns.append([_format_number(100 * summary.mean) for summary in summaries])
        columns.append([_format_number(summary.rank) for summary in summaries])
    return Table("", tuple(header), tuple(zip(*columns, strict=True)))


def _format_own(cell: Cell) -> TableCell:
    return format_score(cell) if cell.n or cell.n_failed else TableCell("not run")


def _format_published(cell: Cell, published: float | None) -> tuple[TableCell, TableCell]:
    if published is None:
        return TableCell(""), TableCell("")
    return _format_number(100 * published), TableCell(_format_points(_points(cell, published)))


def _format_number(number: float) -> TableCell:
    return TableCell("" if math.isnan(number) else f"{number:.2f}")


def _format_points(points: float) -> str:
    return "" if math.isnan(points) else f"{points:+.2f}".replace("-", _MINUS)


def _format_differences(differences: Sequence[Difference], used: Sequence[Explanation]) -> str:
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
                *map(TableCell, [*texts, metric_name(difference.metric)]),
                TableCell(format_score(difference.cell).text),
                *_format_published(difference.cell, difference.published),
                TableCell(" ".join(numbers) or "open"),
            )
        )
    blocks.append(format_markdown_table(Table("", header, tuple(rows), n_index_columns=4)))
    if used:
        listed = (f"{n}. {' '.join(each.text.split())}" for n, each in enumerate(used, start=1))
        blocks.append("\n".join(listed))
    return "\n\n".join(blocks)
