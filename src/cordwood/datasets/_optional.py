"""Import of packages that only some file formats need."""

from importlib import import_module
from typing import Any

from cordwood.exceptions import CordwoodError


def import_extra(module: str, what: str, *, package: str | None = None) -> Any:
    """Import a module of the extra `files`, or raise an error with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise CordwoodError(
            f"{what} require the package {package or module}; install it with: "
            'pip install "cordwood[files]"'
        ) from error
