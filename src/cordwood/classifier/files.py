"""Model files of `TextClassifier`, whose schema `persist` gets from here."""

from cordwood.classifier.schema import SCHEMAS
from cordwood.persist import load, load_with_card, register

__all__ = ["load", "load_with_card"]

register(SCHEMAS)
