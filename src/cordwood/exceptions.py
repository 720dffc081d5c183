"""What went wrong, in one sentence a person can act on.

Every error that a user can cause is one of these; the command line prints its sentence and
nothing else.
"""


class CordwoodError(ValueError):
    """Base of all errors that a user can cause and can mend."""


class DataError(CordwoodError):
    """A data file is not what it was said to be; names the file, the line and the column."""


class ModelFileError(CordwoodError):
    """A model file cannot be opened: not ours, damaged, or from a newer version."""
