"""Recipes: named classifiers, each a complete unfitted `Pipeline`.

This is the only registry of classifiers by name; plans of `cordwood compare` and the command line
use it.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, TypeAlias
from zlib import crc32

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from cordwood.columns.roles import ColumnRoles, check_columns
from cordwood.exceptions import CordwoodError
from cordwood.recipes._column_features import TableSettings
from cordwood.recipes._table import COMBINERS, RECIPES, Recipe
from cordwood.stacking.combiners import LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.vectorizer import TextVectorizer

DEFAULT = "quick"

InputType: TypeAlias = Literal["text", "numeric"]

# Parameters of a stack that are not parameters of `OOBStackingClassifier`.
_STACK_PARAMS = ("members", "combiner", "encoder", "lexicon")
_EMBEDDINGS, _LEXICON = "embeddings", "lexicon"
# Member of a stack for the columns that are not texts, and its recipe.
_COLUMNS, _COLUMNS_RECIPE = "columns", "rf"
# Recipes of dense vectors of texts. In a stack, they leave other columns to the other members.
_TEXT_ONLY = (_EMBEDDINGS, _LEXICON)

# Penalty of the inverse temperature of a calibrated recipe. The default of 1 keeps it near 1, which
# is too weak a correction for AdaBoost.M2; less than 0.1 is worse with a hundred samples.
_CALIBRATION_ALPHA = 0.1


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


def find(name: str) -> Recipe:
    """Return the definition of a recipe.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Recipe
        The definition.

    Examples
    --------
    >>> find("quick").members
    ('nbsvm', 'nb', 'knn', 'rf')
    """
    if name not in RECIPES:
        raise CordwoodError(f"unknown recipe {name!r}; {nearest(name, names())}")
    return RECIPES[name]


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
    cordwood.train : Make and fit the pipeline of a recipe.

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
    settings = _Settings(input, scale, vectorizer_params, language, table, random_state, n_jobs)
    pipeline = _make(name, settings, params)
    if calibrate:
        pipeline = _calibrate(name, find(name), pipeline, settings)
    if table is not None:
        pipeline.steps.insert(0, ("table", table.make_converter()))
    return pipeline


def _make(name: str, settings: "_Settings", params: Mapping[str, Any]) -> Pipeline:
    """Make the pipeline of a recipe, without the conversion of a table."""
    recipe = find(name)
    params = dict(params)
    if recipe.members:
        stack_params = {param: params.pop(param, None) for param in _STACK_PARAMS}
        pipeline = _make_stack(name, recipe, settings, **stack_params)
    else:
        pipeline = _make_pipeline(name, recipe, settings)
    return pipeline.set_params(
        **{_resolve(name, param, pipeline): value for param, value in params.items()}
    )


def _check_table(name: str, input: InputType, columns: Any, text_views: Any) -> TableSettings:
    if isinstance(columns, str) and columns == "auto":
        raise CordwoodError(
            "columns='auto' needs the samples; pass it to cordwood.train, or pass the result of "
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
    if recipe.members and param in _STACK_PARAMS:
        return param
    stack_params: dict[str, Any] = {} if members is None else {"members": members}
    return _resolve(name, param, make(name, **stack_params), prefer_classifier=True)


def nearest(wanted: str, candidates: Collection[str]) -> str:
    """Suggest the candidate with the most similar spelling, or list all candidates.

    Parameters
    ----------
    wanted : str
        Unknown name.
    candidates : collection of str
        Known names.

    Returns
    -------
    str
        End of an error message.

    Examples
    --------
    >>> nearest("fold", ["folds", "repeats"])
    "did you mean 'folds'?"
    >>> nearest("xyz", ["folds", "repeats"])
    'valid names: folds, repeats'
    """
    spellings = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(wanted.lower(), spellings, n=1)
    if matches:
        return f"did you mean {spellings[matches[0]]!r}?"
    return f"valid names: {', '.join(sorted(set(candidates)))}"


class _Settings(NamedTuple):
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


def _make_pipeline(name: str, recipe: Recipe, settings: _Settings) -> Pipeline:
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
    step_params = _step_params(pipeline)
    if settings.has_text:
        given = settings.vectorizer_params or {}
        if given:
            _set_vectorizer_params(name, recipe, pipeline, given)
        # With another preset, `auto_for` has no effect, but different values would prevent the
        # members of a stack from sharing a vectorizer.
        if recipe.vectorizer is None and vectorizer.preset == "auto" and "auto_for" not in given:
            vectorizer.set_params(auto_for=recipe.auto_for)
    if settings.language is not None:
        pipeline.set_params(**dict.fromkeys(_ending(step_params, "language"), settings.language))
    if settings.random_state is not None:
        pipeline.set_params(
            **dict.fromkeys(_ending(step_params, "random_state"), settings.random_state)
        )
    if settings.n_jobs is not None:
        # In scikit-learn, `n_jobs` of logistic regression has no effect since 1.8.
        if not isinstance(classifier, LogisticRegression):
            pipeline.set_params(**dict.fromkeys(_find_n_jobs(step_params), settings.n_jobs))
        # Threads encode texts faster; other vectorizers hold the GIL.
        if isinstance(steps[0][1], EmbeddingVectorizer):
            pipeline.set_params(vectorizer__n_jobs=settings.n_jobs)
    return pipeline if settings.table is None else _add_columns(name, recipe, pipeline, settings)


def _choose_weighting(recipe: Recipe, settings: _Settings) -> str:
    """Return the term weighting."""
    is_mixed = settings.table is not None and settings.table.is_mixed
    return (recipe.columns.weighting if is_mixed else None) or recipe.weighting


def _add_columns(name: str, recipe: Recipe, pipeline: Pipeline, settings: _Settings) -> Pipeline:
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


def _set_vectorizer_params(name: str, recipe: Recipe, pipeline: Pipeline, params: Any) -> None:
    if recipe.vectorizer is not None:
        raise CordwoodError(f"recipe {name!r} has a fixed vectorizer; omit vectorizer_params")
    if not isinstance(params, Mapping):
        raise CordwoodError(
            f"vectorizer_params must be a mapping of parameter names to values; got {params!r}"
        )
    pipeline.set_params(
        **{
            _resolve(name, f"vectorizer__{param}", pipeline): value
            for param, value in params.items()
        }
    )


def _make_stack(
    name: str,
    recipe: Recipe,
    settings: _Settings,
    *,
    members: Any,
    combiner: Any,
    encoder: Any,
    lexicon: Any,
) -> Pipeline:
    """Make the pipeline of a stack."""
    stack = recipe.classifier()
    default = recipe.members if settings.has_text else recipe.numeric_members or recipe.members
    member_names = default if members is None else _check_members(name, members)
    pretrained = _list_pretrained(name, settings, encoder, lexicon)
    member_names = (*member_names, *(each for each in pretrained if each not in member_names))
    stack.estimators = [(member, _make_member(member, settings)) for member in member_names]
    if settings.table is not None and settings.table.is_mixed:
        stack.estimators.append((_COLUMNS, _make_columns_member(settings)))
    for member, pipeline in stack.estimators:
        for param, value in pretrained.get(member, {}).items():
            pipeline.set_params(**dict.fromkeys(_ending(_step_params(pipeline), param), value))
    if combiner is not None:
        if not isinstance(combiner, str) or combiner not in COMBINERS:
            suggestion = nearest(str(combiner), COMBINERS)
            raise CordwoodError(f"recipe {name!r}: unknown combiner {combiner!r}; {suggestion}")
        stack.final_estimator = COMBINERS[combiner]()
        given = {"n_jobs": settings.n_jobs, "random_state": settings.random_state}
        accepted = stack.final_estimator.get_params()
        stack.final_estimator.set_params(
            **{
                param: value
                for param, value in given.items()
                if value is not None and param in accepted
            }
        )
    if settings.random_state is not None:
        stack.random_state = settings.random_state
    if settings.n_jobs is not None:
        stack.n_jobs = settings.n_jobs
    return Pipeline([("classifier", stack)])


def _calibrate(name: str, recipe: Recipe, pipeline: Pipeline, settings: _Settings) -> Pipeline:
    """Make a stack whose only member is the pipeline."""
    if recipe.members:
        raise CordwoodError(
            f"recipe {name!r} is a stack, which its combiner calibrates; omit calibrate"
        )
    stack = OOBStackingClassifier(
        [(name, pipeline)],
        LogarithmicPool(alpha=_CALIBRATION_ALPHA),
        check_leakage=False,
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
    )
    return Pipeline([("classifier", stack)])


def _list_pretrained(
    name: str, settings: _Settings, encoder: Any, lexicon: Any
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the vectorizers that `encoder` and `lexicon` add, by member."""
    for param, value in (("encoder", encoder), ("lexicon", lexicon)):
        if value is not None and not settings.has_text:
            raise CordwoodError(f"recipe {name!r}: {param} needs texts; leave it out")
    encoders = encoder if isinstance(encoder, list | tuple) else [encoder]
    found: dict[str, dict[str, Any]] = {
        _EMBEDDINGS if number == 1 else f"{_EMBEDDINGS}_{number}": {"encoder": each}
        for number, each in enumerate(encoders, 1)
        if each is not None
    }
    if lexicon is not None:
        found[_LEXICON] = {"lexicon": lexicon}
    return found


def _recipe_of(member: str) -> str:
    """Return the recipe of a member, such as "embeddings" for "embeddings_2" of a stack."""
    if member == _COLUMNS:
        return _COLUMNS_RECIPE
    stem, _, number = member.rpartition("_")
    return stem if stem == _EMBEDDINGS and number.isdigit() else member


def _make_member(member: str, settings: _Settings) -> Pipeline:
    """Make the pipeline of a member of a stack."""
    name = _recipe_of(member)
    recipe = find(name)
    changes: dict[str, Any] = {"is_member": True}
    if recipe.vectorizer is not None:
        changes["vectorizer_params"] = None
    if settings.random_state is not None:
        # Members have different seeds, to draw different bootstrap samples. The seed depends on
        # the name only, so that it does not change with the other members.
        changes["random_state"] = (settings.random_state + crc32(member.encode())) % 2**31
    return _make(name, settings._replace(**changes), recipe.in_stacks)


def _make_columns_member(settings: _Settings) -> Pipeline:
    """Make the member of a stack for the columns that are not texts."""
    assert settings.table is not None
    member = _make_member(_COLUMNS, settings)
    transformer = settings.table.make_transformer(None, find(_COLUMNS_RECIPE).columns)
    return member.set_params(preprocessor=transformer)


def _check_members(name: str, members: Any) -> tuple[str, ...]:
    is_list = isinstance(members, list | tuple) and all(isinstance(each, str) for each in members)
    if not is_list or not members:
        raise CordwoodError(
            f"recipe {name!r}: members must be a list of recipes, such as ['svm', 'rf']; "
            f"got {members!r}"
        )
    for member in members:
        if members.count(member) > 1:
            raise CordwoodError(f"recipe {name!r}: members contains {member!r} more than once")
        if find(member).members:
            raise CordwoodError(f"recipe {name!r}: member {member!r} is a stack")
    return tuple(members)


def _step_params(pipeline: Pipeline) -> list[str]:
    """List the full names of the parameters of the steps."""
    return [full for full in pipeline.get_params() if "__" in full]


def _ending(step_params: list[str], last: str) -> list[str]:
    """List the full names whose last part is `last`."""
    return [full for full in step_params if full.rpartition("__")[2] == last]


def _find_n_jobs(step_params: list[str]) -> list[str]:
    """Find the outermost `n_jobs` of the classifier: nested parallelism would oversubscribe."""
    found = [full for full in _ending(step_params, "n_jobs") if full.startswith("classifier__")]
    return sorted(found, key=lambda full: full.count("__"))[:1]


def _resolve(name: str, param: str, pipeline: Pipeline, *, prefer_classifier: bool = False) -> str:
    """Return the full name of a parameter of the pipeline or of a member of the stack."""
    step_params = _step_params(pipeline)
    if find(name).members:
        members = dict(pipeline["classifier"].estimators)
        member, _, rest = param.removeprefix("classifier__").partition("__")
        if rest and member in members:
            full = _resolve(
                _recipe_of(member), rest, members[member], prefer_classifier=prefer_classifier
            )
            return f"classifier__{member}__{full}"
        owners = sorted(
            {full.split("__")[1] for full in _ending(step_params, param)} & set(members)
        )
        step_params = [full for full in step_params if full.count("__") == 1]
        if owners and f"classifier__{param}" not in step_params:
            options = " or ".join(f"{owner}__{param}" for owner in owners)
            raise CordwoodError(
                f"recipe {name!r} has no parameter {param!r}, but its members have; use {options}"
            )
    if prefer_classifier and (preferred := f"classifier__{param}") in step_params:
        return preferred
    return _match(name, param, step_params)


def _match(recipe: str, param: str, step_params: list[str]) -> str:
    """Return the only full name that matches a full or a short name."""
    short = [full.split("__", 1)[1] for full in step_params]
    matches = [full for full, rest in zip(step_params, short, strict=True) if param in (full, rest)]
    # A wrapper such as OneVsRestClassifier nests the parameter: classifier__estimator__C.
    matches = matches or _ending(step_params, param)
    if len(matches) > 1:
        raise CordwoodError(
            f"recipe {recipe!r}: parameter {param!r} is ambiguous; use {' or '.join(matches)}"
        )
    if not matches:
        candidates = step_params if "__" in param else short
        raise CordwoodError(
            f"recipe {recipe!r} has no parameter {param!r}; {nearest(param, candidates)}"
        )
    return matches[0]
