"""Turn an intent into a suggested workflow and the answer that a client reads."""
