"""What can keep a sign-in to a remote server from succeeding: one line that says what to do."""

from __future__ import annotations

MAX_QUOTED = 200


class SignInFailed(Exception):
    """A sign-in could not be begun or finished."""


class Unreachable(SignInFailed):
    """A server that is needed did not answer, or not as a server of its kind; later it may."""


class Refused(SignInFailed):
    """The authorization server said no.

    Attributes:
        error: Its code, such as `invalid_grant`.
    """

    def __init__(self, message: str, *, error: str) -> None:
        super().__init__(message)
        self.error = error


def quoted(text: str) -> str:
    r"""Make another server's text fit to be shown: one short line without invisible characters.

    Example:
        >>> quoted("no\u200b\nway\x1b[2J")
        'no way[2J'
    """
    line = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return line if len(line) <= MAX_QUOTED else f"{line[:MAX_QUOTED]}…"
