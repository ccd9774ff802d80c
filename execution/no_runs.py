"""Runs where there are none: every request is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from execution.run_means import RunsUnavailable
from execution.runs import Runs


class NoRuns(Runs):
    """Stands where nothing is set up to keep runs in."""

    def __init__(self) -> None:
        """Set nothing up."""

    @property
    def executes(self) -> bool:
        """Whether this process carries out runs."""
        return False

    async def start(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def take(self, *_: Any) -> bool:
        """Take nothing."""
        return False

    async def wait(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def view(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    async def control(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    def follow(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()

    def reports(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse."""
        _refuse()


def _refuse() -> NoReturn:
    raise RunsUnavailable(ConnectionError("nothing is set up to keep them in"))
