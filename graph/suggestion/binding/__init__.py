"""Where the arguments of a workflow's tasks come from."""
