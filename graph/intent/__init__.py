"""What is read from an intent: clauses, and the same as numbers."""
