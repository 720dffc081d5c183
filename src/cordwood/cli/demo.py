"""`cordwood demo`: the whole road once, on text that is on every machine."""

import time
from typing import Any

import numpy as np

from cordwood import recipes, workflow
from cordwood.api import Predictions
from cordwood.cli.commands import Demo
from cordwood.cli.console import Console
from cordwood.cli.show_scores import show_scores
from cordwood.datasets._docstrings import collect_docstrings
from cordwood.datasets.corpus import Corpus

N_EXAMPLES = 3
EXAMPLE_LETTERS = 40


def demo(asked: Demo) -> None:
    """Train on one part of the documentation strings and show how well the other is labelled."""
    console = Console(as_json=asked.json)
    start = time.perf_counter()
    with console.progress("reading documentation strings") as progress:
        rows = collect_docstrings(progress=progress)
    known, new = rows.subset("train"), rows.subset("test")
    console.say(
        f"Documentation strings of the installed libraries, labelled by what they document: "
        f"{len(known):,} to learn from, {len(new):,} of other modules to be tested on."
    )
    console.say()
    with console.progress("training"):
        model = workflow.train(known, random_state=0)
    with console.progress("evaluating"):
        evaluation = workflow.evaluate(model, new)
    seconds = time.perf_counter() - start
    show_scores(console, evaluation)
    chosen = new.select(np.linspace(0, len(new) - 1, N_EXAMPLES + 2, dtype=int)[1:-1])
    examples = _examples(chosen, workflow.predict(model, chosen))
    console.say()
    console.say("Three of the documents it had not seen:")
    console.table(
        ("true class", "predicted", "probability", "begins"),
        [tuple(example.values()) for example in examples],
    )
    console.say()
    console.say(
        f"Done in {seconds:.1f} s. With your own file, say a CSV with columns body and topic:"
    )
    console.say("cordwood train YOURS.csv --text body --label topic -o yours.cordwood")
    console.answer(
        {
            "recipe": recipes.DEFAULT,
            "trained_on": len(known),
            "seconds": round(seconds, 3),
            **evaluation.to_dict(),
            "examples": examples,
        }
    )


def _examples(rows: Corpus, predictions: Predictions) -> list[dict[str, Any]]:
    found = zip(
        rows.labels or (), predictions.labels, predictions.confidence, rows.texts, strict=True
    )
    return [
        {
            "label": label,
            "predicted": str(predicted),
            "probability": round(float(probability), 6),
            "text": text[:EXAMPLE_LETTERS],
        }
        for label, predicted, probability, text in found
    ]
