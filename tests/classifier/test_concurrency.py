"""Predictions of one model in several threads, and in a process that was forked."""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.utils import parallel

from cordwood import TextClassifier

TEXTS = [
    f"{color} {thing} {i % 7}"
    for i, (color, thing) in enumerate(
        (color, thing)
        for color in ("red", "green", "blue", "old")
        for thing in ("cat", "dog", "car", "bus", "ship")
    )
] * 2
LABELS = ["animal" if "cat" in text or "dog" in text else "vehicle" for text in TEXTS]

RACE = (
    "FeatureUnion of scikit-learn wraps its calls by `delayed`, which replaces the warning filters "
    "of the process and warns if another thread has just emptied them"
)


@pytest.fixture(scope="module")
def model():
    return TextClassifier("quick", encoder=None).fit(TEXTS, LABELS)


def test_eight_threads_predict_as_one_does(model):
    expected = model.predict_proba(TEXTS), model.predict(TEXTS), model.classify(TEXTS).proba

    def predict(number):
        part = TEXTS[number:]
        return model.predict_proba(part), model.predict(part), model.classify(part).proba

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            for number, found in enumerate(pool.map(predict, range(32))):
                for values, all_values in zip(found, expected, strict=True):
                    assert np.array_equal(values, all_values[number:])


def test_prediction_does_not_change_the_warning_filters_of_the_process(model, monkeypatch):
    def fail(*args, **keywords):
        raise AssertionError(RACE)

    monkeypatch.setattr(parallel._FuncWrapper, "__call__", fail)
    model.predict_proba(TEXTS)


FORK = """
import os, sys
import numpy as np
from cordwood import TextClassifier
texts = ["red cat", "old dog", "fast car", "blue bus"] * 5
model = TextClassifier("nbsvm", n_jobs=2).fit(texts, ["animal", "animal", "vehicle", "vehicle"] * 5)
expected = model.predict_proba(texts)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(model.predict_proba(texts), expected) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_process_predicts_the_same():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    assert subprocess.run(command, env=environment, timeout=300).returncode == 0
