"""Planning: from what a client gives to a workflow that can be run, or what is wrong with it."""
