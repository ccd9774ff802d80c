"""Addresses in OAuth: resource identifiers, metadata locations, encryption requirements."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from tools.upstream.oauth.values import SignInFailed, quote_foreign

DEFAULT_PORTS = {"http": 80, "https": 443}
RESOURCE_PATH = "/.well-known/oauth-protected-resource"
OAUTH_PATH = "/.well-known/oauth-authorization-server"
OPENID_PATH = "/.well-known/openid-configuration"


def split_url(url: str, what: str) -> SplitResult:
    """Split an address into its parts.

    Args:
        url: The address.
        what: Its role, for the error.

    Raises:
        SignInFailed: If it is not a plain http or https address.
    """
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http or "@" in parts.netloc or any(c.isspace() or not c.isprintable() for c in url):
        raise SignInFailed(f"{what} is not a usable address: {quote_foreign(url)}")
    return parts


def url_origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port.

    Raises:
        SignInFailed: If it is not an address.

    Example:
        >>> url_origin("HTTPS://Example.com/mcp")
        ('https', 'example.com', 443)
    """
    parts = split_url(url, "it")
    return parts.scheme, (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS[parts.scheme]


def canonical_resource(url: str) -> str:
    """Return the canonical URI of an MCP server, without the query, which may hold secrets.

    Example:
        >>> canonical_resource("HTTPS://MCP.Example.com:443/?key=1")
        'https://mcp.example.com'

    References:
        RFC 8707, section 2.
    """
    parts = split_url(url, "the server's address")
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme, _url_authority(parts), path, "", ""))


def is_covered(resource: str, url: str) -> bool:
    """Whether a token for a resource may be sent to an address: same origin, path beneath it.

    Example:
        >>> is_covered("https://a.example/mcp", "https://a.example/mcp/v1")
        True
        >>> is_covered("https://a.example/mcp", "https://a.example/mcp2")
        False
    """
    try:
        if url_origin(resource) != url_origin(url):
            return False
        above, beneath = (urlsplit(each).path.rstrip("/") + "/" for each in (resource, url))
    except SignInFailed:
        return False
    return beneath.startswith(above) and "/../" not in beneath


def resource_metadata_urls(url: str) -> tuple[str, ...]:
    """Return the locations of a server's protected resource metadata, most specific first.

    Example:
        >>> resource_metadata_urls("https://a.example/mcp")[0]
        'https://a.example/.well-known/oauth-protected-resource/mcp'

    References:
        RFC 9728, section 3.1.
    """
    parts = split_url(url, "the server's address")
    path = parts.path.rstrip("/")
    paths = (RESOURCE_PATH + path, RESOURCE_PATH) if path else (RESOURCE_PATH,)
    return tuple(_url_with_path(parts, each) for each in paths)


def server_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return the locations of an authorization server's metadata, in the order MCP specifies.

    Example:
        >>> server_metadata_urls("https://a.example/t")[2]
        'https://a.example/t/.well-known/openid-configuration'

    References:
        RFC 8414, sections 3.1 and 5; OpenID Connect Discovery 1.0, section 4.
    """
    parts = split_url(issuer, "the authorization server's issuer")
    path = parts.path.rstrip("/")
    paths = (
        (OAUTH_PATH + path, OPENID_PATH + path, path + OPENID_PATH)
        if path
        else (OAUTH_PATH, OPENID_PATH)
    )
    return tuple(_url_with_path(parts, each) for each in paths)


def is_same_issuer(one: str, other: str) -> bool:
    """Whether two identifiers of authorization servers are equal but for a final slash.

    Servers in use name themselves both ways; both lead to the same metadata, endpoints included.

    Example:
        >>> is_same_issuer("https://a.example/", "https://a.example")
        True
        >>> is_same_issuer("https://a.example/t", "https://a.example")
        False
    """
    return one.removesuffix("/") == other.removesuffix("/")


def base_url(url: str) -> str:
    """Return the origin of an address.

    Example:
        >>> base_url("https://a.example/v1/mcp")
        'https://a.example'
    """
    parts = split_url(url, "the server's address")
    return urlunsplit((parts.scheme, _url_authority(parts), "", "", ""))


def require_secure(url: str, what: str, *, server_url: str) -> None:
    """Check that an address uses https, is on this machine, or is the MCP server's own origin.

    Raises:
        SignInFailed: If secrets would be sent unencrypted to another host.
    """
    scheme, host, _ = url_origin(url)
    if scheme == "https" or is_local_host(host) or url_origin(url) == url_origin(server_url):
        return
    raise SignInFailed(
        f"{what} is not encrypted ({quote_foreign(url)}); it must be an https address"
    )


def is_local_host(host: str) -> bool:
    """Whether a host name denotes this machine, without resolving it.

    Example:
        >>> is_local_host("::1"), is_local_host("localhost.example")
        (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _url_authority(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    is_default_port = parts.port is None or parts.port == DEFAULT_PORTS[parts.scheme]
    return host if is_default_port else f"{host}:{parts.port}"


def _url_with_path(parts: SplitResult, path: str) -> str:
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
