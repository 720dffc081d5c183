"""The unfitted pipeline of a trial, by the builder of `TextClassifier`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from cordwood.classifier.builder import Settings, build_model
from cordwood.classifier.samples import TargetKind, TrainingSamples, read_samples
from cordwood.compare.config.external_estimator import make_pipeline
from cordwood.compare.runner.trials import Trial, without_jobs
from cordwood.datasets.corpus import Corpus, FeatureMatrix


def build_pipeline(
    trial: Trial, data: Corpus | FeatureMatrix, seed: int, params: Mapping[str, Any]
) -> Pipeline:
    """Build the unfitted pipeline of a trial, for these training samples and one thread."""
    given = without_jobs({**trial.params, **params})
    X, kind = read_samples(data)
    # The labels are validated when the pipeline is fitted.
    target: TargetKind = "lists" if data.multilabel else "label"
    y = np.zeros(len(data)) if data.multilabel else np.asarray(data.labels)
    samples = TrainingSamples(X, y, np.unique(y), kind, target, None, None)
    if trial.recipe is not None:
        encoder = given.pop("encoder", None)
        settings = Settings(
            trial.recipe,
            encoder=None if encoder == "none" else encoder,  # TOML has no null
            lexicon=given.pop("lexicon", None),
            # Scores are of labels, which calibration does not change.
            calibrate=bool(given.pop("calibrate", False)),
            recipe_params={"vectorizer_params": trial.vectorizer, **given},
            random_state=seed,
            n_jobs=1,
        )
    else:
        is_numeric = samples.input_kind == "numeric"
        pipeline = make_pipeline(
            str(trial.estimator),
            trial.estimator_folder,
            weighting=trial.weighting,
            scaler=trial.scaler,
            input="numeric" if is_numeric else "text",
            scale=is_numeric and not sp.issparse(samples.X),
            vectorizer_params=trial.vectorizer,
            random_state=seed,
            n_jobs=1,
            **given,
        )
        settings = Settings(pipeline, random_state=seed, n_jobs=1)
    return build_model(settings, samples, None).pipeline
