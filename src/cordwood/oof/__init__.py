"""Out-of-fold predictions: how a classifier predicts its own training samples."""

from cordwood.oof.records import OOFPredictions

__all__ = ["OOFPredictions"]
