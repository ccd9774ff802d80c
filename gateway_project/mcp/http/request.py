"""A request over HTTP and its response, and the checks of its headers before its body is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from mcp_types import HEADER_MISMATCH, PROTOCOL_VERSION_META_KEY
from starlette.types import Message, Receive, Scope, Send

from gateway_project.mcp.http.answers import HeaderPairs, HttpAnswer, RequestRejected, reject

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
MAX_CACHED_HOSTS: Final = 100

ALLOWED_METHODS: Final = frozenset({"GET", "POST", "DELETE"})
ALLOW_HEADER: Final = (b"allow", b"GET, POST, DELETE, OPTIONS")
_PREFLIGHT_HEADERS: Final = (
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (
        b"access-control-allow-headers",
        b"authorization, content-type, accept, last-event-id, mcp-protocol-version, "
        b"mcp-session-id, mcp-method, mcp-name",
    ),
    (b"access-control-max-age", b"600"),
)

HeaderMap = Mapping[bytes, bytes]
"""Headers of a request by lower-case name."""

_JSON: Final = frozenset({"*/*", "application/*", "application/json"})
_EVENTS: Final = frozenset({"*/*", "text/*", "text/event-stream"})


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


def header_text(headers: HeaderMap, name: bytes) -> str:
    """Return a header; empty if it is missing."""
    return headers.get(name, b"").decode("latin-1")


def check_names(headers: HeaderMap, names: AllowedNames) -> None:
    """Check the host and origin of a request.

    Raises:
        RequestRejected: If it names another host or comes from a page that may not call.
    """
    host = header_text(headers, b"host")
    if not names.is_own_host(host):
        raise reject(
            421,
            "host_not_allowed",
            f"this gateway does not answer to the host {host[:100]!r}; an admin can add it to "
            "FOREGATE_ALLOWED_HOSTS",
        )
    if b"origin" in headers and not names.is_allowed_origin(
        header_text(headers, b"origin"), host=host
    ):
        raise reject(
            403,
            "origin_not_allowed",
            f"pages of {header_text(headers, b'origin')[:100]!r} may not call this gateway; an "
            "admin can add it to FOREGATE_ALLOWED_ORIGINS",
        )


def check_method(verb: str, headers: HeaderMap) -> None:
    """Check the method and the content type of a request.

    Raises:
        RequestRejected: If the endpoint does not accept it; also carries the answer to a
            browser's preflight request.
    """
    if verb == "OPTIONS" and b"access-control-request-method" in headers:
        raise RequestRejected(_answer_preflight(headers))
    if verb not in ALLOWED_METHODS:
        raise answer_wrong_method(ALLOW_HEADER)
    if verb != "POST":
        return
    kind = header_text(headers, b"content-type").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise reject(415, "unsupported_media_type", "send Content-Type: application/json")
    if header_text(headers, b"content-encoding").lower() not in ("", "identity"):
        raise reject(415, "unsupported_media_type", "send the body uncompressed")


def answer_wrong_method(allowed: tuple[bytes, bytes] = (b"allow", b"POST")) -> RequestRejected:
    """Return the answer to a request whose method is not served."""
    return reject(405, "method_not_allowed", "use POST", headers=(allowed,))


def _answer_preflight(headers: HeaderMap) -> HttpAnswer:
    """Return the answer to a preflight request; `Mcp-Param-` headers may have any name."""
    requested = header_text(headers, b"access-control-request-headers").lower().split(",")
    params = [name.strip() for name in requested if name.strip().startswith("mcp-param-")]
    methods, (name, allowed), age = _PREFLIGHT_HEADERS
    listed = b", ".join([allowed, *(param.encode("latin-1") for param in params)])
    return HttpAnswer(status=204, headers=(methods, (name, listed), age))


def has_envelope(meta: Any) -> bool:
    """Whether the `_meta` of a request is the envelope of the stateless era."""
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta


def check_version(is_declared: bool, request: Mapping[str, Any]) -> None:
    """Check that a request with an envelope declares its version in the headers, too.

    The header decides which era serves a request; without it, a stateless request would be treated
    as an invalid one of the handshake era.

    Raises:
        RequestRejected: If it does not.
    """
    if is_declared:
        return
    identifier = request.get("id")
    raise reject(
        400,
        "header_mismatch",
        "the header MCP-Protocol-Version is missing; send the version given in the body there too",
        code=HEADER_MISMATCH,
        request_id=identifier if isinstance(identifier, str | int) else None,
    )


class AcceptedForms(NamedTuple):
    """In which forms a client takes an answer; it should take both, and many name one alone.

    Attributes:
        json: A JSON body.
        events: A stream of events.
    """

    json: bool
    events: bool


class HttpRequest:
    """A request, and its response with the headers common to all responses.

    Args:
        scope: Of ASGI.
        receive: Of ASGI.
        send: Of ASGI.
        common: Headers of all responses.

    Attributes:
        verb: Method of HTTP.
        path: Of its address.
        pairs: Its headers as they came, in which one may occur twice.
        headers: The same by lower-case name.
        address: Of the client; empty if unknown.
        receive: Of ASGI; after the body, it tells of the client's disconnecting.
        status: Of the response; 0 until one is sent.
        caller: Whom it acts for, once authenticated; None: the local caller.
        is_local: Whether no tokens are asked for, so that it is the local caller's.
        token: Digest of its bearer token; empty: there is none.
        group: Name of the tool group in its path; None: there is none.
        body: Its whole body, once received.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, *, common: HeaderPairs = ()
    ) -> None:
        self.verb: str = scope["method"]
        self.path: str = scope["path"]
        self.pairs: list[tuple[bytes, bytes]] = scope["headers"]
        self.headers: HeaderMap = dict(self.pairs)
        self.address: str = (scope.get("client") or ("",))[0]
        self.receive = receive
        self.status = 0
        self.caller: Caller | None = None
        self.is_local = False
        self.token = ""
        self.group: str | None = None
        self.body = b""
        self._send = send
        self._common = common
        self._finished = False

    def find_caller(self, local: Caller) -> Caller:
        """Return whose rights it carries: where no tokens are asked for, the local caller's.

        Raises:
            RuntimeError: If nobody admitted it.
        """
        if self.caller is not None:
            return self.caller
        if not self.is_local:
            raise RuntimeError("a request that nobody admitted has no caller")
        return local

    @property
    def user(self) -> str:
        """Name of its user; empty: the local one."""
        return self.caller.user if self.caller else ""

    @property
    def accepted(self) -> AcceptedForms:
        """What its client accepts; without the header, everything.

        References:
            RFC 9110, section 12.5.1.
        """
        if b"accept" not in self.headers:
            return AcceptedForms(json=True, events=True)
        kinds = {
            kind.partition(";")[0].strip()
            for kind in header_text(self.headers, b"accept").lower().split(",")
        }
        return AcceptedForms(
            json=not _JSON.isdisjoint(kinds), events=not _EVENTS.isdisjoint(kinds)
        )

    async def send(self, message: Message) -> None:
        """Send an ASGI message of the response."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message = {**message, "headers": [*message.get("headers", ()), *self._common]}
        elif message["type"] == "http.response.body":
            self._finished = not message.get("more_body", False)
        await self._send(message)

    async def send_answer(self, answer: HttpAnswer) -> None:
        """Send a whole answer, or end a response that has already started."""
        if not self.status:
            await answer.send(self.send)
        elif not self._finished:
            await self.send({"type": "http.response.body", "body": b""})
