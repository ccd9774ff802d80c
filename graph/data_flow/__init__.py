"""Which output of one tool feeds which input of another, read from schemas and texts."""
