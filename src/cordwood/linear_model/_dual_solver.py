"""A linear machine, by dual coordinate descent.

A document's dual variable is set to its best value while all others stay, in random order, until
none would move [1]_. It is the solver of LIBLINEAR, whose own draws from one random generator for
all threads, so that machines fitted side by side are never the same twice.

References
----------
.. [1] Hsieh, Chang, Lin, Keerthi, Sundararajan (2008). A dual coordinate descent method for
   large-scale linear SVM. ICML. Algorithm 3.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._jit import Float, Float64Array, Int, helper, kernel
from cordwood._random import randbelow

Longs = NDArray[np.int64]

# Places are counted without a sign: one below zero would mean from the end, and be looked for.
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)

# A smaller violation is rounding.
_NONE = 1e-12


@kernel
def separate(
    indptr: Longs,
    indices: NDArray[np.int32],
    data: Float64Array,
    sign: Float64Array,
    cost: Float64Array,
    hinge: bool,
    tol: float,
    max_iter: int,
    seed: int,
    coef: Float64Array,
) -> int:
    """Find the plane between documents of two signs, and count the rounds, `max_iter` at most.

    Documents are CSR rows. One on the wrong side of its margin costs as much as its positive
    `cost`, times the distance, or times its square unless `hinge`. `coef` are zeros, one for each
    feature and one for the constant at the end.

    Documents far on the right side are set aside, by the violations of the round before; they come
    back when the others are settled, and have the last word.
    """
    n_docs = len(sign)
    state = np.full(1, np.uint64(seed), np.uint64)
    dual, norm = np.zeros(n_docs), np.empty(n_docs)
    for doc in range(n_docs):
        norm[doc] = measure(data, indptr[doc], indptr[doc + 1])
    order = np.arange(n_docs)
    n_active = n_docs
    bottom, top = -np.inf, np.inf
    for n_rounds in range(1, max_iter + 1):
        least, greatest = np.inf, -np.inf
        i = 0
        while i < n_active:
            there = i + randbelow(state, n_active - i)
            doc = order[there]
            order[there], order[i] = order[i], doc
            first, last = indptr[doc], indptr[doc + 1]
            extra = 0.0 if hinge else 0.5 / cost[doc]
            most = cost[doc] if hinge else np.inf
            had = dual[doc]
            slope = sign[doc] * look(indices, data, first, last, coef) - 1.0 + extra * had
            violation = slope
            if had == 0.0:
                violation = min(slope, 0.0)
            elif had >= most:
                violation = max(slope, 0.0)
            if violation == 0.0 and (slope > top or slope < bottom):
                n_active -= 1
                order[i], order[n_active] = order[n_active], doc
                continue
            least, greatest = min(least, violation), max(greatest, violation)
            if abs(violation) > _NONE:
                dual[doc] = min(max(had - slope / (norm[doc] + extra), 0.0), most)
                shift(indices, data, first, last, sign[doc] * (dual[doc] - had), coef)
            i += 1
        if greatest - least <= tol:
            if n_active == n_docs:
                return n_rounds
            n_active = n_docs
            bottom, top = -np.inf, np.inf
        else:
            bottom = least if least < 0.0 else -np.inf
            top = greatest if greatest > 0.0 else np.inf
    return max_iter


@kernel
def stretch(
    indices: NDArray[np.int32], data: Float64Array, scale: Float64Array, found: Float64Array
) -> None:
    """Multiply each value by the scale of its feature: one pass, where numpy takes three."""
    for i in range(np.uint64(len(data))):
        found[i] = data[i] * scale[np.uint32(indices[i])]


@helper
def measure(data: Float64Array, first: Int, last: Int) -> Float:
    """Add up the squares of a document, the constant's included."""
    total = 1.0
    for i in range(first, last):
        total += data[i] * data[i]
    return total


@helper
def look(
    indices: NDArray[np.int32], data: Float64Array, first: Int, last: Int, coef: Float64Array
) -> Float:
    """Find on which side of the plane a document is, and how far."""
    total = coef[len(coef) - 1]
    # Four sums, so that an addition need not wait for the one before.
    one, two, three = 0.0, 0.0, 0.0
    end = np.uint64(last)
    at = np.uint64(first)
    while at + _THREE < end:
        total += coef[np.uint32(indices[at])] * data[at]
        one += coef[np.uint32(indices[at + _ONE])] * data[at + _ONE]
        two += coef[np.uint32(indices[at + _TWO])] * data[at + _TWO]
        three += coef[np.uint32(indices[at + _THREE])] * data[at + _THREE]
        at += _FOUR
    while at < end:
        total += coef[np.uint32(indices[at])] * data[at]
        at += _ONE
    return (total + one) + (two + three)


@helper
def shift(
    indices: NDArray[np.int32],
    data: Float64Array,
    first: Int,
    last: Int,
    by: Float,
    coef: Float64Array,
) -> None:
    """Move the plane by a document."""
    coef[len(coef) - 1] += by
    for i in range(np.uint64(first), np.uint64(last)):
        coef[np.uint32(indices[i])] += by * data[i]
