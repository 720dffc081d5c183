"""Stacking: a classifier that learns from what others say of rows they have not learnt from."""

import warnings
from collections.abc import Iterable
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.model_selection import (
    BaseCrossValidator,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import (
    Bunch,
    Tags,
    assert_all_finite,
    check_random_state,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_is_fitted,
    check_memory,
    has_fit_parameter,
    validate_data,
)

from cordwood._param_validation import check_number
from cordwood._sklearn import BaseComposition, check_sample_weight
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.stacking import _meta_features as _meta
from cordwood.stacking._leakage import find_leakage
from cordwood.stacking._parallel import carry_out
from cordwood.stacking._shared_steps import look, seat
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool


class OOBStackingClassifier(ClassifierMixin, TransformerMixin, BaseComposition):
    """Members answer, and a combiner learns whom to believe, mostly without fitting twice.

    The combiner has to learn from answers to rows that the members have not learnt from. Forests
    have such answers for free: of each row, from the trees that did not draw it, or, if they are
    boosted in several chains, from the chain without it. Lazy forests leave each row out of its own
    neighbours. Only the rest is fitted anew, in cross-validation. Every member is then fitted on
    all rows, once.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members by name. One that is a `Pipeline` states its own view of the rows; steps that
        learn without labels, such as counts of words, are fitted once for all members that begin
        with the same ones. A member may be ``"drop"``.
    final_estimator : estimator, optional
        The combiner: any classifier, or one of `cordwood.stacking.combiners`. By default a `LogarithmicPool`;
        with `passthrough`, where the combiner must take any columns, a random forest of 200 trees.
    cv : int, "prefit", splitter or iterable, default=5
        Folds for the members that have to be fitted anew: their number (stratified and shuffled;
        fewer where all classes are smaller), a splitter of scikit-learn, or pairs of training and
        test rows. With "prefit" the members are fitted already, on other rows than those given to
        `fit`.
    use_oob : bool or list of str, default=True
        Whether members' own answers out of bag, and those that leave a row out, are used where
        there are any that can be relied on: those of a `BoostedForestClassifier` with one chain
        cannot. A list names the members whose are used, whatever they are. The others are fitted
        anew in cross-validation, which for all, as scikit-learn's `StackingClassifier` has it,
        takes two to three times the time.
    passthrough : bool, default=False
        Whether the combiner sees the rows as well, which must be numbers then.
    check_leakage : bool, default=True
        Whether to try on a sample that the members' answers to training rows are no better than
        those to new rows, and to warn if they are; see `oof_optimism_`.
    memory : str or object with the interface of joblib.Memory, optional
        Where to keep what members came to: a stack of the same members with another combiner, or
        with some members more, is then fitted without fitting them again. As in scikit-learn's
        `Pipeline`; by default nothing is kept.
    n_jobs : int, optional
        Number of threads, over members and folds; members with an `n_jobs` of their own go one
        after another instead. It changes the time, never the result.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of the sample for `oof_optimism_` and of the default combiner.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    estimators_ : list of estimators
        The fitted members, without those dropped.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted combiner.
    meta_features_ : ndarray of shape (n_rows, n_members * n_classes)
        What the combiner has learnt from: the members' probabilities, member after member.
    oof_source_ : dict of str to str
        Where each member's are from: ``"oob"``, ``"loo"``, ``"cv"`` or ``"prefit"``.
    n_imputed_ : dict of str to int
        How many rows a member had no honest answer to, because all of its trees had drawn them;
        the classes' shares stand there.
    oof_optimism_ : dict of str to float
        By how much the accuracy of a member's meta-features exceeds its accuracy on new rows, both
        on a sample of which copies were kept together. Empty if not checked.
    n_features_in_ : int
        Number of features seen in `fit`, where rows have features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    Notes
    -----
    With `groups` in `fit`, rows of a group are never on both sides: folds are grouped, lazy forests
    and the chains of boosted ones leave out the row's group, and other bagged members go through
    cross-validation, since a bag may hold a row's copy. Without them copies of a row, with the same
    label, make members look better than they are; `oof_optimism_` shows it.

    A row's answer out of bag is that of a third of the trees, while new rows are answered by all.

    References
    ----------
    .. [1] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
       effective automated classification. SIGIR.
    .. [2] Wolpert (1992). Stacked generalization. Neural Networks 5.

    Examples
    --------
    >>> from cordwood import RandomForestClassifier
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_digits(return_X_y=True)
    >>> linear = LogisticRegression(max_iter=50, tol=0.1)
    >>> members = [("forest", RandomForestClassifier(random_state=0)), ("linear", linear)]
    >>> model = OOBStackingClassifier(members, random_state=0).fit(X[::2] / 16, y[::2])
    >>> model.oof_source_
    {'forest': 'oob', 'linear': 'cv'}
    >>> model.score(X[1::2] / 16, y[1::2]) > 0.95
    True
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        final_estimator: Any = None,
        *,
        cv: int | str | BaseCrossValidator | Iterable[_meta.Fold] = 5,
        use_oob: bool | Iterable[str] = True,
        passthrough: bool = False,
        check_leakage: bool = True,
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
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters, and with `deep` those of the members under their names."""
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or by its name a member, or by ``name__parameter`` one of its own."""
        self._set_params("estimators", **params)
        return self

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, then the combiner on what they say of rows that were not theirs.

        Parameters
        ----------
        X : rows of any kind that the members take: texts, arrays, sparse matrices, data frames
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            How much each row counts, for the members that take weights and for the combiner.
        groups : array of shape (n_rows,), optional
            Rows of the same group are never on both sides of anything.

        Returns
        -------
        self
        """
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        if _has_features(X):
            validate_data(self, X, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        members = self._find_members()
        self._names = [name for name, _ in members]
        weights = None if sample_weight is None else check_sample_weight(sample_weight, y[:, None])
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError(
                f"all labels are of one class, {self.classes_.tolist()[0]!r}; give at least two"
            )
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=3)
        prior = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        if isinstance(self.cv, str):
            self._take_prefit(members, X)
        else:
            folds = self._find_folds(codes, groups, int(seeds[0]))
            self._fit_members(members, X, y, weights, groups, folds, prior / prior.sum())
        self.final_estimator_ = self._make_combiner(int(seeds[1]))
        seen = self._pass_through(self.meta_features_, X)
        if weights is not None and has_fit_parameter(self.final_estimator_, "sample_weight"):
            self.final_estimator_.fit(seen, y, sample_weight=weights)
        else:
            self.final_estimator_.fit(seen, y)
        self.oof_optimism_ = (
            find_leakage(self, X, y, groups, int(seeds[2]))
            if self.check_leakage and not isinstance(self.cv, str)
            else {}
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Give the members' probabilities, as the combiner sees them.

        Parameters
        ----------
        X : rows as in `fit`

        Returns
        -------
        ndarray of shape (n_rows, n_members * n_classes)
            Member after member, the classes in the order of `classes_`.
        """
        check_is_fitted(self)
        if _has_features(X):
            validate_data(self, X, skip_check_array=True, reset=False)
        see, ask = map(check_memory(self.memory).cache, (look, _meta.ask))
        seen = [see(view, X) if view else X for view in self._views]
        return np.hstack(
            carry_out(
                (
                    (model, partial(ask, model, seen[place], self.classes_))
                    for model, place in zip(self._models, self._places, strict=True)
                ),
                self.n_jobs,
            )
        )

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class.

        Parameters
        ----------
        X : rows as in `fit`

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        return _meta.ask(self.final_estimator_, self._ask_members(X), self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the combiner's answer.

        Parameters
        ----------
        X : rows as in `fit`

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        return np.asarray(self.final_estimator_.predict(self._ask_members(X)))

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; those with shared steps have the very same ones."""
        check_is_fitted(self)
        return [
            Pipeline([*self._views[place], (last, model)]) if self._views[place] else model
            for model, place, last in zip(self._models, self._places, self._last_steps, strict=True)
        ]

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members by name."""
        return Bunch(**dict(zip(self._names, self.estimators_, strict=True)))

    def _ask_members(self, X: Any) -> Any:
        return self._pass_through(self.transform(X), X)

    def _pass_through(self, meta: NDArray[np.float64], X: Any) -> Any:
        """Add the rows themselves, if the combiner is to see them."""
        if not self.passthrough:
            return meta
        if not _has_features(X):
            raise ValueError(
                "passthrough hands the rows to the combiner, which needs numbers, but X holds "
                "none; set passthrough=False, or give rows of numbers"
            )
        if sp.issparse(X):
            both: Any = [sp.csr_matrix(meta), X]
            return sp.hstack(both, format="csr")
        return np.hstack([meta, np.asarray(X, np.float64)])

    def _find_members(self) -> list[tuple[str, Any]]:
        """Check the names and leave out what is dropped."""
        if not isinstance(self.estimators, list | tuple) or not self.estimators:
            raise ValueError(
                "estimators must be a list of members, each a name and an estimator; "
                f"got {self.estimators!r}"
            )
        names = [name for name, _ in self.estimators]
        self._validate_names(names)
        members = [(name, member) for name, member in self.estimators if member != "drop"]
        if not members:
            raise ValueError("all estimators are dropped; keep at least one")
        for name, member in members:
            if not hasattr(member, "fit") or not is_classifier(member):
                raise ValueError(f"estimator {name!r} is {member!r}, which is no classifier")
        return members

    def _find_trust(self) -> list[str]:
        """Tell for each member which of its own rows are trusted."""
        if isinstance(self.use_oob, bool | np.bool_):
            return ["honest" if self.use_oob else "none"] * len(self._names)
        named = isinstance(self.use_oob, Iterable) and not isinstance(self.use_oob, str)
        trusted = set(self.use_oob) if named else {self.use_oob}
        unknown = trusted - {name for name, _ in self.estimators}
        if unknown or not named:
            raise ValueError(
                "use_oob must be True, False or a list of members' names, which are "
                f"{', '.join(self._names)}; got {', '.join(sorted(map(str, unknown or trusted)))!r}"
            )
        return ["all" if name in trusted else "none" for name in self._names]

    def _find_folds(
        self, codes: NDArray[np.intp], groups: ArrayLike | None, seed: int
    ) -> list[_meta.Fold]:
        """Share the rows out for cross-validation."""
        if not isinstance(self.cv, Integral):
            splitter = check_cv(self.cv)
            return list(splitter.split(codes, codes, groups))
        check_number("cv", self.cv, 2)
        n_folds = min(int(self.cv), int(np.bincount(codes).max()))
        if n_folds < 2:
            raise ValueError(
                "every class has a single row, so that none can be answered by the others; give "
                "more rows of some class"
            )
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        with warnings.catch_warnings():
            # A class smaller than the number of folds is no fault: where a fold has all its rows,
            # the column of the class is zero there.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splitter = kind(n_folds, shuffle=True, random_state=seed)
            return list(splitter.split(codes, codes, groups))

    def _fit_members(
        self,
        members: list[tuple[str, Any]],
        X: Any,
        y: NDArray[Any],
        weights: NDArray[np.float64] | None,
        groups: ArrayLike | None,
        folds: list[_meta.Fold],
        prior: NDArray[np.float64],
    ) -> None:
        """Fit every member on all rows, and find what it says of each without having seen it."""
        remember = check_memory(self.memory).cache
        seats = seat([member for _, member in members], X, remember)
        self._views, rows, self._places, rests = seats
        self._last_steps = [_name_last(member) for _, member in members]
        seen = [rows[place] for place in self._places]
        lesson = _meta.Lesson(y, weights, groups, self.classes_, folds)
        self._models, sources, blocks = _meta.learn(
            rests,
            seen,
            lesson,
            trust=self._find_trust(),
            remember=remember,
            n_jobs=self.n_jobs,
        )
        self.oof_source_ = dict(zip(self._names, sources, strict=True))
        filled, counts = zip(*(_meta.fill(block, prior) for block in blocks), strict=True)
        self.n_imputed_ = dict(zip(self._names, counts, strict=True))
        self.meta_features_ = np.hstack(filled)

    def _take_prefit(self, members: list[tuple[str, Any]], X: Any) -> None:
        """Take members that are fitted, and ask them about these rows."""
        if self.cv != "prefit":
            raise ValueError(f"cv must be a number of folds, folds or 'prefit'; got {self.cv!r}")
        for name, member in members:
            check_is_fitted(member)
            if unknown := set(member.classes_) - set(self.classes_):
                raise ValueError(
                    f"estimator {name!r} knows classes that y has no rows of: "
                    f"{', '.join(map(str, sorted(unknown)))}; give rows of all classes"
                )
        self._models = [member for _, member in members]
        self._views, self._places = [[]], [0] * len(members)
        self._last_steps = [_name_last(member) for _, member in members]
        self.oof_source_ = dict.fromkeys(self._names, "prefit")
        self.n_imputed_ = dict.fromkeys(self._names, 0)
        self.meta_features_ = self.transform(X)

    def _make_combiner(self, seed: int) -> Any:
        if self.final_estimator is not None:
            return clone(self.final_estimator)
        if self.passthrough:
            return RandomForestClassifier(200, n_jobs=self.n_jobs, random_state=seed)
        return LogarithmicPool()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        members = [get_tags(member) for _, member in self.estimators if member != "drop"]
        tags.input_tags.sparse = all(member.input_tags.sparse for member in members)
        tags.input_tags.positive_only = any(member.input_tags.positive_only for member in members)
        return tags


def _has_features(X: Any) -> bool:
    """Tell rows of features from texts and other things that only a member's first step reads."""
    return len(getattr(X, "shape", ())) == 2


def _name_last(member: Any) -> str:
    return str(member.steps[-1][0]) if isinstance(member, Pipeline) else ""
