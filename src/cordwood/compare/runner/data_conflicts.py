"""Conflicts between a plan and its data, which are found before any trial runs."""

from collections.abc import Iterator
from itertools import islice

import scipy.sparse as sp
from sklearn.model_selection import ParameterGrid

from cordwood import recipes
from cordwood._training_options import split_by_weights
from cordwood.compare.config.plan import MULTILABEL_METRICS, Plan
from cordwood.compare.config.schema import DatasetConfig
from cordwood.compare.runner.trials import Trial, build_pipeline, list_trials
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.multilabel.members import list_members


def check_data(plan: Plan, dataset: DatasetConfig, data: Corpus | FeatureMatrix) -> None:
    """Raise if a plan cannot be run on a data set.

    Parameters
    ----------
    plan : Plan
        From `cordwood.compare.config.plan`.
    dataset : DatasetConfig
        A data set of the plan.
    data : Corpus or FeatureMatrix
        Its samples.

    Raises
    ------
    DataError
        Naming the data set and the metric or learner.
    """
    if plan.metric in MULTILABEL_METRICS and not data.multilabel:
        raise DataError(
            f"metric = {plan.metric!r} needs several labels per sample, and data set "
            f"{dataset.name!r} has one; choose 'micro_f1' or 'macro_f1'"
        )
    for learner, reason in find_conflicts(plan, dataset, data).items():
        raise DataError(f"learner {learner!r} cannot run on data set {dataset.name!r}: {reason}")


def find_conflicts(
    plan: Plan, dataset: DatasetConfig, data: Corpus | FeatureMatrix
) -> dict[str, str]:
    """Return why learners cannot run on a data set with sample weights or several labels.

    Parameters
    ----------
    plan : Plan
        From `cordwood.compare.config.plan`.
    dataset : DatasetConfig
        A data set of the plan.
    data : Corpus or FeatureMatrix
        Its samples.

    Returns
    -------
    dict of str to str
        Reasons by the names of learners, without those that can run.
    """
    if data.weights is None and not data.multilabel:
        return {}
    conflicts: dict[str, str] = {}
    for trial in list_trials(plan):
        is_first = (trial.repeat, trial.fold) == (0, 0) and trial.learner not in conflicts
        if trial.dataset == dataset.name and is_first:
            for reason in islice(_iter_reasons(trial, data), 1):
                conflicts[trial.learner] = reason
    return conflicts


def _iter_reasons(trial: Trial, data: Corpus | FeatureMatrix) -> Iterator[str]:
    input_type: recipes.InputType = "text" if isinstance(data, Corpus) else "numeric"
    scale = isinstance(data, FeatureMatrix) and not sp.issparse(data.X)
    for params in ParameterGrid(trial.grid):
        pipeline = build_pipeline(trial, params, input=input_type, scale=scale, random_state=0)
        if data.multilabel:
            try:
                list_members(pipeline[-1])
            except ValueError as error:
                yield f"several labels per sample are not possible, because {error}"
        if data.weights is not None:
            _, unable = split_by_weights(pipeline[-1], trial.learner)
            if unable == [trial.learner]:
                yield "it has no sample weights"
            elif unable:
                yield f"its members {', '.join(unable)} have no sample weights"
