"""Suggest a workflow: read the intent, rank tools, bind arguments, order the tasks."""
