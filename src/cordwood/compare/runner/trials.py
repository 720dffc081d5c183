"""Trials: the independent runs of a comparison, each one learner on one split of one data set.

A trial contains everything that determines its result except the data, and is plain JSON.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood.compare.config.external_estimator import make_pipeline
from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import (
    DatasetConfig,
    EvaluationConfig,
    LearnerConfig,
    TuningConfig,
)

# Part of every key: to be incremented when a changed rule gives the same trial another result.
_SCHEME = 1

# Fields that do not determine the result.
_LABELS = ("dataset", "learner")
_NOT_IN_JSON = ("estimator_folder",)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One learner on one split of one data set into training and test set.

    Parameters
    ----------
    dataset, learner : str
        Names in the plan.
    repeat, fold : int
        Which split, both from 0; see `cordwood.compare.runner.cv_splits.split`.
    train_fraction : float
        Fraction of the training set to fit on.
    recipe : str, optional
        Name of the recipe, if the learner is one.
    estimator : str, optional
        Import path of the classifier, if the learner is no recipe:
        ``"package.module:Class"`` or ``"file.py:function"``.
    params : dict
        Parameters of the pipeline by their full names, without those of vectorizers on numeric
        data.
    grid : dict of str to list
        Values to choose from, likewise; empty if nothing is tuned.
    vectorizer : dict
        Parameters of the `TextVectorizer`; empty for numeric data and for recipes with a
        vectorizer of their own.
    evaluation : dict
        `kind` and `folds` of the plan's evaluation, and `test_size` and `rounds` if they are set.
    tuning : dict
        `kind` and `folds` of the plan's tuning, the `metric`, and `threshold` and `sample` if they
        are set; empty if nothing is tuned.
    seed : int
        The plan's seed.
    category : str, optional
        The positive class, if the data set has a category.
    max_positives : int, optional
        Maximum number of training samples of the positive class.
    weighting, scaler : str, optional
        Default term weighting of text, and scaling of numeric data, before an `estimator`.
    estimator_folder : str, optional
        Folder of the estimator's file on this computer; neither part of the JSON nor of the key.

    Examples
    --------
    >>> from cordwood.compare.config.plan import parse_plan
    >>> plan = parse_plan(
    ...     {"datasets": [{"name": "docstrings"}], "learners": [{"recipe": "svm"}]}
    ... )
    >>> trial = list_trials(plan)[0]
    >>> trial.dataset, trial.learner, trial.repeat, trial.fold, trial.train_fraction
    ('docstrings', 'svm', 0, 0, 1.0)
    """

    dataset: str
    learner: str
    repeat: int
    fold: int
    train_fraction: float
    recipe: str | None = None
    estimator: str | None = None
    params: dict[str, Any]
    grid: dict[str, list[Any]]
    vectorizer: dict[str, Any]
    evaluation: dict[str, Any]
    tuning: dict[str, Any]
    seed: int
    category: str | None = None
    max_positives: int | None = None
    weighting: str | None = None
    scaler: str | None = None
    estimator_folder: str | None = None

    @property
    def is_stack(self) -> bool:
        """Whether the learner is a recipe that stacks other recipes."""
        return self.recipe is not None and bool(recipes.find(self.recipe).members)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON, without optional fields that are not set."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in _NOT_IN_JSON
        }


def list_trials(plan: Plan) -> tuple[Trial, ...]:
    """List the trials of a plan.

    All learners run on one split before the next split, so that the results of an interrupted
    comparison are comparable.

    Parameters
    ----------
    plan : Plan
        From `cordwood.compare.config.plan`.

    Returns
    -------
    tuple of Trial
        Ordered by data set, repeat, fold, training fraction or number of positives, and learner.
    """
    evaluation = plan.evaluation
    return tuple(
        _make_trial(plan, dataset, learner, repeat, fold, fraction, max_positives)
        for dataset in plan.datasets
        for repeat in range(evaluation.repeats)
        for fold in range(evaluation.folds)
        for fraction in evaluation.train_fractions
        for max_positives in evaluation.max_positives or (None,)
        for learner in plan.learners
    )


def trial_key(trial: Trial, fingerprint: str) -> str:
    """Return the key of a trial's result on given data.

    The key does not depend on the names of data set and learner, on `n_jobs`, nor on parts of the
    plan that the trial does not use, such as the number of repeats, or the metric of tuning if
    nothing is tuned.

    Parameters
    ----------
    trial : Trial
    fingerprint : str
        Hash of the data from `cordwood.compare.runner.cv_splits.fingerprint`, which includes groups
        and official splits where they matter.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    content = {name: value for name, value in trial.to_json().items() if name not in _LABELS}
    for name in ("params", "grid"):
        content[name] = {
            param: value
            for param, value in content[name].items()
            if param.rpartition("__")[2] != "n_jobs"
        }
    content.update(data=fingerprint, scheme=_SCHEME)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def learner_seed(trial: Trial, key: str) -> int:
    """Return the random state of a trial's learner.

    It is derived from the key, so that results depend neither on the order nor on the selection of
    trials. Stacks use the plan's seed, because they can share the fits of their members only if
    these have the same random state.
    """
    return trial.seed if trial.is_stack else int(key, 16) % 2**31


def build_pipeline(
    trial: Trial,
    params: Mapping[str, Any],
    *,
    input: recipes.InputType,
    scale: bool,
    random_state: int,
) -> Pipeline:
    """Build the unfitted pipeline of a trial, for one thread.

    Parameters
    ----------
    trial : Trial
    params : mapping
        Parameters that tuning has chosen; they override those of the trial.
    input : {"text", "numeric"}
        Whether samples are texts or rows of a numeric matrix.
    scale : bool
        Whether numeric data may be scaled.
    random_state : int
        See `learner_seed`.

    Returns
    -------
    Pipeline
    """
    given = {
        param: value
        for param, value in {**trial.params, **params}.items()
        if param.rpartition("__")[2] != "n_jobs"
    }
    if trial.is_stack and given.get("encoder") == "none":  # TOML has no null
        del given["encoder"]
    options: dict[str, Any] = {
        "input": input,
        "scale": scale,
        "vectorizer_params": trial.vectorizer,
        "random_state": random_state,
        "n_jobs": 1,
    }
    if trial.estimator is None:
        return recipes.make(str(trial.recipe), **options, **given)
    return make_pipeline(
        trial.estimator,
        trial.estimator_folder,
        weighting=trial.weighting,
        scaler=trial.scaler,
        **options,
        **given,
    )


def _make_trial(
    plan: Plan,
    dataset: DatasetConfig,
    learner: LearnerConfig,
    repeat: int,
    fold: int,
    train_fraction: float,
    max_positives: int | None,
) -> Trial:
    numeric = dataset.kind == "numeric"
    grid = _select_params({**learner.grid, **(learner.numeric_grid if numeric else {})}, numeric)
    tuned = bool(grid) or plan.tuning.threshold
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
        evaluation=_dump_set_values(
            plan.evaluation, include={"kind", "folds", "test_size", "rounds"}
        ),
        tuning={**_dump_set_values(plan.tuning), "metric": plan.metric} if tuned else {},
        seed=plan.seed,
        category=dataset.category,
        max_positives=max_positives,
        weighting=None if numeric else learner.weighting,
        scaler=learner.scaler if numeric else None,
        estimator_folder=learner._folder,
    )


def _uses_vectorizer_params(learner: LearnerConfig) -> bool:
    return learner.recipe is None or recipes.find(learner.recipe).vectorizer is None


def _dump_set_values(
    table: EvaluationConfig | TuningConfig, include: set[str] | None = None
) -> dict[str, Any]:
    """Dump a table without options that are not set, so that new options keep existing keys."""
    dumped = table.model_dump(mode="json", include=include)
    return {name: value for name, value in dumped.items() if value not in (None, False, [])}


def _select_params(params: Mapping[str, Any], numeric: bool) -> dict[str, Any]:
    """Remove the parameters of vectorizers if the data are numeric."""
    return {
        param: value
        for param, value in params.items()
        if not numeric or "vectorizer" not in param.split("__")[:-1]
    }
