"""Blocks of a report: the members of a stack."""

from collections.abc import Mapping
from typing import Any

from cordwood.reports.blocks import (
    Block,
    DataTable,
    Entry,
    HeatMap,
    TableColumn,
    percent,
)

_OOF_SOURCES = {
    "oob": "out-of-bag",
    "loo": "leave-one-out",
    "cv": "cross-validation",
    "prefit": "fitted before",
}


def member_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Return the members with their weights, scores, times and diversity."""
    found = summary["members"]
    if found is None:
        return []
    rows = found["members"]
    has_scores = any("accuracy" in row for row in rows)
    has_sources = any(row["oof_source"] for row in rows)
    has_times = any("predict_seconds" in row for row in rows)
    has_loss = any("accuracy_loss" in row for row in rows)
    weights = [row["weight"] for row in rows if row["weight"] is not None]
    largest = max(map(abs, weights), default=1.0) or 1.0
    columns = [
        TableColumn("member"),
        *([TableColumn("weight", "bar", "in the final estimator")] if weights else []),
        *([TableColumn("accuracy", "number"), TableColumn("macro F1", "number")] * has_scores),
        *(
            [
                TableColumn("accuracy lost without it", "number", "percentage points"),
                TableColumn("log loss added without it", "number"),
            ]
            * has_loss
        ),
        *([TableColumn("CPU ms per prediction", "number")] * has_times),
        *([TableColumn("predictions for the stack")] * has_sources),
    ]
    entries = []
    for row in rows:
        entry = [Entry(row["name"], mark="dropped" if row["is_pruned"] else "")]
        if weights:
            entry.append(Entry(f"{row['weight']:.2f}", row["weight"], abs(row["weight"]) / largest))
        if has_scores:
            entry += [percent(row.get("accuracy")), percent(row.get("macro_f1"))]
        if has_loss:
            entry += [
                _change(row.get("accuracy_loss"), 100),
                _change(row.get("log_loss_increase"), 1),
            ]
        if has_times:
            seconds = row.get("predict_seconds")
            entry.append(
                Entry("–", "") if seconds is None else Entry(f"{1e3 * seconds:.2f}", seconds)
            )
        if has_sources:
            entry.append(Entry(_OOF_SOURCES.get(row["oof_source"], "")))
        entries.append(entry)
    blocks: list[Block] = [
        DataTable(
            caption=f"Members, combined by {found['combiner']}",
            columns=columns,
            rows=entries,
            note="Predictions for the stack: how the predictions on which the final estimator was "
            "trained were obtained."
            + (" Accuracy and F1 are out-of-fold." if has_scores else "")
            + (
                " What the stack would lose without a member is measured by fitting the final "
                "estimator to the others, on up to 2,000 samples in two folds; differences below "
                "half a percentage point are noise."
                if has_loss
                else ""
            ),
        )
    ]
    if found["disagreement"]:
        blocks.append(_diversity(found))
    return blocks


def _diversity(found: Mapping[str, Any]) -> HeatMap:
    matrix = found["disagreement"]
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
        labels=found["names"],
        entries=entries,
        note="The more two members disagree, the more a combination of them can gain.",
    )


def _change(change: float | None, factor: float) -> Entry:
    if change is None:
        return Entry("–", "")
    return Entry(f"{factor * change:+.{2 if factor == 100 else 3}f}", change)
