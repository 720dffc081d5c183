"""The unfitted pipeline of a trial: the only place of a comparison that builds models."""

from collections.abc import Mapping
from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._training_options import wrap_multilabel
from cordwood.compare.config.external_estimator import make_pipeline
from cordwood.compare.runner.trials import Trial, without_jobs
from cordwood.datasets.corpus import Corpus, FeatureMatrix


def build_pipeline(
    trial: Trial, data: Corpus | FeatureMatrix, seed: int, params: Mapping[str, Any]
) -> Pipeline:
    """Build the unfitted pipeline of a trial, for this kind of data and one thread."""
    X = None if isinstance(data, Corpus) else data.X
    given = without_jobs({**trial.params, **params})
    options: dict[str, Any] = {
        "input": "text" if X is None else "numeric",
        # As in `cordwood.train`: dense features are scaled, sparse ones are not.
        "scale": X is not None and not sp.issparse(X),
        "vectorizer_params": trial.vectorizer,
        "random_state": seed,
        "n_jobs": 1,
    }
    if trial.recipe is not None:
        if trial.is_stack and given.get("encoder") == "none":  # TOML has no null
            del given["encoder"]
        pipeline = recipes.make(trial.recipe, **options, **given)
    else:
        pipeline = make_pipeline(
            str(trial.estimator),
            trial.estimator_folder,
            weighting=trial.weighting,
            scaler=trial.scaler,
            **options,
            **given,
        )
    if data.multilabel:
        name, classifier = pipeline.steps[-1]
        pipeline.steps[-1] = (name, wrap_multilabel(classifier, random_state=seed))
    if is_mostly_empty(X):
        pipeline.steps.insert(0, ("remover", EmptyFeatureRemover()))
    return pipeline
