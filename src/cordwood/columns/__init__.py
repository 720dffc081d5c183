"""Columns beside the text: categories, numbers and dates of a table."""

from cordwood.columns.converter import TableConverter
from cordwood.columns.detection import DetectedColumns, detect_columns
from cordwood.columns.numeric import NumericEncoder
from cordwood.columns.roles import ROLES, ColumnRoles, check_columns

__all__ = [
    "ROLES",
    "ColumnRoles",
    "DetectedColumns",
    "NumericEncoder",
    "TableConverter",
    "check_columns",
    "detect_columns",
]
