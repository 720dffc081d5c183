"""Ways to train a model, things to do with it, and the stated limits: the matrix of features.

`tests/test_matrix.py` runs every cell; `docs/generate_limits.py` shows the limits to users.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cordwood import Decision

ENCODER = Path(__file__).parent / "encoders" / "models" / "bert"

_WORDS = {
    "food": "soup bread salt pan oven cook dinner spoon".split(),
    "sport": "team goal match score coach league ball win".split(),
    "work": "office memo desk budget meeting client project plan".split(),
}
_COMMON = "the a of and to in for with today again".split()


def _make_texts(labels: list[str], seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [
        " ".join([*rng.choice(_WORDS[label], 3), *rng.choice(_COMMON, 3), *rng.choice(_OTHER, 1)])
        for label in labels
    ]


_OTHER = [word for words in _WORDS.values() for word in words]

LABELS = ["food", "sport", "work", "food"] * 22
TEXTS = _make_texts(LABELS, 0)
# Some labels are wrong, so that predictions are neither certain nor always right.
LABELS = ["work" if i % 9 == 0 else label for i, label in enumerate(LABELS)]
TWO_LABELS = ["sport" if label == "sport" else "other" for label in LABELS]
LISTS = [["food", "other"] if label == "food" else [label] for label in LABELS]
TABLE = {
    "body": TEXTS,
    "price": [float(len(text)) for text in TEXTS],
    "kind": [text.split()[3] for text in TEXTS],
}
COLUMNS = {"text": ["body"], "numeric": ["price"], "categorical": ["kind"]}
NUMBERS = np.array([[text.count(word) for word in _OTHER] for text in TEXTS], np.float64)
COSTS = [[0.0, 5.0], [1.0, 0.0]]


@dataclass(frozen=True)
class Way:
    """A way to train: parameters of `TextClassifier`, and the training set."""

    params: dict[str, Any]
    X: Any
    y: Any
    fit_params: tuple[str, ...] = ()

    @property
    def is_multilabel(self) -> bool:
        """Whether samples have several labels."""
        return isinstance(self.y[0], list)


_QUICK = {"encoder": None}
_DESCRIPTIONS = {"food": "soup and bread", "sport": ["a team", "the ball"], "work": None}
_FAST = {"estimator": "rf", "recipe_params": {"n_estimators": 20}}

WAYS = {
    "quick": Way(_QUICK, TEXTS, LABELS),
    "quick with an encoder": Way({"encoder": str(ENCODER)}, TEXTS, LABELS),
    "class descriptions": Way(
        {"encoder": str(ENCODER), "class_descriptions": _DESCRIPTIONS}, TEXTS, LABELS
    ),
    "calibrated rf": Way(_FAST, TEXTS, LABELS),
    "svm with scores": Way({"estimator": "svm", "oof": True}, TEXTS, LABELS),
    "svm without scores": Way({"estimator": "svm"}, TEXTS, LABELS),
    "decision f1": Way({**_QUICK, "decision": "f1"}, TEXTS, TWO_LABELS),
    "decision macro F1": Way({**_QUICK, "decision": "macro_f1"}, TEXTS, LABELS),
    "decision precision": Way(
        {**_FAST, "decision": Decision("precision", precision=0.5)}, TEXTS, TWO_LABELS
    ),
    "decision cost": Way(
        {**_FAST, "decision": Decision("cost", cost_matrix=COSTS)}, TEXTS, TWO_LABELS
    ),
    "class weights": Way({**_QUICK, "class_weight": "balanced"}, TEXTS, TWO_LABELS),
    "table": Way({**_QUICK, "columns": COLUMNS}, TABLE, LABELS),
    "table with a decision": Way(
        {**_QUICK, "columns": COLUMNS, "decision": "macro_f1"}, TABLE, LABELS
    ),
    "several labels, quick": Way(_QUICK, TEXTS, LISTS),
    "several labels, svm": Way({"estimator": "svm"}, TEXTS, LISTS),
    "several labels, table": Way({**_QUICK, "columns": COLUMNS}, TABLE, LISTS),
    "numeric": Way({"estimator": "quick"}, NUMBERS, LABELS),
}

# Things to do, as a user writes them.
CALLS = {
    "predict": "model.predict(X)",
    "probabilities": "model.predict_proba(X)",
    "prediction sets": "model.classify(X, coverage=0.9)",
    "undecided samples": "model.classify(X, max_error=0.3)",
    "least confidence": "model.classify(X, min_confidence=0.7)",
    "unknown samples": "model.classify(X, unknown=0.05)",
    "shift": "model.detect_shift(X)",
    "evaluate": "model.evaluate(X, y)",
    "explain": "model.explain(X)",
    "words of classes": "model.explain_classes()",
    "report": 'model.report("model.html")',
    "report of data": 'model.report("model.html", X, y)',
    "save and load": 'model.save("model.cordwood")',
    "batches": 'BatchPredictor("model.cordwood")(X)',
    "clone": "sklearn.base.clone(model)",
    "pickle": "pickle.dumps(model)",
    "out of fold": "model.oof_",
    "expected scores": "model.evaluation_",
    "audit": "audit_dataset(data, model=model)",
    "learning curve": "estimate_learning_curve(model, X, y)",
    "compare": "cordwood compare PLAN",
}

_NUMERIC = "only models of texts can be explained"
_ONE_LABEL = "requires one label per sample"
_NO_OOF = "train it with oof=True"
_TEXTS_AND_OOF = "requires a model of texts with out-of-fold predictions"

# Cells that raise an error, with a part of its sentence; an empty one if the value is None.
LIMITS = {
    **{(way, "prediction sets"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "undecided samples"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "least confidence"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "report"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "report of data"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "audit"): "audit one label at a time" for way in WAYS if WAYS[way].is_multilabel},
    **{(way, "learning curve"): _ONE_LABEL for way in WAYS if WAYS[way].is_multilabel},
    **{
        ("svm without scores", use): _NO_OOF
        for use in ("prediction sets", "undecided samples", "unknown samples")
    },
    ("svm without scores", "shift"): _TEXTS_AND_OOF,
    **{(way, "shift"): _TEXTS_AND_OOF for way in WAYS if WAYS[way].X is not TEXTS},
    ("svm without scores", "out of fold"): "",
    ("svm without scores", "expected scores"): "",
    ("svm without scores", "audit"): "train it on them with TextClassifier(oof=True)",
    ("numeric", "explain"): _NUMERIC,
    ("numeric", "words of classes"): _NUMERIC,
    ("table", "words of classes"): "only models of texts have words of classes",
    ("table with a decision", "words of classes"): "only models of texts have words of classes",
    ("several labels, table", "words of classes"): "only models of texts have words of classes",
    **{
        (way, "compare"): f"a comparison has no {param}"
        for way in WAYS
        for param in ("columns", "decision", "class_descriptions")
        if WAYS[way].params.get(param) is not None
    },
    # Those of single recipes do.
    (
        "class weights",
        "compare",
    ): "recipe 'quick' has no parameter 'class_weight', but its members have",
}
