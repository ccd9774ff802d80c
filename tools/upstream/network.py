"""Rules for the addresses that the gateway may connect to.

A remote server or a name server controls where a redirect or a name leads. Without rules it could
direct the gateway to services that trust the internal network (server-side request forgery):
databases, consoles, the metadata services of clouds, which serve credentials.
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
class SpecialNetwork:
    """A network that is not part of the public internet.

    Attributes:
        network: Its addresses.
        description: Its purpose, to follow "which is".
        is_local: Whether it may contain services that people run themselves.
    """

    network: Network
    description: str
    is_local: bool = False


def _make_special(cidr: str, what: str, *, local: bool = False) -> SpecialNetwork:
    return SpecialNetwork(network=ip_network(cidr), description=what, is_local=local)


# IANA special-purpose address registries (RFC 6890 and its updates). Clouds run their own
# services, such as credential endpoints, at addresses within these networks, and Azure at a public
# one: the first match counts.
_SPECIAL_V4 = (
    _make_special("0.0.0.0/8", "no host's address"),
    _make_special("10.0.0.0/8", "private", local=True),
    _make_special("100.100.100.200/32", "a cloud's own service"),  # Alibaba
    _make_special("100.64.0.0/10", "a carrier's private network", local=True),
    _make_special("127.0.0.0/8", "this machine", local=True),
    _make_special("168.63.129.16/32", "a cloud's own service"),
    _make_special("169.254.0.0/16", "link-local, where clouds keep credentials"),
    _make_special("172.16.0.0/12", "private", local=True),
    _make_special("192.0.0.0/24", "reserved for protocols"),
    _make_special("192.0.2.0/24", "for documentation"),
    _make_special("192.88.99.0/24", "a relay between versions of IP"),
    _make_special("192.168.0.0/16", "private", local=True),
    _make_special("198.18.0.0/15", "for benchmarks", local=True),
    _make_special("198.51.100.0/24", "for documentation"),
    _make_special("203.0.113.0/24", "for documentation"),
    _make_special("224.0.0.0/4", "multicast"),
    _make_special("240.0.0.0/4", "reserved"),
)
_SPECIAL_V6 = (
    _make_special("::/128", "no host's address"),
    _make_special("::1/128", "this machine", local=True),
    _make_special("fd00:c1::/32", "a cloud's own service"),  # Oracle
    _make_special("fd00:ec2::/32", "a cloud's own service"),  # Amazon
    _make_special("fd20:ce::/32", "a cloud's own service"),  # Google
    _make_special("fc00::/7", "private", local=True),
    _make_special("fe80::/10", "link-local"),
    _make_special("fec0::/10", "private"),
    _make_special("ff00::/8", "multicast"),
    _make_special("2001::/23", "a tunnel or reserved for protocols"),  # Teredo and others
    _make_special("2001:db8::/32", "for documentation"),
    _make_special("2002::/16", "a tunnel (6to4)"),
    _make_special("3fff::/20", "for documentation"),
)
_PUBLIC_V6 = IPv6Network("2000::/3")  # the only allocated global unicast (RFC 4291, section 2.4)
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052


@dataclass(frozen=True, kw_only=True)
class NetworkRules:
    """Which addresses may be connected to.

    Attributes:
        allowed: Special networks that are allowed nevertheless.
    """

    allowed: tuple[Network, ...] = ()

    def find_objection(self, address: str, *, local: bool = False) -> str:
        """Return why an address may not be connected to; empty if it may.

        Args:
            address: An IP address.
            local: Whether local services may be reached.

        Example:
            >>> NetworkRules().find_objection("::ffff:127.0.0.1")
            'this machine'
            >>> rules = NetworkRules(allowed=parse_networks("127.0.0.0/8"))
            >>> rules.find_objection("127.0.0.1")
            ''
        """
        try:
            literal = ip_address(address.partition("%")[0])
        except ValueError:
            return "no IP address"
        effective = _effective_address(literal)
        if any(
            _is_in_network(each, network)
            for each in (literal, effective)
            for network in self.allowed
        ):
            return ""
        special = _find_special(effective)
        return "" if special is None or (local and special.is_local) else special.description


class AddressRefused(OSError):
    """The rules do not allow an address.

    Attributes:
        address: The address.
        what: Description of its special network.
    """

    def __init__(self, address: str, what: str) -> None:
        super().__init__(f"{address} is {what}")
        self.address = address
        self.what = what


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse networks separated by commas; a single address is a network of one.

    Raises:
        ValueError: With the invalid part.

    Example:
        >>> parse_networks("10.1.0.0/16, ::1")
        (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    networks: list[Network] = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError:
            raise ValueError(f"{part!r} is not a network; write it like 10.1.0.0/16") from None
    return tuple(networks)


def is_address(host: str) -> bool:
    """Whether a host is an IP address literal.

    Example:
        >>> is_address("[::1]"), is_address("localhost")
        (True, False)
    """
    try:
        ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def _effective_address(address: Address) -> Address:
    """Return the IPv4 address embedded in an IPv6 address (mapped or NAT64), else the address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _find_special(address: Address) -> SpecialNetwork | None:
    table = _SPECIAL_V4 if isinstance(address, IPv4Address) else _SPECIAL_V6
    for special in table:
        if _is_in_network(address, special.network):
            return special
    if isinstance(address, IPv6Address) and address not in _PUBLIC_V6:
        return SpecialNetwork(network=_PUBLIC_V6, description="not in the public part of IPv6")
    return None


def _is_in_network(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
