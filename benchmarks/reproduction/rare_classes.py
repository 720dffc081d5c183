"""The procedure of ICML 2003: boosting rounds, discarded positives, thresholds, an upper bound.

The protocol `icml03` names it; plans request its parts in the table `options`:

- `rounds`: boosting rounds after which learners with `staged_predict` are also scored, on the
  training and the test set; `rounds` of the record has their numbers `n` and the scores `train` and
  `test`;
- `max_positives`: numbers of training samples of the category; further ones are discarded at
  random, independently in each of the `repeats` of the evaluation;
- `threshold`: whether the decision threshold is tuned too, by cross-validation, instead of 0.5;
- `tune_on_test`: whether to tune on the test set itself, which gives an upper bound.

Records of rule-based learners have `n_words`, the number of distinct words of their rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid

from cordwood.compare.config.plan import Plan
from cordwood.compare.runner.cv_splits import Split, derive_seed
from cordwood.compare.runner.procedure import Procedure
from cordwood.compare.runner.trial_scores import (
    category_proba,
    category_scores,
    compute_scores,
)
from cordwood.compare.runner.trials import Trial
from cordwood.compare.runner.tuning import (
    MakePipeline,
    TunedParams,
    fit_predict,
    is_grouped,
    make_inner_splits,
    pool_folds,
    select_best,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.predictions import Predictions

DEFAULT_THRESHOLD = 0.5
"""Decision threshold of a probability if none is tuned."""

_OPTIONS = ("max_positives", "rounds", "threshold", "tune_on_test")
_TINY = 1e-300  # in place of a denominator of zero


class RareClasses(Procedure):
    """Trials of one category against the rest, as in ICML 2003 and beyond."""

    def check(self, plan: Plan) -> Iterator[str]:
        """Yield the errors of a plan's options."""
        options = plan.options
        for name in options.keys() - set(_OPTIONS):
            yield f"options: there is no key {name!r}; keys are: {', '.join(_OPTIONS)}"
        for name in ("max_positives", "rounds"):
            counts = options.get(name, ())
            if sorted(set(counts)) != list(counts) or min(counts, default=1) < 1:
                yield f"options.{name} must be strictly increasing positive integers"
        needs_category = any(name in options for name in ("max_positives", "threshold"))
        for dataset in plan.datasets:
            if needs_category and dataset.category is None:
                yield f"options need a category, and data set {dataset.name!r} has none"
        if options.get("threshold") and (plan.metric, plan.tuning.kind) != ("f1", "cv"):
            yield "options.threshold needs metric = 'f1' and tuning.kind = 'cv'"
        if options.get("threshold") and options.get("tune_on_test"):
            yield "options.threshold and tune_on_test exclude each other; remove one"
        if options.get("max_positives"):
            if plan.evaluation.train_fractions != (1.0,):
                yield "train_fractions and options.max_positives exclude each other; remove one"
        elif plan.evaluation.kind == "fixed" and plan.evaluation.repeats != 1:
            yield "evaluation repeats has no effect with kind = 'fixed'; leave it out"

    def list_trials(self, plan: Plan) -> tuple[Trial, ...]:
        """List the trials, for each number of positives those of all learners."""
        options, n_learners = plan.options, len(plan.learners)
        trials = super().list_trials(plan)
        rounds = {"rounds": options["rounds"]} if options.get("rounds") else {}
        positives = [{"max_positives": n} for n in options.get("max_positives", ())] or [{}]
        return tuple(
            replace(
                trial,
                evaluation=trial.evaluation | rounds,
                tuning=_make_tuning(trial, plan),
                extra=extra,
            )
            for start in range(0, len(trials), n_learners)
            for extra in positives
            for trial in trials[start : start + n_learners]
        )

    def split(self, trial: Trial, data: Corpus | FeatureMatrix, split: Split) -> Split:
        """Discard training samples of the category."""
        found = super().split(trial, data, split)
        n_kept = trial.extra.get("max_positives")
        if n_kept is None or trial.category is None:
            return found
        return limit_category(data, found, trial.category, n_kept, trial.repeat, trial.seed)

    def tune(
        self,
        trial: Trial,
        make_pipeline: MakePipeline,
        train: Corpus | FeatureMatrix,
        test: Corpus | FeatureMatrix,
    ) -> TunedParams:
        """Tune on the test set, or the threshold too, if the trial says so."""
        candidates = list(ParameterGrid(trial.grid))
        if trial.tuning.get("kind") == "test":
            scores = np.empty(len(candidates))
            for i, found in fit_predict(make_pipeline, candidates, train, test, grouped=False):
                scores[i] = compute_scores(test, found, trial.category)[trial.tuning["metric"]]
            return select_best(candidates, scores, "test")
        if not trial.tuning.get("threshold"):
            return super().tune(trial, make_pipeline, train, test)
        splits = make_inner_splits(trial, train)
        y_true, probas, weights = pool_folds(
            make_pipeline, candidates, train, splits, trial.category, grouped=is_grouped(trial)
        )
        thresholds = [find_best_threshold(y_true, proba, weights) for proba in probas]
        f1 = [
            category_scores(y_true, proba > threshold, weights).f1
            for proba, threshold in zip(probas, thresholds, strict=True)
        ]
        best = select_best(candidates, f1, "cv")
        return best._replace(extra={"threshold": thresholds[int(np.argmax(f1))]})

    def decide(self, trial: Trial, tuned: TunedParams, predictions: Predictions) -> Predictions:
        """Predict the category above a tuned threshold, and the other class below."""
        if "threshold" not in tuned.extra:
            return predictions
        classes = predictions.classes
        is_category = classes == trial.category
        above = category_proba(predictions, trial.category) > tuned.extra["threshold"]
        labels = classes[np.where(above, np.argmax(is_category), np.argmin(is_category))]
        return Predictions(labels=labels, proba=predictions.proba, classes=classes)

    def describe(
        self, trial: Trial, classifier: Any, **samples: tuple[Any, Corpus | FeatureMatrix]
    ) -> dict[str, Any]:
        """Count the words of rules, and score boosting rounds."""
        described: dict[str, Any] = {}
        if hasattr(classifier, "rules_"):
            words = {rule.feature for rules in classifier.rules_ for rule in rules}
            described["n_words"] = len(words)
        if trial.evaluation.get("rounds") and hasattr(classifier, "staged_predict"):
            described["rounds"] = _score_rounds(trial, classifier, samples)
        return described


def _score_rounds(
    trial: Trial, classifier: Any, samples: Mapping[str, tuple[Any, Corpus | FeatureMatrix]]
) -> dict[str, Any]:
    """Score training and test samples after the requested and the last boosting rounds."""
    requested = trial.evaluation["rounds"]
    classes = np.asarray(classifier.classes_)
    rounds: dict[str, Any] = {}

    def score_stage(data: Corpus | FeatureMatrix, labels: NDArray[Any]) -> dict[str, float]:
        unknown = np.zeros((len(labels), len(classes)))
        found = Predictions(labels=labels, proba=unknown, classes=classes)
        return compute_scores(data, found, trial.category)

    for name, (X, data) in samples.items():
        stages: dict[int, dict[str, float]] = {}
        y_pred, n = classes, 0
        staged = islice(classifier.staged_predict(X), requested[-1])
        for n, y_pred in enumerate(staged, start=1):
            if n in requested:
                stages[n] = score_stage(data, y_pred)
        if n not in stages:
            stages[n] = score_stage(data, y_pred)
        rounds["n"] = list(stages)
        rounds[name] = {
            metric: [scores[metric] for scores in stages.values()] for metric in stages[n]
        }
    return rounds


def _make_tuning(trial: Trial, plan: Plan) -> dict[str, Any]:
    """Return the tuning of a trial; a threshold is tuned without a grid as well."""
    if plan.options.get("threshold"):
        folds = plan.tuning.folds
        return {"kind": "cv", "folds": folds, "threshold": True, "metric": plan.metric}
    if trial.tuning and plan.options.get("tune_on_test"):
        return trial.tuning | {"kind": "test"}
    return trial.tuning


def limit_category(
    data: Corpus | FeatureMatrix, split: Split, category: str, n_kept: int, repeat: int, seed: int
) -> Split:
    """Keep at most `n_kept` random training samples of a category, and all of other classes.

    Larger samples of a repeat contain the smaller ones; repeats are independent of each other.

    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> limited = limit_category(corpus, Split(np.arange(6), np.arange(0)), "a", 1, 0, seed=0)
    >>> [corpus.labels[index] for index in limited.train]
    ['a', 'b', 'b']
    """
    labels = data.labels or ()
    in_category = np.array([labels[index] == category for index in split.train], dtype=bool)
    random = np.random.RandomState(derive_seed(f"positives {repeat}", seed))
    kept = random.permutation(split.train[in_category])[:n_kept]
    return Split(np.sort(np.concatenate([split.train[~in_category], kept])), split.test)


def find_best_threshold(
    y_true: NDArray[np.bool_],
    proba: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None = None,
) -> float:
    """Find the threshold above which predicting the category maximizes F1.

    Of equally good thresholds, the one nearest to `DEFAULT_THRESHOLD`, which is where it differs
    from the one that `optimize="f1"` finds.

    >>> float(find_best_threshold(np.array([True, True, False]), np.array([0.9, 0.3, 0.1])))
    0.2
    """
    weights = np.ones(len(proba)) if sample_weight is None else sample_weight
    order = np.argsort(-proba, kind="stable")
    ranked = proba[order].astype(np.float64)
    n_correct = np.cumsum((weights * y_true)[order])
    f1 = 2 * n_correct / np.maximum(weights @ y_true + np.cumsum(weights[order]), _TINY)
    lower = np.append(ranked[1:], 0.0)
    f1[ranked <= lower] = 0.0  # no threshold separates equal probabilities
    best = f1.max(initial=0.0)
    if best == 0.0:
        return DEFAULT_THRESHOLD
    candidates = np.flatnonzero(f1 >= best * (1 - 1e-12))
    low, high = lower[candidates], ranked[candidates]
    if ((low <= DEFAULT_THRESHOLD) & (DEFAULT_THRESHOLD < high)).any():
        return DEFAULT_THRESHOLD
    midpoints = (low + high) / 2
    return float(midpoints[np.argmin(np.abs(midpoints - DEFAULT_THRESHOLD))])
