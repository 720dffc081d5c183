"""Conflicts between a plan and its data, which are found before any trial runs."""

from collections.abc import Iterator

from sklearn.model_selection import ParameterGrid

from cordwood.classifier.builder import accepts_weights
from cordwood.compare.config.plan import MULTILABEL_METRICS, Plan
from cordwood.compare.config.schema import DatasetConfig
from cordwood.compare.runner.build_pipeline import build_pipeline
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.multilabel.members import list_members


def check_data(plan: Plan, dataset: DatasetConfig, data: Corpus | FeatureMatrix) -> None:
    """Raise a DataError that names the metric or learner which a data set cannot have."""
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
    """Return why learners cannot run on a data set with sample weights or several labels."""
    if data.weights is None and not data.multilabel:
        return {}
    conflicts: dict[str, str] = {}
    for trial in list_trials(plan):
        is_first = (trial.repeat, trial.fold) == (0, 0) and trial.learner not in conflicts
        if trial.dataset == dataset.name and is_first:
            if reason := next(_iter_reasons(trial, data), None):
                conflicts[trial.learner] = reason
    return conflicts


def _iter_reasons(trial: Trial, data: Corpus | FeatureMatrix) -> Iterator[str]:
    for params in ParameterGrid(trial.grid):
        classifier = build_pipeline(trial, data, 0, params)[-1]
        if data.multilabel:
            try:
                list_members(classifier.estimator)
            except ValueError as error:
                yield f"several labels per sample are not possible, because {error}"
        if data.weights is not None:
            inner = classifier.estimator[-1] if data.multilabel else classifier
            members = dict(getattr(inner, "estimators", None) or {trial.learner: inner})
            unable = [name for name, each in members.items() if not accepts_weights(each)]
            if unable and len(members) == 1:
                yield "it has no sample weights"
            elif unable:
                yield f"its members {', '.join(unable)} have no sample weights"
