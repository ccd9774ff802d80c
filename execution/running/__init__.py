"""Running: one run carried on from task to task, in memory and written down as it goes."""
