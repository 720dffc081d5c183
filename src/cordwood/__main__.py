"""`python -m cordwood` is the command `cordwood`."""

from cordwood.cli.main import run

if __name__ == "__main__":
    run()
