"""Recipes: from a name to a pipeline that is ready to be fitted; the only registry.

This is the last place that knows learners by names in strings. Beside our own learners stand the
baselines that they are compared with, and the papers' grids.
"""

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple

from sklearn import ensemble
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.baselines import (
    NaiveBayesClassifier,
    NeighborsClassifier,
    PeerClassifier,
)
from cordwood.ensemble.boosted import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy import LazyForestClassifier
from cordwood.ensemble.linear import LinearSVMClassifier
from cordwood.ensemble.uneven import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.errors import CordwoodError
from cordwood.text.vectorizer import TextVectorizer

DEFAULT = "svm"


class Recipe(NamedTuple):
    """What a name stands for.

    Parameters
    ----------
    description : str
        A line for a person.
    classifier : callable
        Makes the classifier, unfitted.
    weighting : str
        How it likes words to be weighed.
    scaler : callable, optional
        Makes the step that gives columns of numbers a comparable size, where it matters.
    text : {"settable", "own", "none"}
        Whether the preparation of text can be set; is the recipe's own; or is impossible, because
        the learner takes dense numbers only.
    savable : bool
        Whether `cordwood.save` can keep the model in a file.
    grid : mapping of str to tuple
        What the papers tune.
    numeric : mapping of str to object
        Parameters of the classifier that differ for rows of numbers.
    numeric_grid : mapping of str to tuple
        Entries of the grid that differ for rows of numbers.
    """

    description: str
    classifier: Callable[[], Any]
    weighting: str = "tf"
    scaler: Callable[[], Any] | None = None
    text: Literal["settable", "own", "none"] = "settable"
    savable: bool = True
    grid: Mapping[str, tuple[Any, ...]] = {}
    numeric: Mapping[str, Any] = {}
    numeric_grid: Mapping[str, tuple[Any, ...]] = {}


def _find_peer(recipe: str, package: str, module: str, name: str) -> Any:
    """Find a class of a package that not everybody has."""
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise CordwoodError(
            f"recipe {recipe!r} needs the package {package}, which is not installed; "
            f"install it with: pip install {package}"
        ) from error


def _make_lightgbm() -> Any:
    # One way of counting, so that the number of threads cannot change a model.
    same = {"deterministic": True, "force_col_wise": True}
    params = {"n_estimators": 200, "verbosity": -1, "n_jobs": -1}
    peer = _find_peer("lightgbm", "lightgbm", "lightgbm", "LGBMClassifier")
    return PeerClassifier(peer(**params, **same))


def _make_xgboost() -> Any:
    params = {"n_estimators": 200, "max_depth": 5, "learning_rate": 0.1, "n_jobs": -1}
    peer = _find_peer("xgboost", "xgboost", "xgboost", "XGBClassifier")
    return PeerClassifier(peer(**params), dense=True)


def _make_regression() -> Any:
    # For many classes far faster than one multinomial model, and no worse; the dual takes a sixth
    # of the primal's time on the 156,000 columns of OHSUMED.
    return OneVsRestClassifier(
        LogisticRegression(C=10.0, solver="liblinear", dual=True, tol=0.01, max_iter=1000)
    )


def _make_balanced_forest() -> Any:
    peer = _find_peer(
        "brf", "imbalanced-learn", "imblearn.ensemble", "BalancedRandomForestClassifier"
    )
    return PeerClassifier(
        peer(200, sampling_strategy="all", replacement=True, bootstrap=False, n_jobs=-1)
    )


def _make_ngrams() -> FeatureUnion:
    """Weigh pairs of words and runs of characters, stop words included."""
    common: dict[str, Any] = {"preset": "sigir17", "weighting": "tfidf", "min_df": 3}
    return FeatureUnion(
        [
            ("word", TextVectorizer(ngram_range=(1, 2), stop_words=False, **common)),
            ("char", TextVectorizer(analyzer="char_wb", ngram_range=(3, 5), **common)),
        ]
    )


# Without centring, so that zeros stay zeros and sparse rows stay sparse.
_UNIT_VARIANCE = partial(StandardScaler, with_mean=False)
_FOREST_GRID = {
    "criterion": ("entropy", "gini"),
    "classifier__max_features": ("sqrt", "log2", 0.08, 0.15, 0.3),
}
_LAZY_GRID = {
    "n_neighbors": (10, 30, 100, 200, 300, 500),
    "criterion": ("entropy", "gini"),
}

_RECIPES: Mapping[str, Recipe] = {
    "svm": Recipe(
        "linear support vector machine on TF-IDF",
        LinearSVMClassifier,
        weighting="tfidf",
        scaler=_UNIT_VARIANCE,
        grid={"C": tuple(2.0**power for power in range(-5, 8))},
    ),
    "rf": Recipe(
        "random forest", partial(RandomForestClassifier, 200, n_jobs=-1), grid=_FOREST_GRID
    ),
    "xt": Recipe("extra-trees", partial(ExtraTreesClassifier, 200, n_jobs=-1), grid=_FOREST_GRID),
    "broof": Recipe(
        "random forests boosted by their out-of-bag error",
        partial(BoostedForestClassifier, trees="random", n_jobs=-1),
    ),
    "bert": Recipe(
        "extra-trees boosted by their out-of-bag error",
        partial(BoostedForestClassifier, trees="extra", n_jobs=-1),
        grid={
            "n_trees": (5, 8, 10, 15, 25),
            "n_estimators": (50, 100, 200),
            "classifier__max_features": _FOREST_GRID["classifier__max_features"],
        },
    ),
    "adarf": Recipe(
        "random forests boosted by their error on all documents",
        partial(
            BoostedForestClassifier,
            trees="random",
            oob_error=False,
            selective_updates=False,
            n_jobs=-1,
        ),
    ),
    "lazy": Recipe(
        "a random forest for each query, on its nearest neighbours",
        partial(LazyForestClassifier, n_jobs=-1),
        grid=_LAZY_GRID,
    ),
    "lxt": Recipe(
        "extra-trees for each query, on its nearest neighbours",
        partial(LazyForestClassifier, trees="extra", n_jobs=-1),
        grid=_LAZY_GRID,
    ),
    "adaboost": Recipe(
        "AdaBoost.MH of word rules", partial(AdaUBoostClassifier, beta=1.0), weighting="binary"
    ),
    "adauboost": Recipe(
        "AdaUBoost of word rules, for rare classes", AdaUBoostClassifier, weighting="binary"
    ),
    "lpboost": Recipe(
        "LPBoost of word rules", partial(LPUBoostClassifier, beta=1.0), weighting="binary"
    ),
    "lpuboost": Recipe(
        "LPUBoost of word rules, for rare classes", LPUBoostClassifier, weighting="binary"
    ),
    "ada_m2": Recipe("stumps boosted by AdaBoost.M2", AdaBoostM2Classifier),
    "ada_fgdt": Recipe(
        "full trees boosted by AdaBoost.M2", partial(AdaBoostM2Classifier, max_depth=None)
    ),
    "nb": Recipe(
        "naive Bayes: multinomial, complement or Gaussian",
        NaiveBayesClassifier,
        scaler=partial(MinMaxScaler, clip=True),
        savable=False,
        grid={
            "variant": ("multinomial", "complement"),
            "alpha": (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.5, 10.0, 100.0),
        },
        # Not of the papers, but better on some microarrays (SRBCT: 0.99, and 0.95 by counting).
        numeric_grid={"variant": ("multinomial", "complement", "gaussian")},
    ),
    "knn": Recipe(
        "nearest neighbours by cosine on TF-IDF",
        partial(NeighborsClassifier, 30, metric="cosine", weights="distance", n_jobs=-1),
        weighting="tfidf",
        scaler=_UNIT_VARIANCE,
        savable=False,
        grid={"n_neighbors": (10, 30, 100, 200, 300), "weights": ("uniform", "distance")},
    ),
    "lr": Recipe(
        "logistic regression on word pairs and characters",
        _make_regression,
        scaler=_UNIT_VARIANCE,
        text="own",
        numeric={"estimator__dual": False},  # the dual is for more columns than rows
    ),
    "logistic": Recipe(
        "logistic regression on TF-IDF",
        _make_regression,
        weighting="tfidf",
        scaler=_UNIT_VARIANCE,
        numeric={"estimator__dual": False},
    ),
    "ada": Recipe(
        "AdaBoost of scikit-learn, stumps",
        partial(ensemble.AdaBoostClassifier, n_estimators=200),
        savable=False,
    ),
    "hgb": Recipe(
        "histogram gradient boosting of scikit-learn, dense numbers only",
        ensemble.HistGradientBoostingClassifier,
        text="none",
        savable=False,
    ),
    "sk_rf": Recipe(
        "random forest of scikit-learn",
        partial(ensemble.RandomForestClassifier, 200, n_jobs=-1),
        savable=False,
        grid=_FOREST_GRID,
    ),
    "sk_et": Recipe(
        "extra-trees of scikit-learn",
        partial(ensemble.ExtraTreesClassifier, 200, n_jobs=-1),
        savable=False,
        grid=_FOREST_GRID,
    ),
    "lightgbm": Recipe("gradient boosting of LightGBM", _make_lightgbm, savable=False),
    "brf": Recipe(
        "balanced random forest of imbalanced-learn", _make_balanced_forest, savable=False
    ),
    "xgboost": Recipe(
        "gradient boosting of XGBoost",
        _make_xgboost,
        savable=False,
        grid={"colsample_bytree": (0.1, 0.3, 0.5, 0.7, 1.0)},
    ),
}


def names() -> tuple[str, ...]:
    """Names of all recipes.

    Examples
    --------
    >>> "svm" in names()
    True
    """
    return tuple(_RECIPES)


def find(name: str) -> Recipe:
    """Look up what a name stands for.

    Examples
    --------
    >>> find("knn").savable
    False
    """
    if name not in _RECIPES:
        raise CordwoodError(f"there is no recipe {name!r}; {nearest(name, names())}")
    return _RECIPES[name]


def describe(name: str) -> str:
    """Say in one line what a recipe is.

    Examples
    --------
    >>> describe("svm")
    'linear support vector machine on TF-IDF'
    """
    return find(name).description


def grid(name: str, *, words: bool = True) -> dict[str, tuple[Any, ...]]:
    """Give the values among which the SIGIR papers choose parameters; none for some recipes.

    Parameters
    ----------
    name : str
        One of `names()`.
    words : bool, default=True
        Whether rows are documents; for rows of numbers, `nb` has one variant more.

    Examples
    --------
    >>> grid("knn")
    {'n_neighbors': (10, 30, 100, 200, 300), 'weights': ('uniform', 'distance')}
    """
    recipe = find(name)
    return dict(recipe.grid) if words else {**recipe.grid, **recipe.numeric_grid}


def make(
    name: str,
    *,
    words: bool = True,
    scale: bool = True,
    text: Mapping[str, Any] | None = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Pipeline:
    """Build the unfitted pipeline that a name stands for.

    Parameters
    ----------
    name : str
        One of `names()`.
    words : bool, default=True
        Whether rows are documents; False for rows of numbers.
    scale : bool, default=True
        Whether to bring columns of numbers to comparable size, in the recipes that need it. Switch
        it off where the columns are comparable already, as weights of words are. (Accuracy of
        `svm` in 3-fold cross-validation, with and without: nine tumours 0.65 and 0.60, TF-IDF of
        Ohsumed 0.59 and 0.71.) `nb` scales dense rows only.
    text : mapping, optional
        Parameters of the `TextVectorizer`, for recipes that leave them open.
    seed : int, optional
        The `random_state` of every step that has one.
    n_jobs : int, optional
        How many threads or processes the classifier may use, if it can use several.
    **params
        Parameters of the steps: ``classifier__C=10``, or ``C=10`` for short. They go before all
        of the above.

    Returns
    -------
    Pipeline
        Of `words` (documents), `ngrams` (documents, `lr`) or `scaler` (numbers, if scaled), and
        `classifier`.

    Examples
    --------
    >>> make("svm", C=10, min_df=2)["classifier"]
    LinearSVMClassifier(C=10)
    >>> [step for step, _ in make("svm", words=False).steps]
    ['scaler', 'classifier']
    """
    recipe = find(name)
    classifier = recipe.classifier()
    if not words:
        classifier.set_params(**recipe.numeric)
    steps: list[tuple[str, Any]] = [("classifier", classifier)]
    if words:
        steps.insert(0, _words_step(name, recipe))
    elif scale and recipe.scaler is not None:
        steps.insert(0, ("scaler", recipe.scaler()))
    pipeline = Pipeline(steps)
    settable = [full for full in pipeline.get_params() if "__" in full]
    if text and words:
        if recipe.text == "own":
            raise CordwoodError(f"recipe {name!r} prepares text in its own way; leave out text")
        if not isinstance(text, Mapping):
            raise CordwoodError(f"text is {text!r}, but must map names of parameters to values")
        pipeline.set_params(
            **{_match(name, f"words__{param}", settable): value for param, value in text.items()}
        )
    if seed is not None:
        pipeline.set_params(**dict.fromkeys(_ending(settable, "random_state"), seed))
    if n_jobs is not None:
        pipeline.set_params(**dict.fromkeys(_find_parallel(settable), n_jobs))
    return pipeline.set_params(
        **{_match(name, param, settable): value for param, value in params.items()}
    )


def full_name(name: str, param: str) -> str:
    """Give the full name of a recipe's parameter.

    A short name that both words and classifier have means the classifier's: where learners are
    compared, words are prepared alike for all of them.

    Examples
    --------
    >>> full_name("svm", "C"), full_name("svm", "min_df"), full_name("lr", "C")
    ('classifier__C', 'words__min_df', 'classifier__estimator__C')
    >>> full_name("rf", "max_features")
    'classifier__max_features'
    """
    pipeline = make(name, words=find(name).text != "none")
    settable = [full for full in pipeline.get_params() if "__" in full]
    if (preferred := f"classifier__{param}") in settable:
        return preferred
    return _match(name, param, settable)


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


def _words_step(name: str, recipe: Recipe) -> tuple[str, Any]:
    if recipe.text == "none":
        raise CordwoodError(
            f"recipe {name!r} learns from dense numbers only, not from text; choose another, such "
            "as 'lightgbm'"
        )
    if recipe.text == "own":
        return "ngrams", _make_ngrams()
    return "words", TextVectorizer(weighting=recipe.weighting)


def _ending(settable: list[str], last: str) -> list[str]:
    return [full for full in settable if full.rpartition("__")[2] == last]


def _find_parallel(settable: list[str]) -> list[str]:
    """Find the `n_jobs` of the classifier; one layer is enough, so the outermost where it nests."""
    found = [full for full in _ending(settable, "n_jobs") if full.startswith("classifier__")]
    return sorted(found, key=lambda full: full.count("__"))[:1]


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
