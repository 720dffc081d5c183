"""`cordwood explain`: explain predictions, or the words of each class."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from cordwood._base import atomic
from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Explain
from cordwood.cli.console import Console
from cordwood.cli.errors import one_line
from cordwood.cli.inputs import Source, iter_batches
from cordwood.cli.models import load_model, match_source
from cordwood.cli.outputs import check_target
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.explain import ClassWords, Explanation, Explanations
from cordwood.explain.class_words import ClassWord
from cordwood.explain.explanation import MemberExplanation
from cordwood.explain.html import render_page
from cordwood.persist import ModelCard

_BATCH_SIZE = 100
_MAX_NEIGHBORS = 3
_MAX_SHARED_TERMS = 8

# Shares of the largest contribution from which words are colored, and the styles of words for and
# against the class. All are readable on light and on dark terminals.
_STYLES = ((0.5, "bold white on blue", "bold white on red"), (0.15, "blue", "red"))


def explain(args: Explain) -> None:
    """Print the explanations of texts, or the words of each class."""
    if args.html is not None:
        inputs: list[str | Path] = [args.model, *([args.data] if args.data else [])]
        check_target(args.html, inputs=inputs)
    if args.by_class and args.data is None and args.read.text:
        raise typer.BadParameter("--by-class needs many texts; give DATA, or omit --text")
    if args.out_of_fold and (not args.by_class or args.data is None):
        raise typer.BadParameter("--out-of-fold needs --by-class and the training texts, DATA")
    console = Console(as_json=args.json)
    model, card = load_model(args.model)
    labels = _find_labels(model, args.label)
    if args.by_class or (args.data is None and not args.read.text):
        _explain_classes(args, console, model, card, labels)
        return
    texts: Sequence[str] | Corpus
    if model.columns_ is not None:
        texts = _read_rows(args, console, model, card)
    elif args.data is None:
        texts = list(args.read.text or ())
    else:
        texts = _read(args, console, model, card, args.limit)
    explainer = model.make_explainer()
    with console.progress("explaining") as progress:
        found = []
        for explanation in explainer.explain_each(texts):
            found.append(explanation)
            if progress is not None:
                progress(len(found), len(texts))
    explanations = Explanations(tuple(found))
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
        for label in labels or [explanation.prediction]:
            _show(console, explanation, label, args.top)
    _write_html(args, console, explanations._repr_html_())
    console.print_json({"model": str(args.model), "explanations": explanations.to_dict()})


def _find_labels(model: TextClassifier, given: Sequence[str] | None) -> list[Any]:
    """Return the labels of the model that are spelled as on the command line."""
    known = {str(label): label for label in model.classes_.tolist()}
    for label in given or ():
        if label not in known:
            shown = ", ".join(list(known)[:10])
            raise typer.BadParameter(f"--class must be a class of the model, {shown}; got {label}")
    return [known[label] for label in given or ()]


def _make_source(args: Explain, model: TextClassifier, card: ModelCard) -> Source:
    source = Source(data=str(args.data), options=args.read, data_dir=args.data_dir)
    return match_source(source, model, card)


def _read(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard, limit: int | None
) -> list[str]:
    """Read the first texts of DATA."""
    source = _make_source(args, model, card)
    texts: list[str] = []
    with console.progress(f"reading {args.data}") as progress:
        for batch in iter_batches(source.open(progress), _BATCH_SIZE):
            if isinstance(batch, FeatureMatrix):
                raise DataError(f"{args.data}: only texts can be explained, not features")
            texts += batch.texts
            if limit is not None and len(texts) >= limit:
                break
    return list(islice(texts, limit))


def _read_labelled(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard
) -> Corpus:
    """Read all texts of DATA and their labels."""
    samples = _make_source(args, model, card).read(console, two_classes=True)
    if not isinstance(samples, Corpus) or samples.multilabel:
        raise DataError(f"{args.data}: --out-of-fold needs texts with one label each")
    return samples


def _read_rows(args: Explain, console: Console, model: TextClassifier, card: ModelCard) -> Corpus:
    """Read the first rows of a table."""
    if args.data is None:
        raise typer.BadParameter("the model needs the columns of a table; give DATA")
    source = _make_source(args, model, card)
    with console.progress(f"reading {args.data}") as progress:
        samples = source.open(progress)
        batch = next(iter_batches(samples, args.limit or _BATCH_SIZE))
    if not isinstance(batch, Corpus):
        raise DataError(f"{args.data}: the model needs a table with columns")
    return batch


def _explain_classes(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard, labels: list[Any]
) -> None:
    texts: Any = None
    true_labels = None
    if args.out_of_fold:
        texts = _read_labelled(args, console, model, card)
        true_labels = texts.labels
    elif args.data is not None:
        texts = _read(args, console, model, card, None)
    with console.progress("explaining") as progress:
        found = model.explain_classes(texts, true_labels, n_words=args.top, progress=progress)
    console.print(found.note)
    for label in labels or found.classes.tolist():
        console.print()
        _show_class(console, found, label)
    _write_html(args, console, found._repr_html_())
    console.print_json({"model": str(args.model), "data": args.data, **found.to_dict()})


def _show_class(console: Console, found: ClassWords, label: Any) -> None:
    words: tuple[ClassWord, ...] = (*found.words_for(label), *found.words_against(label))
    has_counts = any(word.n_texts is not None for word in words)
    has_examples = any(word.example for word in words)
    columns = [
        str(label),
        "contribution",
        *(["texts"] if has_counts else []),
        *(["example"] if has_examples else []),
    ]
    rows = [
        [
            word.word,
            f"{word.contribution:+.3f}",
            *([word.n_texts or 0] if has_counts else []),
            *([word.example] if has_examples else []),
        ]
        for word in words
    ]
    console.table(columns, rows)


def _show(console: Console, explanation: Explanation, label: Any, top: int) -> None:
    """Print the explanation of one class."""
    column = explanation.class_index(label)
    name = explanation.output.replace("_", "-")
    summary = f"probability {explanation.proba[column]:.3f}"
    if explanation.output == "log_odds":
        summary += f", log-odds {explanation.values[column]:+.3f}"
    console.field("class", f"{label}: {summary}")
    console.print_text(_highlight(explanation, column))
    members = [("baseline", f"{explanation.baseline[column]:+.3f}", "prediction for no text")]
    members += [
        (member.name, f"{member.contributions[column]:+.3f}", member.method)
        for member in explanation.members
    ]
    console.table(("member", name, "method"), members)
    words = explanation.top_words(label, top)
    if words:
        console.table(("word", name), [(word, f"{value:+.3f}") for word, value in words])
    columns = explanation.top_columns(label, top)
    if columns:
        console.table(("column", name), [(column, f"{value:+.3f}") for column, value in columns])
    for member in explanation.members:
        if member.neighbors:
            _show_neighbors(console, member, column)


def _show_neighbors(console: Console, member: MemberExplanation, column: int) -> None:
    shown = member.neighbors[:_MAX_NEIGHBORS]
    console.print(f"{member.name}: nearest of {count(len(member.neighbors), 'training sample')}")
    console.table(
        ("sample", "class", "similarity", "contribution", "shared terms"),
        [
            (
                neighbor.index,
                str(neighbor.label),
                neighbor.similarity,
                f"{neighbor.contributions[column]:+.3f}",
                ", ".join(neighbor.shared_terms[:_MAX_SHARED_TERMS]),
            )
            for neighbor in shown
        ],
    )


def _highlight(explanation: Explanation, column: int) -> Text:
    """Return the text on one line, with its words colored by their contributions."""
    values = explanation.word_contributions[:, column].tolist()
    largest = max(map(abs, values), default=0.0)
    line, end = Text(), 0
    for (start, stop), value in zip(explanation.spans, values, strict=True):
        if explanation.text[end:start].strip() != explanation.text[end:start]:
            line.append(" ")
        styles = (
            positive if value > 0 else negative
            for share, positive, negative in _STYLES
            if largest and abs(value) >= share * largest
        )
        line.append(one_line(explanation.text[start:stop]), next(styles, ""))
        end = stop
    return line


def _write_html(args: Explain, console: Console, fragment: str) -> None:
    if args.html is None:
        return
    with atomic.write(args.html, errors="backslashreplace") as file:
        file.write(render_page(fragment, f"cordwood explain {args.model}"))
    console.field("wrote", str(args.html))
