"""A valid bearer token as loaded from the database."""

from __future__ import annotations

from dataclasses import dataclass

from gateway_project.foundation.caller import Caller


@dataclass(frozen=True, kw_only=True)
class ActiveToken:
    """A valid token.

    Attributes:
        caller: The caller it authenticates.
        expires_at: Expiry in seconds since the Unix epoch; None: never.
        is_for_mcp: Whether it serves MCP only, not the REST API.
    """

    caller: Caller
    expires_at: float | None = None
    is_for_mcp: bool = False


class TokensUnavailable(Exception):
    """Tokens cannot be looked up because the database is unavailable."""
