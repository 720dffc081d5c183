"""Models of the command line: made from options, and loaded from files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cordwood import recipes
from cordwood.classifier.files import load_with_card
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Audit, Curve, Train
from cordwood.cli.console import Console
from cordwood.cli.decisions import DECISION_SETTINGS
from cordwood.cli.encoder_option import find_encoder
from cordwood.cli.inputs import Source
from cordwood.cli.options import parse_settings
from cordwood.cli.table_columns import join_texts
from cordwood.columns import ColumnRoles
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, ModelFileError
from cordwood.persist import ModelCard

# Names of --set that are parameters of the model; all others are parameters of the recipe.
_MODEL_PARAMS = (
    *("calibrate", "class_weight", "encoder", "language", "lexicon", "n_jobs", "random_state"),
)


def make_model(
    console: Console,
    args: Train | Curve | Audit,
    samples: Corpus | FeatureMatrix,
    *,
    columns: ColumnRoles | None = None,
    **params: Any,
) -> TextClassifier:
    """Make the unfitted model that the options define, and show which encoder it uses.

    `params` are further parameters, of options that only one command has.
    """
    settings = parse_settings(args.set)
    for name in DECISION_SETTINGS if "decision" in params else ():
        settings.pop(name, None)
    given = {
        "encoder": args.encoder,
        "language": args.language,
        "random_state": args.seed,
        "n_jobs": args.jobs,
        **params,
        **{name: settings.pop(name) for name in _MODEL_PARAMS if name in settings},
    }
    has_texts = isinstance(samples, Corpus) and (columns is None or bool(columns.text))
    if given["encoder"] == "auto" and not (recipes.find(args.recipe).auto_encoder and has_texts):
        given["encoder"] = None
    # An encoder by name, because a share of the samples could make "auto" choose another one.
    given["encoder"] = find_encoder(console, given["encoder"], samples, given["language"])
    return TextClassifier(args.recipe, columns=columns, recipe_params=settings or None, **given)


def load_model(path: Path) -> tuple[TextClassifier, ModelCard]:
    """Load a model and its metadata."""
    model, card = load_with_card(path)
    if not isinstance(model, TextClassifier):
        raise ModelFileError(
            f"{path} contains a {type(model).__name__}; the command needs a model of "
            "`cordwood train` or TextClassifier.save"
        )
    return model, card


def match_source(source: Source, model: TextClassifier, card: ModelCard) -> Source:
    """Return a source that reads the columns of a model, unless others were given."""
    source = source.with_columns(card.columns)
    if model.columns_ is None:
        return source
    return source.with_table(model.columns_.names)


def read_labelled(
    console: Console, source: Source, model: TextClassifier, card: ModelCard
) -> Corpus | FeatureMatrix:
    """Read and show labelled samples with the columns of a model."""
    source = match_source(source, model, card)
    samples = source.read(console, two_classes=False)
    if model.columns_ is not None and isinstance(samples, Corpus):
        samples = join_texts(samples, model.columns_)
    source.show(console, samples)
    return samples


@contextmanager
def model_errors(path: Path) -> Iterator[None]:
    """Convert errors of a loaded model to errors about its file.

    A file may pass all checks and contain a state with which a prediction fails in any way.
    """
    try:
        yield
    except (CordwoodError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ModelFileError(
            f"the model in {path} cannot predict ({type(error).__name__}: {error}); the file is "
            "damaged, or was written by another version of cordwood or scikit-learn: train again"
        ) from error
