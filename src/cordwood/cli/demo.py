"""`cordwood demo`: train and evaluate a classifier on built-in texts."""

import time
from typing import Any

import numpy as np

from cordwood import recipes
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Demo
from cordwood.cli.console import Console
from cordwood.cli.show_scores import show_scores
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.docstrings import collect_docstrings
from cordwood.metrics.predictions import Predictions

N_EXAMPLES = 3
MAX_EXAMPLE_LENGTH = 40


def demo(args: Demo) -> None:
    """Train on the docstrings of some modules and evaluate on those of other modules."""
    console = Console(as_json=args.json)
    start = time.perf_counter()
    with console.progress("reading docstrings") as progress:
        corpus = collect_docstrings(progress=progress)
    training, test = corpus.subset("train"), corpus.subset("test")
    console.print(
        "Docstrings of the installed libraries, classified by what they document: "
        f"{len(training):,} for training, {len(test):,} of other modules for testing."
    )
    console.print()
    with console.progress("training on all cores"):
        model = TextClassifier(recipes.DEFAULT, n_jobs=-1).fit(training)
    with console.progress("evaluating"):
        evaluation = model.evaluate(test)
    seconds = time.perf_counter() - start
    show_scores(console, evaluation)
    shown = test.select(np.linspace(0, len(test) - 1, N_EXAMPLES + 2, dtype=int)[1:-1])
    examples = _make_examples(shown, model.classify(shown))
    console.print()
    console.print("Three of the test samples:")
    console.table(
        ("true class", "predicted", "probability", "text"),
        [tuple(example.values()) for example in examples],
    )
    console.print()
    console.print(
        f"Done in {seconds:.1f} s. To train on a CSV file with the columns body and topic:"
    )
    console.print("cordwood train YOURS.csv --text body --label topic -o yours.cordwood")
    console.print_json(
        {
            "recipe": recipes.DEFAULT,
            "n_training_samples": len(training),
            "seconds": round(seconds, 3),
            **evaluation.to_dict(),
            "examples": examples,
        }
    )


def _make_examples(corpus: Corpus, predictions: Predictions) -> list[dict[str, Any]]:
    samples = zip(
        corpus.labels or (), predictions.labels, predictions.confidence, corpus.texts, strict=True
    )
    return [
        {
            "label": label,
            "predicted": str(predicted),
            "probability": round(float(probability), 6),
            "text": text[:MAX_EXAMPLE_LENGTH],
        }
        for label, predicted, probability, text in samples
    ]
