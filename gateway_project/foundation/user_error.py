"""The root of the errors that whoever asked can mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_project.foundation.schema_problems import ArgumentProblem


class UserError(Exception):
    """An error that its requester is told, over every way in; any other is a defect.

    Attributes:
        code: Stable word for programs, listed in docs/errors.md.
        problems: What is wrong, field by field, where that is known.
    """

    code: str
    problems: tuple[ArgumentProblem, ...] = ()

    def explain(self) -> str:
        """Return the one line that says what to do."""
        return str(self)
