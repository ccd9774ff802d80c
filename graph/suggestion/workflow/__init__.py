"""Turns ranked sets of tools into a workflow with dependencies, arguments and evidence."""
