"""Page of a model: from its summary to tables, figures and sentences."""

from collections.abc import Mapping

from cordwood._base.wording import count, join_names
from cordwood.metrics.scores import Score, describe_difference, describe_share
from cordwood.reports.audit_blocks import training_data_blocks
from cordwood.reports.blocks import (
    MISSING,
    Block,
    Chart,
    Charts,
    DataTable,
    Entry,
    Facts,
    Fold,
    Page,
    Prose,
    Section,
    Steps,
    TableColumn,
    Tile,
    Tiles,
    percent,
    text_table,
)
from cordwood.reports.charts import Estimate, interval_chart
from cordwood.reports.confidence_blocks import confidence_blocks, curve_blocks
from cordwood.reports.confusion_blocks import confusion_blocks
from cordwood.reports.member_blocks import member_blocks
from cordwood.reports.model_records import ModelSummary, ScoreSummary
from cordwood.reports.next_steps import list_next_steps
from cordwood.reports.sample_blocks import explained_blocks, suspect_blocks, word_blocks

_SOURCES = {
    "oof": "out-of-fold predictions of the training samples: each sample was predicted without "
    "having been trained on",
    "test": "predictions of samples that are not the training data",
    "training": "predictions of the training samples by the model that was trained on them",
}
_MAX_LABEL = 40
_EXPECTED = "expected"
# In percent: scores that are lower than the best one by more would hide the other intervals.
_MAX_GAP = 25.0


def layout_model(summary: ModelSummary, footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a model as a page."""
    audit = training_data_blocks(summary.findings, summary.audit)
    return Page(
        title=f"Model {summary.name}",
        subtitle=_subtitle(summary),
        sections=[
            Section("overview", "How good it is", _overview(summary)),
            Section("next", "What to do next", _next_steps(summary)),
            Section("classes", "Where it is weak", _classes(summary)),
            Section("confusion", "What it confuses", confusion_blocks(summary.confusion)),
            Section("confidence", "How far to trust its probabilities", confidence_blocks(summary)),
            Section("curve", "What more data would bring", curve_blocks(summary.curve)),
            Section("labels", "Labels to check", suspect_blocks(summary)),
            Section("explained", "Explained predictions", explained_blocks(summary)),
            Section("words", "Words of the classes", word_blocks(summary.words)),
            Section("members", "Members of the stack", member_blocks(summary.members)),
            Section("data", "Audit of the training data", audit),
            Section("card", "How it was made", _card(summary)),
        ],
        footer=footer,
    )


def _subtitle(summary: ModelSummary) -> str:
    provenance = summary.provenance
    parts = [f"A classifier of {len(summary.classes):,} classes"]
    if provenance.recipe:
        parts.append(f"recipe {provenance.recipe}")
    if provenance.n_train:
        parts.append(f"trained on {provenance.n_train:,} samples")
    return ", ".join(parts) + "."


def _overview(summary: ModelSummary) -> list[Block]:
    scored = summary.scores
    if scored is None or summary.source is None:
        return [
            Prose(
                "There are no scores: the model has no out-of-fold predictions. Give labelled data "
                "for an evaluation.",
                "warning",
            )
        ]
    scores = scored.scores
    tiles = [
        _score_tile("accuracy", scores.accuracy, 100, " %"),
        _score_tile("macro F1", scores.macro_f1, 100, " %"),
        _score_tile("log loss", scores.log_loss, 1, ""),
        _score_tile("calibration error", scores.calibration_error, 100, " %"),
    ]
    blocks: list[Block] = []
    if summary.source == "training":
        blocks.append(
            Prose(
                "These scores are too good: the model was trained on these samples, and it has no "
                "out-of-fold predictions. Give a test set.",
                "warning",
            )
        )
    blocks.append(Prose(_compare_with_baselines(scored)))
    blocks.append(Tiles(tiles))
    if scored.expected is not None:
        found, expected = map(_to_score, (scores.accuracy, scored.expected.accuracy))
        blocks.append(Prose(f"{describe_difference(found, expected)}."))
    if scored.baselines:
        blocks.append(
            Charts(
                [
                    _baseline_chart(scored, "accuracy", "Accuracy"),
                    _baseline_chart(scored, "macro_f1", "Macro F1"),
                ]
            )
        )
    samples = count(scored.n_samples, "sample")
    if summary.data is not None:
        samples = f"{summary.data}, {samples}"
    unit = "" if scored.n_groups is None else f", over {scored.n_groups:,} groups"
    blocks.append(
        Prose(
            f"Scores are from {_SOURCES[summary.source]} ({samples}). "
            f"Intervals are {100 * scored.confidence_level:.0f} % confidence intervals{unit}. "
            "Macro F1 is the mean F1 of the classes; the calibration error is the mean difference "
            "of probability and accuracy.",
            "note",
        )
    )
    if not summary.by_class:
        blocks.append(
            Prose(
                "There are no out-of-fold predictions of single samples, which a model file omits "
                "if they are many: this report shows neither errors nor the calibration of "
                "probabilities. Give a test set for them.",
                "note",
            )
        )
    if summary.decision is not None:
        blocks.append(
            Prose(
                "The model does not always predict the most probable class: its decision is tuned "
                f"({summary.decision}). Scores and errors are those of the classes that it decides "
                "for.",
                "note",
            )
        )
    if summary.n_unseen:
        blocks.append(
            Prose(
                f"{summary.n_unseen:,} further samples have labels that the model does not "
                "know; they are not in the scores.",
                "warning",
            )
        )
    return blocks


def _score_tile(name: str, score: Estimate, factor: float, unit: str) -> Tile:
    digits = 1 if factor == 100 else 3
    scaled = score.scale(factor)
    return Tile(
        name,
        f"{scaled.value:.{digits}f}{unit}",
        f"95 % interval {scaled.low:.{digits}f} to {scaled.high:.{digits}f}",
    )


def _compare_with_baselines(scored: ScoreSummary) -> str:
    accuracy = _to_score(scored.scores.accuracy)
    words = describe_share(accuracy)
    if not scored.baselines:
        return f"{words}."
    best = max(scored.baselines, key=lambda name: scored.baselines[name].accuracy.value)
    baseline = scored.baselines[best].accuracy.value
    sentence = f"{words}; the best baseline ({best}): {describe_share(baseline)}."
    if accuracy <= baseline:
        return sentence + " The model is not better than that."
    fewer = 100 * (accuracy - baseline) / (1 - baseline)
    return sentence + f" The model makes {fewer:.0f} % fewer errors."


def _to_score(estimate: Estimate) -> Score:
    return Score(estimate.value, estimate.low, estimate.high)


def _baseline_chart(scored: ScoreSummary, metric: str, name: str) -> Chart:
    model = "this model"
    expected = {} if scored.expected is None else {_EXPECTED: scored.expected}
    rows = {
        each: getattr(values, metric).scale()
        for each, values in {model: scored.scores, **expected, **scored.baselines}.items()
    }
    title = f"{name} beside baselines"
    svg = interval_chart(
        rows,
        title=title,
        x_label=f"{name}, %",
        strong=[model],
        hollow=[*expected, *scored.baselines],
        legend=[
            ("fill s0", 0, model),
            ("hollow s0", 0, "for comparison" if expected else "baseline"),
            ("bar s0", -1, "95 % interval"),
        ],
        **_zoom(rows),
        has_values=True,
    )
    table = [[each, row.value, row.low, row.high] for each, row in rows.items()]
    data = text_table(title, ["classifier", f"{name}, %", "low", "high"], table)
    return Chart(title=title, svg=svg, data=data)


def _zoom(rows: Mapping[str, Estimate]) -> dict[str, float]:
    """Return the part of the axis in which intervals are wide enough to be seen.

    Baselines that are far below, such as the majority class, are left out of the range: they are
    drawn at its end, and their numbers are written beside them.
    """
    best = max(row.value for row in rows.values())
    near = [row for row in rows.values() if row.value >= best - _MAX_GAP]
    low, high = min(row.low for row in near), max(row.high for row in near)
    margin = max(1.0, 0.15 * (high - low))
    return {"low": max(0.0, low - margin), "high": min(100.0, high + margin)}


def _next_steps(summary: ModelSummary) -> list[Block]:
    steps = list_next_steps(summary)
    return [Steps(steps, is_ordered=True)] if steps else []


def _classes(summary: ModelSummary) -> list[Block]:
    rows = summary.by_class
    if summary.scores is None:
        return []
    if not rows:
        return [_class_f1_table(summary.scores.class_f1)]
    most = max(row.n_missed for row in rows) or 1
    intervals = summary.scores.class_f1
    n_errors = sum(row.n_missed for row in rows)
    entries = [
        [
            Entry(row.label),
            Entry(f"{row.n_missed:,}", float(row.n_missed), row.n_missed / most),
            Entry(f"{row.n_samples:,}", float(row.n_samples)),
            percent(row.recall),
            percent(row.precision),
            percent(row.f1),
            _f1_interval(intervals.get(row.label)),
            Entry(
                f"{row.confused_with} ({row.n_confused:,})" if row.confused_with else "",
                row.confused_with or "",
            ),
        ]
        for row in rows
    ]
    columns = [
        TableColumn("class"),
        TableColumn("errors", "bar", "samples of this class that are predicted as another"),
        TableColumn("samples", "number"),
        TableColumn("recall", "number", "share of the class that is found"),
        TableColumn("precision", "number", "share of the predictions of the class that is correct"),
        TableColumn("F1", "number", "harmonic mean of precision and recall"),
        TableColumn("95 % interval of F1", "number"),
        TableColumn("mostly predicted as"),
    ]
    worst = rows[: max(1, min(3, len(rows) - 1))]
    share = sum(row.n_missed for row in worst) / n_errors if n_errors else 0.0
    weakest = min((row for row in rows if row.n_samples), key=lambda row: row.f1)
    note = (
        f"{join_names([row.label for row in worst])} {'has' if len(worst) == 1 else 'have'} "
        f"{100 * share:.0f} % of all {n_errors:,} errors. "
        f"The lowest F1 is that of {weakest.label}: {100 * weakest.f1:.1f} % on "
        f"{weakest.n_samples:,} samples."
        if n_errors
        else "There are no errors."
    )
    return [
        Prose(note),
        DataTable(caption="Scores by class, most errors first", columns=columns, rows=entries),
    ]


def _class_f1_table(intervals: Mapping[str, Estimate]) -> DataTable:
    """Return the F1 of the classes, if their errors are not known."""
    return DataTable(
        caption="F1 by class, lowest first",
        columns=[
            TableColumn("class"),
            TableColumn("F1", "number", "harmonic mean of precision and recall"),
            TableColumn("95 % interval of F1", "number"),
        ],
        rows=[
            [Entry(label), percent(interval.value), _f1_interval(interval)]
            for label, interval in sorted(intervals.items(), key=lambda item: item[1].value)
        ],
    )


def _f1_interval(interval: Estimate | None) -> Entry:
    if interval is None:
        return MISSING
    low, high = 100 * interval.low, 100 * interval.high
    return Entry(f"{low:.1f} to {high:.1f}", interval.low)


def _card(summary: ModelSummary) -> list[Block]:
    provenance = summary.provenance
    facts = {
        "model": provenance.name,
        "recipe": provenance.recipe,
        "classifier": provenance.classifier,
        "training data": provenance.data,
        "training samples": f"{provenance.n_train:,}" if provenance.n_train else None,
        "classes": ", ".join(summary.classes[:_MAX_LABEL])
        + (" …" if len(summary.classes) > _MAX_LABEL else ""),
        "columns": "; ".join(
            f"{name}: {', '.join(value) if isinstance(value, list) else value}"
            for name, value in provenance.columns.items()
        ),
        "created": provenance.created,
        "fingerprint of the training data": provenance.fingerprint,
        "versions": ", ".join(f"{name} {v}" for name, v in provenance.versions.items()),
        **provenance.training,
    }
    blocks: list[Block] = [Facts({name: str(value) for name, value in facts.items() if value})]
    if provenance.params:
        params = list(provenance.params.items())
        blocks.append(
            Fold(
                f"{len(params)} parameters",
                [text_table("Parameters that are not None", ["parameter", "value"], params)],
            )
        )
    return blocks
