"""`cordwood curve`: estimate what more labelled samples would bring."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood._base.wording import count
from cordwood.cli.commands import Curve
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.options import check_jobs, parse_settings
from cordwood.datasets.corpus import Corpus
from cordwood.encoders.choice import choose_encoder
from cordwood.exceptions import CordwoodError
from cordwood.metrics.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.text.languages import check_language


def curve(args: Curve) -> None:
    """Print the learning curve of a recipe and its forecast for twice as many samples."""
    console = Console(as_json=args.json, quiet=args.quiet)
    check_jobs(args.jobs)
    source = Source(data=args.data, options=args.read, data_dir=args.data_dir, subset=args.subset)
    samples = source.read(console, two_classes=True)
    source.show(console, samples)
    if samples.multilabel:
        raise CordwoodError(
            "the samples have a list of labels each; a learning curve requires one label per sample"
        )
    X = samples.texts if isinstance(samples, Corpus) else samples.X
    model = _make_model(args, X)
    start = time.perf_counter()
    with console.progress("training on shares of the samples") as progress:
        try:
            found = estimate_learning_curve(
                model,
                X,
                np.asarray(samples.labels),
                groups=samples.groups,
                scoring=args.metric.value,
                n_repeats=args.repeats,
                random_state=args.seed,
                progress=progress,
            )
        except ValueError as error:
            raise CordwoodError(f"learning curve of recipe {args.recipe!r}: {error}") from error
    seconds = time.perf_counter() - start
    _show(console, found)
    console.field("time", f"{seconds:.1f} s")
    record = {"data": args.data, "subset": args.subset, "recipe": args.recipe, **found.to_dict()}
    console.print_json({**record, "seconds": round(seconds, 3)})


def _make_model(args: Curve, X: Any) -> Pipeline:
    """Make the pipeline that `cordwood train` would fit."""
    params = parse_settings(args.set)
    if not isinstance(X, Sequence):
        # Sparse features are usually term weights, which are on comparable scales.
        params = {"input": "numeric", "scale": not sp.issparse(X), **params}
    elif recipes.find(args.recipe).auto_encoder and (encoder := choose_encoder(X).name):
        params = {"encoder": encoder, **params}
    if args.language is not None:
        check_language(args.language)
        params["language"] = args.language
    return recipes.make(args.recipe, random_state=args.seed, n_jobs=args.jobs, **params)


def _show(console: Console, found: LearningCurveEstimate) -> None:
    name = {"macro_f1": "macro F1", "log_loss": "log loss"}.get(found.scoring, found.scoring)
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
        "gain", f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) by twice as many samples"
    )
    console.field("method", found.method)
