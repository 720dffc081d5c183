"""Compilation and cache of numba kernels, array records, intrinsics and random numbers."""
