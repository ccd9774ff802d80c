"""A journal that keeps what it is given, for tests that look at it."""

from execution.changes import Changes


class KeptJournal:
    def __init__(self):
        self.recorded: list[Changes] = []

    async def record(self, changes: Changes) -> None:
        self.recorded.append(changes)
