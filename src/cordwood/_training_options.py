"""Options of `cordwood.train`: columns, encoders, weights, several labels and decisions."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter

from cordwood import recipes
from cordwood.columns.converter import TableConverter
from cordwood.columns.detection import detect_columns
from cordwood.columns.frames import is_table
from cordwood.columns.roles import ColumnRoles, check_columns
from cordwood.datasets.corpus import Corpus
from cordwood.decisions.tuned_decision import OBJECTIVES, TunedDecisionClassifier
from cordwood.encoders.choice import choose_encoder
from cordwood.exceptions import CordwoodError, DataError
from cordwood.multilabel.indicators import to_indicators
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.oof.routing import select_fit_params
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.embedding import EmbeddingVectorizer, describe_truncation

logger = logging.getLogger("cordwood.api")


def list_metadata(
    model: Pipeline, recipe: str, data: Any, groups: Any, sample_weight: Any, *, oof: bool
) -> dict[str, Any]:
    """Return groups and sample weights, if there are any."""
    classifier = model[-1]
    metadata = {}
    if groups is not None:
        # Out-of-fold predictions are grouped for any classifier.
        if not oof and not has_fit_parameter(classifier, "groups"):
            raise CordwoodError(
                f"recipe {recipe!r} does not cross-validate, so that groups have no effect; omit "
                "groups= / --group, or use oof=True / --scores"
            )
        metadata["groups"] = groups
    if sample_weight is None:
        sample_weight = getattr(data, "weights", None)
    if sample_weight is not None:
        weights = np.asarray(sample_weight, float)
        if not weights.sum() > 0:
            raise DataError("all sample weights are 0; at least one must be positive")
        _check_weights_supported(classifier, recipe)
        metadata["sample_weight"] = weights
    return metadata


def split_by_weights(classifier: Any, recipe: str) -> tuple[list[str], list[str]]:
    """Return the members whose `fit` has `sample_weight`, and the others.

    Examples
    --------
    >>> split_by_weights(recipes.make("quick", members=["svm", "lazy_rf"])[-1], "quick")
    (['svm'], ['lazy_rf'])
    """
    while isinstance(classifier, MultiLabelClassifier | TunedDecisionClassifier | Pipeline):
        is_pipeline = isinstance(classifier, Pipeline)
        classifier = classifier.steps[-1][1] if is_pipeline else classifier.estimator
    members = dict(getattr(classifier, "estimators", None) or {recipe: classifier})
    able = [name for name, each in members.items() if select_fit_params(each, {"sample_weight": 0})]
    return able, [name for name in members if name not in able]


def _check_weights_supported(classifier: Any, recipe: str) -> None:
    """Raise an error that names the members whose `fit` has no `sample_weight`."""
    able, unable = split_by_weights(classifier, recipe)
    if unable == [recipe]:
        raise CordwoodError(f"recipe {recipe!r} cannot use sample weights; choose another recipe")
    if unable:
        # Members of pretrained models are added anyway.
        definition = recipes.find(recipe)
        others = [
            name for name in able if name in (*definition.members, *definition.numeric_members)
        ]
        raise CordwoodError(
            f"recipe {recipe!r} cannot use sample weights, because its members "
            f"{', '.join(unable)} cannot; choose others with members={others} / "
            f'--set "members={others}"'
        )


def parse_decision(
    optimize: str | None, cost_matrix: ArrayLike | None, pos_label: Any
) -> dict[str, Any]:
    """Return the parameters of `TunedDecisionClassifier`; empty without `optimize`.

    Examples
    --------
    >>> parse_decision("precision=0.9", None, None)
    {'optimize': 'precision', 'min_precision': 0.9}
    """
    if optimize is None:
        if cost_matrix is not None or pos_label is not None:
            name = "pos_label" if cost_matrix is None else "cost_matrix"
            raise CordwoodError(f"{name} requires optimize; set it, or omit {name}")
        return {}
    name, _, value = optimize.partition("=")
    if name not in OBJECTIVES or (name == "precision") != bool(value):
        raise CordwoodError(
            f"optimize must be f1, macro_f1, cost or precision=NUMBER, such as precision=0.95; "
            f"got {optimize!r}"
        )
    decision: dict[str, Any] = {"optimize": name}
    if value:
        try:
            decision["min_precision"] = float(value)
        except ValueError:
            raise CordwoodError(
                f"the precision of optimize must be a number below 1; got {value!r}"
            ) from None
    if (name == "cost") != (cost_matrix is not None):
        raise CordwoodError("optimize='cost' and cost_matrix require each other")
    given = {"cost_matrix": cost_matrix, "pos_label": pos_label}
    return decision | {key: value for key, value in given.items() if value is not None}


def balance_classes(
    recipe: str, model: Pipeline, y: NDArray[Any], class_weight: str
) -> NDArray[np.float64] | None:
    """Set the class weights of a classifier, or return the sample weights of a stack."""
    if class_weight != "balanced":
        raise CordwoodError(f"class_weight must be 'balanced'; got {class_weight!r}")
    last = model.steps[-1][1]
    if isinstance(last, OOBStackingClassifier):
        _, unable = split_by_weights(last, recipe)
        if not unable:
            return np.asarray(compute_sample_weight("balanced", y))
        if unable != [recipe]:
            raise CordwoodError(
                f"class_weight is not supported by the members {', '.join(unable)} of recipe "
                f"{recipe!r}; choose other members, or optimize='macro_f1', which needs no weights"
            )
    else:
        names = [name for name in last.get_params() if name.rpartition("__")[2] == "class_weight"]
        if names:
            last.set_params(**{names[0]: "balanced"})
            return None
    raise CordwoodError(
        f"class_weight is not supported by recipe {recipe!r}; omit it, or set "
        "optimize='macro_f1', which needs no weights"
    )


def make_multilabel(
    model: Pipeline, y: list[tuple[Any, ...]], **params: Any
) -> tuple[Pipeline, NDArray[np.int64]]:
    """Return a pipeline for several labels per sample, and the label indicators."""
    classes, indicators = to_indicators(y)
    if not classes:
        raise DataError("the training set has no labels; at least one sample must have one")
    if len({frozenset(labels) for labels in y}) == 1:
        raise DataError(
            f"all {len(y)} samples of the training set have the same labels; at least two samples "
            "must differ"
        )
    classifier = wrap_multilabel(model, classes=classes, **params)
    return Pipeline([("classifier", classifier)]), indicators


def wrap_multilabel(model: Any, **params: Any) -> MultiLabelClassifier:
    """Return a classifier of several labels per sample, with the number of folds of a stack."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(cv := getattr(last, "cv", None), int):
        params["cv"] = cv
    return MultiLabelClassifier(model, **params)


def list_pretrained(
    recipe: str, texts: Sequence[str] | None, encoder: Any, lexicon: Any
) -> dict[str, Any]:
    """Return the parameters `encoder` and `lexicon` of a recipe."""
    definition = recipes.find(recipe)
    if isinstance(encoder, str) and encoder == "auto":
        if texts is not None and definition.auto_encoder:
            choice = choose_encoder(texts)
            logger.info(f"encoder: {choice.reason}")
            encoder = choice.name
        else:
            encoder = None
    if isinstance(encoder, str) and encoder == "none":  # as on the command line
        encoder = None
    given = {"encoder": encoder, "lexicon": lexicon}
    for name, own_recipe in (("encoder", "embeddings"), ("lexicon", "lexicon")):
        if given[name] is not None and not definition.members and recipe != own_recipe:
            raise CordwoodError(
                f"recipe {recipe!r} uses no {name}; omit it, or choose the recipe quick, best or "
                f"{own_recipe}"
            )
    return {name: value for name, value in given.items() if value is not None}


def report_truncation(model: Pipeline) -> None:
    """Log how many training texts a sentence encoder has truncated."""
    for estimator in _iter_estimators(model):
        # Parameters contain vectorizers that are not fitted.
        if not isinstance(estimator, EmbeddingVectorizer) or not hasattr(estimator, "n_truncated_"):
            continue
        if estimator.n_truncated_:
            logger.warning(describe_truncation(estimator, f"{estimator.n_truncated_:,}"))


def _iter_estimators(model: BaseEstimator) -> Iterator[BaseEstimator]:
    """Iterate over an estimator and those that it contains."""
    pending: list[Any] = [model]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, list | tuple):
            pending += value
        elif isinstance(value, BaseEstimator) and id(value) not in seen:
            seen.add(id(value))
            yield value
            pending += vars(value).values()


def choose_columns(data: Any, labels: Any, columns: Any) -> ColumnRoles | None:
    """Return the columns of a table by role; None if the samples are not rows of a table."""
    is_dataframe = is_table(data) and not isinstance(data, Corpus)
    if columns is None and not is_dataframe:
        return None
    if not is_table(data):
        raise TypeError("columns requires a dataframe or a Corpus; omit it")
    if columns is None or (isinstance(columns, str) and columns == "auto"):
        found = detect_columns(data, exclude=[labels] if isinstance(labels, str) else ())
        logger.info(f"columns: {found}")
        return found.roles
    return check_columns(columns)


def convert_table(model: Pipeline, table: Any) -> tuple[NDArray[np.object_], Pipeline]:
    """Fit the first step; return its output and the other steps."""
    return model.steps[0][1].fit_transform(table), Pipeline(model.steps[1:])


def join_texts(table: Any, roles: ColumnRoles) -> Sequence[str] | None:
    if not roles.text:
        return None
    return [text for (text,) in TableConverter(text=roles.text).fit_transform(table).tolist()]
