"""The interface between a transport and the holder of a server's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway_project.foundation.caller import Caller


class CredentialsProvider(Protocol):
    """Provides the credentials of one server's requests."""

    async def build_headers(self, url: str, caller: Caller) -> Mapping[str, str]:
        """Return the headers that authorize a request.

        Args:
            url: Address of the endpoint.
            caller: Whose rights the request carries.

        Raises:
            UpstreamError: If there is no usable sign-in.
        """

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        """Handle a server's refusal of a request's credentials.

        Args:
            status: 401 or 403.
            www_authenticate: That header of the response, or empty.
            caller: Whose rights the request carried.

        Returns:
            Whether there are new credentials, so that the request should be repeated.

        Raises:
            UpstreamError: With specific advice, if repeating cannot help.
        """
