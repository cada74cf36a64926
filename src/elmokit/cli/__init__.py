"""The `elmo` command: each file parses one command and calls one library function."""
