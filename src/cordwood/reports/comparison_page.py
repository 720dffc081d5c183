"""Page of a comparison: from its summary to tables, figures and the sentences beneath them."""

from collections.abc import Mapping
from typing import Any

from cordwood.reports.blocks import Block, Page, Prose, Section, Steps, Tile, Tiles
from cordwood.reports.comparison_figures import (
    comparison_curve_blocks,
    rank_blocks,
    round_blocks,
    time_blocks,
)
from cordwood.reports.comparison_scores import (
    describe_dataset,
    interval_blocks,
    name_test,
    score_blocks,
)
from cordwood.reports.wording import count, join_names

_MAX_NAMES = 4


def layout_comparison(summary: Mapping[str, Any], footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a comparison as a page.

    Parameters
    ----------
    summary : mapping
        Result of `summarize_comparison`.
    footer : mapping of str to str
        Versions and the time of writing.

    Returns
    -------
    Page
    """
    n_datasets = len(summary["datasets"])
    return Page(
        title=f"Comparison {summary['name']}",
        subtitle=f"{count(len(summary['learners']), 'learner')} on "
        f"{count(n_datasets, 'data set')}.",
        sections=[
            Section("overview", "Overview", _overview(summary)),
            Section("scores", "Scores", score_blocks(summary)),
            Section("intervals", "Scores by data set", interval_blocks(summary)),
            Section("ranks", "Ranks over data sets", rank_blocks(summary)),
            Section("time", "Score against time", time_blocks(summary)),
            Section("curves", "Learning curves", comparison_curve_blocks(summary)),
            Section("rounds", "Boosting rounds", round_blocks(summary)),
            Section("method", "How to read this report", _method(summary)),
        ],
        footer=footer,
    )


def _overview(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    tiles = []
    sentences = []
    for metric, name in summary["metrics"].items():
        wins = {
            learner: sum(
                summary["scores"][metric][dataset][learner]["mark"] in ("best", "tied")
                for dataset in summary["datasets"]
            )
            for learner in summary["learners"]
        }
        means = {
            learner: row["mean"]
            for learner, row in summary["means"][metric].items()
            if row["mean"] is not None
        }
        if means:
            best = max(means, key=means.__getitem__)
            n = summary["means"][metric][best]["n_datasets"]
            tiles.append(
                Tile(
                    f"best {name}",
                    f"{100 * means[best]:.2f} %",
                    f"{best}{f', mean of {n} data sets' if n > 1 else ''}",
                )
            )
        most = max(wins.values(), default=0)
        if len(summary["datasets"]) > 1 and most:
            winners = [learner for learner, n in wins.items() if n == most]
            on = f"on {most} of {len(summary['datasets'])} data sets"
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
        elif len(summary["datasets"]) == 1:
            sentences.append(describe_dataset(summary, metric, summary["datasets"][0]))
    if tiles:
        blocks.append(Tiles(tiles))
    blocks.append(Steps(sentences))
    blocks += [Prose(note, "warning") for note in summary["notes"]]
    return blocks


def _method(summary: Mapping[str, Any]) -> list[Block]:
    return [
        Steps(
            [
                "Scores are means over the folds of a cross-validation; learners are trained and "
                "tested on the same folds.",
                f"On each data set, every learner is tested against the best one: "
                f"{name_test(summary)}. Choosing the best first makes the test slightly "
                "optimistic for it.",
                "Not significantly different does not mean equal: the difference may be too small "
                "for the number of folds.",
                "Times are CPU seconds per fold, without tuning.",
            ]
        )
    ]
