"""Allow-list of host names that the gateway answers to and of web origins that may call it.

By DNS rebinding, a web page can point its own name at this machine and call the gateway as if from
the same origin. So only requests for a listed host are answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
MAX_CACHED_HOSTS: Final = 100


@dataclass(frozen=True, kw_only=True)
class AllowedNames:
    """Host names and origins that requests may use.

    Attributes:
        hosts: Names without a port; a leading dot includes all subdomains, `*` allows any name.
        origins: Origins that may call from a browser, beside those of `hosts` at the port that the
            request came to.
    """

    hosts: tuple[str, ...]
    origins: frozenset[str] = frozenset()
    _known_hosts: set[str] = field(default_factory=set, compare=False, repr=False)

    def is_own_host(self, host: str) -> bool:
        """Whether the gateway answers to the name in a `Host` header."""
        if host in self._known_hosts:
            return True
        if not self._is_listed(_split_port(host)[0]):
            return False
        if len(self._known_hosts) < MAX_CACHED_HOSTS:
            self._known_hosts.add(host)
        return True

    def is_allowed_origin(self, origin: str, *, host: str) -> bool:
        """Whether a web page of this origin may call.

        Args:
            origin: The `Origin` header.
            host: The `Host` header, of a name that the gateway answers to.
        """
        return self.is_configured_origin(origin) or self._is_own_origin(origin, host)

    def is_configured_origin(self, origin: str) -> bool:
        """Whether an origin is configured as allowed."""
        return origin.lower() in self.origins

    def _is_own_origin(self, origin: str, host: str) -> bool:
        scheme, separator, authority = origin.lower().partition("://")
        if not separator or scheme not in DEFAULT_PORTS:
            return False
        if authority == host.lower():
            return True
        name, port = _split_port(authority)
        same_port = _split_port(host)[1] or DEFAULT_PORTS[scheme]
        return (port or DEFAULT_PORTS[scheme]) == same_port and self._is_listed(
            name, any_name=False
        )

    def _is_listed(self, name: str, *, any_name: bool = True) -> bool:
        return any(
            name == pattern
            or (any_name and pattern == "*")
            or (pattern.startswith(".") and (name.endswith(pattern) or name == pattern[1:]))
            for pattern in self.hosts
        )


def load_allowed_names(
    *, hosts: str, origins: str, public_url: str | None = None, bound: Iterable[str] = ()
) -> AllowedNames:
    """Return the allowed names of an installation.

    Args:
        hosts: Configured hosts, separated by commas.
        origins: Configured origins, separated by commas.
        public_url: Public URL of the gateway.
        bound: Hosts it listens on; unspecified addresses such as `0.0.0.0` are skipped.
    """
    listed = [item.strip().lower() for item in hosts.split(",") if item.strip()]
    listed += [
        f"[{host}]" if ":" in host else host for host in bound if host not in UNSPECIFIED_HOSTS
    ]
    written = [item.strip().lower() for item in origins.split(",") if item.strip()]
    allowed = {item if item.endswith("://") else item.rstrip("/") for item in written}
    if public_url:
        public = urlsplit(public_url.lower())
        listed.append(_split_port(public.netloc)[0])
        allowed.add(f"{public.scheme}://{public.netloc}")
    return AllowedNames(hosts=tuple(dict.fromkeys(listed)), origins=frozenset(allowed))


UNSPECIFIED_HOSTS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


def _split_port(authority: str) -> tuple[str, int | None]:
    """Split a name from its port; the name keeps its brackets and loses a trailing dot."""
    name, bracket, rest = authority.lower().rpartition("]")
    if bracket:
        name, port = name + bracket, rest.removeprefix(":")
    else:
        name, _, port = rest.partition(":")
    number = int(port) if port.isascii() and port.isdigit() else None
    if port and number is None:
        return "", None
    return name.removesuffix("."), number
