"""The dual coordinate descent kernel: plain Python against compiled code."""

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.mark.parametrize("hinge", [False, True])
def test_plain_and_compiled_solvers_agree(plain, compiled, hinge):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.poisson(0.3, size=(60, 20)).astype(float))
    sign = np.where(X[:, 0].toarray().ravel() + rng.normal(size=60) > 0.5, 1.0, -1.0)
    cost = rng.uniform(0.5, 2, 60)
    arrays = X.indptr.astype(np.int64), X.indices, X.data, sign, cost
    found = []
    for kernels in (plain, compiled):
        coef = np.zeros(21)
        n_iter = kernels.dual_solver.solve_dual(*arrays, hinge, 1e-4, 1000, 7, coef)
        found.append((n_iter, coef))
    (n_iter, coef), (n_iter_compiled, coef_compiled) = found
    assert 1 < n_iter == n_iter_compiled < 1000
    # Compiled sums may be evaluated in another order.
    np.testing.assert_allclose(coef, coef_compiled, rtol=1e-9, atol=1e-12)
