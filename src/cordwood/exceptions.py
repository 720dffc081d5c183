"""Exceptions caused by user input.

The message is one sentence that names the file, line, column or parameter and how to fix it. The
command line prints the message without a traceback.
"""


class CordwoodError(ValueError):
    """Base class of the exceptions caused by user input."""


class DataError(CordwoodError):
    """Invalid data; the message names the file, line and column where they are known."""


class ModelFileError(CordwoodError):
    """A model file is invalid, damaged, unsafe, or written by a newer version of cordwood."""
