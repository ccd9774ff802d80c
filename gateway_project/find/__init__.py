"""Find tools for an intent and write the answer that a client reads."""
