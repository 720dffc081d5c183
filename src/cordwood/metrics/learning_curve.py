"""Learning curve with an extrapolation: what more labelled samples would bring."""

from __future__ import annotations  # `help` shows the short names

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import clone

from cordwood._base import sklearn_private
from cordwood.columns.frames import is_table, take_rows
from cordwood.metrics._power_law import PRIOR_MEAN, PRIOR_SD, PowerLaws, fit_power_laws
from cordwood.metrics._sums import sum_one_label
from cordwood.metrics.evaluation import CONFIDENCE_LEVEL
from cordwood.metrics.scores import Score
from cordwood.oof.folds import make_folds
from cordwood.oof.groups import ignore_few_groups
from cordwood.oof.proba import align_columns, predict_proba
from cordwood.oof.routing import select_fit_params

SCORINGS = ("accuracy", "macro_f1", "log_loss")
SHARES = (0.1, 0.18, 0.32, 0.56, 1.0)

_N_FOLDS = 5
_N_RESAMPLES = 400
_MIN_SIZE = 10
_MIN_SIZES = 3

# Standard deviation of a loss if all resamples are equal, because all predictions are correct.
_MIN_SD = 1e-3


@dataclass(frozen=True, kw_only=True)
class LearningCurveEstimate:
    """Scores by the number of training samples, and a power law fitted to them.

    Parameters
    ----------
    scoring : {"accuracy", "macro_f1", "log_loss"}
        The score.
    sizes : tuple of int
        Numbers of training samples, in ascending order.
    scores : ndarray of shape (n_repeats, n_sizes)
        Scores on the test part of each repeat.
    n_samples : int
        Number of all samples.
    confidence_level : float
        Confidence level of forecasts.
    laws : PowerLaws
        Power laws of the losses: the first of the mean scores, the others of resamples.
    is_sequential : bool, default=False
        Whether the scores are those of models that were fitted as samples were added.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from cordwood.metrics import estimate_learning_curve
    >>> curve = estimate_learning_curve(GaussianNB(), *load_digits(return_X_y=True))
    >>> round(float(curve.scores.mean(axis=0)[-1]), 2)
    0.85
    >>> curve.forecast(10_000) > 0.8
    True
    """

    scoring: str
    sizes: tuple[int, ...]
    scores: NDArray[np.float64]
    n_samples: int
    confidence_level: float
    laws: PowerLaws
    is_sequential: bool = False

    def forecast(self, n_samples: int) -> Score:
        """Forecast the score of a model that is trained on so many samples.

        Parameters
        ----------
        n_samples : int
            Number of training samples, which may exceed that of the available ones.

        Returns
        -------
        Score
            Score on an infinitely large test set, with its confidence interval.
        """
        return self._find_interval(_to_score(self.laws.predict(n_samples), self.scoring))

    def gain(self, n_samples: int) -> Score:
        """Forecast the difference to the score of a model trained on all available samples.

        Parameters
        ----------
        n_samples : int
            Number of training samples.

        Returns
        -------
        Score
            Difference with its confidence interval; negative for the log loss, which is a loss.
        """
        after, now = self.laws.predict(n_samples), self.laws.predict(self.n_samples)
        return self._find_interval(after - now if self.scoring == "log_loss" else now - after)

    def _find_interval(self, values: NDArray[np.float64]) -> Score:
        tail = (1 - self.confidence_level) / 2
        low, high = np.quantile(values[1:], (tail, 1 - tail)).tolist()
        return Score(float(values[0]), low, high)

    @property
    def method(self) -> str:
        """How the curve was obtained, in one sentence without a period."""
        n_repeats = len(self.scores)
        if self.is_sequential:
            return (
                "out-of-fold scores of models that were fitted as samples were added; inverse "
                f"power law with {self.confidence_level:.0%} intervals"
            )
        return (
            f"fits on nested subsets of {n_repeats} random splits, tested on the other "
            f"{1 / _N_FOLDS:.0%} of the samples; inverse power law with "
            f"{self.confidence_level:.0%} intervals by bootstrap over test samples"
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            The points of the curve, and the forecasts for the number of samples and twice that.
        """
        doubled = 2 * self.n_samples
        return {
            "scoring": self.scoring,
            "n_samples": self.n_samples,
            "sizes": list(self.sizes),
            "scores": self.scores.tolist(),
            "now": self.forecast(self.n_samples).to_dict(),
            "doubled": self.forecast(doubled).to_dict(),
            "gain": self.gain(doubled).to_dict(),
            "confidence_level": self.confidence_level,
            "method": self.method,
        }

    def __str__(self) -> str:
        points = [
            f"{size:>9,}  {mean:.3f}"
            for size, mean in zip(self.sizes, self.scores.mean(axis=0), strict=True)
        ]
        ahead = [f"{n:>9,}  {self.forecast(n)}" for n in (self.n_samples, 2 * self.n_samples)]
        return "\n".join([f"  samples  {self.scoring}", *points, "forecast", *ahead])


def estimate_learning_curve(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    scoring: str = "accuracy",
    shares: Sequence[float] = SHARES,
    n_repeats: int = 3,
    confidence_level: float = 0.95,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> LearningCurveEstimate:
    """Fit a classifier on shares of the samples, and extrapolate its score to more samples.

    Parameters
    ----------
    model : classifier or Pipeline
        Clones of it are fitted.
    X : array-like, sparse matrix, dataframe, Corpus or sequence of texts of length n_samples
        Samples. A dataframe is one of pandas or polars, a table of pyarrow, or a mapping of names
        to columns.
    y : array-like of shape (n_samples,)
        Labels.
    groups : array-like of shape (n_samples,), default=None
        Groups of related samples, which are never split between training and test part.
    scoring : {"accuracy", "macro_f1", "log_loss"}, default="accuracy"
        Score of the curve.
    shares : sequence of float, default=(0.1, 0.18, 0.32, 0.56, 1.0)
        Shares of the training part of each split; the subsets are nested.
    n_repeats : int, default=3
        Number of splits, from 1 to 5. Their test parts are disjoint and contain a fifth of the
        samples each.
    confidence_level : float, default=0.95
        Confidence level of forecasts.
    random_state : int, default=0
        Seed of the splits and of the resamples.
    progress : callable, default=None
        Called with the number of fits that are done and that of all fits.

    Returns
    -------
    LearningCurveEstimate

    See Also
    --------
    sklearn.model_selection.learning_curve : Scores without an extrapolation.

    Notes
    -----
    The loss (one minus the score, or the log loss) with n training samples is modelled by
    ``a + b * n ** -c`` [1]_, with non-negative parameters and a log-normal prior of the exponent c
    around 0.2. Each of 400 bootstrap resamples of the test samples, or groups, is fitted again,
    with a prior mean that is drawn from the prior. docs/scores.md reports how far the forecasts
    were off on known data sets.

    References
    ----------
    .. [1] Cortes, Jackel, Solla, Vapnik, Denker (1993). Learning curves: asymptotic values and rate
       of convergence. NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> curve = estimate_learning_curve(GaussianNB(), X, y)
    >>> curve.sizes
    (143, 258, 459, 804, 1437)
    """
    if any(isinstance(each, set | frozenset) or np.ndim(each) for each in cast(Any, y)):
        raise ValueError("A learning curve requires one label per sample.")
    labels = np.asarray(y)
    if scoring not in SCORINGS:
        raise ValueError(f"scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    if not 1 <= n_repeats <= _N_FOLDS:
        raise ValueError(f"n_repeats must be from 1 to {_N_FOLDS}; got {n_repeats!r}.")
    classes, codes = np.unique(labels, return_inverse=True)
    group_codes = None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    folds = make_folds(_N_FOLDS, codes, group_codes, random_state)[:n_repeats]
    n_train = min(len(train) for train, _ in folds)
    sizes = sorted({int(share * n_train) for share in shares if share * n_train >= _MIN_SIZE})
    if len(sizes) < _MIN_SIZES:
        raise ValueError(
            f"A learning curve needs at least {_MIN_SIZES} sizes of {_MIN_SIZE} samples; the "
            f"training part of {n_train} samples is too small."
        )
    fresh = _without_records(model, has_groups=groups is not None)
    scores = np.empty((len(folds), len(sizes)))
    resampled = np.empty((len(folds), len(sizes), _N_RESAMPLES))
    for repeat, (train, test) in enumerate(folds):
        order = _order_nested(train, codes, group_codes, random_state + repeat)
        test_groups = (
            None if group_codes is None else np.unique(group_codes[test], return_inverse=True)[1]
        )
        for position, size in enumerate(sizes):
            if progress is not None:
                progress(repeat * len(sizes) + position, len(folds) * len(sizes))
            subset = np.sort(order[:size])
            predictions = _fit_predict(fresh, X, labels, group_codes, subset, test, classes)
            sums = sum_one_label(predictions[0], codes[test], predictions[1])
            scores[repeat, position] = sums.compute()[scoring][0]
            # The same seed for all sizes: differences between sizes are paired.
            rng = np.random.default_rng([random_state, repeat])
            resampled[repeat, position] = sums.resample(test_groups, _N_RESAMPLES, rng)[scoring]
    laws = _fit_laws(sizes, scores, resampled, scoring, random_state)
    return LearningCurveEstimate(
        scoring=scoring,
        sizes=tuple(sizes),
        scores=scores,
        n_samples=len(labels),
        confidence_level=confidence_level,
        laws=laws,
    )


def fit_learning_curve(
    sizes: Sequence[int], scores: Sequence[Score], *, random_state: int = 0
) -> LearningCurveEstimate:
    """Fit a power law to the accuracies of models that were fitted as samples were added.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of training samples, in ascending order; at least two.
    scores : sequence of Score
        Accuracy of each model, with its 95 % interval.
    random_state : int, default=0
        Seed of the resamples.

    Returns
    -------
    LearningCurveEstimate

    Notes
    -----
    The errors of the scores are normal, and those of two models are correlated, because the samples
    of the first are among those of the second: by the root of the ratio of their numbers.

    Examples
    --------
    >>> sizes = [50, 100, 200, 400]
    >>> scores = [Score(1 - n**-0.5, 1 - n**-0.5 - 0.02, 1 - n**-0.5 + 0.02) for n in sizes]
    >>> print(f"{fit_learning_curve(sizes, scores).forecast(800):.2f}")
    0.96
    """
    n = np.array(sizes, np.float64)
    values = np.array(scores, np.float64)
    widths = np.array([cast(float, each.high) - cast(float, each.low) for each in scores])
    steps = np.sqrt(np.diff(n, prepend=0.0))[:, None]
    normal = np.random.default_rng(random_state).normal(size=(len(n), _N_RESAMPLES))
    errors = np.cumsum(steps * normal, axis=0) / np.sqrt(n)[:, None]
    spread = widths / (2 * norm.ppf((1 + CONFIDENCE_LEVEL) / 2))
    resampled = np.clip(values[:, None] + spread[:, None] * errors, 0.0, 1.0)
    return LearningCurveEstimate(
        scoring="accuracy",
        sizes=tuple(sizes),
        scores=values[None],
        n_samples=sizes[-1],
        confidence_level=CONFIDENCE_LEVEL,
        laws=_fit_laws(sizes, values[None], resampled[None], "accuracy", random_state),
        is_sequential=True,
    )


def _fit_laws(
    sizes: Sequence[int],
    scores: NDArray[np.float64],
    resampled: NDArray[np.float64],
    scoring: str,
    seed: int,
) -> PowerLaws:
    """Fit a power law to the mean losses of all splits, and to those of each resample."""
    losses = _to_score(np.vstack([scores.mean(axis=0), resampled.mean(axis=0).T]), scoring)
    variances = np.maximum(losses[1:].std(axis=0), _MIN_SD) ** 2
    drawn = np.random.default_rng(seed).normal(PRIOR_MEAN, PRIOR_SD, len(losses) - 1)
    prior_means = np.r_[PRIOR_MEAN, drawn]
    return fit_power_laws(np.array(sizes, np.float64), losses, variances, prior_means)


def _to_score(values: NDArray[np.float64], scoring: str) -> NDArray[np.float64]:
    """Convert a loss to a score, or a score to a loss."""
    return values if scoring == "log_loss" else 1 - values


def _without_records(model: Any, *, has_groups: bool) -> Any:
    """Clone a model, without what takes time and does not affect predictions."""
    fresh = clone(model)
    params = fresh.get_params()
    changed: dict[str, Any] = {
        name: False for name in params if name.split("__")[-1] == "check_leakage"
    }
    # Without out-of-fold predictions, a `TextClassifier` rejects groups that it does not use.
    if "oof" in params and not has_groups:
        changed["oof"] = False
    return fresh.set_params(**changed)


def _take(X: Any, indices: NDArray[np.intp]) -> Any:
    return take_rows(X, indices) if is_table(X) else sklearn_private.take_rows(X, indices)


def _fit_predict(
    model: Any,
    X: Any,
    labels: NDArray[Any],
    groups: NDArray[np.intp] | None,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    classes: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.intp] | None]:
    """Return the probabilities of the test samples, and the classes that a decision chooses."""
    if len(known := np.unique(labels[train])) == 1:  # Many classifiers reject a single class.
        return align_columns(np.ones((len(test), 1)), known, classes), None
    params = {} if groups is None else select_fit_params(model, {"groups": groups[train]})
    with ignore_few_groups():
        fitted = clone(model).fit(_take(X, train), labels[train], **params)
    samples = _take(X, test)
    if not hasattr(fitted, "decision_"):
        return predict_proba(fitted, samples, classes), None
    proba = fitted.predict_proba(samples)
    decided = fitted.classes_[fitted.decision_.apply(proba)]
    return align_columns(proba, fitted.classes_, classes), np.searchsorted(classes, decided)


def _order_nested(
    train: NDArray[np.intp],
    codes: NDArray[np.intp],
    groups: NDArray[np.intp] | None,
    seed: int,
) -> NDArray[np.intp]:
    """Order samples randomly, so that every prefix contains the classes in equal proportions.

    With groups, these are in random order instead, and their samples follow each other.
    """
    rng = np.random.RandomState(seed)
    shuffled = rng.permutation(train)
    if groups is not None:
        rank = rng.permutation(groups.max() + 1)
        return np.asarray(shuffled[rank[groups[shuffled]].argsort(kind="stable")])
    position = np.empty(len(shuffled))
    for code in np.unique(codes[shuffled]):
        members = np.flatnonzero(codes[shuffled] == code)
        position[members] = (np.arange(len(members)) + rng.uniform()) / len(members)
    return np.asarray(shuffled[position.argsort(kind="stable")])
