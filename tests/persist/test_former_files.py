"""Files of this and former versions, which `tools/make_model_files.py` has written."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from cordwood import load

FILES = sorted((Path(__file__).parent / "models").glob("*.cordwood"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_of_former_versions_predict_the_same(file):
    expected = json.loads(file.with_suffix(".json").read_text())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*was saved with scikit-learn")
        model = load(file)
    samples = expected["samples"]
    if isinstance(samples[0] if isinstance(samples, list) else samples, list):
        samples = np.array(samples)
    # Sums of floating-point numbers depend on the processor.
    np.testing.assert_allclose(
        model.predict_proba(samples), expected["probabilities"], atol=1e-4, rtol=0
    )
    labels = [list(each) if isinstance(each, tuple) else each for each in model.predict(samples)]
    assert labels == expected["labels"]


def test_there_are_files_of_each_kind_of_model():
    assert {file.stem.partition("-")[2] for file in FILES} == {
        *("multilabel", "numeric", "pipeline", "quick", "table"),
    }
