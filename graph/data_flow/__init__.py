"""Data flow between tools: which output feeds which input, by schemas and texts."""
