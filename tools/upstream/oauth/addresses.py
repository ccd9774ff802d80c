"""Addresses of OAuth: what names a resource, where metadata lies, what may go unencrypted."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from tools.upstream.oauth.failures import SignInFailed, quoted

DEFAULT_PORTS = {"http": 80, "https": 443}
RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


def split(url: str, what: str) -> SplitResult:
    """Take an address apart.

    Args:
        url: The address.
        what: What it is, for the error.

    Raises:
        SignInFailed: If it is no plain http or https address.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or "@" in parts.netloc or any(c.isspace() or not c.isprintable() for c in url):
        raise SignInFailed(f"{what} is no address that can be used: {quoted(url)}")
    return parts


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port.

    Raises:
        SignInFailed: If it is no address.

    Example:
        >>> origin("HTTPS://Example.com/mcp")
        ('https', 'example.com', 443)
    """
    parts = split(url, "it")
    return parts.scheme, (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS[parts.scheme]


def resource_of(url: str) -> str:
    """Return the canonical URI of an MCP server: no query, which may hold secrets.

    Example:
        >>> resource_of("HTTPS://MCP.Example.com:443/?key=1")
        'https://mcp.example.com'

    References:
        RFC 8707, section 2.
    """
    parts = split(url, "the server's address")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme, _authority(parts), path, "", ""))


def covers(resource: str, url: str) -> bool:
    """Whether a token made for a resource may be sent to an address: same origin, beneath it.

    Example:
        >>> covers("https://a.example/mcp", "https://a.example/mcp/v1")
        True
        >>> covers("https://a.example/mcp", "https://a.example/mcp2")
        False
    """
    try:
        if origin(resource) != origin(url):
            return False
        above, beneath = (urlsplit(each).path.rstrip("/") + "/" for each in (resource, url))
    except SignInFailed:
        return False
    return beneath.startswith(above) and "/../" not in beneath


def resource_metadata(url: str) -> tuple[str, ...]:
    """Return where a server's protected resource metadata may lie, most specific first.

    Example:
        >>> resource_metadata("https://a.example/mcp")[0]
        'https://a.example/.well-known/oauth-protected-resource/mcp'

    References:
        RFC 9728, section 3.1.
    """
    parts = split(url, "the server's address")
    path = parts.path.rstrip("/")
    places = (RESOURCE + path, RESOURCE) if path else (RESOURCE,)
    return tuple(_at(parts, place) for place in places)


def server_metadata(issuer: str) -> tuple[str, ...]:
    """Return where an authorization server's metadata may lie, in the order of MCP.

    Example:
        >>> server_metadata("https://a.example/t")[2]
        'https://a.example/t/.well-known/openid-configuration'

    References:
        RFC 8414, sections 3.1 and 5; OpenID Connect Discovery 1.0, section 4.
    """
    parts = split(issuer, "the authorization server's issuer")
    path = parts.path.rstrip("/")
    places = (OAUTH + path, OPENID + path, path + OPENID) if path else (OAUTH, OPENID)
    return tuple(_at(parts, place) for place in places)


def base(url: str) -> str:
    """Return scheme, host and port as an address.

    Example:
        >>> base("https://a.example/v1/mcp")
        'https://a.example'
    """
    parts = split(url, "the server's address")
    return urlunsplit((parts.scheme, _authority(parts), "", "", ""))


def require_secure(url: str, what: str, *, server_url: str) -> None:
    """Check that an address is encrypted, on this machine, or the MCP server's own origin.

    Raises:
        SignInFailed: If secrets would travel in clear to somebody else.
    """
    scheme, host, _ = origin(url)
    if scheme == "https" or on_this_machine(host) or origin(url) == origin(server_url):
        return
    raise SignInFailed(f"{what} is not encrypted ({quoted(url)}); it must be an https address")


def on_this_machine(host: str) -> bool:
    """Whether a host is this machine by its name alone.

    Example:
        >>> on_this_machine("::1"), on_this_machine("localhost.example")
        (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _authority(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    own = parts.port is None or parts.port == DEFAULT_PORTS[parts.scheme]
    return host if own else f"{host}:{parts.port}"


def _at(parts: SplitResult, path: str) -> str:
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
