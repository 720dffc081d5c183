"""Audit of labelled data: wrong labels, duplicates, leakage and bad texts."""

from cordwood.audit.audit_dataset import audit_dataset
from cordwood.audit.dataset_audit import DatasetAudit
from cordwood.audit.dataset_check import DatasetCheck, check_dataset
from cordwood.audit.label_errors import find_label_errors
from cordwood.audit.near_duplicates import find_near_duplicates

__all__ = [
    "DatasetAudit",
    "DatasetCheck",
    "audit_dataset",
    "check_dataset",
    "find_label_errors",
    "find_near_duplicates",
]
