"""Page of a data set: from its summary to tables, figures and sentences."""

from collections.abc import Mapping, Sequence

from cordwood.reports.audit_blocks import (
    confused_blocks,
    problem_blocks,
    revealing_blocks,
    suspicious_blocks,
)
from cordwood.reports.blocks import (
    Block,
    Chart,
    DataTable,
    Entry,
    Page,
    Prose,
    Sample,
    Samples,
    Section,
    TableColumn,
    Tile,
    Tiles,
    excerpt,
    text_table,
)
from cordwood.reports.charts import histogram
from cordwood.reports.dataset_summary import DatasetSummary, Example

_MAX_OPEN_EXAMPLES = 3


def layout_dataset(summary: DatasetSummary, footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a data set as a page."""
    audit = summary.audit
    return Page(
        title=f"Data set {summary.name}",
        subtitle=_subtitle(summary),
        sections=[
            Section("overview", "Overview", _overview(summary)),
            Section("findings", "What to check", problem_blocks(summary.findings, audit)),
            Section("suspects", "Suspicious samples", suspicious_blocks(audit)),
            Section("confused", "Classes that are hard to distinguish", confused_blocks(audit)),
            Section("revealing", "Words that give the label away", revealing_blocks(audit)),
            Section("classes", "Classes", _classes(summary)),
            Section("lengths", "Lengths", _lengths(summary)),
            Section("languages", "Languages", _languages(summary)),
            Section("examples", "Examples", _examples(summary.examples)),
        ],
        footer={**footer, "fingerprint of the data": summary.fingerprint},
    )


def _subtitle(summary: DatasetSummary) -> str:
    n_findings = len(summary.findings) + len(summary.audit.counts if summary.audit else ())
    found = "nothing suspicious was found" if not n_findings else f"{n_findings} things to check"
    return (
        f"{summary.n_samples:,} samples of {len(summary.classes):,} classes, before any "
        f"model is trained; {found}."
    )


def _overview(summary: DatasetSummary) -> list[Block]:
    classes = summary.classes
    largest, smallest = classes[0], classes[-1]
    tiles = [
        Tile("samples", f"{summary.n_samples:,}"),
        Tile("classes", f"{len(classes):,}", "several per sample" if summary.multilabel else ""),
        Tile(
            "largest class",
            f"{100 * largest.share:.1f} %",
            f"of the samples: {largest.label}",
        ),
        Tile("smallest class", f"{smallest.n_samples:,}", f"samples of {smallest.label}"),
    ]
    if summary.lengths:
        quantiles = summary.lengths.quantiles
        tiles.append(
            Tile(
                "median length",
                f"{quantiles['50']:,.0f} words",
                f"90 % between {quantiles['5']:,.0f} and {quantiles['95']:,.0f}",
            )
        )
    if summary.features:
        features = summary.features
        tiles.append(
            Tile(
                "features",
                f"{features.n_features:,}",
                f"{100 * features.density:.2g} % of the values are not zero",
            )
        )
    if summary.n_groups:
        tiles.append(Tile("groups", f"{summary.n_groups:,}", "never split"))
    if len(summary.split) > 1:
        tiles += [Tile(f"subset {name}", f"{n:,}") for name, n in summary.split.items()]
    blocks: list[Block] = [Tiles(tiles)]
    if not summary.multilabel:
        blocks.append(
            Prose(
                f"A classifier that always predicts {largest.label} is correct on "
                f"{100 * largest.share:.1f} % of the samples; a useful one must be better."
            )
        )
    if summary.n_skipped:
        blocks.append(
            Prose(
                f"{summary.n_skipped:,} invalid rows were skipped, the first: {summary.skipped[0]}",
                "warning",
            )
        )
    return blocks


def _classes(summary: DatasetSummary) -> list[Block]:
    classes = summary.classes
    largest = max(row.n_samples for row in classes)
    has_lengths = summary.lengths is not None
    columns = [
        TableColumn("class"),
        TableColumn("samples", "bar"),
        TableColumn("share", "number"),
        *([TableColumn("median words", "number")] if has_lengths else []),
    ]
    rows = [
        [
            Entry(row.label),
            Entry(f"{row.n_samples:,}", float(row.n_samples), row.n_samples / largest),
            Entry(f"{100 * row.share:.1f} %", row.share),
            *([Entry(f"{row.median_words:,.0f}", row.median_words)] if has_lengths else []),
        ]
        for row in classes
    ]
    ratio = largest / classes[-1].n_samples
    note = f"The largest class has {ratio:,.1f} times as many samples as the smallest." + (
        " Look at macro F1, to which all classes contribute equally." if ratio >= 3 else ""
    )
    return [DataTable(caption="Classes by size", columns=columns, rows=rows, note=note)]


def _lengths(summary: DatasetSummary) -> list[Block]:
    lengths = summary.lengths
    if lengths is None:
        return []
    quantiles = lengths.quantiles
    title = "Words per text"
    svg = histogram(
        lengths.counts,
        lengths.edges,
        title=title,
        x_label="words per text (logarithmic)",
        y_label="texts",
    )
    data = text_table(
        "Quantiles",
        ["share of the texts", "at most this many words"],
        [[(f"{q} %", float(q)), (f"{value:,.0f}", value)] for q, value in quantiles.items()],
    )
    sentence = (
        f"Half of the texts have at most {quantiles['50']:,.0f} words, one in twenty has more than "
        f"{quantiles['95']:,.0f}; the longest has {quantiles['100']:,.0f}."
    )
    if lengths.n_empty:
        sentence += f" {lengths.n_empty:,} are empty and are counted in the first bar."
    return [Chart(title=title, svg=svg, sentence=sentence, data=data)]


def _languages(summary: DatasetSummary) -> list[Block]:
    languages = summary.languages
    if not languages:
        return []
    rows = [
        [
            Entry(row.name),
            Entry(f"{100 * row.share:.0f} %", row.share, row.share),
            Entry(f"{row.n:,}", float(row.n)),
        ]
        for row in languages
    ]
    n = sum(row.n for row in languages)
    return [
        DataTable(
            caption="Detected languages",
            columns=[
                TableColumn("language"),
                TableColumn("share", "bar"),
                TableColumn("texts", "number"),
            ],
            rows=rows,
            note=f"Detected by stop words in {n:,} texts at regular distances; the language of "
            "short texts is often not detected, and rare ones may be errors of the detection.",
        )
    ]


def _examples(examples: Sequence[Example]) -> list[Block]:
    by_class: dict[str, list[Example]] = {}
    for example in examples:
        by_class.setdefault(example.label, []).append(example)
    return [
        Samples(
            title=label,
            items=[
                Sample(segments=excerpt(row.text, row.is_shortened), facts={"id": row.id})
                for row in rows
            ],
            is_folded=len(by_class) > _MAX_OPEN_EXAMPLES,
        )
        for label, rows in by_class.items()
    ]
