"""A server as a person registers it, before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from tools.tool_filter import ToolFilter


@dataclass(frozen=True, kw_only=True)
class ServerRegistration:
    """A server as a person registers it.

    Attributes:
        name: First half of its tools' ids.
        transport: How it is reached.
        command: Of a stdio server: executable to start; may contain ${VAR}.
        args: Arguments; may contain ${VAR}.
        env: Environment in addition to the minimal one; sealed at rest.
        cwd: Working folder; empty: the home folder of the user.
        url: Of a remote server: its address; may contain ${VAR}.
        headers: Sent with every request to it; sealed at rest.
        private_network: Whether its own address may be private; applied only when the address
            changes, since an admin may decide otherwise.
        authorization: How it is signed in to; None: unchanged.
        oauth_client_id: Manually registered client, empty if there is none.
        oauth_client_secret: Its secret; sealed at rest.
        oauth_scopes: Scopes to request, separated by spaces.
        extra: Unknown keys of an imported entry, kept unchanged.
        source: Origin of the entry.
        trusted: Whether a person trusts its annotations; None: unchanged.
        price_per_call: US dollars; None: unknown. Always unknown for a new remote server: a
            person sets it afterwards.
        enabled: Whether it may be used.
        team: Name of the team that alone sees it; None: unchanged, of a new server everybody.
        tools: Which tools stay off; an empty filter leaves that of the server.
        connect_timeout_s: Longest that its start may take; None: unchanged.
        call_timeout_s: Longest that a call may take; None: unchanged.
    """

    name: str
    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    private_network: bool = False
    authorization: Literal["none", "oauth", "oauth_per_user"] | None = None
    oauth_client_id: str = ""
    oauth_client_secret: str = field(default="", repr=False)
    oauth_scopes: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    trusted: bool | None = None
    price_per_call: Decimal | None = Decimal(0)
    enabled: bool = True
    team: str | None = None
    tools: ToolFilter = field(default_factory=ToolFilter)
    connect_timeout_s: float | None = None
    call_timeout_s: float | None = None
