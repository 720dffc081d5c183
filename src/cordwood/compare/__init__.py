"""Comparisons of learners on data sets."""
