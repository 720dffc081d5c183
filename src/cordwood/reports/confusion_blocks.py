"""Blocks of a report: what a model confuses with what."""

from collections.abc import Mapping

from cordwood.reports.blocks import (
    Block,
    DataTable,
    Entry,
    Fold,
    HeatMap,
    Prose,
    Sample,
    Samples,
    TableColumn,
    excerpt,
    percent,
)
from cordwood.reports.model_records import Confusion, ConfusionGroup

_N_PAIRS = 20


def confusion_blocks(confusion: Confusion | None) -> list[Block]:
    """Return heat maps of confused classes, the most frequent errors, and examples."""
    if confusion is None or not confusion.n_errors:
        return []
    links = {
        (pair.true, pair.predicted): f"#pair-{i}"
        for i, pair in enumerate(confusion.pairs)
        if pair.examples
    }
    groups = confusion.groups
    blocks: list[Block] = []
    if len(groups) > 1 or len(groups[0].labels) < confusion.n_classes:
        share = confusion.n_shown_errors / confusion.n_errors
        blocks.append(
            Prose(
                f"Of {confusion.n_classes:,} classes, those that are confused with each other "
                f"are shown together; these {len(groups)} groups contain {100 * share:.0f} % of "
                f"all {confusion.n_errors:,} errors."
            )
        )
    largest = max(max(_list_errors(group)) for group in groups)
    for number, group in enumerate(groups, 1):
        caption = (
            "Confusion matrix"
            if len(groups) == 1
            else f"Group {number}: {len(group.labels)} classes, {sum(_list_errors(group)):,} errors"
        )
        blocks.append(_heat_map(caption, group, largest, links, is_last=number == len(groups)))
    blocks.append(_pair_table(confusion, links))
    if links:
        blocks += _pair_examples(confusion, links)
    return blocks


def _list_errors(group: ConfusionGroup) -> list[int]:
    return [n for i, row in enumerate(group.counts) for j, n in enumerate(row) if i != j]


def _heat_map(
    caption: str,
    group: ConfusionGroup,
    largest: int,
    links: Mapping[tuple[str, str], str],
    *,
    is_last: bool,
) -> HeatMap:
    labels = group.labels
    entries = [
        [
            Entry(
                f"{n:,}" if n else "",
                bar=n / largest if i != j else None,
                href=links.get((labels[i], labels[j]), ""),
            )
            for j, n in enumerate(row)
        ]
        for i, row in enumerate(group.counts)
    ]
    note = (
        "Rows are true classes, columns predicted ones. The stronger the color, the more "
        "samples; dashed: correct predictions." + (" Numbers link to examples." if links else "")
    )
    return HeatMap(
        caption=caption,
        corner="true ↓ predicted →",
        labels=labels,
        entries=entries,
        note=note if is_last else "",
    )


def _pair_table(confusion: Confusion, links: Mapping[tuple[str, str], str]) -> DataTable:
    pairs = confusion.pairs[:_N_PAIRS]
    largest = pairs[0].n
    return DataTable(
        caption="Most frequent errors",
        columns=[
            TableColumn("true class"),
            TableColumn("predicted class"),
            TableColumn("samples", "bar"),
            TableColumn("share of the true class", "number"),
        ],
        rows=[
            [
                Entry(pair.true),
                Entry(pair.predicted),
                Entry(
                    f"{pair.n:,}",
                    float(pair.n),
                    pair.n / largest,
                    href=links.get((pair.true, pair.predicted), ""),
                ),
                percent(pair.share),
            ]
            for pair in pairs
        ],
    )


def _pair_examples(confusion: Confusion, links: Mapping[tuple[str, str], str]) -> list[Block]:
    items = [
        Samples(
            title=f"{pair.true} predicted as {pair.predicted} ({pair.n:,})",
            id=links[pair.true, pair.predicted].removeprefix("#"),
            is_folded=True,
            items=[
                Sample(
                    segments=excerpt(row.text, row.is_shortened),
                    facts={
                        "id": row.id,
                        pair.predicted: f"{100 * row.probability:.0f} %",
                        pair.true: f"{100 * row.probability_true:.0f} %",
                    },
                )
                for row in pair.examples
            ],
        )
        for pair in confusion.pairs
        if pair.examples
    ]
    which = "error" if len(items) == 1 else f"{len(items)} errors"
    return [Fold(f"Examples of the most frequent {which}", items)]
