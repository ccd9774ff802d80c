"""What a bearer token stands for, as the database said at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_project.foundation.caller import Caller


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A token that is good.

    Attributes:
        caller: Whom it stands for.
        expires_at: When it ends, in seconds since the epoch; None: never.
    """

    caller: Caller
    expires_at: float | None = None


class TokensUnavailable(Exception):
    """Tokens cannot be looked up now."""
