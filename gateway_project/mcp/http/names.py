"""The names the gateway answers to and the web origins that may call it.

A page on the web can have its own name lead to this machine and then speak to the gateway as if it
were of the same origin. So only requests that name a host on the list are answered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
MAX_REMEMBERED: Final = 100


@dataclass(frozen=True, kw_only=True)
class Names:
    """What requests may name.

    Attributes:
        hosts: Names without a port; one with a leading dot stands for all names below it too, `*`
            for any.
        origins: Origins that may call from a browser, beside those of `hosts` at the port the
            request came to.
    """

    hosts: tuple[str, ...]
    origins: frozenset[str] = frozenset()
    _known: set[str] = field(default_factory=set, compare=False, repr=False)

    def answer_to(self, host: str) -> bool:
        """Whether the gateway goes by the name in a `Host` header."""
        if host in self._known:
            return True
        if not self._listed(_split(host)[0]):
            return False
        if len(self._known) < MAX_REMEMBERED:
            self._known.add(host)
        return True

    def admit(self, origin: str, *, host: str) -> bool:
        """Whether a browser's page of this origin may call.

        Args:
            origin: The header `Origin`.
            host: The header `Host`, of a name that is answered to.
        """
        return self.foreign(origin) or self._own(origin, host)

    def foreign(self, origin: str) -> bool:
        """Whether an origin is another one that was allowed by name."""
        return origin.lower() in self.origins

    def _own(self, origin: str, host: str) -> bool:
        scheme, separator, place = origin.lower().partition("://")
        if not separator or scheme not in DEFAULT_PORTS:
            return False
        if place == host.lower():
            return True
        name, port = _split(place)
        same_port = _split(host)[1] or DEFAULT_PORTS[scheme]
        return (port or DEFAULT_PORTS[scheme]) == same_port and self._listed(name, any_name=False)

    def _listed(self, name: str, *, any_name: bool = True) -> bool:
        return any(
            name == pattern
            or (any_name and pattern == "*")
            or (pattern.startswith(".") and (name.endswith(pattern) or name == pattern[1:]))
            for pattern in self.hosts
        )


def names(
    *, hosts: str, origins: str, public_url: str | None = None, bound: Iterable[str] = ()
) -> Names:
    """Return the names of an installation.

    Args:
        hosts: As configured, separated by commas.
        origins: As configured, separated by commas.
        public_url: Address under which people reach it.
        bound: Hosts it listens on; one that stands for all of a machine's addresses names none.
    """
    listed = [item.strip().lower() for item in hosts.split(",") if item.strip()]
    listed += [f"[{host}]" if ":" in host else host for host in bound if host not in UNSPECIFIED]
    allowed = {item.strip().lower().rstrip("/") for item in origins.split(",") if item.strip()}
    if public_url:
        public = urlsplit(public_url.lower())
        listed.append(_split(public.netloc)[0])
        allowed.add(f"{public.scheme}://{public.netloc}")
    return Names(hosts=tuple(dict.fromkeys(listed)), origins=frozenset(allowed))


UNSPECIFIED: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


def _split(place: str) -> tuple[str, int | None]:
    """Part a name from its port; the name keeps its brackets and loses a last dot."""
    name, bracket, rest = place.lower().rpartition("]")
    if bracket:
        name, port = name + bracket, rest.removeprefix(":")
    else:
        name, _, port = rest.partition(":")
    number = int(port) if port.isascii() and port.isdigit() else None
    if port and number is None:
        return "", None
    return name.removesuffix("."), number
