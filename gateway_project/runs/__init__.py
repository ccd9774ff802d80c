"""Runs as clients and people ask for them, and as they are shown."""
