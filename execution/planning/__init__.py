"""Parses and plans workflows: from a client's JSON to a runnable workflow, or its problems."""
