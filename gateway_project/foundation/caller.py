"""The caller of a request: passed down every path, so that permissions are never guessed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple, Protocol

CallerKind = Literal["stdio", "http", "command", "console", "gateway"]

LOCAL_KINDS: Final = ("stdio", "command")
"""Of processes that the account started that Foregate runs as."""
SCOPE_ALL = "*"
CLIENT_SCOPES: Final = ("search", "call", "read")
"""Scopes of MCP clients, and of tokens by default."""
SessionKey = tuple[str, "Contributor", str | None, str]
"""User, owner of what is observed, tool group, and session."""


class OwnedItem(Protocol):
    """A server or a tool, as far as that decides who may know of it."""

    @property
    def team(self) -> int | None:
        """Primary key of the owning team; None: shared."""

    @property
    def groups(self) -> frozenset[str]:
        """Names of the tool groups that hold it, or any tool of it."""


class Contributor(NamedTuple):
    """Who is observed: whose knowledge it becomes, and on whose account it counts there.

    Attributes:
        owner: Primary key of the team, or of the private team of somebody who acts for none. What
            is observed belongs to it alone; None: to nobody, and nothing is learned.
        person: Primary key of the private team of the user; None: unknown.
    """

    owner: int | None
    person: int | None


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A user connected in one way, acting for one team or for none.

    What is derived from these is asked for many times in a request, and computed once.

    Attributes:
        user: Name of the user.
        team: Primary key of the team acted for; None sees shared rows only.
        person: Primary key of the user's private team, which tells what they did from what others
            did; None: the caller is nobody, so nothing is learned from it.
        scopes: Permissions of the caller; `*` grants everything.
        kind: How the caller is connected.
        group: Name of the tool group outside which no tool exists for the caller; None: the caller
            is limited to none.
        session: Key of the client's session that a request belongs to, opaque; empty: none. It
            grants nothing, so callers that differ only in it are equal.
        trace: Key of the conversation within the session, where the client has several; likewise.
        are_teams_used: Whether the installation has any team; False only where it is known to have
            none: all of it then counts as one team. It says nothing of who the caller is, so
            callers that differ only in it are equal.
        folder: Where the client's user works on this machine; empty: unknown. Likewise.
    """

    user: str
    team: int | None
    person: int | None
    scopes: frozenset[str]
    kind: CallerKind
    group: str | None = None
    session: str = field(default="", compare=False)
    trace: str = field(default="", compare=False)
    are_teams_used: bool = field(default=True, compare=False)
    folder: str = field(default="", compare=False)

    @cached_property
    def owner(self) -> int | None:
        """Primary key of the team, or private team, that owns what is observed of the caller.

        Example:
            >>> Caller(user="a", team=None, person=7, scopes=frozenset(), kind="http").owner
            7
        """
        return self.person if self.team is None else self.team

    @cached_property
    def contributor(self) -> Contributor:
        """Whose knowledge what is observed of the caller becomes, and on whose account."""
        return Contributor(self.owner, self.person)

    @cached_property
    def client_key(self) -> SessionKey:
        """What tells the caller's client, or run, from all others: to servers that keep state."""
        return self.user, self.contributor, self.group, self.session

    @cached_property
    def session_key(self) -> SessionKey:
        """What tells the caller's conversation from all others."""
        session = f"{self.session}\n{self.trace}" if self.trace else self.session
        return self.user, self.contributor, self.group, session

    def has_scope(self, scope: str) -> bool:
        """Whether the caller holds a scope.

        Example:
            >>> caller = Caller(
            ...     user="a", team=None, person=7, scopes=frozenset({"call"}), kind="http"
            ... )
            >>> caller.has_scope("read")
            False
        """
        return SCOPE_ALL in self.scopes or scope in self.scopes

    def can_see_team(self, team: int | None) -> bool:
        """Whether a row of `team` is visible: shared rows to all, others to their own team.

        Example:
            >>> caller = Caller(user="a", team=1, person=7, scopes=frozenset(), kind="http")
            >>> caller.can_see_team(2)
            False
        """
        return team is None or team == self.team

    def can_decide_for_team(self, team: int | None) -> bool:
        """Whether a decision about rows of `team` is the caller's.

        About shared rows it is the superusers', or everybody's who holds the scope for it where
        there are no teams.

        Example:
            >>> caller = Caller(user="a", team=1, person=7, scopes=frozenset(), kind="http")
            >>> caller.can_decide_for_team(None)
            False
        """
        if SCOPE_ALL in self.scopes:
            return True
        return not self.are_teams_used if team is None else team == self.team

    def can_see(self, item: OwnedItem) -> bool:
        """Whether a server or tool is visible: by its team, and within the caller's group.

        A group that was deleted holds nothing.
        """
        if not self.can_see_team(item.team):
            return False
        return self.group is None or self.group in item.groups

    def limit_to_group(self, group: str | None) -> Caller:
        """Return the caller limited to a tool group, with no other rights than a client's.

        None limits them to none.

        Example:
            >>> admin = Caller(
            ...     user="a", team=None, person=7, scopes=frozenset({"*"}), kind="stdio"
            ... )
            >>> sorted(admin.limit_to_group("desk").scopes)
            ['call', 'read', 'search']
        """
        if group is None:
            return self
        scopes = frozenset(scope for scope in CLIENT_SCOPES if self.has_scope(scope))
        return replace(self, group=group, scopes=scopes)


GATEWAY: Final = Caller(user="", team=None, person=None, scopes=frozenset(), kind="gateway")
"""The gateway itself, which lists what servers have; it may call no tool."""
