"""Procedures: what a plan may replace in the way its trials are run.

A plan or its protocol file names a subclass of `Procedure` by its import path. Trials contain
everything that their result depends on, so that a procedure has no state.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

from cordwood.compare.config.external_estimator import load_factory
from cordwood.compare.config.plan import Plan
from cordwood.compare.runner.cv_splits import Split, subsample_train
from cordwood.compare.runner.trials import Trial, make_trials
from cordwood.compare.runner.tuning import MakePipeline, TunedParams, tune
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.predictions import Predictions


class Procedure:
    """How trials are listed, split, tuned, decided and described."""

    def check(self, plan: Plan) -> Iterable[str]:
        """Yield the errors of a plan, such as invalid `options`."""
        return ()

    def list_trials(self, plan: Plan) -> tuple[Trial, ...]:
        """List the trials of a plan; whatever its `options` change must be in their JSON."""
        return make_trials(plan)

    def split(self, trial: Trial, data: Corpus | FeatureMatrix, split: Split) -> Split:
        """Return the samples of a trial, given those of its fold."""
        if trial.train_fraction == 1:
            return split
        return subsample_train(data, split, trial.train_fraction, trial.seed)

    def tune(
        self,
        trial: Trial,
        make_pipeline: MakePipeline,
        train: Corpus | FeatureMatrix,
        test: Corpus | FeatureMatrix,
    ) -> TunedParams:
        """Choose the parameters of a trial."""
        return tune(trial, make_pipeline, train)

    def decide(self, trial: Trial, tuned: TunedParams, predictions: Predictions) -> Predictions:
        """Return the predictions of the test samples that are scored."""
        return predictions

    def describe(
        self, trial: Trial, classifier: Any, **samples: tuple[Any, Corpus | FeatureMatrix]
    ) -> dict[str, Any]:
        """Return further fields of the record, from the `train` and `test` samples.

        Samples are given as the classifier receives them, and as data with labels.
        """
        return {}


@cache
def find_procedure(reference: str | None) -> Procedure:
    """Return the procedure with an import path, or the usual one."""
    return Procedure() if reference is None else load_factory(reference)()


def list_trials(plan: Plan) -> tuple[Trial, ...]:
    """List the trials of a plan by its procedure."""
    return find_procedure(plan.procedure).list_trials(plan)
