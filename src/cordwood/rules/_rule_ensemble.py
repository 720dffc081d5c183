"""What ensembles of word rules share: labels to tasks, one machine a task, votes to answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cordwood._param_validation import check_choice, check_number
from cordwood._sklearn import check_sample_weight
from cordwood.rules._calibration import apply_common, apply_sides, fit_common, fit_sides
from cordwood.rules._describe import Rule, read_rules, write_table
from cordwood.rules._documents import Documents, deal, find_present, merge, set_task
from cordwood.rules._records import Floats, Task, WordRules, add_votes, check_rules, make_constant
from cordwood.rules.weak_learners import LEARNERS

_DECIMALS = 12


class Machine(NamedTuple):
    """Rules that tell one class from the rest, and how they were found."""

    rules: WordRules
    n_iter: int
    converged: bool
    stages: list[WordRules]
    margin: float = np.nan
    gap: float = np.nan


class _Fold(NamedTuple):
    """Documents left out, and what the others taught."""

    chosen: NDArray[np.bool_]
    machines: list[Machine]


class BaseWordRuleClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier by word rules; subclasses find the rules of one class against the rest."""

    beta: float | str | Mapping[Any, float]
    weak_learner: str
    max_iter: int
    tol: float
    calibration_folds: int | None
    n_jobs: int | None

    classes_: NDArray[Any]
    _machines: list[WordRules]
    _stages: list[list[WordRules]]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Find the rules of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training documents. A value above zero means that the word is there.
        y : array of shape (n_rows,), or indicator matrix of shape (n_rows, n_labels)
            Their labels; a matrix where a document may have several, or none.
        sample_weight : array of shape (n_rows,), optional
            How many times each document counts.

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], multi_output=True
        )
        self._check_parameters()
        weights = check_sample_weight(sample_weight, X)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row; give at least one a weight")
        labels = self._encode(y)
        documents = merge(find_present(X), labels, weights)
        learnt, held_out = self._learn_all(documents)
        self._machines = [machine.rules for machine in learnt]
        self._stages = [machine.stages for machine in learnt]
        self.n_iter_ = np.array([machine.n_iter for machine in learnt])
        self.converged_ = np.array([machine.converged for machine in learnt])
        self._tell(learnt)
        self.slopes_ = self._fit_slopes(documents, held_out)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Weighted votes of the rules, not calibrated.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows,) for two classes
            Above zero: the document is of the class. For two classes, of the second.
        """
        return self._shape(self._decide(X))

    def predict_proba(self, X: Any) -> Floats:
        """Give the probability of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`. Rows sum to one, unless `fit` saw an indicator matrix:
            then each label has a probability of its own.
        """
        decisions = self._decide(X)
        if not self.multilabel_ and len(self.classes_) > 2:
            return apply_common(decisions, float(self.slopes_[0, 0]))
        probabilities = apply_sides(decisions, self.slopes_)
        if self.multilabel_:
            return probabilities
        return np.column_stack([1.0 - probabilities, probabilities])

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the most probable class, or all labels decided for.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_labels) if `fit` saw an indicator matrix
        """
        check_is_fitted(self)
        if self.multilabel_:
            return (self._decide(X) > 0).astype(np.int64)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the decisions after each round; a class that was done earlier stays as it is.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Yields
        ------
        ndarray, shaped as `decision_function` gives it
        """
        check_is_fitted(self)
        present = self._find_words(X)
        for stage in range(int(self.n_iter_.max())):
            yield self._shape(_add_up(self._rules_after(stage), present))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions after each round, for learning curves.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Yields
        ------
        ndarray, shaped as `predict` gives it
        """
        for decisions in self.staged_decision_function(X):
            if self.multilabel_:
                yield (decisions > 0).astype(np.int64)
            elif decisions.ndim == 1:
                yield np.asarray(self.classes_[(decisions > 0).astype(np.intp)])
            else:
                yield np.asarray(self.classes_[decisions.argmax(axis=1)])

    @property
    def rules_(self) -> list[list[Rule]]:
        """The rules of each class, in the order of `classes_`; for two classes, of the second."""
        check_is_fitted(self)
        return [self._read(rules, None) for rules in self._machines]

    def describe(self, label: Any, feature_names: Sequence[str] | None = None) -> str:
        """Write down the rules of one class, the weightiest first.

        Parameters
        ----------
        label : object
            One of `classes_`.
        feature_names : sequence of str, optional
            Names of the columns, such as a vectoriser's ``get_feature_names_out()``. By default
            those that `fit` saw, or numbers.

        Returns
        -------
        str
            A table of the words, of the votes if a word is present and if it is absent, and of
            the rules' weights.
        """
        check_is_fitted(self)
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            known = ", ".join(repr(known) for known in self.classes_.tolist()[:10])
            raise ValueError(f"label {label!r} is not among the classes of this model: {known}")
        if feature_names is not None and len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"feature_names has {len(feature_names)} names for {self.n_features_in_} columns; "
                "give one for each"
            )
        code = int(found[0])
        two = not self.multilabel_ and len(self.classes_) == 2
        rules = self._machines[0 if two else code]
        return write_table(
            label, self._read(rules.negate() if two and code == 0 else rules, feature_names)
        )

    @abstractmethod
    def _learn(self, task: Task, beta: float) -> Machine:
        """Find the rules that tell one side of a task from the other."""

    @abstractmethod
    def _rules_after(self, stage: int) -> list[WordRules]:
        """Give the rules of each machine after a round, counted from zero."""

    def _tell(self, learnt: list[Machine]) -> None:
        """Set the attributes that only some subclasses have."""

    def _check_parameters(self) -> None:
        check_choice("weak_learner", self.weak_learner, LEARNERS)
        check_number("max_iter", self.max_iter, 1)
        check_least("tol", self.tol, 0.0)
        if self.calibration_folds is not None and self.calibration_folds != 0:
            check_number("calibration_folds", self.calibration_folds, 2)

    def _encode(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Set `classes_`, and give an indicator matrix with a column for each machine."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y")
        if kind == "multiclass-multioutput":
            raise ValueError(
                "y has several columns that are no indicators; give a column of zeros and ones for "
                "each label, as sklearn.preprocessing.MultiLabelBinarizer does"
            )
        self.multilabel_ = kind == "multilabel-indicator"
        if self.multilabel_:
            labels: NDArray[np.bool_] = np.asarray(y.todense() if hasattr(y, "todense") else y) != 0
            self.classes_ = np.arange(labels.shape[1])
            return labels
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes == 1:
            raise ValueError(
                f"all labels are of one class, {self.classes_.tolist()[0]!r}; "
                "a classifier needs at least two"
            )
        if n_classes == 2:
            return np.asarray(codes == 1)[:, None]
        return np.asarray(codes[:, None] == np.arange(n_classes))

    def _learn_all(self, documents: Documents) -> tuple[list[Machine], list[_Fold]]:
        """Learn every machine from all documents, and again without each fold."""
        folds = deal(documents, self.calibration_folds or 1)
        n_folds = self.calibration_folds or 0
        parts = [documents, *(documents.take(folds != fold) for fold in range(n_folds))]
        n_labels = documents.labels.shape[1]
        jobs = [(part, number) for part in parts for number in range(n_labels)]
        # Results come in the order of the jobs, and none knows of another.
        learnt = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._learn_one)(part, number) for part, number in jobs
        )
        held_out = [
            _Fold(folds == fold, learnt[(fold + 1) * n_labels : (fold + 2) * n_labels])
            for fold in range(n_folds)
        ]
        return learnt[:n_labels], held_out

    def _learn_one(self, documents: Documents, number: int) -> Machine:
        """Learn one machine, whose votes are above zero for its class."""
        is_class = documents.labels[:, number]
        if is_class.all() or not is_class.any():
            rules = make_constant(1.0 if is_class.all() else -1.0)
            return Machine(rules, 1, True, [rules], 1.0, 0.0)
        size = documents.weight[is_class].sum() / documents.weight.sum()
        ratio = self._weigh_class(number, float(size))
        # The engine's plus side is the dearer one, which need not be the class.
        turned = ratio < 1.0
        machine = self._learn(
            set_task(documents, ~is_class if turned else is_class), max(ratio, 1.0 / ratio)
        )
        if not turned:
            return machine
        return machine._replace(
            rules=machine.rules.negate(), stages=[rules.negate() for rules in machine.stages]
        )

    def _weigh_class(self, number: int, share: float) -> float:
        """Say how many times dearer it is to miss a document of a class than one of the rest."""
        if isinstance(self.beta, Mapping):
            costs = self._check_costs(self.beta)
            if not self.multilabel_ and len(self.classes_) == 2:
                return costs[1] / costs[0]
            return costs[number]
        if isinstance(self.beta, str):
            check_choice("beta", self.beta, ("balanced",))
            return (1.0 - share) / share
        check_least("beta", self.beta, 1.0)
        return float(self.beta) if share <= 0.5 else 1.0 / float(self.beta)

    def _check_costs(self, beta: Mapping[Any, float]) -> list[float]:
        """Give the cost of each class, one where the mapping has none."""
        classes = self.classes_.tolist()
        for label, cost in beta.items():
            if label not in classes:
                raise ValueError(f"beta has a cost for {label!r}, which is not among the classes")
            if not isinstance(cost, Real) or not 0 < cost < np.inf:
                raise ValueError(f"beta must map {label!r} to a number above zero; got {cost!r}")
        return [float(beta.get(label, 1.0)) for label in classes]

    def _fit_slopes(self, documents: Documents, held_out: list[_Fold]) -> Floats:
        """Fit what decisions are multiplied by, on documents of the folds left out."""
        labels, weight = documents.labels, documents.weight
        decisions = np.full(labels.shape, np.nan)
        rows = documents.present.tocsr()
        for fold in held_out:
            decisions[fold.chosen] = add_votes([m.rules for m in fold.machines], rows[fold.chosen])
            # A fold without a class, or with nothing else, teaches nothing about its decisions.
            inside = labels[~fold.chosen]
            decisions[np.ix_(fold.chosen, inside.all(axis=0) | ~inside.any(axis=0))] = np.nan
        if not self.multilabel_ and len(self.classes_) > 2:
            codes = labels.argmax(axis=1)
            known = ~np.isnan(decisions[np.arange(len(codes)), codes])
            least = np.nanmin(decisions[known], axis=1, keepdims=True)
            filled = np.where(np.isnan(decisions[known]), least, decisions[known])
            return np.array([[fit_common(filled, codes[known], weight[known])]])
        slopes = np.ones((labels.shape[1], 2))
        for number, column in enumerate(decisions.T):
            known = ~np.isnan(column)
            if known.any():
                slopes[number] = fit_sides(column[known], labels[known, number], weight[known])
            elif self.calibration_folds:
                # All documents were of one side: a decision of 1 has the odds of one unseen more.
                slopes[number] = np.log1p(weight.sum())
        return slopes

    def _decide(self, X: Any) -> Floats:
        check_is_fitted(self)
        return _add_up(self._machines, self._find_words(X))

    def _find_words(self, X: Any) -> Any:
        return find_present(
            validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        )

    def _shape(self, decisions: Floats) -> Floats:
        return decisions if self.multilabel_ or len(self.classes_) > 2 else decisions[:, 0]

    def _read(self, rules: WordRules, feature_names: Sequence[str] | None) -> list[Rule]:
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        return read_rules(rules, names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_machines" in state:
            # A file may come from a stranger.
            for rules in [*self._machines, *(rules for stages in self._stages for rules in stages)]:
                check_rules(rules, self.n_features_in_)


def _add_up(machines: list[WordRules], present: Any) -> Floats:
    """Add up votes; where they cancel out, rounding errors must not decide."""
    return np.round(add_votes(machines, present), _DECIMALS)


def check_least(name: str, value: Any, least: float) -> None:
    """Check that a parameter is a finite number and not too small."""
    if not isinstance(value, Real) or isinstance(value, bool) or not least <= float(value) < np.inf:
        raise ValueError(f"{name} must be a number of at least {least:g}; got {value!r}")
