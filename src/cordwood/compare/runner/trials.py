"""Trials: the independent runs of a comparison, each one learner on one split of one data set.

A trial contains everything that determines its result except the data, and is plain JSON.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cordwood import recipes
from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import DatasetConfig, LearnerConfig

# Part of every key: to be incremented when a changed rule gives the same trial another result.
_SCHEME = 1

# Fields that do not determine the result.
_LABELS = ("dataset", "learner")
# Paths on this computer, and what has an entry for each of its own fields.
_NOT_IN_JSON = ("estimator_folder", "procedure", "extra")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One learner on one split of one data set into training and test set."""

    dataset: str
    learner: str
    repeat: int
    fold: int
    train_fraction: float
    # Exactly one of them is set.
    recipe: str | None = None
    estimator: str | None = None
    # By full names, without parameters of vectorizers if the data are numeric.
    params: dict[str, Any]
    grid: dict[str, list[Any]]
    # Empty for numeric data and for recipes with a vectorizer of their own.
    vectorizer: dict[str, Any]
    # Only what affects the result: neither the number of repeats nor options that are not set.
    evaluation: dict[str, Any]
    # With the metric; empty if nothing is tuned.
    tuning: dict[str, Any]
    seed: int
    category: str | None = None
    weighting: str | None = None
    scaler: str | None = None
    estimator_folder: str | None = None
    procedure: str | None = None  # see `cordwood.compare.runner.procedure`
    extra: dict[str, Any] = field(default_factory=dict)  # further fields, of the procedure

    @property
    def is_stack(self) -> bool:
        """Whether the learner is a recipe that stacks other recipes."""
        return self.recipe is not None and bool(recipes.find(self.recipe).members)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON, without optional fields that are not set."""
        own = {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in _NOT_IN_JSON
        }
        return {**own, **self.extra}


def make_trials(plan: Plan) -> tuple[Trial, ...]:
    """List the trials of a plan by data set, repeat, fold, training fraction and learner."""
    # All learners run on one split before the next split, so that the results of an interrupted
    # comparison are comparable.
    evaluation = plan.evaluation
    return tuple(
        _make_trial(plan, dataset, learner, repeat, fold, fraction)
        for dataset in plan.datasets
        for repeat in range(evaluation.repeats)
        for fold in range(evaluation.folds)
        for fraction in evaluation.train_fractions
        for learner in plan.learners
    )


def trial_key(trial: Trial, fingerprint: str) -> str:
    """Return the key of a trial's result on data with a fingerprint, 64 hexadecimal digits.

    It does not depend on the names of data set and learner, on `n_jobs`, nor on parts of the plan
    that the trial does not use.
    """
    content = {name: value for name, value in trial.to_json().items() if name not in _LABELS}
    for name in ("params", "grid"):
        content[name] = without_jobs(content[name])
    content.update(data=fingerprint, scheme=_SCHEME)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def learner_seed(trial: Trial, key: str) -> int:
    """Return the random state of a trial's learner."""
    # Derived from the key, so that results depend neither on the order nor on the selection of
    # trials. Stacks use the plan's seed, because they can share the fits of their members only if
    # these have the same random state.
    return trial.seed if trial.is_stack else int(key, 16) % 2**31


def without_jobs(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without any `n_jobs`: a trial runs in one thread."""
    return {
        param: value for param, value in params.items() if param.rpartition("__")[2] != "n_jobs"
    }


def _make_trial(
    plan: Plan,
    dataset: DatasetConfig,
    learner: LearnerConfig,
    repeat: int,
    fold: int,
    train_fraction: float,
) -> Trial:
    numeric = dataset.kind == "numeric"
    grid = _select_params({**learner.grid, **(learner.numeric_grid if numeric else {})}, numeric)
    return Trial(
        dataset=dataset.name,
        learner=learner.name,
        repeat=repeat,
        fold=fold,
        train_fraction=float(train_fraction),
        recipe=learner.recipe,
        estimator=learner.estimator,
        params=_select_params(learner.params, numeric),
        grid=grid,
        vectorizer=dict(dataset.vectorizer) if _uses_vectorizer_params(learner) else {},
        # Without options that are not set, so that new options keep existing keys.
        evaluation=plan.evaluation.model_dump(
            include={"kind", "folds", "test_size"}, exclude_none=True
        ),
        tuning=plan.tuning.model_dump(exclude_none=True) | {"metric": plan.metric} if grid else {},
        seed=plan.seed,
        category=dataset.category,
        weighting=None if numeric else learner.weighting,
        scaler=learner.scaler if numeric else None,
        estimator_folder=learner._folder,
        procedure=plan.procedure,
    )


def _uses_vectorizer_params(learner: LearnerConfig) -> bool:
    return learner.recipe is None or recipes.find(learner.recipe).vectorizer is None


def _select_params(params: Mapping[str, Any], numeric: bool) -> dict[str, Any]:
    """Remove the parameters of vectorizers if the data are numeric."""
    return {
        param: value
        for param, value in params.items()
        if not numeric or "vectorizer" not in param.split("__")[:-1]
    }
