"""Blocks of a report: the members of a stack."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cordwood._base.wording import format_seconds
from cordwood.reports.blocks import (
    MISSING,
    Block,
    ColumnKind,
    DataTable,
    Entry,
    HeatMap,
    TableColumn,
)
from cordwood.reports.model_records import MemberSummary, StackSummary

_OOF_SOURCES = {
    "oob": "out-of-bag",
    "loo": "leave-one-out",
    "cv": "cross-validation",
    "prefit": "fitted before",
}


def member_blocks(found: StackSummary | None) -> list[Block]:
    """Return the members of a stack with their weights, scores, times and diversity."""
    if found is None:
        return []
    rows = found.members
    columns = [
        column for column in _COLUMNS if any(getattr(row, column.key) is not None for row in rows)
    ]
    largest = max((abs(row.weight) for row in rows if row.weight is not None), default=0.0)
    entries = [
        [
            Entry(row.name, mark="dropped" if row.is_pruned else ""),
            *(_to_entry(column, getattr(row, column.key), largest) for column in columns),
        ]
        for row in rows
    ]
    table = DataTable(
        caption=f"Members, combined by {found.combiner}",
        columns=[
            TableColumn("member"),
            *(TableColumn(column.name, column.kind, column.help) for column in columns),
        ],
        rows=entries,
        note=_explain(rows, columns),
    )
    return [table, *([_diversity(found.names, found.disagreement)] if found.disagreement else [])]


class _Column(NamedTuple):
    """A column of the table of members."""

    key: str
    name: str
    format: Callable[[Any], str]
    kind: ColumnKind = "number"
    help: str = ""
    note: str = ""


_COLUMNS = (
    _Column("weight", "weight", "{:.2f}".format, "bar", "in the final estimator"),
    _Column(
        "accuracy",
        "accuracy",
        lambda value: f"{100 * value:.1f} %",
        note="Accuracy and F1 are out-of-fold.",
    ),
    _Column("macro_f1", "macro F1", lambda value: f"{100 * value:.1f} %"),
    _Column(
        "accuracy_change",
        "accuracy without it",
        lambda value: f"{100 * value:+.2f}",
        help="change of the accuracy of the stack, percentage points",
        note="Accuracy and log loss without it: changes of the scores of the stack, the accuracy "
        "in percentage points, if the final estimator is fitted to the other members, on up to "
        "2,000 samples in two folds; changes of the accuracy below half a percentage point are "
        "noise.",
    ),
    _Column(
        "log_loss_change",
        "log loss without it",
        "{:+.3f}".format,
        help="change of the log loss of the stack",
    ),
    _Column(
        "fit_seconds",
        "fit, seconds",
        format_seconds,
        help="wall time of all fits",
        note="Fit: wall time of the fits on all samples and in the folds, without vectorizers that "
        "members share.",
    ),
    _Column(
        "predict_seconds",
        "predict, ms",
        lambda value: f"{1e3 * value:.2f}",
        help="CPU time per sample",
        note="Predict: CPU time per sample, with the vectorizer.",
    ),
    _Column(
        "oof_source",
        "predictions for the stack",
        lambda value: _OOF_SOURCES[value],
        "text",
        note="Predictions for the stack: how the predictions on which the final estimator was "
        "trained were obtained.",
    ),
)


def _to_entry(column: _Column, value: Any, largest: float) -> Entry:
    if value is None:
        return MISSING
    bar = abs(value) / (largest or 1.0) if column.kind == "bar" else None
    return Entry(column.format(value), value, bar)


def _explain(rows: Sequence[MemberSummary], columns: Sequence[_Column]) -> str:
    notes = [column.note for column in columns if column.note]
    if any(row.is_pruned for row in rows):
        notes.append("Dropped: members that hardly improved the log loss of the stack.")
    return " ".join(notes)


def _diversity(names: Sequence[str], matrix: Sequence[Sequence[float]]) -> HeatMap:
    largest = max(max(row) for row in matrix) or 1.0
    entries = [
        [
            Entry("" if i == j else f"{100 * value:.1f}", bar=None if i == j else value / largest)
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(matrix)
    ]
    return HeatMap(
        caption="Diversity: samples that exactly one of two members predicts correctly, %",
        corner="",
        labels=names,
        entries=entries,
        note="The more two members disagree, the more a combination of them can gain.",
    )
