"""Errors of a sign-in to a remote server, each with a one-line message with advice."""

from __future__ import annotations

MAX_QUOTED = 200


class SignInFailed(Exception):
    """A sign-in could not be started or completed."""


class AuthorizationServerUnreachable(SignInFailed):
    """A required server did not answer, or not as expected; retrying later may help."""


class AuthorizationRefused(SignInFailed):
    """The authorization server refused.

    Attributes:
        error: Its error code, such as `invalid_grant`.
    """

    def __init__(self, message: str, *, error: str) -> None:
        super().__init__(message)
        self.error = error


def quote_foreign(text: str) -> str:
    r"""Make another server's text safe to show: one short line without invisible characters.

    Example:
        >>> quote_foreign("no\u200b\nway\x1b[2J")
        'no way[2J'
    """
    line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"
