"""Schema of `TextClassifier` in model files: the pipeline, the decision, and what it knows."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.fields import FeatureNames, Labels, Size, choice
from cordwood._schema.interface import Interface, InterfaceOf, check_classifier
from cordwood._schema.nested import Estimator
from cordwood._schema.schema import Schema
from cordwood.classifier.decision import OBJECTIVES, Decision, TunedDecision
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.columns.converter import TableConverter
from cordwood.columns.roles import ColumnRoles, check_columns
from cordwood.confidence.schema import ScopeField
from cordwood.exceptions import CordwoodError
from cordwood.metrics.schema import EvaluationField
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.oof.schema import OOFField

_MAX_NAME_LENGTH = 1000


class _EstimatorOrName(Estimator):
    """The name of a recipe, or an unfitted estimator."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return value if isinstance(value, str) else super().encode(value, encoder, owner)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return node if isinstance(node, str) else super().decode(node, decoder, owner)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if isinstance(value, str):
            return None if len(value) <= _MAX_NAME_LENGTH else "a short name"
        return super().check(value, sizes)


class _DecisionField(Field):
    """The parameter `decision`: a name, a `Decision` or None."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return encoder.encode_value(dict(vars(value))) if isinstance(value, Decision) else value

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if node is None or isinstance(node, str):
            return node
        fields = decoder.decode_value(node)
        if not isinstance(fields, dict) or set(fields) != set(Decision.__dataclass_fields__):
            raise Rejected("has a decision of the wrong structure")
        return Decision(**fields)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_valid = value in (None, "f1", "macro_f1") if not isinstance(value, Decision) else True
        return None if is_valid else "a decision"


class _TunedDecisionField(Field):
    """The tuned decision: a matrix or thresholds, of the size of the classes."""

    _PLAIN = ("optimize", "min_labels", "positive", "threshold", "score")

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        arrays = {name: getattr(value, name) for name in ("matrix", "thresholds")}
        return {
            "plain": encoder.encode_value({name: getattr(value, name) for name in self._PLAIN}),
            **{
                name: None if array is None else encoder.add_array(array)
                for name, array in arrays.items()
            },
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or set(node) != {"plain", "matrix", "thresholds"}:
            raise Rejected("has a tuned decision of the wrong structure")
        plain = decoder.decode_value(node["plain"])
        if not isinstance(plain, dict) or set(plain) != set(self._PLAIN):
            raise Rejected("has a tuned decision of the wrong structure")
        for name in ("matrix", "thresholds"):
            plain[name] = None if node[name] is None else decoder.get_array(node[name])
        return TunedDecision(**plain)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, TunedDecision):
            return "a TunedDecision"
        n_classes = sizes["n_classes"]
        for array, shape in ((value.matrix, (n_classes,) * 2), (value.thresholds, (n_classes,))):
            if array is not None and not _is_finite(array, shape):
                return "a TunedDecision of finite numbers, one for each class"
        if type(value.min_labels) is not int or not 0 <= value.min_labels <= n_classes:
            return "a TunedDecision with a valid number of labels"
        for number in (value.threshold, value.score):
            if number is not None and not (isinstance(number, float) and abs(number) < 1e100):
                return "a TunedDecision with finite numbers"
        if value.optimize not in (None, *OBJECTIVES):
            return "a TunedDecision with the name of what it optimizes"
        if value.matrix is None:
            return None
        # What `describe` prints of a decision between classes.
        if value.optimize in ("cost", "macro_f1"):
            return None if value.score is not None else "a TunedDecision with its score"
        return None if value.threshold is not None else "a TunedDecision with its threshold"


def _is_finite(array: Any, shape: tuple[int, ...]) -> bool:
    is_float = isinstance(array, np.ndarray) and array.dtype == np.float64
    return is_float and array.shape == shape and bool((np.abs(array) < 1e100).all())


class _ColumnsField(Field):
    """Columns of a table by role, or None."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return None if value is None else value.to_dict()

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        try:
            return None if node is None else check_columns(node)
        except (CordwoodError, TypeError) as error:
            raise Rejected(f"has invalid columns ({shorten(error)})") from None

    def check(self, value: Any, sizes: Sizes) -> str | None:
        return None if isinstance(value, ColumnRoles | None) else "columns by role"


def _check_model(model: TextClassifier, interface_of: InterfaceOf) -> None:
    pipeline = model.estimator_
    if not isinstance(pipeline, Pipeline):
        raise Rejected("has a TextClassifier without a pipeline")
    is_multilabel = model.target_kind_ != "label"
    interface = check_classifier(
        pipeline, interface_of, "TextClassifier", is_multilabel=is_multilabel
    )
    _check_input(model, interface)
    _check_target(model, interface)
    _check_records(model)


def _check_input(model: TextClassifier, interface: Interface) -> None:
    """Raise Rejected unless the pipeline takes samples of the kind of the model."""
    kind, n_features = model.input_kind_, getattr(model, "n_features_in_", None)
    first = model.estimator_.steps[0][1]
    roles = first.columns_ if isinstance(first, TableConverter) else None
    if roles != model.columns_ or (kind == "table") != (roles is not None):
        raise Rejected("has a TextClassifier whose pipeline takes other columns")
    if interface.takes_text and kind != "text":
        raise Rejected("has a TextClassifier whose pipeline takes texts")
    # A class that the caller trusts does not say what it takes.
    if kind == "text" and interface.n_features is not None:
        raise Rejected("has a TextClassifier of texts whose pipeline takes numbers")
    if (n_features is not None) != (kind == "numeric"):
        raise Rejected("has a TextClassifier of another kind of samples")
    if None not in (n_features, interface.n_features) and n_features != interface.n_features:
        raise Rejected("has a TextClassifier whose pipeline takes other features")


def _check_target(model: TextClassifier, interface: Interface) -> None:
    """Raise Rejected unless pipeline and decision predict labels of the kind of the model."""
    classes, decision = model.classes_, model.decision_
    if interface.classes is not None and not np.array_equal(interface.classes, classes):
        raise Rejected("has a TextClassifier whose pipeline predicts other classes")
    is_multilabel = isinstance(model.estimator_[-1], MultiLabelClassifier)
    if is_multilabel != (model.target_kind_ != "label"):
        raise Rejected("has a TextClassifier whose pipeline predicts another kind of labels")
    if model.target_kind_ == "indicators" and not np.array_equal(classes, np.arange(len(classes))):
        raise Rejected("has a TextClassifier of label indicators whose classes are not indices")
    if is_multilabel == (decision.thresholds is None) or (
        is_multilabel and decision.matrix is not None
    ):
        raise Rejected("has a TextClassifier with a decision of another kind of labels")
    if decision.positive is not None and decision.positive not in classes.tolist():
        raise Rejected("has a TextClassifier with a decision for an unknown class")


def _check_records(model: TextClassifier) -> None:
    """Raise Rejected unless out-of-fold predictions and scores fit the labels and each other."""
    oof, evaluation = model.oof_, model.evaluation_
    is_multilabel = model.target_kind_ != "label"
    if oof is not None:
        if oof.is_multilabel != is_multilabel:
            raise Rejected("has out-of-fold predictions of another kind of labels")
        if not np.array_equal(oof.classes, model.classes_):
            raise Rejected("has out-of-fold predictions of other classes")
    if evaluation is None:
        return
    labels = {each.label for each in evaluation.classes}
    if not labels <= set(model.classes_.tolist()):
        raise Rejected("has expected scores of other classes")
    if evaluation.is_multilabel != is_multilabel or (evaluation.confusion is None) != is_multilabel:
        raise Rejected("has expected scores of another kind of labels")
    if oof is not None and len(oof) != evaluation.n_samples:
        raise Rejected("has expected scores of another number of samples")


def _interface(model: TextClassifier, interface_of: InterfaceOf) -> Interface:
    return interface_of(model.estimator_)


def _keep_plain(value: Any) -> Any:
    """Return a parameter that a file can contain, or None for objects and large values."""
    if isinstance(value, list):
        return [each for each in map(_keep_plain, value) if each is not None]
    return value if isinstance(value, str | None) else None


def _check_params(model: TextClassifier, is_trusted: bool) -> None:
    texts = (model.language, model.class_weight)
    flags = (model.calibrate, model.oof)
    is_valid = all(isinstance(each, str | None) for each in texts) and all(
        isinstance(each, bool) or each == "auto" for each in flags
    )
    if not is_valid:
        raise Rejected("has a TextClassifier with a parameter of the wrong type")


SCHEMAS = (
    Schema(
        cls=TextClassifier,
        fitted={
            "classes_": Labels(),
            "input_kind_": choice("text", "table", "numeric"),
            "target_kind_": choice("label", "lists", "indicators"),
            "columns_": _ColumnsField(),
            "n_features_in_": Size("n_features", optional=True),
            "feature_names_in_": FeatureNames(),
            "estimator_": Estimator(),
            "decision_": _TunedDecisionField(),
            "oof_": OOFField(),
            "evaluation_": EvaluationField(),
            "scope_": ScopeField(),
        },
        nested={"estimator": _EstimatorOrName(), "decision": _DecisionField()},
        storable={
            "encoder": _keep_plain,
            "lexicon": _keep_plain,
            # Only training needs them, and they may contain texts that are not public.
            "class_descriptions": lambda descriptions: None,
            "columns": lambda value: value.to_dict() if isinstance(value, ColumnRoles) else value,
        },
        check=_check_model,
        check_params=_check_params,
        interface=_interface,
    ),
)
