"""Make the model files of tests/persist/models, which every later version must load.

Run it once for each release that changes the format, and keep the files of former ones: files are
named by the version that wrote them. The samples are made up here or are those of scikit-learn.

python tools/make_model_files.py
"""

import json
import warnings
from pathlib import Path
from typing import Any

from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import cordwood
from cordwood import LinearSVMClassifier, TextClassifier, TextVectorizer

FOLDER = Path(__file__).parents[1] / "tests" / "persist" / "models"

_WORDS = {
    "animals": "cat dog horse bird mouse purrs barks sings runs sleeps",
    "food": "soup bread salt cake pepper tastes smells burns cools boils",
    "sky": "star moon comet cloud sun shines rises sets falls fades",
}
_N_TEXTS = 60
_NEW_TEXTS = ["the cat barks at the moon", "salt in the soup", "a comet", "", "the bird sings"]


def make_samples() -> tuple[list[str], list[str]]:
    """Return texts of three topics, and the topics."""
    topics = list(_WORDS)
    labels = [topics[number % 3] for number in range(_N_TEXTS)]
    texts = []
    for number, label in enumerate(labels):
        words = _WORDS[label].split()
        chosen = [words[(number * step + step) % len(words)] for step in (1, 3, 7)]
        texts.append(f"the {chosen[0]} {chosen[1]} and the {chosen[2]} {number % 7}")
    return texts, labels


def make_models() -> dict[str, tuple[Any, Any]]:
    """Return fitted models, and samples to predict, by name."""
    texts, labels = make_samples()
    lists = [[label, *(["odd"] if number % 2 else [])] for number, label in enumerate(labels)]
    columns = {"text": ["text"], "categorical": ["kind"], "numeric": ["size"]}
    table = {
        "text": texts,
        "kind": [label[0] for label in labels],
        "size": [float(len(text)) for text in texts],
    }
    new_table = {"text": _NEW_TEXTS, "kind": [*"afs", None, "x"], "size": [1.0, None, 30, 4, 5.5]}
    iris = load_iris()
    fit = {
        "quick": (TextClassifier(encoder=None, decision="macro_f1"), texts, labels, _NEW_TEXTS),
        "multilabel": (TextClassifier("nb", encoder=None), texts, lists, _NEW_TEXTS),
        "table": (TextClassifier("svm", columns=columns), table, labels, new_table),
        "numeric": (
            TextClassifier("rf", recipe_params={"n_estimators": 5}),
            iris.data,
            iris.target_names[iris.target],
            iris.data[::30],
        ),
        "pipeline": (
            make_pipeline(TextVectorizer(), LinearSVMClassifier()),
            texts,
            labels,
            _NEW_TEXTS,
        ),
    }
    return {name: (model.fit(X, y), new) for name, (model, X, y, new) in fit.items()}


def main() -> None:
    """Write the files, and what the loaded models predict."""
    FOLDER.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = make_models()
    for name, (model, samples) in models.items():
        file = cordwood.save(model, FOLDER / f"{cordwood.__version__}-{name}.cordwood")
        loaded = cordwood.load(file)
        expected = {
            "samples": samples if isinstance(samples, list | dict) else samples.tolist(),
            "labels": [
                list(each) if isinstance(each, tuple) else str(each)
                for each in loaded.predict(samples)
            ],
            "probabilities": loaded.predict_proba(samples).round(6).tolist(),
        }
        file.with_suffix(".json").write_text(f"{json.dumps(expected)}\n")


if __name__ == "__main__":
    main()
