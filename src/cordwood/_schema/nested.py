"""Fields that contain estimators: single ones, lists of them, and named ones."""

from typing import Any

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import expect_list

# Such lists are parameters, of which scikit-learn needs milliseconds to print each.
_COST_PER_NAME = 100_000


class Estimator(Field):
    """An estimator, or None if it is nullable."""

    def __init__(self, *, nullable: bool = False) -> None:
        self._nullable = nullable

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return None if value is None else encoder.encode(value)

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return None if node is None else decoder.decode(node)

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_valid = hasattr(value, "fit") or (self._nullable and value is None)
        return None if is_valid else "an estimator"


class EstimatorList(Field):
    """A list of estimators."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        return [encoder.encode(each) for each in value]

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        return [decoder.decode(each) for each in expect_list(node)]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        is_valid = isinstance(value, list) and value and all(hasattr(each, "fit") for each in value)
        return None if is_valid else "a list of estimators"


class NamedEstimators(Field):
    """A list of pairs of a name and an estimator, or a keyword such as "passthrough"."""

    def __init__(self, *, is_chain: bool = False, keywords: tuple[str | None, ...]) -> None:
        # Whether each estimator is applied to the output of the one before it.
        self._is_chain = is_chain
        self._keywords = keywords

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        encoder.spend(_COST_PER_NAME * len(value))
        outer_norm, nodes = encoder.input_norm, []
        for name, each in value:
            is_keyword = each is None or isinstance(each, str)
            nodes.append([name, each if is_keyword else encoder.encode(each)])
            if self._is_chain and not is_keyword:
                encoder.input_norm = encoder.interface_of(each).norm
        encoder.input_norm = outer_norm
        return nodes

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        pairs = [expect_list(pair, 2) for pair in expect_list(node)]
        decoder.spend(_COST_PER_NAME * len(pairs))
        return [
            (name, each if each is None or isinstance(each, str) else decoder.decode(each))
            for name, each in pairs
        ]

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if not isinstance(value, list | tuple) or not all(len(pair) == 2 for pair in value):
            return "a list of names and estimators"
        names = [name for name, _ in value]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            return "a list of names and estimators with distinct names"
        for _, each in value:
            if not hasattr(each, "fit") and not any(
                each is word or each == word for word in self._keywords
            ):
                return "a list of names and estimators"
        return None
