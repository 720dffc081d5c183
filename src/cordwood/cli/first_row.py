"""The first row of DATA, checked before the modules of a command, whose import takes seconds."""

import os

from cordwood.cli.commands import Audit, Curve, Train
from cordwood.datasets.file_source import check_first_row

_ROLES = ("categorical", "numeric", "date", "columns")


def check_data(args: Train | Audit | Curve) -> None:
    """Raise an error if a column does not exist, or the first row is not valid."""
    first = args.data if isinstance(args.data, str) else (args.data or [""])[0]
    # Pipes can be read only once; columns of a table are named by other options as well.
    if os.path.isfile(first) and not any(getattr(args, role, None) for role in _ROLES):
        check_first_row(first, args.read)
