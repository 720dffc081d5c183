"""Hashes of the training samples in a model file, to find them again among test samples.

A hash has 32 bits, so that a model file grows by at most four bytes per sample and no text can be
recovered from it. Some hashes agree by chance: of `n_test` samples that are not in the training
data, ``n_test * n_train / 2**32`` are expected to be found.
"""

import base64
import binascii
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from cordwood._base.duplicates import hashable_samples

# Of more samples, those with the smallest hashes are stored, and only test samples with hashes up
# to the largest of these can be found. JSON counts a hundredfold for the memory of a model file.
MAX_HASHES = 1 << 18

_N_VALUES = 2.0**32
_SIGNIFICANCE = 0.001


@dataclass(frozen=True)
class SampleHashes:
    """Sorted hashes of distinct training samples.

    Examples
    --------
    >>> hashes = SampleHashes.from_samples(["it purrs", "it barks"])
    >>> hashes.contain(["it  barks", "it meows"])
    array([ True, False])
    """

    values: NDArray[np.uint32]  # strictly increasing, at most MAX_HASHES

    @classmethod
    def from_samples(cls, X: Any) -> Self:
        """Hash texts, without regard to white space, or the rows of a matrix."""
        return cls(np.unique(_hash_samples(X))[:MAX_HASHES])

    @classmethod
    def decode(cls, text: str) -> Self:
        """Convert the text in a model card; raise ValueError if it is invalid."""
        try:
            content = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"sample hashes are not base64 ({error})") from None
        if len(content) % 4 or len(content) > 4 * MAX_HASHES:
            raise ValueError(f"sample hashes have {len(content)} bytes")
        values = np.frombuffer(content, "<u4").astype(np.uint32)
        if (values[1:] <= values[:-1]).any():
            raise ValueError("sample hashes are not sorted")
        return cls(values)

    def encode(self) -> str:
        """Convert to the text in a model card."""
        return base64.b64encode(self.values.astype("<u4").tobytes()).decode("ascii")

    @property
    def are_complete(self) -> bool:
        """Whether the hashes of all training samples are stored."""
        return len(self.values) < MAX_HASHES

    def contain(self, X: Any) -> NDArray[np.bool_]:
        """Return for each sample whether its hash is stored."""
        return np.isin(_hash_samples(X), self.values)

    def expected_by_chance(self, n_samples: int) -> float:
        """Return how many of other samples are expected to be found."""
        return n_samples * len(self.values) / _N_VALUES

    def exceed_chance(self, n_found: int, n_samples: int) -> bool:
        """Return whether more samples were found than chance explains, at the level 0.001."""
        chance = poisson.sf(n_found - 1, self.expected_by_chance(n_samples))
        return n_found > 0 and bool(chance < _SIGNIFICANCE)


def _hash_samples(X: Any) -> NDArray[np.uint32]:
    digests = b"".join(_hash(sample) for sample in hashable_samples(X))
    return np.frombuffer(digests, "<u4").astype(np.uint32)


def _hash(sample: Any) -> bytes:
    if isinstance(sample, str):
        content = " ".join(sample.split()).encode("utf-8", "surrogatepass")
    elif isinstance(sample, bytes):
        content = sample
    else:
        content = repr(sample).encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=4).digest()
