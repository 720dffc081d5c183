"""`cordwood explain`: explain predictions, or the words of each class."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from cordwood._base import atomic
from cordwood._base.wording import shorten_line
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Explain
from cordwood.cli.console import Console
from cordwood.cli.errors import one_line
from cordwood.cli.inputs import Source, iter_batches
from cordwood.cli.models import load_model, match_source, read_labelled
from cordwood.cli.outputs import check_target
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import DataError
from cordwood.explain import ClassWords, Explanation, Explanations
from cordwood.explain.class_words import ClassWord
from cordwood.explain.explanation import add_sources
from cordwood.explain.html import render_page
from cordwood.explain.sentences import list_shared_words
from cordwood.persist import ModelCard

_MAX_NEIGHBORS = 3
_MAX_TRAINING_TEXT = 300

# Shares of the largest contribution from which words are colored, and the styles of words for and
# against the class. All are readable on light and on dark terminals, and by color-blind readers.
_STYLES = (
    (0.5, "bold white on blue", "bold underline white on red"),
    (0.15, "bold blue", "underline red"),
)


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
    if args.data is None and model.columns_ is not None:
        raise typer.BadParameter("the model needs the columns of a table; give DATA")
    if args.data is None:
        texts = list(args.read.text or ())
    else:
        texts = _read(args, console, model, card, args.limit)
    training = _read_training(args, console, model, card)
    explainer = model.make_explainer()
    samples: Any = texts
    if isinstance(texts, Corpus) and not explainer.takes_table:
        samples = texts.texts
    with console.progress("explaining") as progress:
        found = []
        for explanation in add_sources(explainer.explain_each(samples), texts, training):
            found.append(explanation)
            if progress is not None:
                progress(len(found), len(texts))
    explanations = Explanations(tuple(found))
    for number, explanation in enumerate(explanations):
        if number:
            console.print()
        show_explanation(console, explanation)
        if explanation.has_evidence:
            for label in labels or [explanation.classes[explanation.class_index()]]:
                _show_numbers(console, explanation, label, args.top)
    if any(each.has_evidence for each in explanations):
        show_legend(console)
    if any(each.neighbors and each.neighbors[0].text is None for each in explanations):
        console.field("hint", "--training FILE shows similar training texts in full")
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
) -> Corpus:
    """Read the first samples of DATA, with their labels where the file has those."""
    source = _make_source(args, model, card)
    # Labels are read as one of the other columns, because a file need not have them.
    extra: Any = () if limit is None else "all"
    with console.progress(f"reading {args.data}") as progress:
        samples = source.open(progress, extra_columns=extra)
        found = next(iter_batches(samples, limit or sys.maxsize), None)
    if found is None:
        raise DataError(f"{args.data}: there are no texts to explain")
    if not isinstance(found, Corpus):
        raise DataError(f"{args.data}: only texts can be explained, not features")
    return _add_labels(found, card)


def _add_labels(samples: Corpus, card: ModelCard) -> Corpus:
    """Add the true labels, if the column of the training labels is there."""
    found = samples.columns.get(card.columns.get("label", "label"))
    if samples.labels is not None or found is None:
        return samples
    return replace(samples, labels=tuple(map(str, found)))


def _read_training(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard
) -> Corpus | None:
    """Read the training samples, to show similar ones and examples of words."""
    if not args.training:
        return None
    source = Source(data=args.training, options=ReadOptions(), data_dir=args.data_dir)
    samples = read_labelled(console, source, model, card)
    names = () if model.columns_ is None else model.columns_.names
    # A model may have been trained on the training part of a data set only.
    subsets = [samples.subset(name) for name in dict.fromkeys(samples.split or ())]
    for each in (samples, *subsets):
        if isinstance(each, Corpus) and each.fingerprint(names) == card.fingerprint:
            return each
    raise DataError(
        f"{source.name} is not what {args.model} was trained on, or has changed since; give the "
        "same file, or omit --training"
    )


def _read_labelled(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard
) -> Corpus:
    """Read all texts of DATA and their labels."""
    samples = _make_source(args, model, card).read(console, two_classes=True)
    if not isinstance(samples, Corpus) or samples.multilabel:
        raise DataError(f"{args.data}: --out-of-fold needs texts with one label each")
    return samples


def _explain_classes(
    args: Explain, console: Console, model: TextClassifier, card: ModelCard, labels: list[Any]
) -> None:
    texts: Any = None
    true_labels = None
    if args.out_of_fold:
        texts = _read_labelled(args, console, model, card)
        true_labels = texts.labels
    elif args.data is not None:
        texts = _read(args, console, model, card, None).texts
    training = None if texts is not None else _read_training(args, console, model, card)
    with console.progress("explaining") as progress:
        found = model.explain_classes(
            texts, true_labels, training=training, n_words=args.top, progress=progress
        )
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


def show_explanation(console: Console, explanation: Explanation) -> None:
    """Print a text with colored words, and why it is predicted as it is, in sentences."""
    facts = [] if explanation.id is None else [explanation.id]
    if explanation.label is not None:
        facts.append(f"true label {explanation.label}")
    if facts:
        console.field("sample", ", ".join(facts))
    highlighted = _highlight(explanation, explanation.class_index())
    console.print_text(highlighted if explanation.text.strip() else Text("(no text)"))
    console.print(explanation.sentence)
    if explanation.runner_up is not None:
        console.print(f"Runner-up: {explanation.runner_up}")
    for number, neighbor in enumerate(explanation.neighbors[:_MAX_NEIGHBORS]):
        if not number:
            console.print("Similar training texts:")
        if neighbor.text is None:
            shared = ", ".join(list_shared_words(neighbor))
            name = f"number {neighbor.index + 1:,}"
            console.print(f"- {neighbor.label}: {name}, which has in common: {shared}")
        else:
            text = shorten_line(neighbor.text, _MAX_TRAINING_TEXT)
            console.print(f"- {neighbor.label}: {text}")


def show_legend(console: Console) -> None:
    """Explain the styles of words, on terminals that show them."""
    if console.is_terminal:
        (_, positive, negative), _ = _STYLES
        console.print_text(
            Text.assemble(
                ("for", positive),
                " the predicted class, ",
                ("against", negative),
                " it; the stronger, the more",
            )
        )


def _show_numbers(console: Console, explanation: Explanation, label: Any, top: int) -> None:
    """Print the numbers behind the explanation of one class."""
    column = explanation.class_index(label)
    name = explanation.output.replace("_", "-")
    summary = f"probability {explanation.proba[column]:.3f}"
    if explanation.output == "log_odds":
        summary += f", log-odds {explanation.values[column]:+.3f}"
    console.field("class", f"{label}: {summary}")
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
        file.write(render_page(fragment, f"Why {args.model.name} predicts what it predicts"))
    console.field("wrote", str(args.html))
