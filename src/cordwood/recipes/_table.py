"""The table of recipes: what each name stands for, and the papers' grids.

Beside our own learners stand the baselines that they are compared with.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from sklearn import ensemble
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.exceptions import CordwoodError
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.recipes._adapters import ExternalClassifier
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.stacking.combiners import (
    SCANN,
    DecisionTemplates,
    LogarithmicPool,
    MultiResponseRegression,
    VariationalGaussian,
    Voting,
)
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.vectorizer import TextVectorizer


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
    reads_text : bool
        False if the learner takes dense numbers only.
    ngrams : callable, optional
        Makes the step that prepares text, where it is the recipe's own and cannot be set.
    savable : bool
        Whether `cordwood.save` can keep the model in a file.
    grid : mapping of str to tuple
        What the papers tune.
    numeric : mapping of str to object
        Parameters of the classifier that differ for rows of numbers.
    numeric_grid : mapping of str to tuple
        Entries of the grid that differ for rows of numbers.
    in_stacks : mapping of str to object
        Parameters that it has as a member of a stack.
    members : tuple of str
        For a stack, the recipes of its members.
    numeric_members : tuple of str
        Those that it has for rows of numbers, if they differ.
    """

    description: str
    classifier: Callable[[], Any]
    weighting: str = "tf"
    scaler: Callable[[], Any] | None = None
    reads_text: bool = True
    ngrams: Callable[[], Any] | None = None
    savable: bool = True
    grid: Mapping[str, tuple[Any, ...]] = {}
    numeric: Mapping[str, Any] = {}
    numeric_grid: Mapping[str, tuple[Any, ...]] = {}
    in_stacks: Mapping[str, Any] = {}
    members: tuple[str, ...] = ()
    numeric_members: tuple[str, ...] = ()


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
    return ExternalClassifier(peer(**params, **same))


def _make_xgboost() -> Any:
    params = {"n_estimators": 200, "max_depth": 5, "learning_rate": 0.1, "n_jobs": -1}
    peer = _find_peer("xgboost", "xgboost", "xgboost", "XGBClassifier")
    return ExternalClassifier(peer(**params), dense=True)


def _make_regression() -> Any:
    # For many classes far faster than one multinomial model, and no worse; the dual takes a sixth
    # of the primal's time on the 156,000 columns of OHSUMED.
    return OneVsRestClassifier(
        LogisticRegression(C=10.0, solver="liblinear", dual=True, tol=0.01, max_iter=1000)
    )


def _make_ngrams(runs: tuple[int, int] | None = None, **common: Any) -> FeatureUnion:
    """Weigh pairs of words, stop words included, and runs of characters."""
    common["weighting"] = "tfidf"
    return FeatureUnion(
        [
            ("word", TextVectorizer(ngram_range=(1, 2), stop_words=False, **common)),
            ("char", TextVectorizer(analyzer="char_wb", ngram_range=runs, **common)),
        ]
    )


def _make_sklearn_stack() -> Any:
    """Stack what scikit-learn has of the papers' nine learners, in its own way."""

    def on_tfidf(classifier: Any) -> Any:
        return make_pipeline(TfidfTransformer(sublinear_tf=True), classifier)

    members = [
        ("rf", ensemble.RandomForestClassifier(200)),
        ("et", ensemble.ExtraTreesClassifier(200)),
        ("svm", on_tfidf(LinearSVC())),
        ("nb", MultinomialNB()),
        ("knn", on_tfidf(KNeighborsClassifier(30, metric="cosine", weights="distance"))),
    ]
    return ensemble.StackingClassifier(members, ensemble.RandomForestClassifier(200))


def _make_balanced_forest() -> Any:
    peer = _find_peer(
        "brf", "imbalanced-learn", "imblearn.ensemble", "BalancedRandomForestClassifier"
    )
    return ExternalClassifier(
        peer(200, sampling_strategy="all", replacement=True, bootstrap=False, n_jobs=-1)
    )


# Members are given by whoever makes the recipe.
_STACK = partial(OOBStackingClassifier, [], n_jobs=-1)

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

# Members answer thousands of rows in cross-validation, where a slope that is fitted costs three
# machines more each time; those that were fitted lie between 2.8 and 7.3 on the papers' sets.
_FIXED_TEMPERATURE = {"temperature": 0.25}
# What a combiner learns from needs no 200 trees for each training row; see docs/stacking.md.
_FEW_TREES = {"n_estimators_loo": 25}
# What a single chain says out of bag is too modest, and a stack that learns from it no better than
# one without boosted forests. Five chains of 40 rounds, faster ones, are worth nearly as much to a
# stack as cross-validation of a single one; docs/stacking.md has the figures.
_CHAINS = {"cross_fit": 5, "learning_rate": 0.3}
_FORESTS = ("boosted_rf", "lazy_rf", "boosted_et", "lazy_et")
_NINE = (*_FORESTS, "svm", "nb", "knn", "rf", "et")

# A finer tolerance takes twice as long and changes next to no answers.
_COARSE = partial(LinearSVMClassifier, C=0.5, tol=0.1, n_jobs=-1)
_ON_NGRAMS = Recipe(
    "linear support vector machine on word pairs and characters",
    _COARSE,
    scaler=_UNIT_VARIANCE,
    ngrams=partial(_make_ngrams, min_df=2),
    in_stacks=_FIXED_TEMPERATURE,
)

RECIPES: Mapping[str, Recipe] = {
    "svm": Recipe(
        "linear support vector machine on TF-IDF",
        partial(LinearSVMClassifier, n_jobs=-1),
        weighting="tfidf",
        scaler=_UNIT_VARIANCE,
        grid={"C": tuple(2.0**power for power in range(-5, 8))},
        in_stacks=_FIXED_TEMPERATURE,
    ),
    "svm_ngrams": _ON_NGRAMS,
    "nbsvm": _ON_NGRAMS._replace(
        description="ngrams, where those that tell classes apart count more",
        classifier=partial(_COARSE, nb_scaling=0.5),
    ),
    "rf": Recipe(
        "random forest", partial(RandomForestClassifier, 200, n_jobs=-1), grid=_FOREST_GRID
    ),
    "et": Recipe("extra-trees", partial(ExtraTreesClassifier, 200, n_jobs=-1), grid=_FOREST_GRID),
    "boosted_rf": Recipe(
        "random forests boosted by their out-of-bag error",
        partial(BoostedForestClassifier, base="rf", n_jobs=-1),
        in_stacks=_CHAINS,
    ),
    "boosted_et": Recipe(
        "extra-trees boosted by their out-of-bag error",
        partial(BoostedForestClassifier, base="et", n_jobs=-1),
        grid={
            "trees_per_round": (5, 8, 10, 15, 25),
            "n_estimators": (50, 100, 200),
            "classifier__max_features": _FOREST_GRID["classifier__max_features"],
        },
        in_stacks=_CHAINS,
    ),
    "adarf": Recipe(
        "random forests boosted by their error on all documents",
        partial(
            BoostedForestClassifier,
            base="rf",
            update="aggregate",
            oob_error=False,
            oob_updates=False,
            n_jobs=-1,
        ),
    ),
    "lazy_rf": Recipe(
        "a random forest for each query, on its nearest neighbours",
        partial(LazyForestClassifier, n_jobs=-1),
        grid=_LAZY_GRID,
        in_stacks=_FEW_TREES,
    ),
    "lazy_et": Recipe(
        "extra-trees for each query, on its nearest neighbours",
        partial(LazyForestClassifier, base="et", n_jobs=-1),
        grid=_LAZY_GRID,
        in_stacks=_FEW_TREES,
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
    "stack_sigir17": Recipe(
        "the nine learners of SIGIR'17, stacked by their out-of-bag rows",
        _STACK,
        members=_NINE,
    ),
    "best": Recipe(
        "the nine of stack and nbsvm, stacked: most often right, takes minutes",
        _STACK,
        members=(*_NINE, "nbsvm"),
        numeric_members=_NINE,
    ),
    "stack_forests": Recipe(
        "boosted and lazy forests, stacked by their out-of-bag rows",
        _STACK,
        members=_FORESTS,
    ),
    "quick": Recipe(
        "learners that take seconds, stacked",
        partial(_STACK, cv=3),
        members=("nbsvm", "nb", "knn", "rf"),
        numeric_members=("svm", "knn", "rf"),  # nb takes no numbers below zero
    ),
    "adaboost_m2": Recipe("stumps boosted by AdaBoost.M2", AdaBoostM2Classifier),
    "adaboost_m2_trees": Recipe(
        "full trees boosted by AdaBoost.M2", partial(AdaBoostM2Classifier, max_depth=None)
    ),
    "nb": Recipe(
        "naive Bayes: multinomial, complement or Gaussian",
        NaiveBayesClassifier,
        scaler=partial(MinMaxScaler, clip=True),
        grid={
            "variant": ("multinomial", "complement"),
            "alpha": (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.5, 10.0, 100.0),
        },
        # Not of the papers, but better on some microarrays (SRBCT: 0.99, and 0.95 by counting).
        numeric_grid={"variant": ("multinomial", "complement", "gaussian")},
    ),
    "knn": Recipe(
        "nearest neighbours by cosine on TF-IDF",
        partial(NeighborsClassifier, n_jobs=-1),
        weighting="tfidf",
        scaler=_UNIT_VARIANCE,
        grid={"n_neighbors": (10, 30, 100, 200, 300), "weights": ("uniform", "distance")},
    ),
    "logistic_ngrams": Recipe(
        "logistic regression on word pairs and characters",
        _make_regression,
        scaler=_UNIT_VARIANCE,
        ngrams=partial(_make_ngrams, (3, 5), preset="sigir17", min_df=3),
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
        reads_text=False,
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
    "sk_stack": Recipe(
        "stack of scikit-learn: its forests, linear machine, naive Bayes and neighbours",
        _make_sklearn_stack,
        scaler=partial(MinMaxScaler, clip=True),
        savable=False,
        # Logarithms are for counts.
        numeric={f"{name}__tfidftransformer__sublinear_tf": False for name in ("svm", "knn")},
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

# What learns from the members of a stack.
COMBINERS: Mapping[str, Callable[[], Any]] = {
    "class_pool": LogarithmicPool,
    "pool": partial(LogarithmicPool, class_alpha=None),
    "rf": partial(RandomForestClassifier, 200, n_jobs=-1),
    "least_squares": partial(MultiResponseRegression, "all", nonnegative=False),
    "mlr": partial(MultiResponseRegression, "all"),
    "mlr_own": MultiResponseRegression,
    "templates": DecisionTemplates,
    "scann": SCANN,
    "vig": VariationalGaussian,
    "voting": Voting,
    "mean": partial(Voting, "mean"),
}
