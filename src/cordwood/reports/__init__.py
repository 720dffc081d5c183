"""Reports of models and data sets, as one HTML page, Markdown or JSON.

A report is made in three steps: summarize (a record to a summary), lay out (a summary to tables,
figures and sentences), and render (a page to HTML or Markdown).
"""

from cordwood.reports.report import Report, dataset_report

__all__ = ["Report", "dataset_report"]
