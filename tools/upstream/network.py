"""Rules for the addresses that the gateway connects to on behalf of an entry or a server.

A remote server, or a name server, decides where a name or a redirect leads. Without rules it
could send the gateway to services that trust whoever is inside the network: databases,
consoles, the metadata services at which clouds hand out credentials.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, kw_only=True)
class Special:
    """Addresses that do not lie in the public network.

    Attributes:
        network: The addresses.
        what: What they are for, to follow "which is".
        local: Whether services that people run themselves lie there.
    """

    network: Network
    what: str
    local: bool = False


def _special(cidr: str, what: str, *, local: bool = False) -> Special:
    return Special(network=ip_network(cidr), what=what, local=local)


# IANA special-purpose address registries (RFC 6890 and its updates). Clouds keep services of their
# own, credentials among them, at addresses within those networks too, and Azure at one that is
# public by number: the first that fits counts.
_SPECIAL_V4 = (
    _special("0.0.0.0/8", "no host's address"),
    _special("10.0.0.0/8", "private", local=True),
    _special("100.100.100.200/32", "a cloud's own service"),  # Alibaba
    _special("100.64.0.0/10", "a carrier's private network", local=True),
    _special("127.0.0.0/8", "this machine", local=True),
    _special("168.63.129.16/32", "a cloud's own service"),
    _special("169.254.0.0/16", "link-local, where clouds keep credentials"),
    _special("172.16.0.0/12", "private", local=True),
    _special("192.0.0.0/24", "reserved for protocols"),
    _special("192.0.2.0/24", "for documentation"),
    _special("192.88.99.0/24", "a relay between versions of IP"),
    _special("192.168.0.0/16", "private", local=True),
    _special("198.18.0.0/15", "for benchmarks", local=True),
    _special("198.51.100.0/24", "for documentation"),
    _special("203.0.113.0/24", "for documentation"),
    _special("224.0.0.0/4", "multicast"),
    _special("240.0.0.0/4", "reserved"),
)
_SPECIAL_V6 = (
    _special("::/128", "no host's address"),
    _special("::1/128", "this machine", local=True),
    _special("fd00:c1::/32", "a cloud's own service"),  # Oracle
    _special("fd00:ec2::/32", "a cloud's own service"),  # Amazon
    _special("fd20:ce::/32", "a cloud's own service"),  # Google
    _special("fc00::/7", "private", local=True),
    _special("fe80::/10", "link-local"),
    _special("fec0::/10", "private"),
    _special("ff00::/8", "multicast"),
    _special("2001::/23", "a tunnel or reserved for protocols"),  # Teredo and others
    _special("2001:db8::/32", "for documentation"),
    _special("2002::/16", "a tunnel (6to4)"),
    _special("3fff::/20", "for documentation"),
)
_PUBLIC_V6 = IPv6Network("2000::/3")  # nothing else has been given out (RFC 4291, section 2.4)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052


@dataclass(frozen=True, kw_only=True)
class NetworkRules:
    """Which addresses may be connected to.

    Attributes:
        allowed: Networks that are open although they are special.
    """

    allowed: tuple[Network, ...] = ()

    def objection(self, address: str, *, local: bool = False) -> str:
        """Say why an address may not be connected to; empty if it may.

        Args:
            address: An IP address.
            local: Whether services that people run themselves may be reached.

        Example:
            >>> NetworkRules().objection("::ffff:127.0.0.1")
            'this machine'
            >>> NetworkRules(allowed=parse_networks("127.0.0.0/8")).objection("127.0.0.1")
            ''
        """
        try:
            given = ip_address(address.partition("%")[0])
        except ValueError:
            return "no IP address"
        meant = _meant(given)
        if any(_lies_in(each, network) for each in (given, meant) for network in self.allowed):
            return ""
        special = _find(meant)
        return "" if special is None or (local and special.local) else special.what


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read networks separated by commas; an address alone is a network of one.

    Raises:
        ValueError: Naming the part that is neither.

    Example:
        >>> parse_networks("10.1.0.0/16, ::1")
        (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    networks: list[Network] = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError:
            raise ValueError(f"{part!r} is no network; write it like 10.1.0.0/16") from None
    return tuple(networks)


def is_address(host: str) -> bool:
    """Whether a host is written as an IP address.

    Example:
        >>> is_address("[::1]"), is_address("localhost")
        (True, False)
    """
    try:
        ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def _meant(address: Address) -> Address:
    """Return the address of version 4 that one of version 6 stands for, else the address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _find(address: Address) -> Special | None:
    table = _SPECIAL_V4 if isinstance(address, IPv4Address) else _SPECIAL_V6
    for special in table:
        if _lies_in(address, special.network):
            return special
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return Special(network=_PUBLIC_V6, what="not in the public part of IPv6")
    return None


def _lies_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
