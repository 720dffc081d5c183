import numpy as np
import pytest
import scipy.sparse as sp

rng = np.random.default_rng(0)
X = sp.random_array((40, 25), density=0.3, rng=rng, format="csr")
X_DENSE = np.hstack([X.toarray(), np.ones((40, 1))])
SIGN = np.where(rng.random(40) < 0.4, 1.0, -1.0)
COST = rng.uniform(0.5, 2.0, 40)


NO_SCALE = np.empty(0)


def solve(kernels, hinge, max_iter=10_000, seed=0, X=X, scale=NO_SCALE):
    coef = np.zeros(X.shape[1] + 1)
    arrays = (X.indptr.astype(np.int64), X.indices, X.data, SIGN, COST, scale**2)
    options = hinge, 1e-9, max_iter, seed
    n_iter = kernels.dual_solver.solve_dual(*arrays, *options, coef)
    return coef, n_iter


def objective(coef, hinge):
    loss = np.maximum(1 - SIGN * (X_DENSE @ coef), 0)
    return coef @ coef / 2 + COST @ (loss if hinge else loss**2)


@pytest.mark.parametrize("hinge", [False, True])
def test_solution_minimizes_the_primal_objective(kernels, hinge):
    coef, n_iter = solve(kernels, hinge)
    assert 1 < n_iter < 10_000
    best = objective(coef, hinge)
    for scale in (1e-1, 1e-3):
        for _ in range(50):
            assert objective(coef + rng.normal(scale=scale, size=len(coef)), hinge) > best - 1e-9


@pytest.mark.parametrize("hinge", [False, True])
def test_plain_and_compiled_solutions_are_equal(plain, compiled, hinge):
    (coef, n_iter), (compiled_coef, compiled_n_iter) = solve(plain, hinge), solve(compiled, hinge)
    assert n_iter == compiled_n_iter
    # Compiled sums may be evaluated in another order.
    np.testing.assert_allclose(coef, compiled_coef, rtol=1e-9, atol=1e-12)


def test_max_iter_limits_iterations(kernels):
    assert solve(kernels, hinge=True, max_iter=2)[1] == 2


@pytest.mark.parametrize("hinge", [False, True])
def test_scales_equal_scaled_samples(kernels, hinge):
    scale = rng.uniform(0.5, 2.0, size=25)
    coef, n_iter = solve(kernels, hinge, scale=scale)
    scaled_coef, scaled_n_iter = solve(kernels, hinge, X=sp.csr_array(X * scale))
    np.testing.assert_allclose(coef, scaled_coef * np.append(scale, 1.0), rtol=1e-6, atol=1e-9)
    assert abs(n_iter - scaled_n_iter) <= 2


def test_single_precision_values_have_the_same_solution(compiled):
    single = X.astype(np.float32)
    coef, n_iter = solve(compiled, False, X=single)
    expected, expected_n_iter = solve(compiled, False, X=single.astype(np.float64))
    assert n_iter == expected_n_iter
    assert np.array_equal(coef, expected)


@pytest.mark.parametrize("scale", [NO_SCALE, rng.uniform(0.5, 2.0, size=25)])
def test_helpers_match_dense_algebra(kernels, scale):
    solver = kernels.dual_solver
    coef = rng.normal(size=26)
    squared = np.append(scale**2 if len(scale) else np.ones(25), 1.0)
    for i in range(40):
        first, last = X.indptr[i], X.indptr[i + 1]
        norm = solver.squared_norm(X.indices, X.data, first, last, scale**2)
        assert norm == pytest.approx(X_DENSE[i] @ (squared * X_DENSE[i]))
        margin = solver.margin(X.indices, X.data, first, last, coef)
        assert margin == pytest.approx(X_DENSE[i] @ coef)
        moved = coef.copy()
        solver.axpy(X.indices, X.data, first, last, 0.5, scale**2, moved)
        np.testing.assert_allclose(moved, coef + 0.5 * squared * X_DENSE[i])
