"""Ranks sets of tools for an intent: small models fitted on past runs, with a shipped prior."""
