"""Schema of the classifier with a tuned decision."""

from typing import Any

import numpy as np

from cordwood._schema.errors import Rejected
from cordwood._schema.fields import MAX_NUMBER, Array, Labels, Size, integer, number
from cordwood._schema.interface import Interface, InterfaceOf
from cordwood._schema.nested import Estimator
from cordwood._schema.schema import Schema
from cordwood.decisions.tuned_decision import TunedDecisionClassifier


def _check_decision(model: Any, interface_of: InterfaceOf) -> None:
    interface = interface_of(model.estimator_)
    n_classes = len(model.classes_)
    if interface.is_fitted is False or n_classes < 2:
        raise Rejected("has a TunedDecisionClassifier whose estimator is not fitted")
    if interface.classes is not None and not np.isin(interface.classes, model.classes_).all():
        raise Rejected("has a TunedDecisionClassifier whose estimator predicts other classes")
    if model._positive_code >= n_classes:
        raise Rejected("has a TunedDecisionClassifier without its positive class")
    n_features = getattr(model, "n_features_in_", None)
    if n_features is not None and interface.n_features not in (None, n_features):
        raise Rejected("has a TunedDecisionClassifier whose estimator takes other features")


def _decision_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    return interface_of(model.estimator_)._replace(classes=model.classes_)


def _to_lists(costs: Any) -> Any:
    return None if costs is None else np.asarray(costs, np.float64).tolist()


SCHEMAS = (
    Schema(
        cls=TunedDecisionClassifier,
        fitted={
            "classes_": Labels(),
            "n_features_in_": Size("n_features", optional=True),
            "_positive_code": integer(0, 2**31),
            "decision_matrix_": Array("float64", "n_classes", "n_classes"),
            "best_score_": number(-MAX_NUMBER, MAX_NUMBER),
            "estimator_": Estimator(),
        },
        nested={"estimator": Estimator()},
        storable={"cost_matrix": _to_lists},
        check=_check_decision,
        interface=_decision_interface,
    ),
)
