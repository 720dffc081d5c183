"""Pipelines of the recipes that are not stacks."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from cordwood.exceptions import CordwoodError
from cordwood.recipes._column_features import TableSettings
from cordwood.recipes._names import EMBEDDINGS, LEXICON, ending, resolve, step_params
from cordwood.recipes._table import Recipe
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.vectorizer import TextVectorizer

InputType: TypeAlias = Literal["text", "numeric"]

# Recipes of dense vectors of texts. In a stack, they leave other columns to the other members.
_TEXT_ONLY = (EMBEDDINGS, LEXICON)


class Settings(NamedTuple):
    """Arguments of `make` that a stack passes to its members."""

    input: InputType
    scale: bool
    vectorizer_params: Mapping[str, Any] | None
    language: str | None
    table: TableSettings | None
    random_state: int | None
    n_jobs: int | None
    is_member: bool = False

    @property
    def has_text(self) -> bool:
        """Whether the samples are or contain texts."""
        return self.input == "text" and (self.table is None or bool(self.table.roles.text))


def make_pipeline(name: str, recipe: Recipe, settings: Settings) -> Pipeline:
    """Make the pipeline of a recipe that is not a stack."""
    classifier = recipe.classifier()
    steps: list[tuple[str, Any]] = [("classifier", classifier)]
    if settings.has_text:
        make_vectorizer = recipe.vectorizer or TextVectorizer
        vectorizer = make_vectorizer()
        if recipe.vectorizer is None:
            vectorizer.set_params(weighting=_choose_weighting(recipe, settings))
        steps.insert(0, ("vectorizer", vectorizer))
    else:
        classifier.set_params(**recipe.numeric)
        if settings.input == "numeric" and settings.scale and recipe.scaler is not None:
            steps.insert(0, ("scaler", recipe.scaler()))
    pipeline = Pipeline(steps)
    all_params = step_params(pipeline)
    if settings.has_text:
        given = settings.vectorizer_params or {}
        if given:
            _set_vectorizer_params(name, recipe, pipeline, given)
        # With another preset, `auto_for` has no effect, but different values would prevent the
        # members of a stack from sharing a vectorizer.
        if recipe.vectorizer is None and vectorizer.preset == "auto" and "auto_for" not in given:
            vectorizer.set_params(auto_for=recipe.auto_for)
    if settings.language is not None:
        pipeline.set_params(**dict.fromkeys(ending(all_params, "language"), settings.language))
    if settings.random_state is not None:
        pipeline.set_params(
            **dict.fromkeys(ending(all_params, "random_state"), settings.random_state)
        )
    if settings.n_jobs is not None:
        # In scikit-learn, `n_jobs` of logistic regression has no effect since 1.8.
        if not isinstance(classifier, LogisticRegression):
            pipeline.set_params(**dict.fromkeys(_find_n_jobs(all_params), settings.n_jobs))
        # Threads encode texts faster; other vectorizers hold the GIL.
        if isinstance(steps[0][1], EmbeddingVectorizer):
            pipeline.set_params(vectorizer__n_jobs=settings.n_jobs)
    return pipeline if settings.table is None else _add_columns(name, recipe, pipeline, settings)


def _choose_weighting(recipe: Recipe, settings: Settings) -> str:
    """Return the term weighting."""
    is_mixed = settings.table is not None and settings.table.is_mixed
    return (recipe.columns.weighting if is_mixed else None) or recipe.weighting


def _add_columns(name: str, recipe: Recipe, pipeline: Pipeline, settings: Settings) -> Pipeline:
    """Replace the vectorizer by a `ColumnTransformer` that contains it."""
    table = settings.table
    assert table is not None
    vectorizer = pipeline.named_steps.get("vectorizer")
    if name in _TEXT_ONLY and vectorizer is None:
        raise CordwoodError(f"recipe {name!r} needs texts; name the text columns in columns")
    transformer = table.make_transformer(
        vectorizer, recipe.columns, only_text=settings.is_member and name in _TEXT_ONLY
    )
    return Pipeline([("preprocessor", transformer), pipeline.steps[-1]])


def set_params(name: str, pipeline: Pipeline, params: Mapping[str, Any]) -> Pipeline:
    """Set parameters by their full or short names."""
    return pipeline.set_params(
        **{resolve(name, param, pipeline): value for param, value in params.items()}
    )


def _set_vectorizer_params(name: str, recipe: Recipe, pipeline: Pipeline, params: Any) -> None:
    if recipe.vectorizer is not None:
        raise CordwoodError(f"recipe {name!r} has a fixed vectorizer; omit vectorizer_params")
    if not isinstance(params, Mapping):
        raise CordwoodError(
            f"vectorizer_params must be a mapping of parameter names to values; got {params!r}"
        )
    set_params(name, pipeline, {f"vectorizer__{param}": value for param, value in params.items()})


def _find_n_jobs(full_names: list[str]) -> list[str]:
    """Find the outermost `n_jobs` of the classifier: nested parallelism would oversubscribe."""
    found = [full for full in ending(full_names, "n_jobs") if full.startswith("classifier__")]
    return sorted(found, key=lambda full: full.count("__"))[:1]
