"""Executes one run: its state in memory, its calls, and the changes to journal."""
