"""Stacked generalization."""
