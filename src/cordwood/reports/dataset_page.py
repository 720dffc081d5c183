"""Page of a data set: from its summary to tables, figures and sentences."""

from collections.abc import Mapping
from typing import Any

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
    Steps,
    TableColumn,
    Tile,
    Tiles,
    percent,
    text_table,
)
from cordwood.reports.charts import histogram

_MAX_OPEN_EXAMPLES = 3
_MIN_ACCURACY = 0.7

# How the score suffers, by the kind of finding.
_CONSEQUENCES = {
    "small classes": "A class with so few samples is hardly predicted, and its score is noise.",
    "spellings": "Each spelling is a class of its own.",
    "empty texts": "An empty text is predicted by the class frequencies alone.",
    "contradictory labels": "No model can be right on both.",
    "duplicates": "Copies in training and test data make scores too good.",
    "near-duplicates": "Copies in training and test data make scores too good.",
    "leakage": "The score on the test data is too good.",
    "label error": "A model learns from wrong labels, and its scores are too low.",
    "contradictory label": "No model can be right on both.",
    "duplicate": "Copies in training and test data make scores too good.",
    "near-duplicate": "Copies in training and test data make scores too good.",
    "empty text": "An empty text is predicted by the class frequencies alone.",
    "garbled text": "Its words are lost.",
    "encoding error": "Words with other letters are not recognized.",
    "no letters": "There is nothing to learn from.",
    "outlier": "It may belong to none of the classes.",
}


def layout_dataset(summary: Mapping[str, Any], footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a data set as a page.

    Parameters
    ----------
    summary : mapping
        Result of `summarize_dataset`.
    footer : mapping of str to str
        Versions and the time of writing.

    Returns
    -------
    Page
    """
    return Page(
        title=f"Data set {summary['name']}",
        subtitle=_subtitle(summary),
        sections=[
            Section("overview", "Overview", _overview(summary)),
            Section("findings", "What to check", _findings(summary)),
            Section("suspects", "Suspicious samples", _suspects(summary)),
            Section("confused", "Classes that are hard to distinguish", _confused(summary)),
            Section("revealing", "Words that give the label away", _revealing(summary)),
            Section("classes", "Classes", _classes(summary)),
            Section("lengths", "Lengths", _lengths(summary)),
            Section("languages", "Languages", _languages(summary)),
            Section("examples", "Examples", example_blocks(summary["examples"])),
        ],
        footer={**footer, "fingerprint of the data": summary["fingerprint"]},
    )


def _findings(summary: Mapping[str, Any]) -> list[Block]:
    audit = summary["audit"]
    if audit is None:
        return findings_blocks(summary["findings"])
    blocks = findings_blocks(summary["findings"]) if summary["findings"] else []
    if not audit["counts"]:
        return [*blocks, Prose("The audit found no suspicious samples.")]
    rows = [
        [
            Entry(kind, href=f"#{_suspect_id(kind)}"),
            Entry(f"{n:,}", float(n), n / max(audit["counts"].values())),
            Entry(_CONSEQUENCES.get(kind, "")),
        ]
        for kind, n in audit["counts"].items()
    ]
    columns = [
        TableColumn("problem"),
        TableColumn("samples", "bar"),
        TableColumn("why it matters", "prose"),
    ]
    return [*blocks, DataTable(caption="Suspicious samples", columns=columns, rows=rows)]


def _suspects(summary: Mapping[str, Any]) -> list[Block]:
    audit = summary["audit"]
    if audit is None:
        return []
    blocks: list[Block] = []
    if audit["accuracy"] is not None and audit["recipe"]:
        blocks.append(
            Prose(
                f"{100 * audit['accuracy']:.1f} % of the labels are as the recipe "
                f"{audit['recipe']} predicts them out of fold."
                + (
                    " The recipe is often wrong on these data, and so may be the label errors."
                    if audit["accuracy"] < _MIN_ACCURACY
                    else ""
                )
            )
        )
    for kind, suspects in audit["suspects"].items():
        n = audit["counts"][kind]
        first = "" if n == len(suspects) else f", the first {len(suspects)}"
        blocks.append(
            Samples(
                title=f"{kind} ({n:,}{first})",
                id=_suspect_id(kind),
                items=[_suspect_sample(suspect) for suspect in suspects],
                is_folded=kind != next(iter(audit["suspects"])),
            )
        )
    return blocks


def _suspect_id(kind: str) -> str:
    return f"suspects-{kind.replace(' ', '-')}"


def _suspect_sample(suspect: Mapping[str, Any]) -> Sample:
    facts = {"id": suspect["id"], "label": suspect["label"], "why": suspect["reason"]}
    if suspect["suggested_label"] is not None:
        facts["suggested"] = str(suspect["suggested_label"])
        if suspect["confidence"] is not None:
            facts["suggested"] += f" ({100 * suspect['confidence']:.0f} %)"
    if suspect["related_ids"]:
        facts["similar samples"] = ", ".join(suspect["related_ids"])
    return Sample(
        segments=[(suspect["text"], 0.0)],
        facts={name: str(value) for name, value in facts.items()},
    )


def _confused(summary: Mapping[str, Any]) -> list[Block]:
    pairs = summary["audit"]["confused_classes"] if summary["audit"] else []
    if not pairs:
        return []
    rows = [
        [
            Entry(f"{pair['labels'][0]} and {pair['labels'][1]}"),
            Entry(f"{sum(pair['n_errors']):,}", float(sum(pair["n_errors"]))),
            percent(pair["error_rate"]),
            Entry(", ".join(pair["words"][0])),
            Entry(", ".join(pair["words"][1])),
        ]
        for pair in pairs
    ]
    columns = [
        TableColumn("classes"),
        TableColumn("confused samples", "number"),
        TableColumn("share of both classes", "number"),
        TableColumn("words of the first"),
        TableColumn("words of the second"),
    ]
    return [
        DataTable(
            caption="Pairs of classes, the most confused first",
            columns=columns,
            rows=rows,
            note="Samples are confused if they are predicted as the other class out of fold; words "
            "are those that differ most between the classes. Define such classes more sharply, or "
            "merge them.",
        )
    ]


def _revealing(summary: Mapping[str, Any]) -> list[Block]:
    words = summary["audit"]["revealing_words"] if summary["audit"] else []
    if not words:
        return []
    advice = (
        "A model that uses them is good on these data and bad on others; remove them unless new "
        "texts will contain them too."
    )
    return [Steps(words), Prose(advice, "advice")]


def _subtitle(summary: Mapping[str, Any]) -> str:
    n_findings = len(summary["findings"]) + len((summary["audit"] or {}).get("counts", ()))
    found = "nothing suspicious was found" if not n_findings else f"{n_findings} things to check"
    return (
        f"{summary['n_samples']:,} samples of {len(summary['classes']):,} classes, before any "
        f"model is trained; {found}."
    )


def _overview(summary: Mapping[str, Any]) -> list[Block]:
    classes = summary["classes"]
    largest, smallest = classes[0], classes[-1]
    tiles = [
        Tile("samples", f"{summary['n_samples']:,}"),
        Tile("classes", f"{len(classes):,}", "several per sample" if summary["multilabel"] else ""),
        Tile(
            "largest class",
            f"{100 * largest['share']:.1f} %",
            f"of the samples: {largest['label']}",
        ),
        Tile("smallest class", f"{smallest['n_samples']:,}", f"samples of {smallest['label']}"),
    ]
    if summary["lengths"]:
        quantiles = summary["lengths"]["quantiles"]
        tiles.append(
            Tile(
                "median length",
                f"{quantiles['50']:,.0f} words",
                f"90 % between {quantiles['5']:,.0f} and {quantiles['95']:,.0f}",
            )
        )
    if summary["features"]:
        features = summary["features"]
        tiles.append(
            Tile(
                "features",
                f"{features['n_features']:,}",
                f"{100 * features['density']:.2g} % of the values are not zero",
            )
        )
    if summary["n_groups"]:
        tiles.append(Tile("groups", f"{summary['n_groups']:,}", "never split"))
    for subset, n in summary["split"].items():
        tiles.append(Tile(f"subset {subset}", f"{n:,}"))
    blocks: list[Block] = [Tiles(tiles)]
    if not summary["multilabel"]:
        blocks.append(
            Prose(
                f"A classifier that always predicts {largest['label']} is correct on "
                f"{100 * largest['share']:.1f} % of the samples; a useful one must be better."
            )
        )
    if summary["n_skipped"]:
        blocks.append(
            Prose(
                f"{summary['n_skipped']:,} invalid rows were skipped, the first: "
                f"{summary['skipped'][0]}",
                "warning",
            )
        )
    return blocks


def findings_blocks(findings: list[Mapping[str, Any]]) -> list[Block]:
    """Return the table of what `check_dataset` has found."""
    if not findings:
        return [Prose("No empty texts, duplicates, odd labels or small classes were found.")]
    rows = [
        [
            Entry(finding["kind"]),
            Entry(
                f"{finding['n_samples']:,}" if finding["n_samples"] else "",
                sort=float(finding["n_samples"]),
            ),
            Entry(finding["message"]),
            Entry(_CONSEQUENCES.get(finding["kind"], "")),
        ]
        for finding in findings
    ]
    return [
        DataTable(
            caption="Findings",
            columns=[
                TableColumn("finding"),
                TableColumn("samples", "number"),
                TableColumn("what, and what to do", "prose"),
                TableColumn("why it matters", "prose"),
            ],
            rows=rows,
        )
    ]


def _classes(summary: Mapping[str, Any]) -> list[Block]:
    classes = summary["classes"]
    largest = max(row["n_samples"] for row in classes)
    has_lengths = summary["lengths"] is not None
    columns = [
        TableColumn("class"),
        TableColumn("samples", "bar"),
        TableColumn("share", "number"),
        *([TableColumn("median words", "number")] if has_lengths else []),
    ]
    rows = [
        [
            Entry(row["label"]),
            Entry(f"{row['n_samples']:,}", float(row["n_samples"]), row["n_samples"] / largest),
            Entry(f"{100 * row['share']:.1f} %", row["share"]),
            *([Entry(f"{row['median_words']:,.0f}", row["median_words"])] if has_lengths else []),
        ]
        for row in classes
    ]
    ratio = largest / classes[-1]["n_samples"]
    note = f"The largest class has {ratio:,.1f} times as many samples as the smallest." + (
        " Look at macro F1, to which all classes contribute equally." if ratio >= 3 else ""
    )
    return [DataTable(caption="Classes by size", columns=columns, rows=rows, note=note)]


def _lengths(summary: Mapping[str, Any]) -> list[Block]:
    lengths = summary["lengths"]
    if lengths is None:
        return []
    quantiles = lengths["quantiles"]
    title = "Words per text"
    svg = histogram(
        lengths["counts"],
        lengths["edges"],
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
    if lengths["n_empty"]:
        sentence += f" {lengths['n_empty']:,} are empty and are counted in the first bar."
    return [Chart(title=title, svg=svg, sentence=sentence, data=data)]


def _languages(summary: Mapping[str, Any]) -> list[Block]:
    languages = summary["languages"]
    if not languages:
        return []
    rows = [
        [
            Entry(row["name"]),
            Entry(f"{100 * row['share']:.0f} %", row["share"], row["share"]),
            Entry(f"{row['n']:,}", float(row["n"])),
        ]
        for row in languages
    ]
    n = sum(row["n"] for row in languages)
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


def example_blocks(examples: list[Mapping[str, Any]]) -> list[Block]:
    """Return the example texts, one folded list per class."""
    by_class: dict[str, list[Mapping[str, Any]]] = {}
    for example in examples:
        by_class.setdefault(example["label"], []).append(example)
    return [
        Samples(
            title=label,
            items=[
                Sample(
                    segments=[(row["text"] + ("…" if row["is_shortened"] else ""), 0.0)],
                    facts={"id": row["id"]},
                )
                for row in rows
            ],
            is_folded=len(by_class) > _MAX_OPEN_EXAMPLES,
        )
        for label, rows in by_class.items()
    ]
