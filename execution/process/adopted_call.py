"""A call in flight that goes on as a run, once the client that made it waits no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from execution.call import CallOutcome, PreparedCall
from execution.call_errors import CallError
from tools.upstream.request import ProgressListener


class CannotAdopt(Exception):
    """This process can hold no run for the call: it executes none, is full, or is ending."""


class NobodyToAsk(CallError):
    """The server needs input for a call that goes on as a run."""

    code = "cannot_ask_client"

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"{tool} asked for input, but a call that goes on as a run has nobody to ask; call it "
            "again"
        )


@dataclass(eq=False, kw_only=True)
class AdoptedCall:
    """A call in flight, the only one of its run: this process does not send it again.

    Attributes:
        prepared: What was sent.
        sending: Ends with its outcome; cancelling it cancels the call upstream.
        forward_progress: Has the server's reports from now on go to a listener.
        is_taken: Whether the run waits for it, or has.
    """

    prepared: PreparedCall
    sending: asyncio.Task[CallOutcome]
    forward_progress: Callable[[ProgressListener], None]
    is_taken: bool = False

    async def conclude(self, listener: ProgressListener) -> CallOutcome:
        """Wait for the outcome; cancelling this cancels the call.

        Raises:
            NobodyToAsk: If the server needs input.
        """
        self.is_taken = True
        self.forward_progress(listener)
        outcome = await self.sending
        if outcome.result.is_interim:
            raise NobodyToAsk(self.prepared.tool)
        return outcome
