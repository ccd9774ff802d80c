"""The address of a remote server, resolved for one connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from tools.upstream.errors import InvalidAddress
from tools.upstream.interpolate import interpolate_text
from tools.upstream.remote_entry import (
    find_headers_problem,
    find_url_problem,
    is_set_by_gateway,
)
from tools.upstream.spec import ServerSpec, collect_variables, resolve_own_variables
from tools.upstream.written_secrets import collect_known_secrets


@dataclass(frozen=True, kw_only=True)
class RemoteAddress:
    """A resolved endpoint; holds secrets, so keep it for one connection only.

    Attributes:
        url: The endpoint, without a fragment.
        headers: Sent with every request.
        own: Its host and port, if they may be in a private network.
        secrets: Values that must not appear in logs and errors.
    """

    url: URL = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    own: tuple[str, int] | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


def resolve_address(spec: ServerSpec, environ: Mapping[str, str]) -> RemoteAddress:
    """Resolve the variable references of a remote server's entry.

    Headers that the transport sets are left out.

    Args:
        spec: The entry.
        environ: The gateway's environment.

    Raises:
        UnsetVariable: With the variable and the field that refers to it.
        InvalidAddress: If the result is not a valid address or header.
    """
    env = resolve_own_variables(spec, environ)
    variables = {**environ, **env}
    text = interpolate_text(spec.url, variables, field="url", server=spec.name)
    headers = {
        name: interpolate_text(value, variables, field=f"headers.{name}", server=spec.name)
        for name, value in spec.headers.items()
        if not is_set_by_gateway(name)
    }
    problem = find_url_problem(text) or find_headers_problem(headers)
    if problem:
        raise InvalidAddress(f"{problem}; correct its entry", server=spec.name)
    url = _parse_url(text, spec.name)
    return RemoteAddress(
        url=url,
        headers=headers,
        own=host_and_port(url) if spec.private_network else None,
        secrets=collect_known_secrets(
            variables=collect_variables(spec, environ, env), url=text, headers=headers
        ),
    )


def host_and_port(url: URL) -> tuple[str, int]:
    """Return the host and port that an address connects to.

    Example:
        >>> host_and_port(URL("https://Example.com/mcp"))
        ('example.com', 443)
    """
    return (url.raw_host or "").rstrip(".").lower(), url.port or 0


def redact_address(url: URL) -> str:
    """Return the origin of an address, the part safe to show: paths and queries may hold keys.

    Example:
        >>> redact_address(URL("https://u:p@x.example:8000/key/123?token=1"))
        'https://x.example:8000'
    """
    return str(url.origin())


def is_same_origin(one: URL, other: URL) -> bool:
    """Whether two addresses have the same scheme, host and port."""
    return one.scheme == other.scheme and host_and_port(one) == host_and_port(other)


def keep_encryption(url: URL, target: URL) -> URL:
    """Return an address that a server names, by https if only that differs from its own.

    Servers behind a proxy that ends TLS take themselves to be reached by http.

    Example:
        >>> keep_encryption(URL("https://x.example/mcp"), URL("http://x.example/mcp/"))
        URL('https://x.example/mcp/')
    """
    if (url.scheme, target.scheme) != ("https", "http"):
        return target
    secure = target.with_scheme("https")
    return secure if is_same_origin(url, secure) else target


def _parse_url(text: str, server: str) -> URL:
    try:
        return URL(text).with_fragment(None)
    except ValueError:
        raise InvalidAddress(
            "the address cannot be read; correct its entry", server=server
        ) from None
