"""Labelling of texts: which ones to label next."""
