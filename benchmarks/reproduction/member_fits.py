"""Fit the members of a stack one at a time, and keep their predictions and times in a folder.

All analyses of the members (disagreement, subsets, time of the combiners) read these files, so that
each member is fitted once for each split. The files are for scratch folders: they contain
predictions of every document.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.compare.config.plan import load_plan
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.build_pipeline import build_pipeline
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import load_dataset
from cordwood.oof.engine import fit_estimator, predict_fold
from cordwood.oof.folds import Fold, make_folds
from cordwood.oof.proba import impute_prior, predict_proba
from cordwood.oof.sources import choose_oof_source, oob_or_loo_proba
from stopwatch import measure

PLANS = Path(__file__).parent / "plans"
DEFAULT_FOLDER = Path(tempfile.gettempdir(), "cordwood-member-fits")
N_FOLDS = 5
_N_WARM_UP = 200  # samples

Floats = NDArray[np.float64]


class Seconds(NamedTuple):
    """CPU seconds of a member.

    Parameters
    ----------
    vectorize : float
        Transformation of the training and the test samples.
    fit : float
        Fit on all training samples.
    oof : float
        Out-of-fold predictions as in the stack: out-of-bag, leave-one-out or by cross-validation.
    cv : float
        Out-of-fold predictions by cross-validation. If the stack has others, the time of the first
        fold times the number of folds; NaN if it was not measured.
    predict : float
        Predictions of the test samples.
    """

    vectorize: float = 0.0
    fit: float = 0.0
    oof: float = 0.0
    cv: float = float("nan")
    predict: float = 0.0


class MemberFit(NamedTuple):
    """Predictions and times of a member on one split of a data set.

    Parameters
    ----------
    name : str
        Recipe.
    source : str
        How the out-of-fold predictions were computed: "oob", "loo" or "cv"; "" if they were not.
    vectorizer : str
        Members with the same text share the vectorizer.
    seconds : Seconds
    oof_proba : ndarray of shape (n_train, n_classes)
        Out-of-fold probabilities, with the class prior for missing ones; no rows if not computed.
    test_proba : ndarray of shape (n_test, n_classes)
    """

    name: str
    source: str
    vectorizer: str
    seconds: Seconds
    oof_proba: Floats
    test_proba: Floats


class SplitFits(NamedTuple):
    """All members on one split of a data set.

    Parameters
    ----------
    y_train, y_test : ndarray of str
    members : dict of str to MemberFit
    """

    y_train: NDArray[Any]
    y_test: NDArray[Any]
    members: dict[str, MemberFit]

    def stack_oof(self, names: Sequence[str]) -> Floats:
        """Return the meta-features of the training samples."""
        return np.hstack([self.members[name].oof_proba for name in names])

    def stack_test(self, names: Sequence[str]) -> Floats:
        """Return the meta-features of the test samples."""
        return np.hstack([self.members[name].test_proba for name in names])

    def predict(self, name: str) -> NDArray[Any]:
        """Return the predicted labels of the test samples."""
        codes = self.members[name].test_proba.argmax(axis=1)
        return np.asarray(np.unique(self.y_train)[codes])


def find_trial(name: str, number: int) -> Trial:
    """Return the trial of the nine members of SIGIR 2017 on a fold of a data set."""
    path = PLANS / f"sigir17-stacks-{name}.toml"
    path = path if path.exists() else PLANS / "sigir17-stacks-sentiment.toml"
    plan = load_plan(path, lookup_only=True)
    found = (
        trial
        for trial in list_trials(plan)
        if (trial.dataset, trial.fold, trial.learner) == (name, number, "stack, class_pool")
    )
    trial = next(found, None)
    if trial is None:
        raise SystemExit(f"no plan sigir17-stacks has fold {number} of the data set {name!r}")
    return trial


def load_split(trial: Trial) -> tuple[Any, Any]:
    """Return the training and the test samples of a trial."""
    data = load_dataset(trial.dataset)
    evaluation = EvaluationConfig(**trial.evaluation)
    chosen = split(data, evaluation, trial.seed)[trial.fold]
    return data.select(chosen.train), data.select(chosen.test)


def make_members(trial: Trial, extra: Sequence[str]) -> dict[str, Pipeline]:
    """Return the members of a trial, and further recipes as members of the same stack."""
    pipeline = build_pipeline(trial, Corpus(texts=(), ids=(), labels=()), trial.seed, {})
    members = dict(pipeline["classifier"].estimators)
    if extra:
        stack = recipes.make(
            "stack_sigir17",
            members=list(extra),
            vectorizer_params=trial.vectorizer,
            random_state=trial.seed,
        )
        members |= dict(stack["classifier"].estimators)
    return members


def fit_members(
    name: str,
    folder: Path,
    *,
    number: int = 0,
    extra: Sequence[str] = (),
    time_cv: bool = False,
) -> SplitFits:
    """Fit the nine members of SIGIR 2017, and others for their test predictions only.

    Parameters
    ----------
    name : str
        Data set of a plan of stacks.
    folder : Path
        Members with a file in this folder are not fitted again.
    number : int, default=0
        Fold.
    extra : sequence of str
        Recipes of further members.
    time_cv : bool, default=False
        Whether to measure the time of cross-validation of members that the stack does not
        cross-validate.

    Returns
    -------
    SplitFits
    """
    trial = find_trial(name, number)
    train, test = load_split(trial)
    y_train, y_test = np.array(train.labels), np.array(test.labels)
    folds = make_stack_folds(y_train, trial.seed)
    folder.mkdir(parents=True, exist_ok=True)
    members = {}
    vectorized: dict[str, tuple[float, Any, Any]] = {}
    with threadpool_limits(1):
        for member, pipeline in make_members(trial, extra).items():
            path = folder / f"{name}-{number}-{member}.npz"
            if not _is_complete(path, needs_cv=time_cv and member not in extra):
                print(f"{name}, fold {number}: {member}", flush=True)
                _warm_up(pipeline, train)
                key = repr(pipeline[:-1])
                if key not in vectorized:
                    vectorized[key] = _vectorize(pipeline, train.texts, test.texts)
                seconds, X_train, X_test = vectorized[key]
                fit = fit_member(
                    pipeline[-1],
                    X_train,
                    y_train,
                    X_test,
                    folds=[] if member in extra else folds,
                    time_cv=time_cv,
                )
                times = fit.seconds._replace(vectorize=seconds)
                _write(path, fit._replace(name=member, vectorizer=key, seconds=times))
            members[member] = _read(path)
    return SplitFits(y_train, y_test, members)


def make_stack_folds(y: NDArray[Any], seed: int) -> list[Fold]:
    """Return the folds of a stack with this random_state."""
    fold_seed = check_random_state(seed).randint(np.iinfo(np.int32).max, size=4)[0]
    return make_folds(N_FOLDS, np.unique(y, return_inverse=True)[1], None, int(fold_seed))


def _is_complete(path: Path, *, needs_cv: bool) -> bool:
    return path.exists() and not (needs_cv and np.isnan(_read(path).seconds.cv))


def _warm_up(pipeline: Pipeline, train: Any) -> None:
    """Fit and predict a few samples, to exclude compilation from the times."""
    few = train.select(np.linspace(0, len(train) - 1, _N_WARM_UP, dtype=int))
    clone(pipeline).fit(few.texts, np.array(few.labels)).predict(few.texts)


def _vectorize(pipeline: Pipeline, train: Any, test: Any) -> tuple[float, Any, Any]:
    vectorizer = clone(pipeline[:-1])
    fit_seconds, X_train = _measure(vectorizer.fit_transform, train)
    seconds, X_test = _measure(vectorizer.transform, test)
    return fit_seconds + seconds, X_train, X_test


def fit_member(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    X_test: Any,
    *,
    folds: Sequence[Fold],
    time_cv: bool,
) -> MemberFit:
    """Fit an unfitted classifier, and predict the training samples only if there are folds."""
    classes, codes = np.unique(y, return_inverse=True)
    fit_seconds, fitted = _measure(fit_estimator, estimator, X, y, {})
    predict_seconds, test_proba = _measure(predict_proba, fitted, X_test, classes)
    seconds = Seconds(fit=fit_seconds, predict=predict_seconds)
    if not folds:
        return MemberFit("", "", "", seconds, np.empty((0, len(classes))), test_proba)
    source = choose_oof_source(estimator, "unbiased", has_groups=False)
    if source == "cv":
        parts = [_measure(predict_fold, estimator, X, y, {}, fold, classes) for fold in folds]
        oof = np.empty((len(y), len(classes)))
        for (_, test), (_, proba) in zip(folds, parts, strict=True):
            oof[test] = proba
        cv_seconds = sum(part for part, _ in parts)
        seconds = seconds._replace(oof=cv_seconds, cv=cv_seconds)
    else:
        oof_seconds, oof = _measure(oob_or_loo_proba, fitted, source, None, classes)
        seconds = seconds._replace(oof=oof_seconds)
        if time_cv:
            first, _ = _measure(predict_fold, estimator, X, y, {}, folds[0], classes)
            seconds = seconds._replace(cv=first * len(folds))
    oof, _ = impute_prior(oof, np.bincount(codes) / len(codes))
    return MemberFit("", source, "", seconds, oof, test_proba)


def _measure(function: Any, *arguments: Any) -> tuple[float, Any]:
    seconds, result = measure(function, *arguments, clock=time.process_time)
    return float(seconds), result


def _write(path: Path, fit: MemberFit) -> None:
    scratch = path.with_suffix(".tmp.npz")
    np.savez(scratch, **{**fit._asdict(), "seconds": np.array(fit.seconds)})
    scratch.replace(path)


def _read(path: Path) -> MemberFit:
    with np.load(path, allow_pickle=False) as stored:
        return MemberFit(
            str(stored["name"]),
            str(stored["source"]),
            str(stored["vectorizer"]),
            Seconds(*stored["seconds"].tolist()),
            stored["oof_proba"],
            stored["test_proba"],
        )
