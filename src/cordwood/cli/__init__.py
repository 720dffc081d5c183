"""The `cordwood` command: one file per command, each parses, calls one function and prints."""
