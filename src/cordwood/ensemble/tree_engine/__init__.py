"""Tree engine of the forests: numba kernels and the functions that call them.

Training: `binning` converts the training matrix to a `BinnedMatrix`, `bootstrap` draws the samples
of each tree, and `grower` runs the kernel of `grow` (with `postings` and `splits`) for each tree.
The result is a `Forest`, see `forest`. Prediction: `apply`, or `row_blocks` and `leaf_votes` if the
same samples are passed to one forest after another, as in boosting. `importances` computes the
statistics of inner nodes and feature importances. Lazy forests: `lazy_trees` runs the kernel of
`lazy_grow` (with `local_index` and `lazy_splits`) for each query. `threads` runs tasks in parallel.

No module imports scikit-learn, scipy or pandas: data comes in as arrays and records of arrays.
"""
