"""`cordwood curve`: estimate what more labelled samples would bring."""

import math
import time
from typing import Any

import numpy as np
from sklearn.base import clone

from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Curve
from cordwood.cli.console import Console
from cordwood.cli.expected_scores import show_summary
from cordwood.cli.inputs import Source
from cordwood.cli.models import make_model
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.metrics.scores import SCORE_NAMES, Evaluation, Score, describe_share
from cordwood.text.languages import check_language

_NOTE = (
    "the scores are those of `cordwood train` and `cordwood audit`, of out-of-fold predictions of "
    "all samples, and the forecast adds the gain to them; scores in the table are of models of "
    "fewer samples on the other 20%, so that they differ"
)


def curve(args: Curve) -> None:
    """Print the learning curve of a recipe and its forecast for twice as many samples."""
    console = Console(as_json=args.json, quiet=args.quiet)
    if args.language is not None:
        check_language(args.language)
    source = Source(data=args.data, options=args.read, data_dir=args.data_dir, subset=args.subset)
    samples = source.read(console, two_classes=True)
    source.show(console, samples)
    if samples.multilabel:
        raise CordwoodError(
            "the samples have a list of labels each; a learning curve requires one label per sample"
        )
    model = make_model(console, args, samples, oof=True)
    groups = samples.groups if args.read.group else None
    start = time.perf_counter()
    found = estimate_curve(
        console,
        model,
        samples,
        groups=groups,
        scoring=args.metric.value,
        n_repeats=args.repeats,
        random_state=args.seed,
    )
    # After the curve, which fails first if there are too few samples.
    with console.progress("training"):
        evaluation = clone(model).fit(samples, groups=groups).evaluation_
    seconds = time.perf_counter() - start
    _show(console, found, evaluation)
    console.field("time", f"{seconds:.1f} s")
    console.print_json(
        {
            "data": args.data,
            "subset": args.subset,
            "recipe": args.recipe,
            **found.to_dict(),
            "expected": None if evaluation is None else evaluation.to_dict(),
            "seconds": round(seconds, 3),
        }
    )


def estimate_curve(
    console: Console, model: TextClassifier, samples: Corpus | FeatureMatrix, **params: Any
) -> LearningCurveEstimate:
    """Estimate the learning curve of a model of texts, of a table or of numbers."""
    X = samples if isinstance(samples, Corpus) else samples.X
    with console.progress("training on shares of the samples") as progress:
        try:
            return estimate_learning_curve(
                model, X, np.asarray(samples.labels), progress=progress, **params
            )
        except ValueError as error:
            raise CordwoodError(f"learning curve: {error}") from error


def _show(console: Console, found: LearningCurveEstimate, evaluation: Evaluation | None) -> None:
    name = SCORE_NAMES[found.scoring]
    console.print()
    console.table(
        ("training samples", name, "lowest", "highest"),
        [
            (size, float(scores.mean()), float(scores.min()), float(scores.max()))
            for size, scores in zip(found.sizes, found.scores.T, strict=True)
        ],
    )
    console.print()
    doubled = 2 * found.n_samples
    now = None if evaluation is None else evaluation.scores.get(found.scoring)
    gain = found.gain(doubled)
    if evaluation is None or now is None:
        console.field("now", f"{name} {found.forecast(found.n_samples)}, by the curve")
    else:
        show_summary(console, evaluation)
        later = _shift(found.forecast(doubled), float(now) - found.forecast(found.n_samples))
        words = f"{name} {later}"
        if found.scoring == "accuracy":
            words = f"{describe_share(later)} ({words})"
        console.field("forecast", f"{words} with {count(doubled, 'sample')}")
    console.field(
        "gain", f"{gain:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) by twice as many samples"
    )
    console.field("method", found.method)
    if now is not None:
        console.field("note", _NOTE)


def _shift(score: Score, by: float) -> Score:
    """Return a score of the curve at the level of the expected scores; no share exceeds one."""
    assert score.low is not None and score.high is not None
    highest = 1.0 if score.high <= 1 else math.inf
    value, low, high = (min(each + by, highest) for each in (float(score), score.low, score.high))
    return Score(value, low, high)
