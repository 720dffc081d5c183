"""Definitions of the recipes, with the parameter grids of the papers."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.exceptions import CordwoodError
from cordwood.linear_model.embedding_classifier import EmbeddingClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.recipes._adapters import ExternalClassifier
from cordwood.recipes._column_features import ColumnParams
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
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.lexicon import LexiconVectorizer
from cordwood.text.vectorizer import TextVectorizer


class Recipe(NamedTuple):
    """Definition of a recipe."""

    description: str  # one line for users
    classifier: Callable[[], Any]
    weighting: str = "tf"  # of the terms
    auto_for: str = "trees"  # kind of classifier, on which the preset "auto" depends
    scaler: Callable[[], Any] | None = None  # of numeric input
    vectorizer: Callable[[], Any] | None = None  # if it is fixed
    savable: bool = True
    grid: Mapping[str, tuple[Any, ...]] = {}  # hyperparameters that the papers tune
    numeric: Mapping[str, Any] = {}  # parameters that differ for numeric input
    numeric_grid: Mapping[str, tuple[Any, ...]] = {}
    in_stacks: Mapping[str, Any] = {}  # parameters as a member of a stack
    members: tuple[str, ...] = ()  # of a stack
    numeric_members: tuple[str, ...] = ()  # if they differ
    auto_encoder: bool = False  # whether encoder="auto" adds the member `embeddings`
    needs_calibration: bool = False  # its probabilities are those of votes or independent classes
    columns: ColumnParams = ColumnParams()  # that are not texts; by default as for trees


def _import_optional(recipe: str, package: str, module: str, name: str) -> Any:
    """Import a class of an optional dependency."""
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise CordwoodError(
            f"recipe {recipe!r} requires the package {package}; install it with: "
            f"pip install {package}"
        ) from error


def _make_lightgbm() -> Any:
    # A fixed histogram layout, so that the model does not depend on the number of threads.
    deterministic = {"deterministic": True, "force_col_wise": True}
    # LightGBM reads n_jobs=None as all cores; in scikit-learn None means one.
    params = {"n_estimators": 200, "verbosity": -1, "n_jobs": 1}
    lightgbm = _import_optional("lightgbm", "lightgbm", "lightgbm", "LGBMClassifier")
    return ExternalClassifier(lightgbm(**params, **deterministic))


def _make_xgboost() -> Any:
    # XGBoost reads n_jobs=None as all cores, too.
    params = {"n_estimators": 200, "max_depth": 5, "learning_rate": 0.1, "n_jobs": 1}
    xgboost = _import_optional("xgboost", "xgboost", "xgboost", "XGBClassifier")
    return ExternalClassifier(xgboost(**params), dense=True)


def _make_balanced_forest() -> Any:
    balanced = _import_optional(
        "brf", "imbalanced-learn", "imblearn.ensemble", "BalancedRandomForestClassifier"
    )
    return ExternalClassifier(
        balanced(200, sampling_strategy="all", replacement=True, bootstrap=False)
    )


def _make_logistic_regression() -> Any:
    # With many classes, one-vs-rest is much faster than a multinomial model and as accurate. On
    # the 156,000 features of Ohsumed, the dual solver takes a sixth of the time of the primal.
    return OneVsRestClassifier(
        LogisticRegression(C=10.0, solver="liblinear", dual=True, tol=0.01, max_iter=1000)
    )


def _make_ngram_vectorizer(
    char_ngram_range: tuple[int, int] | None = None, **common: Any
) -> FeatureUnion:
    """Make TF-IDF features of word unigrams and bigrams, and of character n-grams."""
    common["weighting"] = "tfidf"
    return FeatureUnion(
        [
            ("word", TextVectorizer(ngram_range=(1, 2), stop_words=False, **common)),
            ("char", TextVectorizer(analyzer="char_wb", ngram_range=char_ngram_range, **common)),
        ]
    )


# `recipes.make` sets the members.
_STACK = partial(OOBStackingClassifier, [])

# No centering, to keep sparse features sparse.
_UNIT_VARIANCE = partial(StandardScaler, with_mean=False)
_FOREST_GRID = {
    "criterion": ("entropy", "gini"),
    "classifier__max_features": ("sqrt", "log2", 0.08, 0.15, 0.3),
}
_LAZY_GRID = {
    "n_neighbors": (10, 30, 100, 200, 300, 500),
    "criterion": ("entropy", "gini"),
}

# Fitting the temperature costs three more SVM fits, in each fold of the cross-validation of a
# stack. On the data sets of the papers, fitted temperatures are between 0.14 and 0.36.
_FIXED_TEMPERATURE = {"temperature": 0.25}
# Smoothed leave-one-out predictions for the final estimator need fewer than 200 trees per training
# sample; see docs/stacking.md.
_FEWER_LOO_TREES = {"n_estimators_loo": 25, "loo_smoothing": 0.3}
# With a limit of a tenth of the samples, trees and out-of-fold neighbors change the accuracy of a
# stack by 0.05 percentage points; without one, they take too long. See docs/performance.md.
_MAX_SAMPLES = 100_000
# Nearest neighbors of a training sample are often its relatives, which new samples do not have: the
# leave-one-out accuracy on reviews is 86 %, but 73 % on reviews of other movies; see
# docs/stacking.md.
_WITHOUT_RELATIVES = {"loo_skip": 5, "loo_max_samples": _MAX_SAMPLES}
# Out-of-bag predictions of a single boosting run are biased, and a stack trained on them is no
# better than one without boosted forests. Five cross-fitted runs of 40 rounds with a higher
# learning rate are nearly as good for a stack as cross-validation; see docs/stacking.md.
_CROSS_FITTED = {"cross_fit": 5, "learning_rate": 0.3}
_FORESTS = ("boosted_rf", "lazy_rf", "boosted_et", "lazy_et")
_SIGIR17 = (*_FORESTS, "svm", "nb", "knn", "rf", "et")

# Of columns that are not texts: piecewise linear features of numbers. Rows of TF-IDF have length
# one; counts of words are not scaled. See docs/columns.md.
_LINEAR_COLUMNS = ColumnParams(n_knots=5, weight=0.5)
# Lazy forests weight counts by TF-IDF themselves, but other columns are not counts.
_NEIGHBOR_COLUMNS = ColumnParams(n_knots=5, weight=0.25, weighting="tfidf")
_COUNT_COLUMNS = ColumnParams(n_knots=5)

# A smaller tolerance doubles the fit time and changes hardly any prediction.
_COARSE_SVM = partial(LinearSVMClassifier, C=0.5, tol=0.1)
_SVM_NGRAMS = Recipe(
    "linear SVM on word bigrams and character n-grams",
    _COARSE_SVM,
    scaler=_UNIT_VARIANCE,
    vectorizer=partial(_make_ngram_vectorizer, auto_for="linear_ngrams"),
    in_stacks=_FIXED_TEMPERATURE,
    columns=_LINEAR_COLUMNS,
)

RECIPES: Mapping[str, Recipe] = {
    "svm": Recipe(
        "linear SVM on TF-IDF of words",
        LinearSVMClassifier,
        weighting="tfidf",
        auto_for="linear",
        scaler=_UNIT_VARIANCE,
        grid={"C": tuple(2.0**power for power in range(-5, 8))},
        in_stacks=_FIXED_TEMPERATURE,
        columns=_LINEAR_COLUMNS,
    ),
    "svm_ngrams": _SVM_NGRAMS,
    "nbsvm": _SVM_NGRAMS._replace(
        description="svm_ngrams with features scaled by naive Bayes log-count ratios",
        classifier=partial(_COARSE_SVM, nb_scaling="auto"),
    ),
    "rf": Recipe(
        "random forest",
        partial(RandomForestClassifier, 200),
        grid=_FOREST_GRID,
        in_stacks={"max_samples": _MAX_SAMPLES},
        needs_calibration=True,
    ),
    "et": Recipe(
        "extra-trees",
        partial(ExtraTreesClassifier, 200),
        grid=_FOREST_GRID,
        needs_calibration=True,
    ),
    "boosted_rf": Recipe(
        "random forests boosted by their out-of-bag error (BROOF)",
        partial(BoostedForestClassifier, base="rf"),
        in_stacks=_CROSS_FITTED,
        needs_calibration=True,
    ),
    "boosted_et": Recipe(
        "extra-trees boosted by their out-of-bag error (BERT of SIGIR 2017)",
        partial(BoostedForestClassifier, base="et"),
        grid={
            "trees_per_round": (5, 8, 10, 15, 25),
            "n_estimators": (50, 100, 200),
            "classifier__max_features": _FOREST_GRID["classifier__max_features"],
        },
        in_stacks=_CROSS_FITTED,
        needs_calibration=True,
    ),
    "adarf": Recipe(
        "random forests boosted by their training error (ADARF)",
        partial(
            BoostedForestClassifier,
            base="rf",
            update="aggregate",
            oob_error=False,
            oob_updates=False,
        ),
        needs_calibration=True,
    ),
    "lazy_rf": Recipe(
        "random forest per query on its nearest neighbors (LazyNN_RF)",
        LazyForestClassifier,
        grid=_LAZY_GRID,
        in_stacks=_FEWER_LOO_TREES,
        needs_calibration=True,
        columns=_NEIGHBOR_COLUMNS,
    ),
    "lazy_et": Recipe(
        "extra-trees per query on its nearest neighbors (LXT)",
        partial(LazyForestClassifier, base="et"),
        grid=_LAZY_GRID,
        in_stacks=_FEWER_LOO_TREES,
        needs_calibration=True,
        columns=_NEIGHBOR_COLUMNS,
    ),
    "adaboost": Recipe(
        "AdaBoost.MH of single-word rules",
        partial(AdaUBoostClassifier, beta=1.0),
        weighting="binary",
        columns=_COUNT_COLUMNS,
    ),
    "adauboost": Recipe(
        "AdaUBoost of single-word rules, for rare classes",
        AdaUBoostClassifier,
        weighting="binary",
        columns=_COUNT_COLUMNS,
    ),
    "lpboost": Recipe(
        "LPBoost of single-word rules",
        partial(LPUBoostClassifier, beta=1.0),
        weighting="binary",
        columns=_COUNT_COLUMNS,
    ),
    "lpuboost": Recipe(
        "LPUBoost of single-word rules, for rare classes",
        LPUBoostClassifier,
        weighting="binary",
        columns=_COUNT_COLUMNS,
    ),
    "stack_sigir17": Recipe(
        "stack of the nine classifiers of SIGIR 2017", _STACK, members=_SIGIR17
    ),
    "stack_forests": Recipe("stack of boosted and lazy forests", _STACK, members=_FORESTS),
    "quick": Recipe(
        "stack of nbsvm, nb, knn and rf, the recommendation",
        partial(_STACK, cv="auto", use_oob="auto"),
        members=("nbsvm", "nb", "knn", "rf"),
        numeric_members=("svm", "knn", "rf"),  # nb rejects negative values
        auto_encoder=True,
    ),
    "adaboost_m2": Recipe(
        "AdaBoost.M2 of decision stumps", AdaBoostM2Classifier, needs_calibration=True
    ),
    "adaboost_m2_trees": Recipe(
        "AdaBoost.M2 of fully grown trees",
        partial(AdaBoostM2Classifier, max_depth=None),
        needs_calibration=True,
    ),
    "nb": Recipe(
        "multinomial, complement or Gaussian naive Bayes",
        NaiveBayesClassifier,
        auto_for="naive_bayes",
        scaler=partial(MinMaxScaler, clip=True),
        grid={
            "variant": ("multinomial", "complement"),
            "alpha": (1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.5, 10.0, 100.0),
        },
        # Not in the papers, but better on some microarrays (SRBCT: 0.99 instead of 0.95).
        numeric_grid={"variant": ("multinomial", "complement", "gaussian")},
        needs_calibration=True,
        columns=_COUNT_COLUMNS,
    ),
    "knn": Recipe(
        "nearest neighbors by cosine similarity of TF-IDF",
        NeighborsClassifier,
        weighting="tfidf",
        auto_for="neighbors",
        scaler=_UNIT_VARIANCE,
        grid={"n_neighbors": (10, 30, 100, 200, 300), "weights": ("uniform", "distance")},
        in_stacks=_WITHOUT_RELATIVES,
        needs_calibration=True,
        columns=_NEIGHBOR_COLUMNS,
    ),
    "logistic_ngrams": Recipe(
        "logistic regression on word bigrams and character n-grams",
        _make_logistic_regression,
        scaler=_UNIT_VARIANCE,
        vectorizer=partial(_make_ngram_vectorizer, (3, 5), preset="sigir17", min_df=3),
        numeric={"estimator__dual": False},  # the dual is for more features than samples
        needs_calibration=True,
        columns=_LINEAR_COLUMNS,
    ),
    "logistic": Recipe(
        "logistic regression on TF-IDF of words",
        _make_logistic_regression,
        weighting="tfidf",
        auto_for="linear",
        scaler=_UNIT_VARIANCE,
        numeric={"estimator__dual": False},
        needs_calibration=True,
        columns=_LINEAR_COLUMNS,
    ),
    "embeddings": Recipe(
        "logistic regression on sentence embeddings",
        EmbeddingClassifier,
        vectorizer=EmbeddingVectorizer,
        in_stacks={"balanced": True},  # the combiner restores the share of each class
        columns=_LINEAR_COLUMNS,
    ),
    "lexicon": Recipe(
        "logistic regression on polarity scores of a lexicon",
        partial(LogisticRegression, C=3.0, max_iter=300),
        vectorizer=LexiconVectorizer,
        columns=_LINEAR_COLUMNS,
    ),
    "lightgbm": Recipe("gradient boosting by LightGBM", _make_lightgbm, savable=False),
    "brf": Recipe(
        "balanced random forest of imbalanced-learn", _make_balanced_forest, savable=False
    ),
    "xgboost": Recipe(
        "gradient boosting by XGBoost",
        _make_xgboost,
        savable=False,
        grid={"colsample_bytree": (0.1, 0.3, 0.5, 0.7, 1.0)},
    ),
}

# Final estimators of the stacks.
DEFAULT_COMBINER = "class_pool"
COMBINERS: Mapping[str, Callable[[], Any]] = {
    DEFAULT_COMBINER: LogarithmicPool,
    "pool": partial(LogarithmicPool, class_alpha=None),
    "rf": partial(RandomForestClassifier, 200),
    "least_squares": partial(MultiResponseRegression, "all", nonnegative=False),
    "mlr": partial(MultiResponseRegression, "all"),
    "mlr_own": MultiResponseRegression,
    "templates": DecisionTemplates,
    "scann": SCANN,
    "vig": VariationalGaussian,
    "voting": Voting,
    "mean": partial(Voting, "mean"),
}
