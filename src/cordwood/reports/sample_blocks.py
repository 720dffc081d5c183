"""Blocks of a report: suspicious labels, explained predictions, words of classes."""

from cordwood._base.wording import show_hidden
from cordwood.explain.class_words import ClassWord
from cordwood.reports.blocks import (
    Block,
    Prose,
    Sample,
    Samples,
    WordList,
    WordLists,
    excerpt,
    text_table,
)
from cordwood.reports.model_records import ExplainedSample, ModelSummary, WordSummary

_N_OPEN_SUSPECTS = 8
_MIN_SHOWN = 0.03


def suspect_blocks(summary: ModelSummary) -> list[Block]:
    """Return the samples whose label is improbable."""
    suspects = summary.suspects
    if suspects is None or not suspects.n or summary.source == "training":
        return []
    samples = [
        Sample(
            segments=excerpt(show_hidden(row.text), row.is_shortened),
            facts={
                "id": row.id,
                "label": f"{show_hidden(row.label)} ({100 * row.self_confidence:.1f} %)",
                "suggested": f"{show_hidden(row.suggested)} ({100 * row.confidence:.1f} %)",
            },
        )
        for row in suspects.samples
    ]
    shown = samples[:_N_OPEN_SUSPECTS]
    blocks: list[Block] = [
        Prose(
            f"{suspects.n:,} labels may be wrong, by confident learning: the most probable "
            "class is another one, with at least its mean probability over its own samples. "
            "Either the label is a mistake, or the sample is a hard one."
        ),
        Samples(title=f"The {len(shown)} most suspicious labels", items=shown),
    ]
    if summary.review is not None:
        blocks.insert(1, Prose("To decide them one by one in the browser, run this command:"))
        blocks.insert(2, Prose(summary.review, "command"))
    if len(samples) > len(shown):
        title = f"{len(samples) - len(shown)} more"
        blocks.append(Samples(title=title, items=samples[len(shown) :], is_folded=True))
    return blocks


def explained_blocks(summary: ModelSummary) -> list[Block]:
    """Return explained predictions: correct, wrong and undecided ones."""
    if not summary.explained:
        return []
    note = (
        "Words on blue argue for the predicted class, underlined words on orange against it; the "
        "stronger the color, the larger the contribution."
    )
    if summary.source != "test":
        note += (
            " Words are colored where the prediction is correct: the final model has been trained "
            "on these texts, so that it does not repeat the errors of the out-of-fold predictions. "
            "Errors are explained by the similar training samples."
        )
    by_kind: dict[str, list[ExplainedSample]] = {}
    for row in summary.explained:
        by_kind.setdefault(row.kind, []).append(row)
    samples = [
        Samples(title=kind[0].upper() + kind[1:], items=[_explained_sample(row) for row in rows])
        for kind, rows in by_kind.items()
    ]
    return [Prose(note, "note"), *samples]


def _explained_sample(row: ExplainedSample) -> Sample:
    largest = max((abs(value) for _, value in row.segments), default=0.0) or 1.0
    # Faint colors of tiny contributions only distract.
    segments = [
        (text, value / largest if abs(value) >= _MIN_SHOWN * largest else 0.0)
        for text, value in row.segments
    ]
    if row.is_shortened:
        segments.append(("…", 0.0))
    details = []
    if row.contributions:
        details.append(
            text_table(
                f"Members: contributions to the {row.output.replace('_', '-')} of {row.predicted}",
                ["member", "contribution", "method"],
                [
                    [each.name, (f"{each.value:+.3f}", each.value), each.method]
                    for each in row.contributions
                ],
            )
        )
    if row.member_probabilities:
        details.append(
            text_table(
                "Members: out-of-fold probabilities, %",
                ["member", row.predicted, f"{row.label} (label)"],
                [
                    [each.name, 100 * each.predicted, 100 * each.label]
                    for each in row.member_probabilities
                ],
            )
        )
    if row.neighbors:
        has_texts = all(each.text is not None for each in row.neighbors)
        details.append(
            text_table(
                "Most similar training samples",
                ["sample", "label", "similarity", "text" if has_texts else "shared terms"],
                [
                    [each.id, each.label, each.similarity, each.text or ", ".join(each.terms)]
                    for each in row.neighbors
                ],
            )
        )
    return Sample(
        segments=segments,
        facts={
            "id": row.id,
            "label": row.label,
            "predicted": f"{row.predicted} ({100 * row.probability:.0f} %)",
        },
        details=details,
    )


def word_blocks(words: WordSummary | None) -> list[Block]:
    """Return the words for and against each class."""
    if words is None:
        return []
    items = []
    for row in words.classes:
        if not row.for_ and not row.against:
            continue
        largest = max((abs(w.contribution) for w in (*row.for_, *row.against)), default=1.0)
        items.append(
            WordList(
                row.label,
                [_weigh(word, largest) for word in row.for_],
                [_weigh(word, largest) for word in row.against],
            )
        )
    note = words.note[0].upper() + words.note[1:] + "."
    return [WordLists(items), Prose(note, "note")] if items else []


def _weigh(word: ClassWord, largest: float) -> tuple[str, float, str]:
    n_texts = "" if word.n_texts is None else f", in {word.n_texts:,} texts"
    example = f": {word.example}" if word.example else ""
    hint = f"{word.contribution:+.3f}{n_texts}{example}"
    return word.word, abs(word.contribution) / (largest or 1.0), hint
