"""The `cordwood` command: `commands` says what each takes, a file of its name does its work."""
