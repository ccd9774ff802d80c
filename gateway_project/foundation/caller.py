"""The caller of a request: passed down every path, so that permissions are never guessed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CallerKind = Literal["stdio", "http", "command", "console"]

SCOPE_ALL = "*"


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user connected in one way, acting for one team or for none.

    Attributes:
        user: Name of the user.
        team: Primary key of the team acted for; None sees shared rows only.
        scopes: Permissions of the caller; `*` grants everything.
        kind: How the caller is connected.
        session: Key of the conversation that a request belongs to, opaque; empty: none. It grants
            nothing, so callers that differ only in it are equal.
    """

    user: str
    team: int | None
    scopes: frozenset[str]
    kind: CallerKind
    session: str = field(default="", compare=False)

    def has_scope(self, scope: str) -> bool:
        """Whether the caller holds a scope.

        Example:
            >>> caller = Caller(user="a", team=None, scopes=frozenset({"call"}), kind="http")
            >>> caller.has_scope("read")
            False
        """
        return SCOPE_ALL in self.scopes or scope in self.scopes

    def can_see_team(self, team: int | None) -> bool:
        """Whether a row of `team` is visible: shared rows to all, others to their own team.

        Example:
            >>> Caller(user="a", team=1, scopes=frozenset(), kind="http").can_see_team(2)
            False
        """
        return team is None or team == self.team
