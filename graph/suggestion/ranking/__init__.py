"""Which tools an intent wants: a small ranker, fitted on past runs, with a shipped prior."""
