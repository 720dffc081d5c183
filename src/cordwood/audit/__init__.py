"""Audit of labelled data: wrong labels, duplicates, leakage and bad texts."""

from cordwood.audit._confused_classes import ConfusedClasses
from cordwood.audit._revealing_words import RevealingWord
from cordwood.audit.audit_dataset import audit_dataset
from cordwood.audit.dataset_audit import DatasetAudit, Fix
from cordwood.audit.dataset_check import DatasetCheck, Finding, check_dataset
from cordwood.audit.label_errors import LabelErrors, find_label_errors
from cordwood.audit.near_duplicates import NearDuplicates, find_near_duplicates
from cordwood.audit.suspects import Suspect

__all__ = [
    "ConfusedClasses",
    "DatasetAudit",
    "DatasetCheck",
    "Finding",
    "Fix",
    "LabelErrors",
    "NearDuplicates",
    "RevealingWord",
    "Suspect",
    "audit_dataset",
    "check_dataset",
    "find_label_errors",
    "find_near_duplicates",
]
