"""A journal that keeps what it is given, for tests that look at it."""

from execution.changes import RunChanges


class KeptJournal:
    def __init__(self):
        self.recorded: list[RunChanges] = []

    async def record(self, changes: RunChanges) -> None:
        self.recorded.append(changes)
