"""Makes transports to remote servers, and the one client they share, when first needed.

Loading the HTTP client costs 0.15 s, which a gateway without remote servers need not spend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tools.upstream.limits import Limits
from tools.upstream.network import NetworkRules
from tools.upstream.origin import Origin
from tools.upstream.spec import ServerSpec
from tools.upstream.surroundings import Surroundings
from tools.upstream.transport import UpstreamTransport

if TYPE_CHECKING:
    from tools.upstream.http.authorize import Authorize
    from tools.upstream.http.client import HttpClient


class Remote:
    """What a pool needs for servers over the network.

    Args:
        rules: Which addresses may be connected to.
        authorize: Gives who holds the tokens of a server, None if nobody does.
    """

    def __init__(
        self,
        *,
        rules: NetworkRules | None = None,
        authorize: Callable[[ServerSpec], Authorize | None] | None = None,
    ) -> None:
        self._rules = rules or NetworkRules()
        self._authorize = authorize
        self._client: HttpClient | None = None

    @property
    def client(self) -> HttpClient:
        """The shared client, for the event loop it is first used in."""
        if self._client is None:
            from tools.upstream.http.client import HttpClient  # noqa: PLC0415 - loaded lazily

            self._client = HttpClient(self._rules)
        return self._client

    def transport(
        self, spec: ServerSpec, *, user: str, limits: Limits, surroundings: Surroundings
    ) -> UpstreamTransport:
        """Return the transport of one connection to a remote server.

        Args:
            spec: The server's entry.
            user: For whom, where tokens differ by user; else empty.
            limits: Caps on what it may send.
            surroundings: Clocks and environment.

        Raises:
            UnsetVariable: If its entry refers to a variable that is not set.
            BadAddress: If its entry holds no address.
        """
        # Loaded lazily, with the client.
        from tools.upstream.http.address import resolve  # noqa: PLC0415
        from tools.upstream.http.endpoint import Endpoint  # noqa: PLC0415
        from tools.upstream.http.sse import SseTransport  # noqa: PLC0415
        from tools.upstream.http.transport import HttpTransport  # noqa: PLC0415

        address = resolve(spec, surroundings.environ)
        authorize = None
        if self._authorize is not None and spec.authorization != "none":
            authorize = self._authorize(spec)
        endpoint = Endpoint(spec, address, client=self.client, authorize=authorize, user=user)
        origin = Origin(
            server=spec.name,
            secrets=address.secrets,
            limits=limits,
            monotonic=surroundings.monotonic,
        )
        return (SseTransport if spec.transport == "sse" else HttpTransport)(endpoint, origin)

    async def aclose(self) -> None:
        """Close the client's connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
