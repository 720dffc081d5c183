"""Report of a comparison: its page of tables, figures and the sentences beneath them."""

from __future__ import annotations  # `help` shows the short names

import math
from collections.abc import Iterable, Mapping

from cordwood._base.wording import count, join_names
from cordwood.compare.report.comparison_figures import (
    draw_curves,
    draw_ranks,
    draw_times,
)
from cordwood.compare.report.comparison_scores import (
    describe_dataset,
    interval_blocks,
    score_blocks,
)
from cordwood.compare.report.comparison_summary import ComparisonSummary, summarize_comparison
from cordwood.compare.report.rendering import describe_test
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.reports import Report
from cordwood.reports.blocks import Block, Charts, Page, Prose, Section, Steps, Tile, Tiles

_MAX_NAMES = 4


def comparison_report(
    comparison: Comparison,
    curves: Mapping[str, Curves] | None = None,
    *,
    name: str = "comparison",
    notes: Iterable[str] = (),
) -> Report[ComparisonSummary]:
    """Report a comparison of learners: scores with ties, ranks, times and learning curves.

    Parameters
    ----------
    comparison : Comparison
        Result of `cordwood.compare.stats.comparison.compare`.
    curves : mapping of str to mapping, optional
        Learning curves by metric, as `cordwood.compare.stats.comparison.learning_curves` returns
        them.
    name : str, default="comparison"
        Name of the comparison, for the title.
    notes : iterable of str, default=()
        Sentences for the overview, such as the number of failed trials.

    Returns
    -------
    Report

    Examples
    --------
    >>> from cordwood.compare import comparison_report
    >>> from cordwood.compare.stats.comparison import compare
    >>> def record(learner, fold, score):
    ...     trial = {"dataset": "d", "learner": learner, "repeat": 0, "fold": fold}
    ...     trial["train_fraction"] = 1.0
    ...     return {"key": f"{learner}{fold}", "trial": trial, "scores": {"micro_f1": score}}
    >>> records = [record("rf", 0, 0.8), record("rf", 1, 0.9), record("nb", 0, 0.7)]
    >>> report = comparison_report(compare(records, metrics=["micro_f1"]), name="two learners")
    >>> print(report.to_markdown().splitlines()[0])
    # Comparison two learners
    """
    summary = summarize_comparison(comparison, curves or {}, name=name, notes=tuple(notes))
    return Report(summary, layout_comparison)


def layout_comparison(summary: ComparisonSummary, footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a comparison as a page."""
    ranks = [chart for each in summary.metrics if (chart := draw_ranks(summary, each))]
    times = [
        chart
        for each in summary.metrics
        if len(summary.times[each]) > 1 and (chart := draw_times(summary, each))
    ]
    curves = [draw_curves(summary, each) for each in summary.metrics]
    return Page(
        title=f"Comparison {summary.name}",
        subtitle=f"{count(len(summary.learners), 'learner')} on "
        f"{count(len(summary.datasets), 'data set')}.",
        sections=[
            Section("overview", "Overview", _overview(summary)),
            Section("scores", "Scores", score_blocks(summary)),
            Section("intervals", "Scores by data set", interval_blocks(summary)),
            Section("ranks", "Ranks over data sets", ranks),
            Section("time", "Score against time", [Charts(times)] if times else []),
            Section("curves", "Learning curves", [Charts([*c.values()]) for c in curves if c]),
            Section("method", "How to read this report", _method(summary)),
        ],
        footer=footer,
    )


def _overview(summary: ComparisonSummary) -> list[Block]:
    blocks: list[Block] = []
    tiles = []
    sentences = []
    for metric, name in summary.metrics.items():
        wins = {
            learner: sum(
                summary.scores[metric][dataset][learner].mark in ("best", "tied")
                for dataset in summary.datasets
            )
            for learner in summary.learners
        }
        means = {
            learner: row.mean
            for learner, row in summary.means[metric].items()
            if not math.isnan(row.mean)
        }
        if means:
            best = max(means, key=means.__getitem__)
            n = summary.means[metric][best].n_datasets
            tiles.append(
                Tile(
                    f"best {name}",
                    f"{100 * means[best]:.2f} %",
                    f"{best}{f', mean of {n} data sets' if n > 1 else ''}",
                )
            )
        most = max(wins.values(), default=0)
        if len(summary.datasets) > 1 and most:
            winners = [learner for learner, n in wins.items() if n == most]
            on = f"on {most} of {len(summary.datasets)} data sets"
            if len(winners) > _MAX_NAMES:
                sentences.append(
                    f"By {name}, {len(winners)} of {len(wins)} learners are the best or tied with "
                    f"the best {on}: the tests do not separate them."
                )
            else:
                sentences.append(
                    f"By {name}, {join_names(winners)} {'is' if len(winners) == 1 else 'are'} the "
                    f"best or tied with the best {on}, more often than any other learner."
                )
        elif len(summary.datasets) == 1:
            sentences.append(describe_dataset(summary, metric, summary.datasets[0]))
    if tiles:
        blocks.append(Tiles(tiles))
    blocks.append(Steps(sentences))
    blocks += [Prose(note, "warning") for note in summary.notes]
    return blocks


def _method(summary: ComparisonSummary) -> list[Block]:
    test = describe_test(summary.test, summary.alpha)
    return [
        Steps(
            [
                "Scores are means over the folds of a cross-validation; learners are trained and "
                "tested on the same folds.",
                f"On each data set, every learner is tested against the best one: {test}. "
                "Choosing the best first makes the test slightly optimistic for it.",
                "Not significantly different does not mean equal: the difference may be too small "
                "for the number of folds.",
                "Times are CPU seconds per fold, without tuning.",
            ]
        )
    ]
