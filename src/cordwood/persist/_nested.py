"""Fields that contain estimators: single ones, lists of them, and named ones."""

from typing import TYPE_CHECKING, Any

from cordwood.persist._errors import Rejected
from cordwood.persist._fields import Field, Sizes

if TYPE_CHECKING:
    from cordwood.persist._objects import ModelDecoder, ModelEncoder

# Steps of a pipeline and members of a stack that are not estimators.
_KEYWORDS = ("passthrough", "drop", None)


class Estimator(Field):
    """An estimator.

    Parameters
    ----------
    nullable : bool, default=False
        Whether the value may be None.
    """

    def __init__(self, *, nullable: bool = False) -> None:
        super().__init__()
        self._nullable = nullable

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert the estimator."""
        return None if value is None else encoder.encode(value)

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Build the estimator."""
        return None if node is None else decoder.decode(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that there is an estimator."""
        is_valid = hasattr(value, "fit") or (self._nullable and value is None)
        return None if is_valid else "an estimator"


class EstimatorList(Field):
    """A list of estimators."""

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert the estimators."""
        return [encoder.encode(each) for each in value]

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Build the estimators."""
        if not isinstance(node, list):
            raise Rejected("has a value of the wrong structure")
        return [decoder.decode(each) for each in node]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that there are estimators."""
        is_valid = isinstance(value, list) and value and all(hasattr(each, "fit") for each in value)
        return None if is_valid else "a list of estimators"


class NamedEstimators(Field):
    """A list of pairs of a name and an estimator, or a keyword such as "passthrough".

    Parameters
    ----------
    is_chain : bool, default=False
        Whether each estimator is applied to the output of the one before it.
    """

    def __init__(self, *, is_chain: bool = False) -> None:
        super().__init__()
        self._is_chain = is_chain

    def encode(self, value: Any, encoder: "ModelEncoder", owner: Any) -> Any:
        """Convert the pairs."""
        outer_norm, nodes = encoder.input_norm, []
        for name, each in value:
            is_keyword = each is None or isinstance(each, str)
            nodes.append([name, each if is_keyword else encoder.encode(each)])
            if self._is_chain and not is_keyword:
                encoder.input_norm = encoder.registry.interface(each).norm
        encoder.input_norm = outer_norm
        return nodes

    def decode(self, node: Any, decoder: "ModelDecoder", owner: Any) -> Any:
        """Build the pairs."""
        if not isinstance(node, list) or not all(
            isinstance(pair, list) and len(pair) == 2 for pair in node
        ):
            raise Rejected("has a value of the wrong structure")
        return [
            (name, each if each is None or isinstance(each, str) else decoder.decode(each))
            for name, each in node
        ]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check that names are distinct strings."""
        if not isinstance(value, list | tuple) or not all(len(pair) == 2 for pair in value):
            return "a list of names and estimators"
        names = [name for name, _ in value]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            return "a list of names and estimators with distinct names"
        for _, each in value:
            if not hasattr(each, "fit") and not any(
                each is word or each == word for word in _KEYWORDS
            ):
                return "a list of names and estimators"
        return None
