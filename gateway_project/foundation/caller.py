"""Who asks: passed down every path, so that permission and scope are never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["stdio", "http", "command", "console"]

SCOPE_ALL = "*"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user on one way in, acting for one team or for none.

    Attributes:
        user: Name of the user.
        team: Primary key of the team acted for; None sees shared rows only.
        scopes: What the caller may do; `*` is everything.
        kind: The way in.
    """

    user: str
    team: int | None
    scopes: frozenset[str]
    kind: Kind

    def may(self, scope: str) -> bool:
        """Whether the caller holds a scope.

        Example:
            >>> Caller(user="a", team=None, scopes=frozenset({"call"}), kind="http").may("admin")
            False
        """
        return SCOPE_ALL in self.scopes or scope in self.scopes

    def sees(self, team: int | None) -> bool:
        """Whether a row of `team` is visible: shared rows to all, others to their own team.

        Example:
            >>> Caller(user="a", team=1, scopes=frozenset(), kind="http").sees(2)
            False
        """
        return team is None or team == self.team
