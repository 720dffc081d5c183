"""Reports of models, comparisons and data sets, as one HTML page, Markdown or JSON.

A report is made in three steps: summarize (a record to plain values), lay out (values to tables,
figures and sentences), and render (a page to HTML or Markdown).
"""

from cordwood.reports.report import Report, comparison_report, dataset_report, model_report

__all__ = ["Report", "comparison_report", "dataset_report", "model_report"]
