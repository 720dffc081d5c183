import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.linear_model import _dual_solver

modes = pytest.mark.parametrize("mode", ["compiled", "python"])
rng = np.random.default_rng(0)
X = sp.random_array((40, 25), density=0.3, rng=rng, format="csr")
X_DENSE = np.hstack([X.toarray(), np.ones((40, 1))])
SIGN = np.where(rng.random(40) < 0.4, 1.0, -1.0)
COST = rng.uniform(0.5, 2.0, 40)


def run(mode, function, *arguments):
    function = function.py_func if mode == "python" else function
    return function(*arguments)


def solve(mode, hinge, max_iter=10_000, seed=0):
    coef = np.zeros(X.shape[1] + 1)
    arrays = (X.indptr.astype(np.int64), X.indices, X.data, SIGN, COST)
    n_iter = run(mode, _dual_solver.solve_dual, *arrays, hinge, 1e-9, max_iter, seed, coef)
    return coef, n_iter


def objective(coef, hinge):
    loss = np.maximum(1 - SIGN * (X_DENSE @ coef), 0)
    return coef @ coef / 2 + COST @ (loss if hinge else loss**2)


@modes
@pytest.mark.parametrize("hinge", [False, True])
def test_solution_minimizes_the_primal_objective(mode, hinge):
    coef, n_iter = solve(mode, hinge)
    assert 1 < n_iter < 10_000
    best = objective(coef, hinge)
    for scale in (1e-1, 1e-3):
        for _ in range(50):
            assert objective(coef + rng.normal(scale=scale, size=len(coef)), hinge) > best - 1e-9


@pytest.mark.parametrize("hinge", [False, True])
def test_compiled_and_python_solutions_are_equal(hinge):
    compiled, python = solve("compiled", hinge), solve("python", hinge)
    np.testing.assert_allclose(python[0], compiled[0], rtol=1e-12, atol=1e-14)
    assert python[1] == compiled[1]


@modes
def test_max_iter_limits_iterations(mode):
    assert solve(mode, hinge=True, max_iter=2)[1] == 2


@modes
def test_scale_columns(mode):
    scale, out = rng.uniform(size=25), np.empty(X.nnz)
    run(mode, _dual_solver.scale_columns, X.indices, X.data, scale, out)
    assert np.array_equal(out, X.data * scale[X.indices])


@modes
def test_helpers_match_dense_algebra(mode):
    coef = rng.normal(size=26)
    for i in range(40):
        first, last = X.indptr[i], X.indptr[i + 1]
        norm = run(mode, _dual_solver.squared_norm, X.data, first, last)
        margin = run(mode, _dual_solver.margin, X.indices, X.data, first, last, coef)
        assert norm == pytest.approx(X_DENSE[i] @ X_DENSE[i])
        assert margin == pytest.approx(X_DENSE[i] @ coef)
        moved = coef.copy()
        run(mode, _dual_solver.axpy, X.indices, X.data, first, last, 0.5, moved)
        np.testing.assert_allclose(moved, coef + 0.5 * X_DENSE[i])
