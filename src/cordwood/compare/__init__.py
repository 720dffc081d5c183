"""Comparisons of learners on data sets."""

from cordwood.compare.report.comparison_page import comparison_report

__all__ = ["comparison_report"]
