"""Data-leakage check: do out-of-fold predictions owe their accuracy to duplicates?

If the training set contains duplicates, the out-of-fold prediction of a sample may come from
estimators that were trained on its duplicate. The final estimator then overestimates the base
estimator, and the accuracy of new samples, which have no duplicates, is lower than that of the
out-of-fold predictions. Related samples are duplicates, near-duplicates and samples of the same
group. The check holds some of those with related ones out, together with these, fits the stack on
all other samples, and compares its predictions with the out-of-fold ones of the same samples.

Large training sets are checked on a subsample first, because most have no leakage. A subsample
overestimates it: the fewer samples a class has, the more does one related sample matter.
"""

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cordwood._base.sklearn_private import take_rows
from cordwood._base.wording import join_names, shorten_line
from cordwood.oof.engine import index_params
from cordwood.oof.groups import ignore_few_groups
from cordwood.stacking.related_samples import RelatedSamples, find_related

_N_TRAIN, _N_TEST, _N_FOLDS = 1000, 500, 5

# More samples take longer, but do not make the difference more certain, which is that of `_N_TEST`.
_MAX_SAMPLES = 100_000

# Share of the samples that are held out at most, so that the others are nearly as many as in the
# folds of the stack.
_MAX_HELD_OUT = 0.2

# This many trees or boosting rounds reveal leakage by duplicates as well as hundreds do.
_MAX_ESTIMATORS = 50

# A difference of accuracy above this many standard errors is reported as leakage: less than one
# false alarm in 1,000 checks of ten base estimators.
_MAX_STANDARD_ERRORS = 4.0

# Leakage of samples with duplicates is reported if it changes the accuracy of all samples by this.
_MIN_DIFFERENCE = 0.01

_MAX_CHARS = 60


def measure_oof_optimism(
    stack: Any, X: Any, y: NDArray[Any], fit_params: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """Measure how much out-of-fold accuracy of a fitted stack is due to related samples."""
    rng = np.random.RandomState(seed)
    related = find_related(X, fit_params.get("groups"), rng)
    share = float(related.is_related[related.is_query].mean())
    names = list(stack.named_estimators_)
    if share <= _MIN_DIFFERENCE:  # Too few to matter.
        return dict.fromkeys(names, 0.0)
    data = _TrainingSet(X, y, fit_params, related)
    if len(y) > _N_TRAIN + _N_TEST:
        found = _measure_in_subsample(stack, data, rng)
        if not found.is_leaking(share).any():
            return found.to_dict(names, share)
    found = (
        _measure_with_fewer(stack, data, rng)
        if len(y) > _MAX_SAMPLES
        else _measure_without_related(stack, data, rng)
    )
    if found.is_leaking(share).any():
        warnings.warn(_describe(found, share, names, data), stacklevel=4)
    return found.to_dict(names, share)


class _TrainingSet(NamedTuple):
    """Training set of the stack."""

    X: Any
    y: NDArray[Any]
    fit_params: Mapping[str, Any]
    related: RelatedSamples

    def can_compare(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> bool:
        """Return whether there are classes to distinguish, and samples to predict."""
        class_sizes = np.unique(self.y[train], return_counts=True)[1]
        return len(test) > 0 and len(class_sizes) > 1 and bool(class_sizes.max() > 1)

    def fit(self, model: Any, samples: NDArray[np.intp]) -> Any:
        """Fit a model on some of the samples."""
        params = index_params(self.fit_params, samples, len(self.y))
        with ignore_few_groups():
            return model.fit(take_rows(self.X, samples), self.y[samples], **params)


class _Optimism(NamedTuple):
    """Differences of accuracy of samples with related ones: of each base estimator, and the stack.

    Where the samples cannot be compared, there are none.
    """

    difference: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    example: int = -1  # a sample that only an estimator that knows a related one predicts correctly

    def is_leaking(self, share: float) -> NDArray[np.bool_]:
        """Return whether the differences are significant, and matter to all samples."""
        return np.asarray(
            (self.difference > _MAX_STANDARD_ERRORS * self.standard_error)
            & (share * self.difference > _MIN_DIFFERENCE)
        )

    def to_dict(self, names: Sequence[str], share: float) -> dict[str, float]:
        """Return the differences of all samples."""
        amounts = (share * self.difference).tolist()
        return dict(zip(names, amounts, strict=False))


_NOT_MEASURED = _Optimism(np.zeros(0), np.zeros(0))


def _measure_in_subsample(stack: Any, data: _TrainingSet, rng: np.random.RandomState) -> _Optimism:
    """Compare out-of-fold predictions with predictions of other samples, in a subsample."""
    train, test = _subsample(data.related, data.y, rng)
    if not data.can_compare(train, test):
        return _NOT_MEASURED
    small = data.fit(_make_small_stack(stack, rng), train)
    cluster, is_related, _ = data.related
    oof = _is_correct(small.meta_features_, data.y[train], small.classes_)[is_related[train]]
    probas = np.asarray(small.transform(take_rows(data.X, test)))
    new = _is_correct(probas, data.y[test], small.classes_)
    oof_mean, oof_variance = _mean_and_variance(oof, cluster[train[is_related[train]]])
    new_mean, new_variance = _mean_and_variance(new, cluster[test])
    return _Optimism(oof_mean - new_mean, np.sqrt(oof_variance + new_variance))


def _measure_with_fewer(stack: Any, data: _TrainingSet, rng: np.random.RandomState) -> _Optimism:
    """Fit the stack on fewer samples, of whole clusters, and measure without related ones there."""
    cluster, is_related, is_query = data.related
    has_query = np.isin(cluster, cluster[is_query])
    ordered = [_shuffle_clusters(mask, cluster, rng) for mask in (has_query, ~has_query)]
    chosen = np.sort(np.concatenate(ordered)[:_MAX_SAMPLES])
    model = _clone(stack, rng)
    if not isinstance(model.cv, Integral | str):
        model.set_params(cv=_N_FOLDS)  # Indices of given folds refer to all samples.
    fewer = _TrainingSet(
        take_rows(data.X, chosen),
        data.y[chosen],
        index_params(data.fit_params, chosen, len(data.y)),
        RelatedSamples(
            np.unique(cluster[chosen], return_inverse=True)[1],
            is_related[chosen],
            is_query[chosen],
        ),
    )
    found = _measure_without_related(data.fit(model, chosen), fewer, rng)
    return found._replace(example=int(chosen[found.example]))


def _measure_without_related(
    stack: Any, data: _TrainingSet, rng: np.random.RandomState
) -> _Optimism:
    """Compare the predictions of held-out samples with their out-of-fold predictions."""
    train, test = _hold_out(data.related, data.y, rng)
    if not data.can_compare(train, test):
        return _NOT_MEASURED
    model = data.fit(_clone(stack, rng).set_params(cv=2), train)
    rows = take_rows(data.X, test)
    n_members, n_classes = len(stack.named_estimators_), len(stack.classes_)
    probas = np.zeros((len(test), n_members, n_classes))
    probas[:, :, np.isin(stack.classes_, model.classes_)] = np.asarray(
        model.transform(rows)
    ).reshape(len(test), n_members, -1)
    is_correct = [
        np.column_stack(
            [
                _is_correct(features, data.y[test], stack.classes_),
                _predict_final(stack, features, rows) == data.y[test],
            ]
        )
        for features in (stack.meta_features_[test], probas.reshape(len(test), -1))
    ]
    gains = is_correct[0].astype(np.float64) - is_correct[1]
    mean, variance = _mean_and_variance(gains, data.related.cluster[test])
    return _Optimism(mean, np.sqrt(variance), int(test[gains.sum(axis=1).argmax()]))


def _predict_final(stack: Any, probas: NDArray[np.float64], X: Any) -> NDArray[Any]:
    """Predict by the final estimator, given the probabilities of the base estimators."""
    return np.asarray(stack.final_estimator_.predict(stack._add_features(probas, X)))


def _mean_and_variance(
    values: NDArray[Any], cluster: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and their variances; samples of a cluster are not independent.

    The variance of a few equal values is not zero: it is increased as if one cluster in
    sqrt(n_clusters) of them were different.
    """
    mean = values.mean(axis=0)
    codes = np.unique(cluster, return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, values.shape[1]))
    np.add.at(sums, codes, values - mean)
    return mean, (sums**2).sum(axis=0) / len(values) ** 2 + 1 / len(sums) ** 2


def _clone(stack: Any, rng: np.random.RandomState) -> Any:
    """Clone the stack without the base estimators that it has pruned."""
    kept = [each for each in clone(stack).estimators if each[0] in stack.named_estimators_]
    model = clone(stack).set_params(
        estimators=kept,
        anchor=[name for name, _ in kept if name in stack._anchors],
        check_leakage=False,
        prune_tol=0.0,
        random_state=rng,
    )
    if hasattr(model, "set_callbacks"):
        model.set_callbacks()  # Clones keep callbacks, but this fit is not the user's.
    return model


def _make_small_stack(stack: Any, rng: np.random.RandomState) -> Any:
    """Clone the stack with fewer trees or boosting rounds."""
    small = _clone(stack, rng)
    small.set_params(
        **{
            name: _MAX_ESTIMATORS
            for name, value in small.get_params().items()
            if name.endswith("n_estimators")
            and isinstance(value, Integral)
            and int(value) > _MAX_ESTIMATORS
        }
    )
    if not isinstance(small.cv, Integral):
        small.set_params(cv=_N_FOLDS)  # Indices of given folds refer to all samples.
    return small


def _subsample(
    related: RelatedSamples, y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw training samples, half of them with related ones, and test samples with related ones.

    Clusters stay together, and test samples are of the same classes.
    """
    cluster, is_related, is_query = related
    drawn = np.isin(cluster, cluster[is_query])
    others, relatives = (
        _shuffle_clusters(drawn & (is_related == value), cluster, rng) for value in (False, True)
    )
    total = _N_TRAIN + _N_TEST
    n_samples = min(len(relatives), max(total // 2, total - len(others)))
    n_train = 2 * n_samples // 3
    while 0 < n_train < len(relatives) and (
        cluster[relatives[n_train]] == cluster[relatives[n_train - 1]]
    ):
        n_train += 1
    train = np.concatenate([relatives[:n_train], others[: max(_N_TRAIN - n_train, 0)]])
    test = relatives[n_train : max(n_samples, n_train)]
    return np.sort(train), np.sort(test[np.isin(y[test], y[train])])


def _hold_out(
    related: RelatedSamples, y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the samples to fit on, and test samples of their classes, of whole clusters."""
    cluster, is_related, is_query = related
    is_drawn = is_related & np.isin(cluster, cluster[is_query])
    indices = _shuffle_clusters(is_drawn, cluster, rng)
    limit = min(_N_TEST, int(_MAX_HELD_OUT * len(y)))
    if len(indices) > limit:  # without the last cluster, which may be held out in part
        indices = indices[:limit][cluster[indices[:limit]] != cluster[indices[limit]]]
    train = np.setdiff1d(np.arange(len(y)), indices)
    return train, np.sort(indices[np.isin(y[indices], y[train])])


def _shuffle_clusters(
    mask: NDArray[np.bool_], cluster: NDArray[np.intp], rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Return the indices of a mask, ordered by clusters in random order."""
    indices = np.flatnonzero(mask)
    order = rng.permutation(cluster.max() + 1)[cluster[indices]]
    return indices[order.argsort(kind="stable")]


def _describe(found: _Optimism, share: float, names: Sequence[str], data: _TrainingSet) -> str:
    """Return the warning: what was found, an example, what it means and what to do."""
    cluster = data.related.cluster
    relatives = np.flatnonzero(cluster == cluster[found.example])
    other = int(relatives[relatives != found.example][0])
    pair = " and ".join(_quote(data.X, i) for i in sorted([found.example, other]))
    *of_members, of_stack = 100 * share * found.difference
    amounts = [
        f"{name!r} by {value:.1f}"
        for name, value, is_leaking in zip(
            names, of_members, found.is_leaking(share)[:-1], strict=True
        )
        if is_leaking
    ]
    return (
        f"{share:.0%} of the samples have duplicates or near-duplicates, such as {pair}, which "
        "makes out-of-fold predictions more accurate: in percentage points, those of the stack by "
        f"{max(of_stack, 0.0):.1f}{', those of ' if amounts else ''}{join_names(amounts)}. If new "
        "samples are duplicates of samples in X as often, scores are right. If not, they are that "
        "much too high: pass groups to fit (--group on the command line), which keep related "
        "samples in the same fold; for texts, find_near_duplicates(X).cluster are such groups."
    )


def _quote(X: Any, index: int) -> str:
    """Return the position of a sample, and the beginning of a text."""
    sample = X[index] if getattr(X, "ndim", 1) == 1 and not hasattr(X, "tocsr") else None
    quoted = f" ({shorten_line(sample, _MAX_CHARS)!r})" if isinstance(sample, str) else ""
    return f"{index}{quoted}"


def _is_correct(
    probas: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return whether the most probable class is the label: shape (n_samples, n_estimators)."""
    predictions = probas.reshape(len(probas), -1, len(classes)).argmax(axis=2)
    return np.asarray(classes[predictions] == y[:, None])
