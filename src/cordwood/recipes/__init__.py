"""Recipes: from a name to a pipeline that is ready to be fitted; the only registry.

This is the last place that knows learners by names in strings.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, TypeAlias
from zlib import crc32

from sklearn.pipeline import Pipeline

from cordwood.exceptions import CordwoodError
from cordwood.recipes._table import COMBINERS, RECIPES, Recipe
from cordwood.text.vectorizer import TextVectorizer

DEFAULT = "quick"

InputType: TypeAlias = Literal["text", "numeric"]

# What a stack is made of, beside its parameters.
_PARTS = ("members", "combiner")


def names() -> tuple[str, ...]:
    """Names of all recipes.

    Examples
    --------
    >>> "svm" in names()
    True
    """
    return tuple(RECIPES)


def find(name: str) -> Recipe:
    """Look up what a name stands for.

    Examples
    --------
    >>> find("lightgbm").savable
    False
    """
    if name not in RECIPES:
        raise CordwoodError(f"there is no recipe {name!r}; {nearest(name, names())}")
    return RECIPES[name]


def describe(name: str) -> str:
    """Say in one line what a recipe is.

    Examples
    --------
    >>> describe("svm")
    'linear support vector machine on TF-IDF'
    """
    return find(name).description


def grid(name: str, *, input: InputType = "text") -> dict[str, tuple[Any, ...]]:
    """Give the values among which the SIGIR papers choose parameters; none for some recipes.

    Parameters
    ----------
    name : str
        One of `names()`.
    input : {"text", "numeric"}, default="text"
        What the samples are; numeric samples have one more variant of `nb`.

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
    random_state: int | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Pipeline:
    """Build the unfitted pipeline that a name stands for.

    Parameters
    ----------
    name : str
        One of `names()`.
    input : {"text", "numeric"}, default="text"
        Whether samples are texts or rows of a numeric matrix.
    scale : bool, default=True
        Whether to bring columns of numbers to comparable size, in the recipes that need it. Switch
        it off where the columns are comparable already, as weights of words are. (Accuracy of
        `svm` in 3-fold cross-validation, with and without: nine tumours 0.65 and 0.60, TF-IDF of
        Ohsumed 0.59 and 0.71.) `nb` scales dense rows only.
    vectorizer_params : mapping, optional
        Parameters of the `TextVectorizer`, for recipes that do not fix them.
    random_state : int, optional
        The `random_state` of every step that has one; ignored by deterministic recipes.
    n_jobs : int, optional
        How many threads or processes the classifier may use, if it can use several.
    **params
        Parameters of the steps: ``classifier__C=10``, or ``C=10`` for short. They go before all
        of the above. A stack also takes `members`, a list of recipes in the place of its own, and
        `combiner`, one of "class_pool", "pool", "rf", "least_squares", "mlr", "mlr_own",
        "templates", "scann", "vig", "voting" and "mean"; its members' parameters go by
        ``svm__C=10``.

    Returns
    -------
    Pipeline
        Steps `vectorizer` (text) or `scaler` (numeric, if scaled), and `classifier`.

    Examples
    --------
    >>> make("svm", C=10, min_df=2)["classifier"]
    LinearSVMClassifier(C=10, n_jobs=-1)
    >>> [step for step, _ in make("svm", input="numeric").steps]
    ['scaler', 'classifier']
    >>> stack = make("stack_sigir17", members=["svm", "boosted_et"], combiner="mean", svm__C=10)
    >>> stack["classifier"].get_params()["svm"]["classifier"].C
    10
    """
    recipe = find(name)
    settings = _Settings(input, scale, vectorizer_params, random_state, n_jobs)
    if recipe.members:
        chosen = {part: params.pop(part, None) for part in _PARTS}
        pipeline = _make_stack(name, recipe, settings, **chosen)
    else:
        pipeline = _make_learner(name, recipe, settings)
    return pipeline.set_params(
        **{_resolve(name, param, pipeline): value for param, value in params.items()}
    )


def full_name(name: str, param: str, *, members: Sequence[str] | None = None) -> str:
    """Give the full name of a recipe's parameter.

    A short name that both words and classifier have means the classifier's: where learners are
    compared, words are prepared alike for all of them.

    Parameters
    ----------
    name : str
        One of `names()`.
    param : str
        The parameter.
    members : sequence of str, optional
        Of a stack, if they are not its own.

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
    if recipe.members and param in _PARTS:
        return param
    given: dict[str, Any] = {} if members is None else {"members": members}
    made = make(name, input="text" if recipe.reads_text else "numeric", **given)
    return _resolve(name, param, made, prefer_classifier=True)


def nearest(wanted: str, candidates: Collection[str]) -> str:
    """Name the candidate that was probably meant, or all of them.

    Examples
    --------
    >>> nearest("fold", ["folds", "repeats"])
    "did you mean 'folds'?"
    """
    spellings = {candidate.lower(): candidate for candidate in candidates}
    found = get_close_matches(wanted.lower(), spellings, n=1)
    if found:
        return f"did you mean {spellings[found[0]]!r}?"
    return f"there are: {', '.join(sorted(set(candidates)))}"


class _Settings(NamedTuple):
    """What all members of a stack are made with, and any other learner."""

    input: InputType
    scale: bool
    vectorizer_params: Mapping[str, Any] | None
    random_state: int | None
    n_jobs: int | None


def _make_learner(name: str, recipe: Recipe, settings: _Settings) -> Pipeline:
    classifier = recipe.classifier()
    steps: list[tuple[str, Any]] = [("classifier", classifier)]
    if settings.input == "text":
        steps.insert(0, _vectorizer_step(name, recipe))
    else:
        classifier.set_params(**recipe.numeric)
        if settings.scale and recipe.scaler is not None:
            steps.insert(0, ("scaler", recipe.scaler()))
    pipeline = Pipeline(steps)
    settable = _list_settable(pipeline)
    if settings.vectorizer_params and settings.input == "text":
        if recipe.ngrams is not None:
            raise CordwoodError(
                f"recipe {name!r} has a vectorizer of its own; leave out vectorizer_params"
            )
        given = _check_vectorizer_params(settings.vectorizer_params)
        pipeline.set_params(
            **{
                _resolve(name, f"vectorizer__{param}", pipeline): value
                for param, value in given.items()
            }
        )
    if settings.random_state is not None:
        pipeline.set_params(
            **dict.fromkeys(_ending(settable, "random_state"), settings.random_state)
        )
    if settings.n_jobs is not None:
        pipeline.set_params(**dict.fromkeys(_find_parallel(settable), settings.n_jobs))
    return pipeline


def _make_stack(
    name: str, recipe: Recipe, settings: _Settings, members: Any, combiner: Any
) -> Pipeline:
    stack = recipe.classifier()
    usual = recipe.members if settings.input == "text" else recipe.numeric_members or recipe.members
    chosen = usual if members is None else _check_members(name, members)
    stack.estimators = [(member, _make_member(member, settings)) for member in chosen]
    if combiner is not None:
        if not isinstance(combiner, str) or combiner not in COMBINERS:
            near = nearest(str(combiner), COMBINERS)
            raise CordwoodError(f"recipe {name!r}: there is no combiner {combiner!r}; {near}")
        stack.final_estimator = COMBINERS[combiner]()
        own = [p for p in stack.final_estimator.get_params() if p in ("n_jobs", "random_state")]
        given = {"n_jobs": settings.n_jobs, "random_state": settings.random_state}
        stack.final_estimator.set_params(**{p: given[p] for p in own if given[p] is not None})
    if settings.random_state is not None:
        stack.random_state = settings.random_state
    if settings.n_jobs is not None:
        stack.n_jobs = settings.n_jobs
    return Pipeline([("classifier", stack)])


def _make_member(name: str, settings: _Settings) -> Pipeline:
    recipe = find(name)
    own = dict(recipe.in_stacks)
    if recipe.ngrams is not None:
        own["vectorizer_params"] = None
    if settings.random_state is not None:
        # Its own, lest members draw the same bags; and the same whatever the other members are.
        own["random_state"] = (settings.random_state + crc32(name.encode())) % 2**31
    return make(name, **{**settings._asdict(), **own})


def _check_members(name: str, members: Any) -> tuple[str, ...]:
    listed = isinstance(members, list | tuple) and all(isinstance(each, str) for each in members)
    if not listed or not members:
        raise CordwoodError(
            f'recipe {name!r}: members is {members!r}, but must list recipes, such as ["svm", "rf"]'
        )
    for member in members:
        if members.count(member) > 1:
            raise CordwoodError(f"recipe {name!r}: members has {member!r} more than once")
        if find(member).members:
            raise CordwoodError(f"recipe {name!r}: member {member!r} is a stack itself")
    return tuple(members)


def _check_vectorizer_params(params: Any) -> Mapping[str, Any]:
    if not isinstance(params, Mapping):
        raise CordwoodError(
            f"vectorizer_params must be a mapping of parameter names to values; got {params!r}"
        )
    return params


def _vectorizer_step(name: str, recipe: Recipe) -> tuple[str, Any]:
    if not recipe.reads_text:
        raise CordwoodError(
            f"recipe {name!r} learns from dense numbers only, not from text; choose another, such "
            "as 'lightgbm'"
        )
    if recipe.ngrams is not None:
        return "vectorizer", recipe.ngrams()
    return "vectorizer", TextVectorizer(weighting=recipe.weighting)


def _list_settable(pipeline: Pipeline) -> list[str]:
    return [full for full in pipeline.get_params() if "__" in full]


def _ending(settable: list[str], last: str) -> list[str]:
    return [full for full in settable if full.rpartition("__")[2] == last]


def _find_parallel(settable: list[str]) -> list[str]:
    """Find the `n_jobs` of the classifier; one layer is enough, so the outermost where it nests."""
    found = [full for full in _ending(settable, "n_jobs") if full.startswith("classifier__")]
    return sorted(found, key=lambda full: full.count("__"))[:1]


def _resolve(name: str, param: str, pipeline: Pipeline, *, prefer_classifier: bool = False) -> str:
    """Find the one parameter that a full or a short name means, also of a member of a stack."""
    settable = _list_settable(pipeline)
    if find(name).members:
        members = dict(pipeline["classifier"].estimators)
        member, _, rest = param.removeprefix("classifier__").partition("__")
        if rest and member in members:
            found = _resolve(member, rest, members[member], prefer_classifier=prefer_classifier)
            return f"classifier__{member}__{found}"
        owners = sorted({full.split("__")[1] for full in _ending(settable, param)} & set(members))
        settable = [full for full in settable if full.count("__") == 1]
        if owners and f"classifier__{param}" not in settable:
            those = " or ".join(f"{owner}__{param}" for owner in owners)
            raise CordwoodError(
                f"recipe {name!r} has no parameter {param!r}, but members have one; write {those}"
            )
    if prefer_classifier and (preferred := f"classifier__{param}") in settable:
        return preferred
    return _match(name, param, settable)


def _match(recipe: str, param: str, settable: list[str]) -> str:
    """Find the one parameter of a step that a full or a short name means."""
    short = [full.split("__", 1)[1] for full in settable]
    matches = [full for full, rest in zip(settable, short, strict=True) if param in (full, rest)]
    # An adapter holds the learner that has the parameter: lr's `C` is classifier__estimator__C.
    matches = matches or _ending(settable, param)
    if len(matches) > 1:
        raise CordwoodError(
            f"recipe {recipe!r}: several steps have a parameter {param!r}; "
            f"write {' or '.join(matches)}"
        )
    if not matches:
        candidates = settable if "__" in param else short
        raise CordwoodError(
            f"recipe {recipe!r} has no parameter {param!r}; {nearest(param, candidates)}"
        )
    return matches[0]
