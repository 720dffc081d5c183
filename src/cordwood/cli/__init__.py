"""Command line: `commands` defines the arguments, one module per command implements it."""
