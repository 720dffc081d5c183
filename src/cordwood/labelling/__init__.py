"""Labelling of texts: labels on disk, files of other tools, and the choice of the next text."""
