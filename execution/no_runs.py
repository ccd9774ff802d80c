"""A stand-in for `Runs` where no database is set up: it refuses every request."""

from __future__ import annotations

from typing import Any, NoReturn

from execution.run_dependencies import RunsUnavailable
from execution.runs import Runs


class UnavailableRuns(Runs):
    """Runs without a database: refuses every request."""

    def __init__(self) -> None:
        """Set up nothing."""

    @property
    def is_executor(self) -> bool:
        """Whether this process executes runs."""
        return False

    async def start(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def claim_and_execute(self, *_: Any) -> bool:
        """Claim nothing."""
        return False

    async def wait(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def load_view(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def control(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    def follow_events(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    def follow_progress(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise RunsUnavailable(ConnectionError("nothing is set up to keep them in"))
