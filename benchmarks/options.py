"""Options that the command lines of several benchmarks have."""

import argparse
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Return the type of an integer option with a minimum."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}; got {value}")
        return value

    return number
