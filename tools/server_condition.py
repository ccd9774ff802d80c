"""A server's condition in words, for lists that people read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from gateway_project.foundation.caller import SCOPE_ALL, Caller

ServerConditionWord = Literal[
    "up", "starting", "failing", "sign-in needed", "never contacted", "disabled"
]
LONGEST_ATTEMPT: Final = timedelta(minutes=3)
"""An attempt that began longer ago died with its process; for one requested longer ago, no process
is running."""
SIGN_IN_REQUIRED: Final = "sign_in_required"
WITHHELD_ERROR: Final = "it failed; superusers see the reason"


def limit_error(error: str, caller: Caller, *, public: str = WITHHELD_ERROR) -> str:
    """Return what a caller may know of a server's error; empty if there is none.

    Errors quote the server's command, its address and what it wrote; only superusers, who may
    change it, see them.

    Args:
        error: The whole error; empty: none.
        caller: Who is told.
        public: What others than superusers are told.
    """
    return error if not error or caller.has_scope(SCOPE_ALL) else public


@dataclass(frozen=True, kw_only=True)
class ServerCondition:
    """The last known condition of a server.

    Attributes:
        word: `up`: the last contact succeeded. `starting`: it is being contacted, or is about to
            be. `failing`: the last contact failed, or the server ended since. `sign-in needed`:
            it requires a sign-in. `never contacted`: no process has contacted it yet.
            `disabled`: it is disabled.
        reason: The last error; empty unless it is failing or needs a sign-in.
        since: Begin of the failure or of the attempt; None: neither, or unknown.
        retry_at: When it is contacted again without a call; None: not before something changes.
    """

    word: ServerConditionWord
    reason: str = ""
    since: datetime | None = None
    retry_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ServerHistory:
    """The recorded history of a server; see `tools.models.Server` and `ServerDiscovery`."""

    enabled: bool
    last_error: str = ""
    last_error_at: datetime | None = None
    discovered_at: datetime | None = None
    last_connected_at: datetime | None = None
    started_at: datetime | None = None
    requested_at: datetime | None = None
    failing_since: datetime | None = None
    retry_at: datetime | None = None
    error_code: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether no contact has succeeded since the last error."""
        failed_at = self.last_error_at
        if failed_at is None:
            return False
        successes = (self.discovered_at, self.last_connected_at)
        return all(at is None or at < failed_at for at in successes)


def judge_condition(history: ServerHistory, *, now: datetime) -> ServerCondition:
    """Determine a server's condition from its history."""
    if not history.enabled:
        return ServerCondition(word="disabled")
    begun_at = max((at for at in (history.started_at, history.requested_at) if at), default=None)
    if begun_at is not None and now - begun_at < LONGEST_ATTEMPT:
        return ServerCondition(word="starting", since=begun_at)
    if history.has_failed:
        needs_sign_in = history.error_code == SIGN_IN_REQUIRED
        return ServerCondition(
            word="sign-in needed" if needs_sign_in else "failing",
            reason=history.last_error,
            since=history.failing_since or history.last_error_at,
            retry_at=history.retry_at,
        )
    if history.discovered_at is None and history.last_connected_at is None:
        return ServerCondition(word="never contacted")
    return ServerCondition(word="up")
