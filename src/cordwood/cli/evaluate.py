"""`cordwood evaluate`: evaluate a model on labelled samples."""

from joblib import parallel_config

from cordwood import api
from cordwood.cli.commands import Evaluate
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.models import load_model, model_errors
from cordwood.cli.show_scores import show_scores


def evaluate(args: Evaluate) -> None:
    """Print the scores of a model on labelled samples."""
    console = Console(as_json=args.json)
    source = Source(data=args.data, options=args, subset=args.subset)
    model, card = load_model(args.model)
    samples = source.with_columns(card.columns).read(console, two_classes=False)
    source.show(console, samples)
    is_training_data = samples.fingerprint() == card.fingerprint
    if is_training_data:
        console.field("warning", "evaluated on the training data; the scores are optimistic")
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    with all_cores, console.progress("evaluating"), model_errors(args.model):
        evaluation = api.evaluate(model, samples)
    show_scores(console, evaluation)
    console.print_json(
        {
            "model": str(args.model),
            "data": args.data,
            "subset": args.subset,
            "n_skipped": len(samples.skipped),
            "is_training_data": is_training_data,
            **evaluation.to_dict(),
        }
    )
