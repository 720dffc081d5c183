"""Kernel of matrix products with constant weights, each row of which is computed independently.

BLAS libraries choose a routine by the shape of the matrices, so the last bits of a row may depend
on the number of rows. They also reorder the weights in each call, which takes long if there are few
rows. Here, weights are reordered once, and an element is the same sum of products in the same order
for any number of rows.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from cordwood._kernels.intrinsics import read_only
from cordwood._kernels.jit import Float32Array, Int, helper, kernel


def _has_avx512() -> bool:
    try:
        return bool(binding.get_host_cpu_features().get("avx512f"))
    except RuntimeError:  # LLVM does not know the features of every kind of processor.
        return False


# A tile of the result is this high and wide, and is kept in registers: 8 of the 32 registers of 16
# elements with AVX-512, 8 of 16 registers of 8 elements with AVX2. Tiles of 8 rows are 10 % faster
# for 16 or 24 rows, but 6 % slower for 20, and 2 % faster for hundreds.
_HEIGHT = 4
WIDTH = 32 if _has_avx512() else 16

# Products are summed in blocks of at most this number, because longer sums are less accurate. These
# are the blocks of OpenBLAS on processors with AVX-512, where results are the same bit for bit.
_MAX_BLOCK = 448

_CACHE_LINE = 16  # elements

_get_or_insert_function: Any = cgutils.get_or_insert_function


class PackedMatrix(NamedTuple):
    """Constant right factor of matrix products, of shape (n_terms, n_columns)."""

    # (n_panels, n_terms, WIDTH): columns in contiguous panels; the last one is filled with zeros.
    panels: Float32Array
    n_columns: int


def pack(matrix: Float32Array) -> PackedMatrix:
    """Reorder a matrix into panels."""
    n_terms, n_columns = matrix.shape
    n_panels = -(-n_columns // WIDTH)
    padded = np.zeros((n_terms, n_panels * WIDTH), np.float32)
    padded[:, :n_columns] = matrix
    panels = padded.reshape(n_terms, n_panels, WIDTH).transpose(1, 0, 2)
    return PackedMatrix(read_only(np.ascontiguousarray(panels)), n_columns)


def matmul(X: Float32Array, matrix: PackedMatrix) -> Float32Array:
    """Return the product of `X` and a packed matrix; rows do not depend on each other."""
    panels, n_columns = matrix
    if X.shape[1] != panels.shape[1]:  # The kernel does not check bounds.
        raise ValueError(
            f"a matrix of {panels.shape[1]} rows cannot be multiplied by vectors of {X.shape[1]} "
            "elements"
        )
    Y = np.zeros((len(X), len(panels) * WIDTH), np.float32)
    if len(X):
        multiply(read_only(np.ascontiguousarray(X, np.float32)), panels, Y)
    return np.ascontiguousarray(Y[:, :n_columns])


@kernel
def multiply(X: Float32Array, panels: Float32Array, Y: Float32Array) -> None:
    """Add the product of `X` and the matrix in `panels` to `Y`."""
    n_samples, n_terms = X.shape
    last = n_samples - 1
    for panel in range(panels.shape[0]):
        start = 0
        while start < n_terms:
            stop = start + block_size(n_terms - start)
            for i in range(0, n_samples, _HEIGHT):
                # The last row stands in for those that are missing in the last tile.
                rows = (i, min(i + 1, last), min(i + 2, last), min(i + 3, last))
                add_tile(X, rows, start, stop, panels, panel, Y)
            start = stop


@helper
def block_size(n_terms: Int) -> Int:
    """Return the size of the first block of terms; the last two have the same size."""
    if n_terms >= 2 * _MAX_BLOCK:
        return _MAX_BLOCK
    return n_terms if n_terms <= _MAX_BLOCK else (n_terms + 1) // 2


def add_tile(X: Any, rows: Any, start: Any, stop: Any, panels: Any, panel: Any, Y: Any) -> None:
    """Add the products of some rows, terms and a panel to `Y`, one term after the other."""
    columns = slice(panel * WIDTH, (panel + 1) * WIDTH)
    for row in dict.fromkeys(rows):
        total = np.zeros(WIDTH, np.float32)
        for k in range(start, stop):
            total += X[row, k] * panels[panel, k]
        Y[row, columns] += total


def _add_tile_intrinsic(
    context: Any, X: Any, rows: Any, start: Any, stop: Any, panels: Any, panel: Any, Y: Any
) -> Any:
    signature = types.void(X, rows, types.intp, types.intp, panels, types.intp, Y)
    return signature, _generate_tile


def _generate_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Generate a loop over the terms, with one sum in registers for each row of the tile."""
    x, w, y = (
        context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 4, 6)
    )
    _, rows, start, stop, _, panel, _ = arguments
    index, vector = ir.IntType(64), ir.VectorType(ir.FloatType(), WIDTH)
    zeros, lane = ir.Constant(vector, [0.0] * WIDTH), ir.IntType(32)
    first_lanes = ir.Constant(ir.VectorType(lane, WIDTH), [0] * WIDTH)
    # One instruction on processors that have it, as numpy's BLAS libraries use it.
    multiply_add = _get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{WIDTH}f32"
    )

    def address(array: Any, row: Any, column: Any) -> Any:
        n_columns = builder.extract_value(array.shape, 1)
        return builder.gep(array.data, [builder.add(builder.mul(row, n_columns), column)])

    def as_vector(pointer: Any) -> Any:
        return builder.bitcast(pointer, vector.as_pointer())

    def load(pointer: Any) -> Any:
        return builder.load(as_vector(pointer), align=4)

    samples = [builder.extract_value(rows, i) for i in range(_HEIGHT)]
    width = ir.Constant(index, WIDTH)
    first_row = builder.mul(panel, builder.extract_value(w.shape, 1))
    before, loop = builder.block, builder.append_basic_block("terms")
    after = builder.append_basic_block("terms.end")
    builder.branch(loop)

    builder.position_at_end(loop)
    term = builder.phi(index)
    sums = [builder.phi(vector) for _ in samples]
    position = builder.mul(builder.add(first_row, term), width)
    weights = load(builder.gep(w.data, [position]))
    # Weights are read from memory while the block before them is multiplied by several rows.
    for column in range(0, WIDTH, _CACHE_LINE):
        ahead = builder.add(position, ir.Constant(index, _MAX_BLOCK * WIDTH + column))
        _prefetch(builder, builder.gep(w.data, [ahead]))
    totals = []
    for sample, total in zip(samples, sums, strict=True):
        value = builder.load(address(x, sample, term))
        value = builder.insert_element(zeros, value, lane(0))
        repeated = builder.shuffle_vector(value, zeros, first_lanes)
        totals.append(builder.call(multiply_add, [repeated, weights, total]))
    following = builder.add(term, index(1))
    for phi, initial, updated in zip(
        [term, *sums], [start, *[zeros] * _HEIGHT], [following, *totals], strict=True
    ):
        phi.add_incoming(initial, before)
        phi.add_incoming(updated, loop)
    builder.cbranch(builder.icmp_signed("<", following, stop), loop, after)

    builder.position_at_end(after)
    targets = [address(y, sample, builder.mul(panel, width)) for sample in samples]
    # All are read before any is written, because a row may occur twice.
    results = [
        builder.fadd(load(target), total) for target, total in zip(targets, totals, strict=True)
    ]
    for target, result in zip(targets, results, strict=True):
        builder.store(result, as_vector(target), align=4)
    return context.get_dummy_value()


def _prefetch(builder: Any, address: Any) -> None:
    """Request a cache line without waiting for it; the address need not be valid."""
    byte, int32 = ir.PointerType(ir.IntType(8)), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
    function = _get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(address, byte), int32(0), int32(2), int32(1)])


_add_tile: Any = intrinsic(_add_tile_intrinsic)


@overload(add_tile)
def _overload_add_tile(
    X: Any, rows: Any, start: Any, stop: Any, panels: Any, panel: Any, Y: Any
) -> Any:
    def implementation(
        X: Any, rows: Any, start: Any, stop: Any, panels: Any, panel: Any, Y: Any
    ) -> None:
        _add_tile(X, rows, start, stop, panels, panel, Y)

    return implementation
