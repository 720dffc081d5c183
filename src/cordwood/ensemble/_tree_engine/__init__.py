"""Tree engine: numba kernels and the functions that call them."""
