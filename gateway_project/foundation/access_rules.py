"""Rules of the settings about people: who needs a second factor, and what groups give.

Examples:
    >>> sorted(parse_required("admin, superuser"))
    ['admin', 'superuser']
    >>> rules = parse_group_rules("ops=operator; cn=data,dc=a=team:data; boss=team-admin:data")
    >>> rules.grant(["ops", "cn=data,dc=a"])
    Entitlement(roles=('operator',), teams={'data': 'member'})
    >>> rules.grant(["boss", "cn=data,dc=a"]).teams
    {'data': 'admin'}
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

ROLE_NAMES: Final = ("viewer", "operator", "curator", "admin")
"""Roles, least first."""
SUPERUSER: Final = "superuser"
EVERYBODY: Final = "everybody"
MEMBER: Final = "member"
TEAM_ADMIN: Final = "admin"
_TEAM_PREFIXES: Final = {"team:": MEMBER, "team-admin:": TEAM_ADMIN}


@dataclass(frozen=True, kw_only=True)
class Entitlement:
    """What a person's groups give.

    Attributes:
        roles: Roles, least first.
        teams: Teams by name, with the role in each: `member` or `admin`.
    """

    roles: tuple[str, ...]
    teams: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GroupRules:
    """What groups of an identity provider give.

    Attributes:
        roles: Pairs of a group and a role.
        teams: Triples of a group, a team and the role in it.
    """

    roles: tuple[tuple[str, str], ...] = ()
    teams: tuple[tuple[str, str, str], ...] = ()

    def grant(self, groups: Iterable[str], *, default_role: str = "") -> Entitlement:
        """Return what somebody in these groups is entitled to.

        Args:
            groups: As the provider says.
            default_role: Role if no group assigns one; empty: none.
        """
        member_of = set(groups)
        given = {role for group, role in self.roles if group in member_of}
        if not given and default_role:
            given = {default_role}
        teams: dict[str, str] = {}
        for group, team, role in self.teams:
            if group in member_of and teams.get(team) != TEAM_ADMIN:
                teams[team] = role
        return Entitlement(roles=tuple(r for r in ROLE_NAMES if r in given), teams=teams)

    def list_teams(self) -> frozenset[str]:
        """Return the teams whose members these rules decide."""
        return frozenset(team for _, team, _ in self.teams)


def parse_required(text: str) -> frozenset[str]:
    """Parse who needs a second factor: roles separated by commas, or `everybody`.

    Raises:
        ValueError: If a name is neither.
    """
    names = frozenset(filter(None, map(str.strip, text.split(","))))
    if unknown := names.difference(ROLE_NAMES, (SUPERUSER, EVERYBODY)):
        raise ValueError(
            f"knows no {', '.join(sorted(unknown))}; it takes {', '.join(ROLE_NAMES)}, "
            f"{SUPERUSER} or {EVERYBODY}"
        )
    return names


def parse_group_rules(text: str) -> GroupRules:
    """Parse rules separated by semicolons: GROUP=ROLE, GROUP=team:NAME, GROUP=team-admin:NAME.

    The last equals sign of a rule separates, so that groups may be distinguished names.

    Raises:
        ValueError: If a rule has another form, or names no role.
    """
    roles: list[tuple[str, str]] = []
    teams: list[tuple[str, str, str]] = []
    for rule in filter(None, map(str.strip, text.split(";"))):
        group, _, gift = (part.strip() for part in rule.rpartition("="))
        prefix = next((one for one in _TEAM_PREFIXES if gift.startswith(one)), "")
        team = gift.removeprefix(prefix).strip() if prefix else ""
        if group and team:
            teams.append((group, team, _TEAM_PREFIXES[prefix]))
        elif group and gift in ROLE_NAMES:
            roles.append((group, gift))
        else:
            raise ValueError(
                f"{rule!r} is not GROUP=ROLE, GROUP=team:NAME or GROUP=team-admin:NAME, with one "
                f"of the roles {', '.join(ROLE_NAMES)}"
            )
    return GroupRules(roles=tuple(roles), teams=tuple(teams))


def check_issuer(address: str) -> None:
    """Check that an address can be an issuer: https, or http on this machine.

    Raises:
        ValueError: If not.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("is not an address") from None
    if parts.query or parts.fragment or "@" in parts.netloc or not host:
        raise ValueError("is an address without user, query and fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise ValueError("begins with https://")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name or number."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
