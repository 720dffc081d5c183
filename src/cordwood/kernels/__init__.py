"""Compiled loops over arrays: no labels, no words, no files, one module for each idea."""
