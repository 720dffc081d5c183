"""What the benchmarks' command lines share."""

import argparse
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Make the type of an option that is a whole number, and not less than this."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too few; give at least {least}")
        return value

    return number
