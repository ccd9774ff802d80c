"""Writes to stdout without end and never a line of MCP."""

import os

while True:
    os.write(1, b"0123456789abcdef" * 4096)
