"""The one builder of models: from settings and training samples to an unfitted pipeline."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_sample_weight

from cordwood import recipes
from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood.classifier.class_names import (
    Descriptions,
    check_descriptions,
    check_labels,
    use_class_names,
)
from cordwood.classifier.samples import TrainingSamples
from cordwood.encoders.choice import choose_encoder
from cordwood.exceptions import CordwoodError
from cordwood.linear_model.embedding_classifier import EmbeddingClassifier
from cordwood.metrics.evaluation import check_weights
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.oof.routing import select_fit_params
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.languages import check_language, detect_language

logger = logging.getLogger("cordwood")


class Settings(NamedTuple):
    """Settings of a model, as in `TextClassifier`."""

    estimator: Any
    encoder: Any = None
    lexicon: Any = None
    language: str | None = None
    recipe_params: Mapping[str, Any] | None = None
    class_descriptions: Mapping[Any, Any] | None = None
    class_weight: str | None = None
    calibrate: bool = True
    check_leakage: bool = True
    random_state: int | None = 0
    n_jobs: int | None = None

    @property
    def name(self) -> str:
        """Name of the recipe, or of the class of the estimator, for messages."""
        if isinstance(self.estimator, str):
            return f"recipe {self.estimator!r}"
        return type(self.estimator).__name__


class BuiltModel(NamedTuple):
    """An unfitted pipeline, and the sample weights that it is to be fitted with."""

    pipeline: Pipeline
    sample_weight: NDArray[np.float64] | None


def build_model(settings: Settings, samples: TrainingSamples, sample_weight: Any) -> BuiltModel:
    """Make the pipeline that `TextClassifier` fits to the samples.

    A table is converted by the first step; several labels per sample are predicted by the last.
    """
    if isinstance(settings.estimator, str):
        pipeline = _make_recipe(settings, samples)
    else:
        pipeline = _wrap_estimator(settings)
    weights = _find_weights(settings, samples, sample_weight)
    if weights is not None:
        _prepare_for_weights(settings, pipeline)
    if samples.is_multilabel:
        pipeline = _wrap_multilabel(pipeline, samples, settings)
    if samples.input_kind == "numeric" and is_mostly_empty(samples.X):
        pipeline.steps.insert(0, ("remover", EmptyFeatureRemover()))
    return BuiltModel(pipeline, weights)


def build_from_descriptions(settings: Settings, samples: TrainingSamples) -> BuiltModel:
    """Make the pipeline that `TextClassifier` fits to descriptions of classes instead of samples.

    Words say too little about a class with so few texts: it is the member on embeddings only.
    """
    _check_uses_encoder(settings)
    if isinstance(settings.encoder, list | tuple):
        raise CordwoodError("class_descriptions without samples needs one encoder; got a list")
    pipeline = recipes.make(
        "embeddings",
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
        **({} if settings.encoder is None else {"encoder": settings.encoder}),
    )
    return BuiltModel(pipeline, check_weights(samples.weights))


def _make_recipe(settings: Settings, samples: TrainingSamples) -> Pipeline:
    """Make the pipeline of a recipe, with encoder and calibration."""
    params = dict(settings.recipe_params or {})
    if samples.input_kind == "numeric":
        params["input"] = "numeric"
        # Sparse features are usually term weights, which are on comparable scales.
        params.setdefault("scale", not sp.issparse(samples.X))
    if settings.language is not None:
        check_language(settings.language)
        if samples.input_kind == "numeric":
            raise CordwoodError("language requires texts, but the samples are numeric; omit it")
        params["language"] = settings.language
    if samples.roles is not None:
        params["columns"] = samples.roles
    definition = recipes.find(settings.estimator)
    is_calibrated = (
        settings.calibrate
        and definition.needs_calibration
        and not samples.is_multilabel  # whose pool of members calibrates
        # Cross-validation requires a class with at least two samples.
        and len(samples.classes) < len(samples.y)
    )
    pipeline = recipes.make(
        settings.estimator,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
        calibrate=is_calibrated,
        **_find_pretrained(settings, samples),
        **params,
    )
    stack = pipeline.steps[-1][1]
    if isinstance(stack, OOBStackingClassifier) and not settings.check_leakage:
        stack.check_leakage = False
    members = _find_embedding_members(pipeline)
    descriptions = _read_descriptions(settings, samples, has_encoder=bool(members))
    for member in members:
        if samples.is_multilabel:
            # Labels are combined one by one, without intercepts of classes.
            member.steps[-1][1].balanced = False
        else:
            use_class_names(member, samples, descriptions)
    return pipeline


def _read_descriptions(
    settings: Settings, samples: TrainingSamples, *, has_encoder: bool
) -> Descriptions | None:
    """Return the descriptions of the classes; raise if the model cannot use them."""
    if settings.class_descriptions is None:
        return None
    if samples.is_multilabel:
        raise CordwoodError("class_descriptions requires one label per sample; omit it")
    if samples.input_kind != "text":
        kind = "numeric" if samples.input_kind == "numeric" else "rows of a table"
        raise CordwoodError(
            f"class_descriptions requires texts, but the samples are {kind}; omit it"
        )
    _check_uses_encoder(settings, has_encoder=has_encoder)
    descriptions = check_descriptions(settings.class_descriptions)
    check_labels(descriptions, samples.classes.tolist())
    return descriptions


def _check_uses_encoder(settings: Settings, *, has_encoder: bool | None = None) -> None:
    """Raise unless the model of `class_descriptions` has an encoder; None is not yet known."""
    if not isinstance(settings.estimator, str):
        raise CordwoodError(
            "class_descriptions requires the name of a recipe; use EmbeddingClassifier with "
            "class_vectors in an estimator of your own"
        )
    is_own = settings.estimator == "embeddings"
    if not is_own and not recipes.find(settings.estimator).members:
        raise CordwoodError(
            f"class_descriptions needs a sentence encoder, which {settings.name} does not use; "
            "choose the recipe quick or embeddings"
        )
    if has_encoder is None:
        has_encoder = is_own or settings.encoder is not None
    if not has_encoder:
        raise CordwoodError(
            "class_descriptions needs a sentence encoder, but the model has none; set encoder to "
            "one, such as 'use', which `pip install \"cordwood[embeddings]\"` installs"
        )


def _find_embedding_members(pipeline: Pipeline) -> list[Pipeline]:
    """Return the pipeline, or the members of its stack, that classify embeddings of texts."""
    last = pipeline.steps[-1][1]
    is_stack = isinstance(last, OOBStackingClassifier)
    members = [member for _, member in last.estimators] if is_stack else [pipeline]
    return [member for member in members if isinstance(member[-1], EmbeddingClassifier)]


def _find_pretrained(settings: Settings, samples: TrainingSamples) -> dict[str, Any]:
    """Return the parameters `encoder` and `lexicon` of a recipe; "auto" is what is installed."""
    definition = recipes.find(settings.estimator)
    encoder = settings.encoder
    if isinstance(encoder, str) and encoder == "auto":
        encoder = None
        texts = samples.texts if definition.auto_encoder else None
        if texts is not None:
            choice = choose_encoder(texts, settings.language or detect_language(texts))
            logger.info(f"encoder: {choice.reason}")
            encoder = choice.name
    given = {"encoder": encoder, "lexicon": settings.lexicon}
    for name, own_recipe in (("encoder", "embeddings"), ("lexicon", "lexicon")):
        uses = definition.members or settings.estimator == own_recipe
        if given[name] is not None and not uses:
            raise CordwoodError(
                f"{settings.name} uses no {name}; omit it, or choose the recipe quick or "
                f"{own_recipe}"
            )
    return {name: value for name, value in given.items() if value is not None}


def _wrap_estimator(settings: Settings) -> Pipeline:
    """Return a classifier of the user as a pipeline; its parameters are the user's."""
    if settings.class_descriptions is not None:
        _check_uses_encoder(settings)
    estimator = settings.estimator
    if not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise CordwoodError(
            "estimator must be the name of a recipe, or an unfitted classifier or pipeline; got "
            f"{estimator!r}"
        )
    for name in ("lexicon", "language", "recipe_params"):
        if getattr(settings, name) is not None:
            raise CordwoodError(
                f"{name} requires the name of a recipe; set it in the estimator instead"
            )
    if settings.encoder is not None and settings.encoder != "auto":
        raise CordwoodError("encoder requires the name of a recipe; add it to the estimator")
    fresh = clone(estimator)
    return fresh if isinstance(fresh, Pipeline) else Pipeline([("classifier", fresh)])


def _wrap_multilabel(pipeline: Pipeline, samples: TrainingSamples, settings: Settings) -> Pipeline:
    """Wrap a classifier for several labels per sample; a table is converted before."""
    is_converted = samples.roles is not None
    table, inner = (
        (pipeline.steps[:1], pipeline.steps[1:]) if is_converted else ([], pipeline.steps)
    )
    last = inner[-1][1]
    # A stack has a number of folds; "auto" depends on labels, which are one per sample.
    cv = getattr(last, "cv", None)
    classifier = MultiLabelClassifier(
        Pipeline(inner),
        classes=samples.classes,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
        **({"cv": cv} if isinstance(cv, int) else {}),
    )
    return Pipeline([*table, ("classifier", classifier)])


def _find_weights(
    settings: Settings, samples: TrainingSamples, sample_weight: Any
) -> NDArray[np.float64] | None:
    """Return the weights of the samples, with those that balance the classes."""
    given = samples.weights if sample_weight is None else sample_weight
    weights = None if given is None else check_weights(given)
    if settings.class_weight is None:
        return weights
    if settings.class_weight != "balanced":
        raise CordwoodError(f"class_weight must be 'balanced'; got {settings.class_weight!r}")
    if samples.is_multilabel:
        raise CordwoodError("class_weight requires one label per sample; omit it")
    balanced = np.asarray(compute_sample_weight("balanced", samples.y))
    return balanced if weights is None else balanced * weights


def _prepare_for_weights(settings: Settings, pipeline: Pipeline) -> None:
    """Drop the members of a stack that cannot use weights; raise if nothing can."""
    last = pipeline.steps[-1][1]
    if isinstance(last, OOBStackingClassifier):
        able = [(name, each) for name, each in last.estimators if accepts_weights(each)]
        left_out = [name for name, each in last.estimators if not accepts_weights(each)]
        if able:
            last.estimators = able
            if left_out:
                names = ", ".join(left_out)
                logger.warning(
                    f"{settings.name} is fitted without {names}, which cannot use sample weights"
                )
            return
    elif accepts_weights(last):
        return
    raise CordwoodError(
        f"{settings.name} cannot use sample weights or class_weight; choose another, such as "
        "'quick', or decision='macro_f1', which needs no weights"
    )


def accepts_weights(estimator: Any) -> bool:
    """Return whether `fit` of a classifier or pipeline has `sample_weight`."""
    return bool(select_fit_params(estimator, {"sample_weight": None}))
