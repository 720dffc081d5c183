"""The schema of a class: which parameters and fitted attributes a model file contains of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import Parameter, signature
from typing import Any

import numpy as np

from cordwood._schema.base import Field, Sizes
from cordwood._schema.errors import Rejected
from cordwood._schema.interface import Interface, InterfaceOf

# Parameters that only training uses and that may contain anything; files have their defaults.
_NOT_STORED = ("n_jobs", "verbose", "memory")


def _classifier_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    return Interface(
        n_features=int(model.n_features_in_),
        classes=model.classes_,
        is_multilabel=bool(getattr(model, "multilabel_", False)),
        takes_counts=getattr(model, "metric_", None) == "tfidf_cosine",
    )


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a model file contains of a class."""

    cls: type
    # An object without the first attribute that is not optional is not fitted, and only its
    # parameters are stored. A `Pipeline` has optional ones only.
    fitted: Mapping[str, Field]
    # Parameters that contain estimators.
    nested: Mapping[str, Field] = field(default_factory=dict)
    # Replaces values of parameters that a file cannot contain, such as functions.
    storable: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    # Raises Rejected if attributes of a fitted object contradict each other.
    check: Callable[[Any, InterfaceOf], None] = lambda model, interface_of: None
    # Raises any exception if a parameter is not valid. The object has parameters only; the second
    # argument is whether the caller trusts the class.
    check_params: Callable[[Any, bool], None] = lambda model, is_trusted: model._validate_params()
    # Computes attributes that are not stored, of a loaded object that has been checked.
    finish: Callable[[Any], None] = lambda model: None
    interface: Callable[[Any, InterfaceOf], Interface] = _classifier_interface

    @property
    def name(self) -> str:
        """Name of the class in files, which does not depend on the module that defines it."""
        return f"{self.cls.__module__.partition('.')[0]}.{self.cls.__name__}"

    def is_fitted(self, model: Any) -> bool:
        """Return whether an object has fitted attributes."""
        return all(name in vars(model) for name in self.required[:1])

    @property
    def required(self) -> list[str]:
        """Names of the fitted attributes that are not optional."""
        return [name for name, each in self.fitted.items() if not each.optional]

    def defaults(self) -> dict[str, Any]:
        """Return the parameters that are plain values, with their defaults."""
        return {
            name: None if default is Parameter.empty else default
            for name, default in _list_defaults(self.cls)
            if name not in self.nested
        }

    def params(self, model: Any) -> dict[str, Any]:
        """Return the plain parameters of an object, as a file can contain them."""
        params = {}
        for name, default in self.defaults().items():
            value = getattr(model, name, default)
            if name in self.storable:
                value = self.storable[name](value)
            if name in _NOT_STORED:
                value = default
            if name == "random_state":
                value = int(value) if isinstance(value, int | np.integer) else None
            params[name] = value
        return params

    def check_fitted(self, model: Any, interface_of: InterfaceOf) -> None:
        """Raise Rejected unless the fitted attributes of an object are valid."""
        sizes: Sizes = {}
        for name, each in self.fitted.items():
            if name not in vars(model):
                if each.optional:
                    continue
                raise Rejected(f"has a {self.cls.__name__} without {name}")
            problem = each.check(getattr(model, name), sizes)
            if problem is not None:
                raise Rejected(f"has a {self.cls.__name__} whose {name} must be {problem}")
        self.check(model, interface_of)


@cache
def _list_defaults(cls: type) -> list[tuple[str, Any]]:
    return [(name, each.default) for name, each in signature(cls).parameters.items()]


def check_label_indices(model: Any) -> None:
    """Raise Rejected unless the classes of a multilabel classifier are the indices of its labels.

    Otherwise a file could declare a classifier of one label per sample as a multilabel one, whose
    probabilities do not sum to one.
    """
    if not np.array_equal(model.classes_, np.arange(len(model.classes_))):
        raise Rejected(f"has a multilabel {type(model).__name__} whose classes_ are not indices")


def check_transformer_weights(model: Any, names: Iterable[str]) -> None:
    """Raise Rejected unless `transformer_weights` are bounded weights of the given transformers."""
    weights = model.transformer_weights
    if weights is None:
        return
    if not isinstance(weights, dict) or not set(weights) <= set(names):
        raise Rejected(f"has a {type(model).__name__} with weights of unknown transformers")
    if not all(isinstance(each, int | float) and abs(each) < 1e30 for each in weights.values()):
        raise Rejected(f"has a {type(model).__name__} with invalid weights")
