"""`cordwood curve`: estimate what more labelled samples would bring."""

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
from cordwood.metrics.scores import SCORE_NAMES
from cordwood.text.languages import check_language


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
    _show(console, found)
    if evaluation is not None:
        show_summary(console, evaluation)
        console.field(
            "note",
            "these are the scores of `cordwood train`, out-of-fold predictions of all samples; the "
            "curve trains on 80% of the samples and forecasts to all",
        )
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


def _show(console: Console, found: LearningCurveEstimate) -> None:
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
    for field, n in (("now", found.n_samples), ("forecast", doubled)):
        console.field(field, f"{name} {found.forecast(n)} with {count(n, 'sample')}")
    gain = found.gain(doubled)
    console.field(
        "gain", f"{gain:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) by twice as many samples"
    )
    console.field("method", found.method)
