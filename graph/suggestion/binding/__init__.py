"""Binds the arguments of a workflow's tasks, each with its source and confidence."""
