"""Stacked generalization using out-of-bag predictions."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_memory, validate_data

from cordwood._base.csr import has_features
from cordwood._base.param_validation import (
    BOOLEAN,
    N_JOBS,
    RANDOM_STATE,
    ParamValidationMixin,
    check_number,
)
from cordwood._base.samples import check_fitted
from cordwood._base.sklearn_private import (
    BaseComposition,
    CallbackSupportMixin,
    FitTask,
    VisualBlock,
    with_callbacks,
)
from cordwood._base.voting_classifier import check_at_least_two_classes
from cordwood.oof.engine import TrainingSet, fit_all_with_oof
from cordwood.oof.folds import Fold, choose_n_folds, make_folds
from cordwood.oof.groups import warn_of_few_groups
from cordwood.oof.proba import find_stack_method, impute_prior, predict_proba
from cordwood.oof.routing import is_routing_enabled, select_metadata
from cordwood.oof.tasks import Task, run_tasks
from cordwood.stacking._final_predictions import FinalTrainingSet, assign_final_folds
from cordwood.stacking._leakage import measure_oof_optimism
from cordwood.stacking._member_scores import measure_disagreement, score_members
from cordwood.stacking._oof_records import OOFRecordsMixin
from cordwood.stacking._pruning import PRUNE_TOL, choose_estimators, list_tolerances
from cordwood.stacking._validation import (
    ANCHOR,
    check_cv_name,
    check_estimator_list,
    check_known,
    check_samples,
    check_training_data,
    list_oob_policies,
    select_members,
)
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.shared_steps import fit_shared_steps, transform_steps

# With fewer samples, the out-of-fold log loss is no evidence that an anchor is of no use.
_MIN_SAMPLES_WITHOUT_ANCHOR = 1000


def _final_estimator_has(method: str) -> Callable[[Any], bool]:
    """Return a check for `available_if` that the final estimator has a method."""

    def check(self: Any) -> bool:
        if hasattr(self, "final_estimator_"):
            final_estimator = self.final_estimator_
        else:
            final_estimator = self._get_final_estimator()
        getattr(final_estimator, method)  # raises AttributeError
        return True

    return check


class OOBStackingClassifier(
    OOFRecordsMixin,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    ParamValidationMixin,
    ClassifierMixin,
    TransformerMixin,
    BaseComposition,
):
    """Stacked generalization using out-of-bag predictions.

    Like `sklearn.ensemble.StackingClassifier`, a final estimator is trained on out-of-fold
    probabilities of the base estimators. Where a base estimator can predict its own training
    samples without having been trained on them, these predictions are used and the estimator is
    fitted once: bagged forests have out-of-bag predictions, boosted forests with ``cross_fit > 1``
    have cross-fitted predictions, and nearest neighbors and lazy forests have leave-one-out
    predictions. All other base estimators are fitted again in each fold of a cross-validation.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Base estimators by name. A `Pipeline` may preprocess the samples; transformers that do not
        use labels, such as vectorizers, are fitted once for all pipelines that begin with equal
        transformers. An estimator may be ``"drop"``.
    final_estimator : estimator, default=None
        Classifier that is trained on the out-of-fold probabilities, e.g. one of
        `cordwood.stacking.combiners`. None stands for `LogarithmicPool`, or, with `passthrough`,
        for scikit-learn's ``LogisticRegression(max_iter=1000)``, which is sensitive to the scale of
        the features.
    cv : int, "auto", "prefit", cross-validation generator or iterable, default=5
        Folds for the base estimators that are cross-validated:

        - "auto": ten folds for at most 1,000 samples, five for at most 20,000, three for more.
        - int: the number of folds of a shuffled `StratifiedKFold`, or `StratifiedGroupKFold` if
          `groups` are given; fewer if the largest class has fewer samples.
        - A scikit-learn splitter, or an iterable of (train, test) index arrays.
        - "prefit": the base estimators are fitted already and are not fitted again. Pass other
          samples to `fit` than they were trained on.
    use_oob : bool, "auto" or list of str, default=True
        Whether out-of-bag and leave-one-out predictions are used:

        - True: use them if they are unbiased. Out-of-bag predictions of a
          `BoostedForestClassifier` with ``cross_fit=1`` are not.
        - "auto": True if there are at least 50 samples per class, else False. Without a sample, its
          class is rarer, so that such predictions of few samples contradict the labels.
        - False: cross-validate all base estimators, as `sklearn.ensemble.StackingClassifier` does.
          Training takes two to three times as long.
        - list of str: use them for the named base estimators, even if they are biased, and
          cross-validate all others.
    passthrough : bool, default=False
        Whether the final estimator is trained on the features in addition to the probabilities.
        Requires `X` to be numeric.
    check_leakage : bool, default=True
        Whether to measure if duplicates and near-duplicates make out-of-fold predictions more
        accurate than predictions of new samples, and to warn in this case; see `oof_optimism_`.
    prune_tol : float or dict of str to float, default=0.0
        Drop base estimators that hardly contribute (ensemble pruning): one after another, as long
        as this increases the out-of-fold log loss by at most this fraction, e.g. 0.001. Dropped
        base estimators take no time in prediction. 0.0 keeps all of them. A dict has the fractions
        of some base estimators by name, and all others are kept.
    anchor : str, list of str or None, default=None
        Base estimators to which the default final estimator shrinks if there are few samples: those
        that hardly need any, such as one on vectors of a pretrained encoder. They are not pruned
        with fewer than 1,000 samples. By default it shrinks to equal weights of all. Another
        `final_estimator` has no anchors.
    memory : str or object with the joblib.Memory interface, default=None
        Cache of fitted base estimators and their predictions. A stack with another final estimator
        or with additional base estimators is then fitted without fitting the others again. By
        default nothing is cached.
    n_jobs : int, default=None
        Number of threads over base estimators and folds. Base estimators with an `n_jobs` of their
        own run one after another. None means 1 unless in a `joblib.parallel_config` context, -1
        means all processors. The results do not depend on `n_jobs`.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of the subsample of the leakage check and of the default final estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted class labels.
    estimators_ : list of estimators
        Base estimators fitted on all samples, without those that are ``"drop"`` or were pruned.
        Pipelines with equal transformers share the fitted transformers.
    named_estimators_ : Bunch
        The same by name.
    pruned_ : list of str
        Names of the base estimators that were fitted and dropped; see `prune_tol`.
    estimator_weights_ : dict of str to float
        Weight of each base estimator in the final estimator, averaged over the classes; 0.0 for
        those in `pruned_`. Defined only if the final estimator is a `LogarithmicPool`.
    final_estimator_ : estimator
        The fitted final estimator.
    meta_features_ : ndarray of shape (n_samples, n_estimators * n_classes)
        Out-of-fold probabilities on which the final estimator was trained, in the order of
        `get_feature_names_out`.
    oof_proba_ : ndarray of shape (n_samples, n_classes)
        Out-of-fold probabilities of the whole stack: the final estimator is cross-fitted on
        `meta_features_` in five folds that keep duplicates and groups together. Computed when it is
        first read.
    oof_source_ : dict of str to {"oob", "loo", "cv", "prefit"}
        How the out-of-fold probabilities of each base estimator were computed, pruned ones
        included.
    stack_method_ : list of {"predict_proba", "decision_function", "predict"}
        Prediction method of each base estimator. Decision values are mapped to probabilities by the
        logistic or softmax function, labels are one-hot encoded.
    n_imputed_ : dict of str to int
        Number of samples without an out-of-bag prediction because they were in every bootstrap
        sample. Their meta-features are the class prior.
    oof_optimism_ : dict of str to float
        By how much duplicates and near-duplicates make the out-of-fold accuracy of each base
        estimator higher than its accuracy on samples that have none in the training set. Zero if
        fewer than 1 % of the samples have some; empty without `check_leakage`.
    oof_scores_ : dict of str to dict of str to float
        "accuracy" and "macro_f1" of the out-of-fold probabilities of each base estimator, pruned
        ones included.
    oof_disagreement_ : ndarray of shape (n_estimators, n_estimators)
        Diversity: fraction of the samples of which exactly one of two base estimators predicts the
        class correctly, out of fold.
    ablation_ : dict of str to dict of str to float
        How the "accuracy" and the "log_loss" of the stack change if a base estimator is removed:
        the final estimator is cross-fitted on the out-of-fold probabilities of the others, in two
        folds of at most 2,000 samples. Computed when it is first read. Empty with `passthrough`,
        or if there is only one base estimator. A stack that was loaded from a model file has it if
        it was computed before, as by `TextClassifier`.
    fit_times_ : dict of str to float
        Wall time in seconds that the fits of each base estimator took, pruned ones included: on all
        samples and in the folds, with the out-of-fold predictions, but without shared transformers.
        With several threads, fits take turns or run side by side, so that times may add up to
        more than the time of `fit`. Empty if ``cv="prefit"``.
    n_features_in_ : int
        Number of features seen during `fit`. Not defined if `X` is not two-dimensional.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during `fit`. Defined only if `X` has string feature names.

    See Also
    --------
    sklearn.ensemble.StackingClassifier : Stacking with cross-validation of all base estimators.
    cordwood.stacking.combiners : Final estimators for stacking.
    cordwood.stacking.diversity : Diversity measures of base estimators.

    Notes
    -----
    With `groups`, samples of a group are never split between training and prediction: folds are
    grouped; leave-one-out predictions and boosted forests with ``cross_fit > 1`` exclude the group;
    other bagged estimators are cross-validated, because a bootstrap sample may contain a sample of
    the same group. Without groups, duplicates of a sample with the same label make base estimators
    look more accurate than they are; `oof_optimism_` shows it.

    An out-of-bag prediction uses about a third of the trees, while a new sample is predicted by all
    of them.

    `oof_proba_` estimates how the stack predicts new samples. Two small biases are opposite:
    base estimators that are cross-validated in `cv` folds are trained on fewer samples than those
    that predict new samples, and transformers that pipelines share, such as vectorizers, are fitted
    on all samples, though without labels. With 1,600 samples, the accuracy of `oof_proba_` was too
    low by 0.8 percentage points on average over 16 data sets with three folds, by 0.4 with five and
    by 0.1 with ten. See docs/scores.md.

    `sample_weight` is passed to all base estimators and to the final estimator; if one of them does
    not accept it, `fit` raises an error. With scikit-learn's metadata routing enabled, `fit`
    accepts any metadata and routes it to the estimators that request it.

    With scikit-learn 1.9 or later, callbacks such as `sklearn.callback.ProgressBar` can be set by
    `set_callbacks`; they receive one task for each fit of a base estimator.

    References
    ----------
    .. [1] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
       effective automated classification. SIGIR.
    .. [2] Wolpert (1992). Stacked generalization. Neural Networks 5.

    Examples
    --------
    The forest is fitted once and has out-of-bag predictions; logistic regression is
    cross-validated:

    >>> from cordwood import RandomForestClassifier
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> logistic = LogisticRegression(max_iter=50, tol=0.1)
    >>> estimators = [("forest", RandomForestClassifier(random_state=0)), ("logistic", logistic)]
    >>> model = OOBStackingClassifier(estimators, random_state=0).fit(X[::2] / 16, y[::2])
    >>> model.oof_source_
    {'forest': 'oob', 'logistic': 'cv'}
    >>> model.score(X[1::2] / 16, y[1::2]) > 0.95
    True
    """

    classes_: NDArray[Any]

    # `estimators`, `final_estimator`, `cv` and `use_oob` depend on each other: see `_check_params`.
    _parameter_constraints = {
        "passthrough": BOOLEAN,
        "check_leakage": BOOLEAN,
        "prune_tol": PRUNE_TOL,
        "anchor": ANCHOR,
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        final_estimator: Any = None,
        *,
        cv: int | str | BaseCrossValidator | Iterable[Fold] = 5,
        use_oob: bool | str | Iterable[str] = True,
        passthrough: bool = False,
        check_leakage: bool = True,
        prune_tol: float | Mapping[str, float] = 0.0,
        anchor: str | list[str] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.use_oob = use_oob
        self.passthrough = passthrough
        self.check_leakage = check_leakage
        self.prune_tol = prune_tol
        self.anchor = anchor
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the stack and, if `deep`, of its base estimators.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include base estimators by name and their parameters as
            ``<name>__<parameter>``.

        Returns
        -------
        dict of str to object
        """
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the stack and of its base estimators.

        Parameters
        ----------
        **params : dict
            Parameters of the stack; ``<name>=estimator`` replaces a base estimator,
            ``<name>="drop"`` drops it, and ``<name>__<parameter>`` sets a parameter of it.

        Returns
        -------
        self : OOBStackingClassifier
        """
        self._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self) -> Bunch:
        """The unfitted base estimators by name."""
        return Bunch(**dict(self.estimators))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted base estimators by name."""
        check_is_fitted(self)
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the base estimators, then the final estimator on out-of-fold probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
            Training samples, of any type that the base estimators accept.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. All base estimators and the final estimator must accept them, unless
            metadata routing is enabled.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, e.g. duplicates. Samples of the same group are never split
            between training and out-of-fold prediction.
        **params : dict
            Further metadata, if metadata routing is enabled
            (``sklearn.set_config(enable_metadata_routing=True)``). It is passed to the estimators
            that request it.

        Returns
        -------
        self : OOBStackingClassifier

        Warns
        -----
        UserWarning
            If the leakage check finds leakage; or if the largest of the groups holds more than half
            of the samples, or there are fewer groups than folds, which makes out-of-fold
            predictions misleading.
        """
        X, y, weights, groups = check_training_data(self, X, y, sample_weight, groups)
        members = self._check_params()
        self._names = [name for name, _ in members]
        self.classes_, class_codes = np.unique(y, return_inverse=True)
        check_at_least_two_classes(self.classes_)
        routed = self._route_metadata(members, weights, groups, params)
        task = FitTask.start(self, X, y, None, max_subtasks=4 if self.check_leakage else 3)
        fold_seed, final_seed, leakage_seed, prune_seed = check_random_state(
            self.random_state
        ).randint(np.iinfo(np.int32).max, size=4)
        if self._is_prefit:
            self._use_prefit(members, X)
        else:
            folds = self._make_folds(class_codes, groups, routed["cv"], int(fold_seed))
            warn_of_few_groups(groups, self.cv)
            data = TrainingSet(y, groups, self.classes_, folds)
            prior = np.bincount(class_codes, weights, len(self.classes_))
            self._fit_base_estimators(
                members, X, data, [routed[name] for name, _ in members], prior, task
            )
        self.oof_scores_ = score_members(self._names, self.meta_features_, class_codes)
        self.pruned_: list[str] = []
        if self.prune_tol:
            self._prune(class_codes, weights, int(prune_seed))
        self.oof_disagreement_ = measure_disagreement(self._names, self.meta_features_, class_codes)
        self.final_estimator_ = clone(self._get_final_estimator(self._names, int(final_seed)))
        with task.subtask("fit-final-estimator"):
            features = self._add_features(self.meta_features_, X)
            self.final_estimator_.fit(features, y, **routed["final_estimator"])
        folds_of_final = assign_final_folds(X, class_codes, groups, int(final_seed))
        self._set_final_training_set(
            FinalTrainingSet(
                features, self.meta_features_.shape[1], y, routed["final_estimator"], folds_of_final
            )
        )
        self.oof_optimism_: dict[str, float] = {}
        if self.check_leakage and not self._is_prefit:
            with task.subtask("check-leakage"):
                metadata = params if groups is None else {**params, "groups": groups}
                self.oof_optimism_ = measure_oof_optimism(self, X, y, metadata, int(leakage_seed))
        task.end()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the base estimators.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators * n_classes)
            Columns in the order of `get_feature_names_out`.
        """
        return self._predict_base_probas(X)

    def _predict_base_probas(self, X: Any) -> NDArray[np.float64]:
        """Return the result of `transform` as an array, independent of `set_output`."""
        check_fitted(self)
        X = check_samples(X)
        if has_features(X):
            validate_data(self, X, skip_check_array=True, reset=False)
        transform, predict = transform_steps, predict_proba
        if self.memory is not None:
            transform, predict = map(check_memory(self.memory).cache, (transform, predict))
        inputs = [transform(steps, X) if steps else X for steps in self._shared_steps]
        last_steps = [
            estimator[-1] if position else estimator
            for estimator, position in zip(self.estimators_, self._step_index, strict=True)
        ]
        tasks = [
            Task(name, last, partial(predict, last, inputs[position], self.classes_))
            for name, last, position in zip(self._names, last_steps, self._step_index, strict=True)
        ]
        return np.hstack(run_tasks(tasks, self.n_jobs))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used, present for API consistency.

        Returns
        -------
        ndarray of str of shape (n_estimators * n_classes,)
            ``oobstackingclassifier_<name>_<class>``.
        """
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array(
            [f"{prefix}_{name}_{label}" for name in self._names for label in self.classes_], object
        )

    @available_if(_final_estimator_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        features = self._final_features(X)
        return np.asarray(self.final_estimator_.predict(features))

    @available_if(_final_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities by the `predict_proba` of the final estimator.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with classes in the order of `classes_`.
        """
        features = self._final_features(X)
        return np.asarray(self.final_estimator_.predict_proba(features))

    @available_if(_final_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values by the `decision_function` of the final estimator.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
            Samples, as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or \
                (n_samples, n_classes * (n_classes - 1) / 2)
            Decision values.
        """
        features = self._final_features(X)
        return np.asarray(self.final_estimator_.decision_function(features))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of this object.

        Returns
        -------
        MetadataRouter
            Routes metadata of `fit` to the base estimators, to the final estimator, if it is set,
            and to the cross-validation splitter. The stack itself consumes `sample_weight` and
            `groups`.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in self.estimators:
            if not isinstance(estimator, str):
                router.add(**{name: estimator}, method_mapping=to_fit)
        if self.final_estimator is not None:
            router.add(final_estimator=self.final_estimator, method_mapping=to_fit)
        if hasattr(self.cv, "get_metadata_routing"):
            to_split = MethodMapping().add(caller="fit", callee="split")
            router.add(cv=self.cv, method_mapping=to_split)
        return router

    def _final_features(self, X: Any) -> Any:
        return self._add_features(self._predict_base_probas(X), X)

    def _add_features(self, probas: NDArray[np.float64], X: Any) -> Any:
        """Append the features of the samples to the probabilities if `passthrough` is True."""
        if not self.passthrough:
            return probas
        if sp.issparse(X):
            blocks: Any = [sp.csr_matrix(probas), X]
            return sp.hstack(blocks, format="csr")
        try:
            return np.hstack([probas, np.asarray(X, np.float64)])
        except (TypeError, ValueError) as error:
            raise ValueError(
                "passthrough=True requires a two-dimensional numeric X; set passthrough=False or "
                "pass vectorized samples."
            ) from error

    def _check_params(self) -> list[tuple[str, Any]]:
        """Validate the parameters; return the base estimators that are not dropped."""
        self._validate_params()
        check_cv_name(self.cv)
        check_estimator_list(self.estimators)
        self._validate_names([name for name, _ in self.estimators])
        all_names = [name for name, _ in self.estimators]
        if isinstance(self.prune_tol, Mapping):
            check_known("prune_tol", self.prune_tol, all_names)
        check_known("anchor", self._anchors, all_names)
        members = select_members(self.estimators)
        if not is_classifier(self._get_final_estimator()):
            raise ValueError(f"final_estimator must be a classifier; got {self.final_estimator!r}.")
        return members

    @property
    def _anchors(self) -> list[str]:
        return [self.anchor] if isinstance(self.anchor, str) else list(self.anchor or [])

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route_metadata(
        self,
        members: list[tuple[str, Any]],
        sample_weight: NDArray[np.float64] | None,
        groups: Any,
        params: Mapping[str, Any],
    ) -> dict[str, dict[str, Any]]:
        """Return the metadata of each base estimator, of "final_estimator" and of "cv"."""
        if is_routing_enabled():
            routed = process_routing(
                self, "fit", sample_weight=sample_weight, groups=groups, **params
            )
            metadata = {name: dict(routed[name]["fit"]) for name, _ in members}
            if self.final_estimator is not None:
                metadata["final_estimator"] = dict(routed["final_estimator"]["fit"])
            else:
                metadata["final_estimator"] = {"sample_weight": sample_weight}
            has_router = hasattr(self.cv, "get_metadata_routing")
            metadata["cv"] = dict(routed["cv"]["split"]) if has_router else {"groups": groups}
            return metadata
        if params:
            raise TypeError(
                f"fit received unexpected parameters {', '.join(map(repr, params))}; they require "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        return select_metadata(
            members,
            self._get_final_estimator(),
            sample_weight,
            groups,
            are_members_fitted=self._is_prefit,
        )

    def _make_folds(
        self, class_codes: NDArray[np.intp], groups: Any, split_params: dict[str, Any], seed: int
    ) -> list[Fold]:
        """Return the folds of the cross-validation."""
        if isinstance(self.cv, str):
            n_folds = choose_n_folds(len(class_codes), of_stack=True)
            return make_folds(n_folds, class_codes, groups, seed)
        if isinstance(self.cv, Integral):
            check_number("cv", self.cv, 2)
            return make_folds(int(self.cv), class_codes, groups, seed)
        return list(check_cv(self.cv).split(class_codes, class_codes, **split_params))

    def _fit_base_estimators(
        self,
        members: list[tuple[str, Any]],
        X: Any,
        data: TrainingSet,
        fit_params: list[dict[str, Any]],
        class_weight: NDArray[Any],
        task: FitTask,
    ) -> None:
        """Fit the base estimators on all samples and compute `meta_features_`."""
        cache = check_memory(self.memory).cache
        with task.subtask("fit-shared-steps"):
            shared = fit_shared_steps([member for _, member in members], X, fit_params, cache)
        fitted, sources, oof_probas, seconds = fit_all_with_oof(
            list(zip(self._names, shared.estimators, strict=True)),
            [shared.inputs[position] for position in shared.step_index],
            shared.fit_params,
            data,
            oob_policy=list_oob_policies(
                self.use_oob,
                self._names,
                [name for name, _ in self.estimators],
                samples_per_class=len(data.y) / len(data.classes),
            ),
            cache=cache,
            n_jobs=self.n_jobs,
            task=task,
        )
        self._set_estimators(
            [
                Pipeline([*shared.steps[position], (member.steps[-1][0], last)])
                if isinstance(member, Pipeline) and not isinstance(last, Pipeline)
                else last
                for (_, member), last, position in zip(
                    members, fitted, shared.step_index, strict=True
                )
            ],
            shared.steps,
            shared.step_index,
        )
        self.oof_source_ = dict(zip(self._names, sources, strict=True))
        self.fit_times_ = dict(zip(self._names, seconds, strict=True))
        prior = class_weight / class_weight.sum()
        imputed, counts = zip(*(impute_prior(proba, prior) for proba in oof_probas), strict=True)
        self.n_imputed_ = dict(zip(self._names, counts, strict=True))
        self.meta_features_ = np.hstack(imputed)

    def _use_prefit(self, members: list[tuple[str, Any]], X: Any) -> None:
        """Compute `meta_features_` with base estimators that are fitted already."""
        for name, member in members:
            check_is_fitted(member)
            if missing := set(member.classes_) - set(self.classes_):
                raise ValueError(
                    f"Estimator {name!r} was fitted with classes that y does not contain: "
                    f"{', '.join(map(str, sorted(missing)))}; pass samples of all classes."
                )
        self._set_estimators([member for _, member in members], [[]], [0] * len(members))
        self.oof_source_ = dict.fromkeys(self._names, "prefit")
        self.fit_times_ = {}
        self.n_imputed_ = dict.fromkeys(self._names, 0)
        self.meta_features_ = self._predict_base_probas(X)

    def _prune(
        self, class_codes: NDArray[np.intp], weights: NDArray[np.float64] | None, seed: int
    ) -> None:
        """Drop the base estimators that hardly improve the out-of-fold log loss."""
        shape = len(class_codes), len(self._names), len(self.classes_)
        probas = self.meta_features_.reshape(shape)
        tol = list_tolerances(self.prune_tol, self._names)
        if len(class_codes) < _MIN_SAMPLES_WITHOUT_ANCHOR:
            tol[[name in self._anchors for name in self._names]] = -1.0
        kept = choose_estimators(probas, class_codes, weights, tol, seed)
        self.pruned_ = [name for i, name in enumerate(self._names) if i not in kept]
        if not self.pruned_:
            return
        self._names = [self._names[i] for i in kept]
        self.meta_features_ = probas[:, kept].reshape(len(class_codes), -1)
        used = sorted({0, *(self._step_index[i] for i in kept)})  # the first entry has no steps
        self._set_estimators(
            [self.estimators_[i] for i in kept],
            [self._shared_steps[position] for position in used],
            [used.index(self._step_index[i]) for i in kept],
        )

    def _set_estimators(
        self, estimators: list[Any], shared_steps: list[Any], step_index: list[int]
    ) -> None:
        self.estimators_ = estimators
        self._shared_steps = shared_steps
        self._step_index = step_index
        self.stack_method_ = [find_stack_method(estimator) for estimator in estimators]

    def _get_final_estimator(self, names: Sequence[str] = (), seed: int | None = None) -> Any:
        """Return `final_estimator` or its default for base estimators of these names, unfitted."""
        if self.final_estimator is not None:
            return self.final_estimator
        if self.passthrough:
            return LogisticRegression(max_iter=1000, random_state=seed)
        anchors = [name for name in names if name in self._anchors]
        if not anchors:
            return LogarithmicPool()
        return LogarithmicPool(target=[(name in anchors) / len(anchors) for name in names])

    def _sk_visual_block_(self) -> Any:
        names, estimators = zip(*self.estimators, strict=True)
        base = VisualBlock("parallel", estimators, names=names, dash_wrapped=False)
        # A parallel block shows the label above the estimator.
        final = VisualBlock(
            "parallel",
            [self._get_final_estimator()],
            names=["final_estimator"],
            dash_wrapped=False,
        )
        return VisualBlock("serial", (base, final), dash_wrapped=False)

    def __getstate__(self) -> dict[str, Any]:
        # Shared steps are stored once, without the pipelines that contain them.
        state = dict(super().__getstate__())
        if "estimators_" in state:
            state["estimators_"] = [
                estimator.steps[-1] if position else estimator
                for estimator, position in zip(self.estimators_, self._step_index, strict=True)
            ]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "estimators_" in state:
            self.estimators_ = [
                Pipeline([*self._shared_steps[position], stored]) if position else stored
                for stored, position in zip(state["estimators_"], self._step_index, strict=True)
            ]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = [get_tags(member) for _, member in self.estimators if member != "drop"]
        tags.input_tags.sparse = all(member.input_tags.sparse for member in members)
        tags.input_tags.positive_only = any(member.input_tags.positive_only for member in members)
        return tags
