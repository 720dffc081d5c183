"""Schemas: what a model file contains of each class, and what is valid.

A schema lists the fitted attributes that prediction needs, each with a `Field` that converts it to
JSON and back and checks its type, shape and range. `save` and `load` run the same checks: on the
object to be saved, and on the object that was built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.persist._errors import Rejected
from cordwood.persist._fields import Field, Sizes


class Interface(NamedTuple):
    """What an estimator takes and returns, as far as it is known.

    Parameters
    ----------
    n_features : int or None, default=None
        Number of features of the samples.
    takes_text : bool, default=False
        Whether samples are texts.
    n_outputs : int or None, default=None
        Number of columns of `transform`.
    norm : float or None, default=None
        Largest Euclidean norm of a row of `transform`.
    classes : ndarray or None, default=None
        Class labels.
    is_fitted : bool or None, default=None
        Whether the estimator is fitted; None if its class has no schema.
    is_table : bool, default=False
        Whether samples are rows of a table.
    input_kinds : tuple of str or None, default=None
        Kind of each feature if they are not all numbers: "text", "categorical", "numeric", or None
        if it is not used.
    output_kinds : tuple of str or None, default=None
        Kind of each column of `transform`, if they are not all numbers.
    """

    n_features: int | None = None
    takes_text: bool = False
    n_outputs: int | None = None
    norm: float | None = None
    classes: NDArray[Any] | None = None
    is_fitted: bool | None = None
    is_table: bool = False
    input_kinds: tuple[str | None, ...] | None = None
    output_kinds: tuple[str, ...] | None = None


InterfaceOf = Callable[[Any], Interface]


def classifier_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    """Return the interface of a classifier of a feature matrix."""
    return Interface(n_features=int(model.n_features_in_), classes=model.classes_)


def scaler_interface(model: Any, interface_of: InterfaceOf) -> Interface:
    """Return the interface of a transformer that keeps the features."""
    return Interface(n_features=int(model.n_features_in_), n_outputs=int(model.n_features_in_))


# Parameters that only training uses and that may contain anything; files have their defaults.
_NOT_STORED = ("n_jobs", "verbose", "memory")


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a model file contains of a class.

    Parameters
    ----------
    cls : type
        The class.
    fitted : mapping of str to Field
        Fitted attributes that are stored. An object without the first of them that is not optional
        is not fitted, and only its parameters are stored. A `Pipeline` has optional ones only.
    nested : mapping of str to Field
        Parameters that contain estimators.
    storable : mapping of str to callable
        Replaces values of parameters that a file cannot contain, such as functions.
    check : callable
        Called with a fitted object and a function that returns the interface of another; raises
        Rejected if attributes contradict each other.
    check_params : callable
        Called with an object that has parameters only, and whether the class is trusted; raises
        an exception if a parameter is not valid.
    finish : callable
        Called with a checked object after loading; computes attributes that are not stored.
    interface : callable
        Returns the interface of a fitted object; called with the same arguments as `check`.
    """

    cls: type
    fitted: Mapping[str, Field]
    nested: Mapping[str, Field] = field(default_factory=dict)
    storable: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    check: Callable[[Any, InterfaceOf], None] = lambda model, interface_of: None
    check_params: Callable[[Any, bool], None] = lambda model, is_trusted: model._validate_params()
    finish: Callable[[Any], None] = lambda model: None
    interface: Callable[[Any, InterfaceOf], Interface] = classifier_interface

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
            name: None if parameter.default is Parameter.empty else parameter.default
            for name, parameter in signature(self.cls).parameters.items()
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
