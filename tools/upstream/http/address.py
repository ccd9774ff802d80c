"""Where a remote server is, as configured for one connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from tools.upstream.errors import BadAddress
from tools.upstream.interpolate import interpolate, variables
from tools.upstream.remote_entry import headers_problem, url_problem
from tools.upstream.spec import ServerSpec

# The transport's own, which an entry must not set.
_OURS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


@dataclass(frozen=True, kw_only=True)
class RemoteAddress:
    """What is actually asked; holds secrets, so it lives as long as one connection.

    Attributes:
        url: The endpoint, without a fragment.
        headers: Sent with every request.
        own: Its host and port, where these may lie in a private network.
        secrets: Values that must not appear in logs and errors.
    """

    url: URL = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    own: tuple[str, int] | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


def resolve(spec: ServerSpec, environ: Mapping[str, str]) -> RemoteAddress:
    """Read the variables that a remote server's entry refers to.

    Args:
        spec: The entry.
        environ: The gateway's environment.

    Raises:
        UnsetVariable: Naming the variable and the field that refers to it.
        BadAddress: If what comes out is no address or no header.
    """
    text = interpolate(spec.url, environ, field="url", server=spec.name)
    headers = {
        name: interpolate(value, environ, field=f"headers.{name}", server=spec.name)
        for name, value in spec.headers.items()
    }
    problem = url_problem(text) or headers_problem(headers) or _reserved(headers)
    if problem:
        raise BadAddress(f"{problem}; correct its entry", server=spec.name)
    url = _parsed(text, spec.name)
    return RemoteAddress(
        url=url,
        headers=headers,
        own=host_and_port(url) if spec.private_network else None,
        secrets=_secrets(spec, environ, headers, url),
    )


def host_and_port(url: URL) -> tuple[str, int]:
    """Return what a connection to an address is made to.

    Example:
        >>> host_and_port(URL("https://Example.com/mcp"))
        ('example.com', 443)
    """
    return (url.raw_host or "").rstrip(".").lower(), url.port or 0


def shown(url: URL) -> str:
    """Return what of an address may be shown: paths and queries hold keys in the wild.

    Example:
        >>> shown(URL("https://u:p@x.example:8000/key/123?token=1"))
        'https://x.example:8000'
    """
    return str(url.origin())


def same_origin(one: URL, other: URL) -> bool:
    """Whether two addresses have scheme, host and port in common."""
    return one.scheme == other.scheme and host_and_port(one) == host_and_port(other)


def _parsed(text: str, server: str) -> URL:
    try:
        return URL(text).with_fragment(None)
    except ValueError:
        raise BadAddress("the address cannot be read; correct its entry", server=server) from None


def _reserved(headers: Mapping[str, str]) -> str:
    ours = sorted(name for name in headers if name.lower() in _OURS)
    return f"header {ours[0]!r} is set by the gateway itself" if ours else ""


def _secrets(
    spec: ServerSpec, environ: Mapping[str, str], headers: Mapping[str, str], url: URL
) -> frozenset[str]:
    """Every value of a header or of the query, every variable put in, and bare tokens."""
    texts = (spec.url, *spec.headers.values())
    found = {environ[name] for text in texts for name in variables(text) if name in environ}
    found |= {part for value in headers.values() for part in (value, value.rpartition(" ")[2])}
    found |= set(url.query.values())
    return frozenset(found - {""})
