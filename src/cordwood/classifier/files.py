"""Model files of `TextClassifier`, whose schema `persist` gets from here."""

from cordwood.classifier.schema import SCHEMAS
from cordwood.persist import load
from cordwood.persist.files import compute_digest, load_with_card
from cordwood.persist.registry import register

__all__ = ["compute_digest", "load", "load_with_card"]

register(SCHEMAS)
