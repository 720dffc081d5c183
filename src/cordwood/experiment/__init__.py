"""Data sets by name, and later learners compared on them.

`datasets` lists and loads them; `docstrings` builds the one that is on every machine.
"""
