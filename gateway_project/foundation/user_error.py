"""The root of the errors that whoever asked can mend."""

from __future__ import annotations


class UserError(Exception):
    """An error that its requester is told, over every way in; any other is a defect.

    Attributes:
        code: Stable word for programs, listed in docs/errors.md.
    """

    code: str

    def explain(self) -> str:
        """Return the one line that says what to do."""
        return str(self)
