"""Blocks of a report: findings of the check of the data, and of its audit."""

from collections.abc import Mapping, Sequence

from cordwood._base.wording import count, shorten_line, show_hidden
from cordwood.audit.suspects import DEFINITIONS, Suspect
from cordwood.metrics.scores import describe_share
from cordwood.reports.blocks import (
    Block,
    DataTable,
    Entry,
    Prose,
    Sample,
    Samples,
    Steps,
    TableColumn,
    excerpt,
    percent,
)
from cordwood.reports.dataset_summary import AuditSummary, FindingSummary

_MIN_ACCURACY = 0.7
_MAX_EXAMPLE = 140
_MAX_REVEALING = 5
_REVEALING_ADVICE = (
    "A model that uses them is good on these data and bad on others; remove them unless new texts "
    "will contain them too."
)

# How the score suffers, by the kind of finding.
_CONSEQUENCES = {
    "small classes": "A class with so few samples is hardly predicted, and its score is noise.",
    "spellings": "Each spelling is a class of its own.",
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


def problem_blocks(findings: Sequence[FindingSummary], audit: AuditSummary | None) -> list[Block]:
    """Return the findings of the check, and how many samples of each kind are suspicious."""
    if audit is None:
        nothing = Prose("No empty texts, duplicates, odd labels or small classes were found.")
        return _finding_blocks(findings) or [nothing]
    blocks = _finding_blocks(findings)
    if not audit.counts:
        return [*blocks, Prose("The audit found no suspicious samples.")]
    links = {kind: f"#{_suspect_id(kind)}" for kind in audit.counts}
    return [*blocks, _count_table(audit, links)]


def training_data_blocks(
    findings: Sequence[FindingSummary], audit: AuditSummary | None
) -> list[Block]:
    """Return the summary of the audit of the training data in the report of a model."""
    if audit is None:
        return []
    blocks = _finding_blocks(findings)
    if audit.counts:
        blocks.append(_count_table(audit, {"label error": "#labels"}))
        blocks.append(
            Prose(
                "cordwood audit DATA -o suspects.csv writes all of them; with --fix, it writes a "
                "corrected copy of the data.",
                "note",
            )
        )
    words = audit.revealing_words
    if words:
        shown = "" if len(words) <= _MAX_REVEALING else f", the first {_MAX_REVEALING}"
        blocks += [
            Prose(f"{count(len(words), 'word')} that may give the label away{shown}:"),
            Steps(words[:_MAX_REVEALING]),
            Prose(_REVEALING_ADVICE, "advice"),
        ]
    return blocks or [Prose("The audit of the training data found nothing suspicious.")]


def _count_table(audit: AuditSummary, links: Mapping[str, str]) -> DataTable:
    rows = [
        [
            Entry(kind, href=links.get(kind, "")),
            Entry(f"{n:,}", float(n), n / max(audit.counts.values())),
            Entry(_describe_kind(kind)),
            Entry(_describe_first(audit.suspects.get(kind, []))),
        ]
        for kind, n in audit.counts.items()
    ]
    columns = [
        TableColumn("problem"),
        TableColumn("samples", "bar"),
        TableColumn("what it is, and why it matters", "prose"),
        TableColumn("first of them", "prose"),
    ]
    return DataTable(caption="Suspicious samples", columns=columns, rows=rows)


def _describe_kind(kind: str) -> str:
    """Return the definition of a problem, if it has one, and its consequence."""
    definition, consequence = DEFINITIONS.get(kind), _CONSEQUENCES.get(kind, "")
    if definition is None:
        return consequence
    return f"{definition[0].upper()}{definition[1:]}. {consequence}"


def _describe_first(suspects: Sequence[Suspect]) -> str:
    if not suspects:
        return ""
    first = suspects[0]
    label = show_hidden(str(first.label))
    return f"{first.id} ({label}): {shorten_line(first.reason, _MAX_EXAMPLE, '…')}"


def suspicious_blocks(audit: AuditSummary | None) -> list[Block]:
    """Return suspicious samples of each kind, with the reasons."""
    if audit is None:
        return []
    blocks: list[Block] = []
    if audit.accuracy is not None:
        blocks.append(
            Prose(
                f"The model gets {describe_share(audit.accuracy)} (accuracy "
                f"{100 * audit.accuracy:.1f} %, from out-of-fold predictions of all samples, as "
                "`cordwood train` does)."
                + (
                    " The model is often wrong on these data, and so may be the label errors."
                    if audit.accuracy < _MIN_ACCURACY
                    else ""
                )
            )
        )
    for kind, suspects in audit.suspects.items():
        n = audit.counts[kind]
        first = "" if n == len(suspects) else f", the first {len(suspects)}"
        blocks.append(
            Samples(
                title=f"{kind} ({n:,}{first})",
                id=_suspect_id(kind),
                items=[_suspect_sample(suspect) for suspect in suspects],
                is_folded=kind != next(iter(audit.suspects)),
            )
        )
    return blocks


def _suspect_id(kind: str) -> str:
    return f"suspects-{kind.replace(' ', '-')}"


def _suspect_sample(suspect: Suspect) -> Sample:
    facts = {"id": suspect.id, "label": suspect.label, "why": suspect.reason}
    if suspect.suggested_label is not None:
        facts["suggested"] = str(suspect.suggested_label)
        if suspect.confidence is not None:
            facts["suggested"] += f" ({100 * suspect.confidence:.0f} %)"
    if suspect.related_ids:
        facts["similar samples"] = ", ".join(suspect.related_ids)
    return Sample(
        segments=excerpt(show_hidden(suspect.text), False),
        facts={name: show_hidden(str(value)) for name, value in facts.items()},
    )


def confused_blocks(audit: AuditSummary | None) -> list[Block]:
    """Return the pairs of classes that are confused most."""
    pairs = audit.confused_classes if audit else []
    if not pairs:
        return []
    rows = [
        [
            Entry(f"{pair.labels[0]} and {pair.labels[1]}"),
            Entry(f"{sum(pair.n_errors):,}", float(sum(pair.n_errors))),
            percent(pair.error_rate),
            Entry(", ".join(pair.words[0])),
            Entry(", ".join(pair.words[1])),
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


def revealing_blocks(audit: AuditSummary | None) -> list[Block]:
    """Return words that occur in one class only for reasons that new texts may not share."""
    words = audit.revealing_words if audit else []
    if not words:
        return []
    return [Steps(words), Prose(_REVEALING_ADVICE, "advice")]


def _finding_blocks(findings: Sequence[FindingSummary]) -> list[Block]:
    if not findings:
        return []
    rows = [
        [
            Entry(finding.kind),
            Entry(
                f"{finding.n_samples:,}" if finding.n_samples else "",
                sort=float(finding.n_samples),
            ),
            Entry(finding.message),
            Entry(_CONSEQUENCES.get(finding.kind, "")),
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
