"""Exceptions caused by user input.

The message is one sentence that names the file, line, column or parameter and how to fix it. The
command line prints the message without a traceback.
"""


class CordwoodError(ValueError):
    """Base class of the exceptions caused by user input.

    Examples
    --------
    >>> from cordwood import CordwoodError, recipes
    >>> try:
    ...     recipes.make("foresst")
    ... except CordwoodError as error:
    ...     print(error)
    unknown recipe 'foresst'; did you mean 'stack_forests'?
    """


class DataError(CordwoodError):
    """Invalid data; the message names the file, line and column where they are known.

    Examples
    --------
    >>> from cordwood import DataError, read_dataset
    >>> try:
    ...     read_dataset({"body": ["a text"], "topic": ["a"]}, text="boddy", label="topic")
    ... except DataError as error:
    ...     print(str(error).partition(";")[0])
    dict has no column "boddy" (did you mean "body"?)
    """


class ModelFileError(CordwoodError):
    """A model file is invalid, damaged, unsafe, or written by a newer version of cordwood.

    Examples
    --------
    >>> import tempfile
    >>> from cordwood import ModelFileError, load
    >>> with tempfile.NamedTemporaryFile(suffix=".cordwood") as file:
    ...     try:
    ...         load(file.name)
    ...     except ModelFileError as error:
    ...         print(str(error).replace(file.name, "films.cordwood"))
    cannot load films.cordwood: it is not a cordwood model file
    """
