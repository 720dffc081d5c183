"""Run the command line with ``python -m cordwood``."""

from cordwood.cli.main import run

if __name__ == "__main__":
    run()
