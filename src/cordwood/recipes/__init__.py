"""Recipes: named classifiers, each a complete unfitted `Pipeline`.

This is the only registry of classifiers by name; plans of `cordwood compare` and the command line
use it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sklearn.pipeline import Pipeline

from cordwood.columns.roles import ColumnRoles, check_columns
from cordwood.exceptions import CordwoodError
from cordwood.recipes._column_features import TableSettings
from cordwood.recipes._names import find as find
from cordwood.recipes._names import nearest as nearest
from cordwood.recipes._names import resolve
from cordwood.recipes._pipelines import InputType as InputType
from cordwood.recipes._pipelines import Settings, make_pipeline, set_params
from cordwood.recipes._stacks import STACK_PARAMS, make_calibrated, make_stack
from cordwood.recipes._table import RECIPES

__all__ = ["describe", "grid", "make", "names"]

DEFAULT = "quick"


def names() -> tuple[str, ...]:
    """Return the names of all recipes.

    Returns
    -------
    tuple of str
        Valid values of `name` in `make`.

    Examples
    --------
    >>> names()[:5]
    ('svm', 'svm_ngrams', 'nbsvm', 'rf', 'et')
    """
    return tuple(RECIPES)


def describe(name: str) -> str:
    """Return a one-line description of a recipe.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    str
        Description without a final period.

    Examples
    --------
    >>> describe("svm")
    'linear SVM on TF-IDF of words'
    """
    return find(name).description


def grid(name: str, *, input: InputType = "text") -> dict[str, tuple[Any, ...]]:
    """Return the hyperparameter grid of the SIGIR papers.

    Parameters
    ----------
    name : str
        One of `names()`.
    input : {"text", "numeric"}, default="text"
        Type of the samples; the grid of `nb` has one more variant for numeric input.

    Returns
    -------
    dict of str to tuple
        Values by parameter; empty if the papers do not tune the classifier.

    Examples
    --------
    >>> grid("knn")
    {'n_neighbors': (10, 30, 100, 200, 300), 'weights': ('uniform', 'distance')}
    """
    recipe = find(name)
    return dict(recipe.grid) if input == "text" else {**recipe.grid, **recipe.numeric_grid}


def make(
    name: str,
    *,
    input: InputType = "text",
    scale: bool = True,
    vectorizer_params: Mapping[str, Any] | None = None,
    language: str | None = None,
    columns: Mapping[str, Any] | ColumnRoles | None = None,
    text_views: Literal["joined", "separate"] = "joined",
    random_state: int | None = None,
    n_jobs: int | None = None,
    calibrate: bool = False,
    **params: Any,
) -> Pipeline:
    """Make the unfitted pipeline of a recipe.

    Parameters
    ----------
    name : str
        One of `names()`.
    input : {"text", "numeric"}, default="text"
        Whether the samples are texts or rows of a feature matrix.
    scale : bool, default=True
        Whether to scale numeric features, in recipes that are sensitive to the scale. Disable it
        for features on comparable scales, such as term weights. `nb` can scale dense input only.
    vectorizer_params : mapping, optional
        Parameters of the `TextVectorizer`, in recipes that do not fix them.
    language : str, optional
        Language of the texts as ISO 639-1 code, such as "de" or "de+fr", which selects the stop
        words. By default it is detected.
    columns : mapping of str to list of str, optional
        Names of the columns by role, "text", "categorical", "numeric" and "date", if the samples
        are rows of a table: a dataframe, a mapping of names to columns, or a `Corpus`.
    text_views : {"joined", "separate"}, default="joined"
        Whether several text columns are joined, or each has its own vectorizer.
    random_state : int, optional
        Seed of every step that has a `random_state`. Deterministic recipes ignore it.
    n_jobs : int, optional
        Number of threads of the classifier; -1 uses all cores, None one unless in a
        `joblib.parallel_config` context. Single-threaded recipes ignore it.
    calibrate : bool, default=False
        Whether to calibrate the probabilities of a recipe that is not a stack: it becomes the only
        member of an `OOBStackingClassifier`, whose final estimator is then a temperature that is
        fitted on out-of-fold predictions. Predicted labels do not change. See docs/confidence.md.
    **params
        Parameters of the steps, such as ``classifier__C=10`` or, in short, ``C=10``. They take
        precedence over the arguments above. Parameters of a member of a stack have its name as a
        prefix, such as ``svm__C=10``. Stacks have four more parameters:

        - `members`: a list of recipes;
        - `combiner`: the final estimator: "class_pool" (default), "pool", "rf", "least_squares",
          "mlr", "mlr_own", "templates", "scann", "vig", "voting" or "mean";
        - `encoder`: adds the member `embeddings` with this encoder of `EmbeddingVectorizer`; for a
          list of encoders, also `embeddings_2` and so on;
        - `lexicon`: adds the member `lexicon` with this lexicon of `LexiconVectorizer`.

    Returns
    -------
    Pipeline
        Steps `vectorizer` (for text) or `scaler` (for numeric input, if scaled), and `classifier`.
        A stack, or a calibrated recipe, has the step `classifier` only; each of its members is such
        a pipeline. With `columns`, the first step is `table`, a `TableConverter`, and the
        vectorizer is part of the step `preprocessor`, a `ColumnTransformer`. A stack then has one
        more member, `columns`: a random forest on the columns that are not texts.

    See Also
    --------
    cordwood.TextClassifier : Fits a recipe, with an encoder and calibrated probabilities.

    Notes
    -----
    Scaling matters: in 3-fold cross-validation, the accuracy of `svm` with and without it is 0.65
    and 0.60 on the microarrays of 9_Tumors, but 0.59 and 0.71 on the TF-IDF features of Ohsumed.

    Examples
    --------
    >>> make("svm", C=10, min_df=2)["classifier"]
    LinearSVMClassifier(C=10)
    >>> [step for step, _ in make("svm", input="numeric").steps]
    ['scaler', 'classifier']
    >>> table = {"text": ["title", "body"], "categorical": ["author"], "numeric": ["price"]}
    >>> for name, encoder, positions in make("svm", columns=table)["preprocessor"].transformers:
    ...     print(name, type(encoder).__name__, positions)
    vectorizer TextVectorizer 0
    categorical OneHotEncoder [1]
    numeric NumericEncoder [2]
    >>> stack = make("stack_sigir17", members=["svm", "boosted_et"], combiner="mean", svm__C=10)
    >>> stack["classifier"].get_params()["svm"]["classifier"].C
    10
    """
    table = None if columns is None else _check_table(name, input, columns, text_views)
    settings = Settings(input, scale, vectorizer_params, language, table, random_state, n_jobs)
    recipe = find(name)
    if recipe.members:
        stack_params = {param: params.pop(param, None) for param in STACK_PARAMS}
        pipeline = make_stack(name, recipe, settings, **stack_params)
    else:
        pipeline = make_pipeline(name, recipe, settings)
    set_params(name, pipeline, params)
    if calibrate:
        pipeline = make_calibrated(name, recipe, pipeline, settings)
    if table is not None:
        pipeline.steps.insert(0, ("table", table.make_converter()))
    return pipeline


def _check_table(name: str, input: InputType, columns: Any, text_views: Any) -> TableSettings:
    if isinstance(columns, str) and columns == "auto":
        raise CordwoodError(
            "columns='auto' needs the samples; pass it to TextClassifier, or pass the result of "
            "cordwood.columns.detect_columns(table).roles"
        )
    if text_views not in ("joined", "separate"):
        raise CordwoodError(f"text_views must be 'joined' or 'separate'; got {text_views!r}")
    if input != "text":
        raise CordwoodError(f"recipe {name!r}: input={input!r} has no columns; omit one of them")
    return TableSettings(check_columns(columns), join_text=text_views == "joined")


def full_name(name: str, param: str, *, members: Sequence[str] | None = None) -> str:
    """Return the full name of a parameter, such as ``classifier__C`` for ``C``.

    A short name that both the vectorizer and the classifier have is that of the classifier.

    Parameters
    ----------
    name : str
        One of `names()`.
    param : str
        Full or short name of the parameter.
    members : sequence of str, optional
        Recipes of the members of a stack, if they are not the default ones.

    Returns
    -------
    str
        Name for `Pipeline.set_params`.

    Examples
    --------
    >>> full_name("svm", "C"), full_name("svm", "min_df"), full_name("logistic_ngrams", "C")
    ('classifier__C', 'vectorizer__min_df', 'classifier__estimator__C')
    >>> full_name("rf", "max_features")
    'classifier__max_features'
    >>> full_name("stack_sigir17", "svm__C")
    'classifier__svm__classifier__C'
    """
    recipe = find(name)
    # Arguments of `make`.
    if param in (STACK_PARAMS if recipe.members else ("calibrate",)):
        return param
    stack_params: dict[str, Any] = {} if members is None else {"members": members}
    return resolve(name, param, make(name, **stack_params), prefer_classifier=True)
