"""Reading intents: clauses, masked texts and their encoding as vectors."""
