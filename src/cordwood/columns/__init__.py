"""Columns beside the text: categories, numbers and dates of a table."""

from cordwood.columns.detection import detect_columns
from cordwood.columns.roles import ColumnRoles

__all__ = ["ColumnRoles", "detect_columns"]
