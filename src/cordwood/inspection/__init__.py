"""Inspection of data and models."""

from cordwood.inspection.dataset_check import DatasetCheck, Finding, check_dataset

__all__ = ["DatasetCheck", "Finding", "check_dataset"]
