"""`cordwood evaluate`: evaluate a model on labelled samples."""

from typing import Any, NamedTuple

import numpy as np
import typer
from joblib import parallel_config

from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Evaluate
from cordwood.cli.console import Console
from cordwood.cli.expected_scores import describe_shift, summarize_scores
from cordwood.cli.inputs import Source
from cordwood.cli.models import load_model, model_errors, read_labelled
from cordwood.cli.show_scores import show_scores
from cordwood.cli.table_columns import list_features
from cordwood.columns import ColumnRoles
from cordwood.confidence.shift import DatasetShift
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.metrics.scores import describe_difference
from cordwood.persist import ModelCard
from cordwood.persist.sample_hashes import SampleHashes


def evaluate(args: Evaluate) -> None:
    """Print the scores of a model on labelled samples."""
    console = Console(as_json=args.json)
    if args.read.group is not None:
        raise typer.BadParameter("--group has no effect: evaluate neither splits nor fits; omit it")
    source = Source(
        data=args.data,
        options=args.read,
        data_dir=args.data_dir,
        subset=args.subset,
        period=(args.before, args.since),
    )
    model, card = load_model(args.model)
    samples = read_labelled(console, source, model, card)
    overlap = _find_overlap(samples, card, model.columns_)
    if args.strict and overlap.message:
        raise DataError(f"{overlap.message}; use other samples, or evaluate without --strict")
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    others = None
    with all_cores, console.progress("evaluating"), model_errors(args.model):
        evaluation = model.evaluate(samples)
        if 0 < len(overlap.others) < len(samples):
            others = model.evaluate(samples.select(overlap.others))
        shift = _detect_shift(model, samples)
    if overlap.message:
        console.field("warning", f"{overlap.message}; the scores are optimistic")
    if others is not None:
        words = f"{summarize_scores(others)} without them"
        console.field("others", f"{words}, on {count(others.n_samples, 'sample')}")
    if shift is not None:
        console.field("warning", describe_shift(shift, model))
    if samples.weights is not None:
        console.field("weights", f"scores are weighted by {args.read.weight}; counts are not")
    show_scores(console, evaluation)
    if model.evaluation_ is not None and not overlap.is_training_data:
        found = (others or evaluation).accuracy
        console.print()
        console.field("expected", describe_difference(found, model.evaluation_.accuracy))
    console.print_json(
        {
            "model": str(args.model),
            "data": source.record,
            "subset": args.subset,
            "n_skipped": len(samples.skipped),
            "is_training_data": overlap.is_training_data,
            "n_in_training_data": overlap.n_found,
            **evaluation.to_dict(),
            "without_training_data": None if others is None else others.to_dict(),
            "shift": None if shift is None else [term._asdict() for term in shift.terms],
        }
    )


def _detect_shift(model: TextClassifier, samples: Corpus | FeatureMatrix) -> DatasetShift | None:
    detector = model.make_shift_detector()
    if detector is None or not isinstance(samples, Corpus):
        return None
    detector.add(samples.texts)
    return detector.detect()


class _Overlap(NamedTuple):
    """Samples that were in the training data."""

    is_training_data: bool
    n_found: int | None  # None if the model file has no hashes
    message: str  # empty if there is none that chance does not explain
    others: Any  # indices of the samples that were not found; empty without a message


def _find_overlap(
    samples: Corpus | FeatureMatrix, card: ModelCard, roles: ColumnRoles | None
) -> _Overlap:
    none = np.arange(0)
    names = roles.names if roles is not None else ()
    is_training_data = samples.fingerprint(names) == card.fingerprint
    if card.sample_hashes is None:
        message = "evaluated on the training data" if is_training_data else ""
        return _Overlap(is_training_data, None, message, none)
    hashes = SampleHashes.decode(card.sample_hashes)
    is_found = hashes.contain(list_features(samples, roles))
    n_found, n_samples = int(is_found.sum()), len(samples)
    if is_training_data:
        return _Overlap(True, n_found, "evaluated on the training data", none)
    if not hashes.exceed_chance(n_found, n_samples):
        return _Overlap(False, n_found, "", none)
    at_least = "" if hashes.are_complete else "at least "
    message = f"{at_least}{n_found:,} of {count(n_samples, 'sample')} were in the training data"
    by_chance = hashes.expected_by_chance(n_samples)
    if by_chance >= 0.5:
        message += f" (about {by_chance:.0f} of them by chance, because hashes are compared)"
    return _Overlap(False, n_found, message, np.flatnonzero(~is_found))
