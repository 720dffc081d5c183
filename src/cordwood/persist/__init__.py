"""Model files: a fitted model in one file, whose loading runs no code.

A model file is a zip archive of

- ``model.json``: the estimators as a tree of class names, parameters and fitted attributes,
- ``arrays``: the arrays of the attributes, each distinct one once,
- ``cordwood.json``: the model card with versions, classes, and fingerprint of the training data,
- ``sha256``: the digests of the other members.

A file may contain only classes with a schema (modules named `schema`, next to the estimators), and
of these only the attributes that predictions need, whose types, shapes, ranges and consistency are
checked. `save` runs the same checks: a file that `load` would reject is not written.
"""

from cordwood.persist.files import load, read_model_card, save
from cordwood.persist.model_card import ModelCard, TrainingRecord

__all__ = ["ModelCard", "TrainingRecord", "load", "read_model_card", "save"]
