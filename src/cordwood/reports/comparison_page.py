"""Page of a comparison: from its summary to tables, figures and the sentences beneath them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cordwood.compare.report.rendering import format_seconds
from cordwood.reports.blocks import (
    Block,
    Chart,
    Charts,
    DataTable,
    Entry,
    Page,
    Prose,
    Section,
    Steps,
    TableColumn,
    Tile,
    Tiles,
    text_table,
)
from cordwood.reports.charts import (
    Estimate,
    LinePoint,
    TimedScore,
    critical_difference_chart,
    interval_chart,
    line_chart,
    time_chart,
)
from cordwood.reports.wording import count, join_names

_TEST_NAMES = {
    "paired_t": "paired t-test",
    "corrected_t": "corrected resampled t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
}
_MARKS = {"best": "best", "tied": "tied", "undecided": "undecided", "": ""}
_MAX_NAMES = 4
_MISSING = "–"


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
            Section("scores", "Scores", _score_tables(summary)),
            Section("intervals", "Scores by data set", _intervals(summary)),
            Section("ranks", "Ranks over data sets", _ranks(summary)),
            Section("time", "Score against time", _times(summary)),
            Section("curves", "Learning curves", _curves(summary)),
            Section("rounds", "Boosting rounds", _rounds(summary)),
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
            sentences.append(_describe_dataset(summary, metric, summary["datasets"][0]))
    if tiles:
        blocks.append(Tiles(tiles))
    blocks.append(Steps(sentences))
    blocks += [Prose(note, "warning") for note in summary["notes"]]
    return blocks


def _score_tables(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        blocks.append(_score_table(summary, metric, name))
        if len(summary["datasets"]) > 1:
            blocks.append(
                Steps([_describe_dataset(summary, metric, each) for each in summary["datasets"]])
            )
    return blocks


def _score_table(summary: Mapping[str, Any], metric: str, name: str) -> DataTable:
    scores, means = summary["scores"][metric], summary["means"][metric]
    several = len(summary["datasets"]) > 1
    n_common = max(row["n_datasets"] for row in means.values())
    published = [
        dataset
        for dataset in summary["datasets"]
        if any(cell["published"] is not None for cell in scores[dataset].values())
    ]
    columns = [TableColumn("learner")]
    for dataset in summary["datasets"]:
        columns.append(TableColumn(dataset, "number"))
        if dataset in published:
            columns.append(TableColumn(f"{dataset}, published", "number"))
    if n_common and several:
        columns.append(TableColumn("mean", "number"))
        columns.append(TableColumn("average rank", "number", "1 is the best"))
    elif not several:
        columns += [
            TableColumn("fit, CPU seconds", "number"),
            TableColumn("predict, CPU seconds", "number"),
        ]
    rows = []
    for learner in _order_learners(summary, metric):
        row = [Entry(learner)]
        for dataset in summary["datasets"]:
            cell = scores[dataset][learner]
            row.append(_score_entry(cell))
            if dataset in published:
                row.append(_number(cell["published"], 100))
        if n_common and several:
            row += [_number(means[learner]["mean"], 100), _number(means[learner]["rank"])]
        elif not several:
            times = summary["seconds"][summary["datasets"][0]][learner]
            row += [_seconds(times["fit"]), _seconds(times["predict"])]
        rows.append(row)
    return DataTable(
        caption=f"{name}, %: mean ± standard deviation over the folds",
        columns=columns,
        rows=rows,
        note=_explain_marks(summary),
    )


def _order_learners(summary: Mapping[str, Any], metric: str) -> list[str]:
    """Return the learners from the best to the worst mean score, incomplete ones last."""
    means = summary["means"][metric]
    return sorted(
        summary["learners"],
        key=lambda name: -math.inf if means[name]["mean"] is None else means[name]["mean"],
        reverse=True,
    )


def _explain_marks(summary: Mapping[str, Any]) -> str:
    cells = [
        cell
        for by_dataset in summary["scores"].values()
        for by_learner in by_dataset.values()
        for cell in by_learner.values()
    ]
    sentences = [
        "Bold: the best learner of a data set, and those tied with it, which do not differ from it "
        f"significantly ({_name_test(summary)})."
    ]
    if any(cell["mark"] == "undecided" for cell in cells):
        sentences.append(
            "Undecided: not significantly different, but there are too few folds for the test to "
            "find a difference."
        )
    if any(cell["n"] < cell["n_planned"] for cell in cells):
        sentences.append(
            "(3 of 5): number of finished folds; such a learner is excluded from ties, means and "
            "ranks."
        )
    n_common = max(
        row["n_datasets"] for by_learner in summary["means"].values() for row in by_learner.values()
    )
    n_datasets = len(summary["datasets"])
    if not n_common:
        sentences.append(
            "There are no means and ranks, because no data set is complete for all learners."
        )
    elif n_datasets > 1:
        sentences.append(
            f"Means and ranks are over {n_common} of {n_datasets} data sets; rank 1 is the best."
        )
    return " ".join(sentences)


def _describe_dataset(summary: Mapping[str, Any], metric: str, dataset: str) -> str:
    """Return the result of the significance tests on one data set as a sentence."""
    cells = summary["scores"][metric][dataset]
    name = summary["metrics"][metric]
    by_mark: dict[str, list[str]] = {"best": [], "tied": [], "undecided": [], "": []}
    for learner, cell in cells.items():
        if cell["mark"] or cell["n"] == cell["n_planned"]:
            by_mark[cell["mark"]].append(learner)
    if not by_mark["best"]:
        return f"{dataset}: no learner has finished all folds."
    (best,) = by_mark["best"]
    parts = [f"{dataset}: {best} has the highest {name} ({100 * cells[best]['mean']:.2f} %)"]
    if by_mark["tied"]:
        parts.append(
            f"{join_names(by_mark['tied'], _MAX_NAMES)} {_differ(by_mark['tied'], 'not ')} from it"
        )
    if by_mark["undecided"]:
        n = cells[best]["n"]
        parts.append(
            f"{count(n, 'fold')} {'is' if n == 1 else 'are'} too few to distinguish "
            f"{join_names(by_mark['undecided'], _MAX_NAMES)} from it"
        )
    if by_mark[""]:
        worse = by_mark[""]
        which = join_names(worse) if len(worse) <= _MAX_NAMES else f"the other {len(worse)}"
        parts.append(f"{which} {'is' if len(worse) == 1 else 'are'} significantly worse")
    elif not by_mark["undecided"] and len(cells) > 1:
        parts.append("no learner is significantly worse")
    n_missing = sum(cell["n"] < cell["n_planned"] for cell in cells.values())
    if n_missing:
        parts.append(f"{count(n_missing, 'learner')} with missing folds not compared")
    return "; ".join(parts) + "."


def _differ(names: Sequence[str], negation: str) -> str:
    auxiliary = "does" if len(names) == 1 else "do"
    return f"{auxiliary} {negation}differ significantly"


def _intervals(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        charts = [
            chart
            for dataset in summary["datasets"]
            if (chart := _interval_chart(summary, metric, name, dataset)) is not None
        ]
        if charts:
            blocks.append(Charts(charts))
    if blocks:
        blocks.append(
            Prose(
                "Intervals are one standard error of the mean to each side. The folds of a "
                "cross-validation share training samples, so that the standard error is too "
                "small, and learners are compared by differences on the same folds: overlapping "
                "intervals do not imply a tie.",
                "note",
            )
        )
    return blocks


def _interval_chart(
    summary: Mapping[str, Any], metric: str, name: str, dataset: str
) -> Chart | None:
    cells = {
        learner: cell
        for learner, cell in summary["scores"][metric][dataset].items()
        if cell["mean"] is not None
    }
    if not cells:
        return None
    order = sorted(cells, key=lambda learner: -cells[learner]["mean"])
    rows = {}
    for learner in order:
        cell = cells[learner]
        error = 100 * (cell["sd"] or 0.0) / math.sqrt(cell["n"])
        mean = 100 * cell["mean"]
        rows[learner] = Estimate(mean, mean - error, mean + error)
    tied = [learner for learner in order if cells[learner]["mark"] in ("best", "tied")]
    has_errors = any(row.high > row.low for row in rows.values())
    title = f"{dataset}: {name}"
    svg = interval_chart(
        rows,
        title=title,
        x_label=f"{name}, %",
        strong=tied,
        hollow=[learner for learner in order if learner not in tied],
        legend=[
            ("fill s0", 0, "best or tied"),
            ("hollow s0", 0, "worse or undecided"),
            *([("bar s0", -1, "± standard error")] if has_errors else []),
        ],
    )
    data = text_table(
        title,
        ["learner", "mean, %", "standard error", "folds"],
        [
            [learner, row.value, row.high - row.value, cells[learner]["n"]]
            for learner, row in rows.items()
        ],
    )
    return Chart(title=title, svg=svg, data=data)


def _ranks(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        found = summary["ranks"][metric]
        if found is None:
            continue
        ranks, groups = found["ranks"], found["groups"]
        title = f"Critical difference diagram, {name}"
        svg = critical_difference_chart(ranks, found["critical_difference"], groups, title=title)
        data = text_table(
            title,
            ["learner", "average rank"],
            [[learner, ranks[learner]] for learner in sorted(ranks, key=ranks.__getitem__)],
        )
        blocks.append(
            Chart(title=title, svg=svg, sentence=_describe_ranks(summary, found), data=data)
        )
    return blocks


def _describe_ranks(summary: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    ranks, alpha = found["ranks"], f"{100 * summary['alpha']:g} %"
    order = sorted(ranks, key=ranks.__getitem__)
    n = found["n_datasets"]
    p_value = found["friedman_p_value"]
    sentences = []
    if p_value is not None:
        decision = "rejects" if p_value < summary["alpha"] else "does not reject"
        sentences.append(
            f"The Friedman test on {n} data sets {decision} the hypothesis that all "
            f"{len(ranks)} learners have equal ranks (p = {_p_value(p_value)})."
        )
    sentences.append(
        f"Two learners differ significantly if their average ranks differ by at least the critical "
        f"difference of {found['critical_difference']:.2f} (Nemenyi test, level {alpha}); thick "
        "bars join learners that do not."
    )
    group = next((g for g in found["groups"] if order[0] in g), [order[0]])
    others = [name for name in group if name != order[0]]
    if others:
        sentences.append(
            f"{order[0]} has the best average rank, {ranks[order[0]]:.2f}; "
            f"{join_names(others, _MAX_NAMES)} {_differ(others, 'not ')} from it."
        )
    else:
        sentences.append(
            f"{order[0]} has the best average rank, {ranks[order[0]]:.2f}, and differs "
            "significantly from all others."
        )
    if n < 10:
        sentences.append(
            f"With {n} data sets the test has little power: missing significance is no evidence of "
            "equality."
        )
    return " ".join(sentences)


def _times(summary: Mapping[str, Any]) -> list[Block]:
    charts = []
    for metric, name in summary["metrics"].items():
        points = summary["times"][metric]
        if len(points) < 2:
            continue
        title = f"{name} against CPU time"
        svg = time_chart(
            {
                learner: TimedScore(p["seconds"], 100 * p["score"], p["is_best"])
                for learner, p in points.items()
            },
            title=title,
            x_label="CPU seconds to fit and predict one fold, without tuning",
            y_label=f"{name}, %",
        )
        data = text_table(
            title,
            ["learner", "CPU seconds", f"{name}, %", "on the Pareto front"],
            [
                [
                    learner,
                    (format_seconds(p["seconds"]), p["seconds"]),
                    100 * p["score"],
                    "yes" if p["is_best"] else "no",
                ]
                for learner, p in points.items()
            ],
        )
        charts.append(Chart(title=title, svg=svg, sentence=_describe_times(points), data=data))
    return [Charts(charts)] if charts else []


def _describe_times(points: Mapping[str, Mapping[str, Any]]) -> str:
    front = sorted(
        (name for name, p in points.items() if p["is_best"]), key=lambda n: points[n]["seconds"]
    )
    sentence = (
        f"For {join_names(front)}, no other learner is both faster and better; they are the "
        "Pareto front."
        if len(front) > 1
        else f"{front[0]} is both the fastest and the best."
    )
    if len(front) > 1:
        first, last = front[0], front[-1]
        ratio = points[last]["seconds"] / points[first]["seconds"]
        gain = 100 * (points[last]["score"] - points[first]["score"])
        sentence += (
            f" {last} takes {ratio:,.1f} times as long as {first} and is better by {gain:.2f} "
            "percentage points."
        )
    return sentence + (
        " Times are means over the folds; over several data sets, their geometric mean."
    )


def _curves(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        charts = [
            _curve_chart(dataset, name, found)
            for dataset, found in summary["curves"].get(metric, {}).items()
        ]
        if charts:
            blocks.append(Charts(charts))
    return blocks


def _curve_chart(dataset: str, name: str, found: Mapping[str, Any]) -> Chart:
    is_count = found["by"] == "max_positives"
    factor = 1 if is_count else 100
    series: dict[str, list[LinePoint]] = {}
    rows = []
    for learner, points in found["learners"].items():
        series[learner] = []
        for p in points:
            error = 100 * (p["sd"] or 0.0) / math.sqrt(p["n"])
            mean = 100 * p["mean"]
            series[learner].append(
                LinePoint(factor * p["train_size"], mean, mean - error, mean + error)
            )
            rows.append([learner, (f"{factor * p['train_size']:g}", p["train_size"]), mean, error])
    label = "training samples of the category" if is_count else "share of the training samples, %"
    title = f"{dataset}: {name}"
    svg = line_chart(
        series,
        title=title,
        x_label=label,
        y_label=f"{name}, %",
        log_x=is_count,
        legend=[("error s7", -1, "mean ± standard error over the folds")],
    )
    return Chart(
        title=title,
        svg=svg,
        sentence=_describe_curves(series, is_count),
        data=text_table(title, ["learner", label, "mean, %", "standard error"], rows),
    )


def _describe_curves(series: Mapping[str, Sequence[LinePoint]], is_count: bool) -> str:
    ends = {name: line[-1] for name, line in series.items()}
    best = max(ends, key=lambda name: ends[name].y)
    first = max(series, key=lambda name: series[name][0].y)
    sentence = f"With all training samples, {best} has the highest score ({ends[best].y:.2f} %)"
    smallest = series[first][0]
    size = f"{smallest.x:g} samples" if is_count else f"{smallest.x:g} % of them"
    same = "it has the highest as well" if first == best else f"{first} has the highest"
    sentence += f"; with {size}, {same} ({smallest.y:.2f} %)."
    line = series[best]
    if len(line) > 1:
        gain = line[-1].y - line[-2].y
        sentence += (
            f" The last step, from {line[-2].x:g} to {line[-1].x:g}"
            f"{'' if is_count else ' %'}, changed the score of {best} by {gain:+.2f} percentage "
            "points."
        )
    return sentence


def _rounds(summary: Mapping[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for metric, by_dataset in summary["rounds"].items():
        name = summary["metrics"][metric]
        charts = []
        for dataset, by_learner in by_dataset.items():
            test, train = (
                {
                    learner: [
                        LinePoint(n, 100 * y, 100 * y, 100 * y)
                        for n, y in zip(curve["rounds"], curve[part], strict=True)
                    ]
                    for learner, curve in by_learner.items()
                }
                for part in ("test", "train")
            )
            title = f"{dataset}: {name}"
            svg = line_chart(
                test,
                title=title,
                x_label="boosting rounds (logarithmic)",
                y_label=f"{name}, %",
                log_x=True,
                markers=False,
                dashed=train,
                legend=[("line s7", -1, "test samples"), ("thin s7", -1, "training samples")],
            )
            ends = "; ".join(
                f"{learner} reaches {line[-1].y:.2f} % after {line[-1].x:,.0f} rounds"
                for learner, line in test.items()
            )
            charts.append(
                Chart(
                    title=title,
                    svg=svg,
                    sentence=f"Means over the folds; {ends}. A gap between the lines of a learner "
                    "is overfitting.",
                )
            )
        blocks.append(Charts(charts))
    return blocks


def _method(summary: Mapping[str, Any]) -> list[Block]:
    return [
        Steps(
            [
                "Scores are means over the folds of a cross-validation; learners are trained and "
                "tested on the same folds.",
                f"On each data set, every learner is tested against the best one: "
                f"{_name_test(summary)}. Choosing the best first makes the test slightly "
                "optimistic for it.",
                "Not significantly different does not mean equal: the difference may be too small "
                "for the number of folds.",
                "Times are CPU seconds per fold, without tuning.",
            ]
        )
    ]


def _name_test(summary: Mapping[str, Any]) -> str:
    return (
        f"{_TEST_NAMES[summary['test']]} with Bonferroni's correction, significance level "
        f"{100 * summary['alpha']:g} %"
    )


def _score_entry(cell: Mapping[str, Any]) -> Entry:
    if cell["mean"] is None:
        return Entry(_MISSING, sort="")
    text = f"{100 * cell['mean']:.2f}"
    if cell["sd"] is not None:
        text += f" ± {100 * cell['sd']:.2f}"
    if cell["n"] < cell["n_planned"]:
        failed = f", {cell['n_failed']} failed" if cell["n_failed"] else ""
        text += f" ({cell['n']} of {cell['n_planned']}{failed})"
    return Entry(
        text,
        sort=cell["mean"],
        strong=cell["mark"] in ("best", "tied"),
        mark=_MARKS[cell["mark"]],
    )


def _number(value: float | None, factor: float = 1.0) -> Entry:
    return Entry(_MISSING, sort="") if value is None else Entry(f"{factor * value:.2f}", sort=value)


def _seconds(value: float | None) -> Entry:
    return Entry(_MISSING, sort="") if value is None else Entry(format_seconds(value), sort=value)


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "below 0.001"
